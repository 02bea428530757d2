"""Tools that every layer above the maths uses."""
