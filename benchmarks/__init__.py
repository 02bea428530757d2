"""Ratios against peers and against the bare matrix product, measured in one run."""
