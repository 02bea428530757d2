"""What Displays draw on: matplotlib on first use, axes, styles, labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pnml.errors import how_to_install

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Keyword arguments of matplotlib that a caller gives for a line.
Style = dict[str, Any] | None


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

    _, new_axes = plt.subplots(layout="constrained")
    return new_axes


def styled(defaults: dict[str, Any], given: Style) -> dict[str, Any]:
    """The defaults of a plot's style with the caller's over them, short forms such as ``c`` too."""
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    return {**defaults, **normalize_kwargs(dict(given or {}), Line2D)}


def dashed(color: Any, label: str) -> dict[str, Any]:
    """Style of a thin dashed line in a plot, for levels to compare a curve with."""
    return {"color": color, "linestyle": "--", "linewidth": 1.0, "label": label}


def labelled(name: str | None, text: str) -> str:
    """Text of a legend entry on axes, after the name where there is one."""
    return text if name is None else f"{name}: {text}"
