"""The report: what a model says of a new table, as one self-contained HTML page."""
