"""One style for all Displays, for light and for dark pages, that the colour-blind can read."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Literal, get_args

from pnml.errors import InputError
from pnml.plots.canvas import require_matplotlib

Scheme = Literal["light", "dark"]

# Colours of Okabe and Ito, without black; on dark pages lighter ones of the same hues. Lines that
# take them in turn differ by at least 15 (CIE 1976) to an eye that does not tell red from green.
COLOURS: dict[Scheme, tuple[str, ...]] = {
    "light": ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00"),
    "dark": ("#56b4e9", "#ff9a3c", "#1fc277", "#e37fb3", "#dffcff", "#ebf39d"),
}
_INK: dict[Scheme, str] = {"light": "#1b1b1b", "dark": "#e8e8e8"}
_FAINT: dict[Scheme, str] = {"light": "#666666", "dark": "#a3a9b2"}
PAPER: dict[Scheme, str] = {"light": "#ffffff", "dark": "#1e2129"}


def style(scheme: Scheme = "light") -> AbstractContextManager[None]:
    """Context manager: figures within have the style of the gallery, light or dark.

    Parameters
    ----------
    scheme : "light" or "dark", default="light"
        For light or for dark pages.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from pnml.plots import RiskCoverageDisplay, style
    >>> with style("dark"):
    ...     display = RiskCoverageDisplay.from_predictions([0.0, 1.0], [-0.1, -0.9])
    >>> display.line_.get_color()
    '#56b4e9'
    >>> plt.close(display.figure_)
    """
    require_matplotlib("pnml.plots.style")
    if scheme not in get_args(Scheme):
        raise InputError(f"scheme={scheme!r} is not a style; pass 'light' or 'dark'.")
    import matplotlib.pyplot as plt

    rc: Any = settings(scheme)
    return plt.rc_context(rc)


def settings(scheme: Scheme) -> dict[str, Any]:
    """Settings of matplotlib (rcParams) for the style of the Displays on light or dark pages."""
    from matplotlib.rcsetup import cycler

    ink, faint, paper = _INK[scheme], _FAINT[scheme], PAPER[scheme]
    return {
        "axes.prop_cycle": cycler(color=COLOURS[scheme]),
        "axes.edgecolor": faint,
        "axes.facecolor": paper,
        "axes.labelcolor": ink,
        "axes.spines.right": False,
        "axes.spines.top": False,
        "figure.facecolor": paper,
        "font.family": "DejaVu Sans",
        "grid.color": faint,
        "legend.fontsize": 9,
        "legend.frameon": False,
        "savefig.facecolor": paper,
        "text.color": ink,
        "xtick.color": faint,
        "xtick.labelcolor": ink,
        "ytick.color": faint,
        "ytick.labelcolor": ink,
    }
