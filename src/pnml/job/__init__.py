"""Fit, score, report and save models of tables: what Python and the commands share."""
