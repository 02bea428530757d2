"""Where a Display draws: matplotlib on first use, axes, styles, labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# What a caller passes on to matplotlib to change how a line looks.
Style = dict[str, Any] | None
# The best place of a legend is found by looking at every point at every redraw.
_FEW_POINTS = 20_000


def require_matplotlib(caller: str) -> None:
    """Raise one sentence where matplotlib is missing, before anything is computed."""
    try:
        import matplotlib.pyplot as plt  # noqa: F401
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        raise ImportError(
            f'{caller} needs matplotlib, which is not installed; run pip install "pnml[plots]".'
        ) from error


def axes_for(display: object, ax: Axes | None) -> Axes:
    """The axes to draw on: those given, or new ones in a figure of their own."""
    require_matplotlib(f"{type(display).__name__}.plot")
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    _, fresh = plt.subplots()
    return fresh


def styled(defaults: dict[str, Any], given: Style) -> dict[str, Any]:
    """Style of a line: the caller's words win, also in matplotlib's short forms such as ``c``."""
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    return {**defaults, **normalize_kwargs(dict(given or {}), Line2D)}


def add_legend(ax: Axes) -> None:
    """Legend of all that is drawn, out of the way where finding that place is fast."""
    points = sum(np.size(line.get_xdata()) for line in ax.lines)
    ax.legend(loc="best" if points <= _FEW_POINTS else "upper left")


def labelled(name: str | None, text: str) -> str:
    """Text of a legend entry, led by the name where there is one."""
    return text if name is None else f"{name}: {text}"
