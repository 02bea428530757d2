"""Axes, styles and labels for the Displays; matplotlib is imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pnml.errors import how_to_install

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Keyword arguments of matplotlib that a caller gives for a line.
Style = dict[str, Any] | None


def require_matplotlib(caller: str) -> None:
    """Raise ImportError if matplotlib is missing; the message names the `caller` that needs it."""
    try:
        import matplotlib.pyplot as plt  # noqa: F401
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        raise ImportError(
            f"{caller} needs matplotlib, which is not installed; {how_to_install('plots')}."
        ) from error


def axes_for(display: object, ax: Axes | None) -> Axes:
    """The axes to draw a Display on: `ax` as given, or those of a new figure."""
    require_matplotlib(f"{type(display).__name__}.plot")
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    _, new_axes = plt.subplots(layout="constrained")
    return new_axes


def styled(defaults: dict[str, Any], given: Style) -> dict[str, Any]:
    """Keyword arguments for a matplotlib line: the defaults, overridden by those `given`.

    Short forms in `given`, such as ``c``, count as the long ones.
    """
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    return {**defaults, **normalize_kwargs(dict(given or {}), Line2D)}


def dashed(color: Any, label: str) -> dict[str, Any]:
    """Keyword arguments for a thin dashed matplotlib line, a level to compare a curve with."""
    return {"color": color, "linestyle": "--", "linewidth": 1.0, "label": label}


def labelled(name: str | None, text: str) -> str:
    """Text of a legend entry: "name: text", or the text alone if `name` is None."""
    return text if name is None else f"{name}: {text}"
