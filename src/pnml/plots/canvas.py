"""The base of the Displays: matplotlib on first use, axes, styles, labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pnml.errors import how_to_install

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Keyword arguments of matplotlib that a caller gives for a line.
Style = dict[str, Any] | None
# Finding the best place for a legend looks at every point at every redraw.
_FEW_POINTS = 20_000


class Display:
    """Base of the plots: `plot` draws on ``ax_``, which is part of ``figure_``."""

    name: str | None = None

    def _begin(self, ax: Axes | None, name: str | None = None) -> tuple[Axes, str | None]:
        """The axes to draw on, new ones by default, and the name for the legend."""
        ax = self.ax_ = axes_for(self, ax)
        self.figure_ = ax.figure
        return ax, self.name if name is None else name


def require_matplotlib(caller: str) -> None:
    """Raise where matplotlib is missing, before anything is computed for a plot."""
    try:
        import matplotlib.pyplot as plt  # noqa: F401
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        raise ImportError(
            f"{caller} needs matplotlib, which is not installed; {how_to_install('plots')}."
        ) from error


def axes_for(display: object, ax: Axes | None) -> Axes:
    """The axes given to draw on, or those of a new figure."""
    require_matplotlib(f"{type(display).__name__}.plot")
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    _, new_axes = plt.subplots()
    return new_axes


def styled(defaults: dict[str, Any], given: Style) -> dict[str, Any]:
    """The defaults of a plot's style with the caller's over them, short forms such as ``c`` too."""
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    return {**defaults, **normalize_kwargs(dict(given or {}), Line2D)}


def dashed(color: Any, label: str) -> dict[str, Any]:
    """Style of a thin dashed line in a plot, for levels to compare a curve with."""
    return {"color": color, "linestyle": "--", "linewidth": 1.0, "label": label}


def add_legend(ax: Axes) -> None:
    """Add a legend to axes, at the best place unless too many points make that slow."""
    points = sum(np.size(line.get_xdata()) for line in ax.lines)
    ax.legend(loc="best" if points <= _FEW_POINTS else "upper left")


def labelled(name: str | None, text: str) -> str:
    """Text of a legend entry on axes, after the name where there is one."""
    return text if name is None else f"{name}: {text}"
