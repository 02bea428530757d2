"""Colours that the colour-blind can tell apart and that show on light and dark paper."""

from __future__ import annotations

# Of Okabe and Ito, without its black and its yellow.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
TRAINING = "#7F7F7F"
# A second sign beside the colour.
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (1, 1)))
