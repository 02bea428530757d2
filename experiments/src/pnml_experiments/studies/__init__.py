"""Studies that the thesis does not have."""
