"""Legends that never cover what is drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation
    from matplotlib.transforms import Bbox

    from pnml.core.arrays import FloatArray

_PLACES = ("upper right", "upper left", "lower right", "lower left", "center right", "center left")
_ROOM = 4.0  # points between the legend and what is drawn, at least
# By which a legend may grow in proportion to its axes when a figure is laid out.
_GROW_ALONE, _GROW = 1.15, 1.4
_MOST_ROOM = 4.0  # times as wide as the longest bar, at most, become axes with texts
_BELOW = 6.0  # points between the label of an axis and a legend below it


def add_legend(ax: Axes) -> None:
    """Add a legend to axes: in a corner or at a side if that is free, else below the axes."""
    if not ax.get_legend_handles_labels()[0]:
        return
    ax.apply_aspect()
    _ = ax.viewLim  # limits that follow the data are brought up to date when they are read
    add: Any = ax.legend
    figure: Any = ax.get_figure(root=True)
    grow = _GROW if len(figure.axes) > 1 else _GROW_ALONE
    for place in _PLACES:
        legend: Any = add(loc=place)
        if not covers_data(ax, _grown(legend.get_window_extent(), place, grow)):
            return
    _put_below(ax)


def add_key(ax: Axes, colours: dict[str, str], *lines: Any) -> None:
    """Add a legend below axes with bars, if there is anything to explain.

    `colours` has the meaning of each bar colour; `lines` bring their own labels, or are None.
    """
    from matplotlib.patches import Patch

    marks = [
        Patch(facecolor=colour, hatch="//", edgecolor=ax.get_facecolor(), label=text)
        for colour, text in colours.items()
    ]
    handles = [*marks, *(line for line in lines if line is not None)]
    if handles:
        _put_below(ax, handles=handles)


def make_room(ax: Axes, texts: Sequence[Annotation]) -> None:
    """Widen axes to the right until the texts beside horizontal bars end inside of them."""
    if not texts:
        return
    _ = ax.viewLim
    width = ax.bbox.width / _GROW  # a layout engine may make the axes smaller
    needed = []
    for text in texts:
        box = text.get_window_extent()
        left = float(ax.transData.transform((text.xy[0], 0.0))[0])
        share = 1.0 - min((box.x1 - left) / width, 1 - 1 / _MOST_ROOM)
        needed.append(text.xy[0] / share)
    ax.set_xlim(0.0, max(ax.get_xlim()[1], *needed))


def _put_below(ax: Axes, **handles: Any) -> None:
    """Put the legend of axes below the label of their horizontal axis."""
    figure: Any = ax.get_figure(root=True)
    add: Any = ax.legend
    low = ax.xaxis.get_tightbbox()
    under = 0.0 if low is None else (ax.bbox.y0 - low.y0) * 72 / figure.dpi
    from matplotlib.transforms import ScaledTranslation

    shift = ScaledTranslation(0, -(under + _BELOW) / 72, figure.dpi_scale_trans)
    add(
        loc="upper left",
        bbox_to_anchor=(0.0, 0.0),
        bbox_transform=ax.transAxes + shift,
        borderaxespad=0.0,
        **handles,
    )


def _grown(box: Bbox, place: str, grow: float) -> Bbox:
    """A legend's box as large as it may be in axes that a layout engine makes smaller later."""
    wider, higher = (grow - 1) * box.width, (grow - 1) * box.height
    left = wider if "right" in place else 0.0
    below = higher if "upper" in place else higher / 2 if "center" in place else 0.0
    return type(box).from_bounds(
        box.x0 - left, box.y0 - below, box.width + wider, box.height + higher
    )


def covers_data(ax: Axes, box: Bbox) -> bool:
    """Whether a box in pixels, such as a legend's, covers anything drawn on the axes.

    That is a line, point, bar, area or text.
    """
    room = _ROOM * float(ax.get_figure(root=True).dpi) / 72  # type: ignore[union-attr]
    padded = box.padded(room)
    return any(_crosses(part, padded) for part in _outlines(ax)) or any(
        padded.overlaps(text.get_window_extent()) for text in ax.texts if text.get_visible()
    )


def _outlines(ax: Axes) -> Iterator[tuple[FloatArray, bool]]:
    """Corners (k, 2) in pixels of all that axes show, and whether lines join them."""
    for line in ax.lines:
        if line.get_visible():
            joined = line.get_linestyle() not in ("None", "", " ")
            yield _corners(line.get_transform(), line.get_path()), joined
    for patch in ax.patches:
        if patch.get_visible():
            yield _corners(patch.get_transform(), patch.get_path()), True
    for group in ax.collections:
        if not group.get_visible():
            continue
        offsets = np.asarray(np.ma.filled(group.get_offsets(), np.nan), dtype=float)
        if len(offsets) and np.any(offsets):  # points
            yield group.get_offset_transform().transform(offsets), False
        else:  # areas and bundles of lines
            for path in group.get_paths():
                yield _corners(group.get_transform(), path), True


def _corners(transform: Any, path: Any) -> FloatArray:
    """Corners (k, 2) of a path on axes, in pixels."""
    return np.asarray(transform.transform_path(path).vertices, dtype=float)


def _crosses(outline: tuple[FloatArray, bool], box: Bbox) -> bool:
    """Whether a point, or a line between two neighbours, is inside a box."""
    points, joined = outline
    points = points[np.isfinite(points).all(axis=1)]
    if not len(points):
        return False
    low, high = np.array([box.x0, box.y0]), np.array([box.x1, box.y1])
    if not joined or len(points) == 1:
        return bool(np.any(np.all((points >= low) & (points <= high), axis=1)))
    start, step = points[:-1], np.diff(points, axis=0)
    # the part of each segment that lies between the sides of the box, in both directions
    with np.errstate(divide="ignore", invalid="ignore"):
        first, second = (low - start) / step, (high - start) / step
    still = step == 0
    inside = (start >= low) & (start <= high)
    enter = np.where(still, np.where(inside, -np.inf, np.inf), np.minimum(first, second))
    leave = np.where(still, np.where(inside, np.inf, -np.inf), np.maximum(first, second))
    overlap = np.maximum(enter.max(axis=1), 0.0) <= np.minimum(leave.min(axis=1), 1.0)
    return bool(overlap.any())
