"""Tables and figures of the thesis, run again: one file for each."""
