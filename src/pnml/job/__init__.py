"""The whole job on a table: fit, score, report and save, as the command line does it."""
