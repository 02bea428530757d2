"""Colours that the colour-blind can tell apart and that show on light and dark paper."""

from __future__ import annotations

from contextlib import AbstractContextManager

# Of Okabe and Ito, without its black and its yellow.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
TRAINING = "#7F7F7F"
# Blue, orange, grey, light blue, brown and green of Tableau, for the colour-blind too.
INKS = ("#006BA4", "#FF800E", "#7A7A7A", "#5F9ED1", "#C85200", "#2CA089")
# A second sign beside the colour.
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (1, 1)))


def in_turn() -> AbstractContextManager[None]:
    """Within it lines, bars and points that name no colour take these in turn."""
    from matplotlib import pyplot as plt
    from matplotlib.rcsetup import cycler

    # black, and a dark and a light one of Tol where there are more
    return plt.rc_context(
        {"axes.prop_cycle": cycler(color=[*COLOURS, "#000000", "#882255", "#DDCC77"])}
    )
