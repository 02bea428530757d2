"""A chart of the page: a Plotly figure without colours, and its content in words.

A trace, a shape or an annotation names its ``role``; the page gives a role its colour, so that
charts follow a change between light and dark.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pnml.report.formats import cut, printable

if TYPE_CHECKING:
    from pnml.core.arrays import FloatArray


@dataclass(frozen=True)
class Chart:
    """One Plotly chart of the report, and its content in words."""

    name: str  # an HTML id
    title: str  # heading above the chart
    caption: str  # how to read it
    numbers: str  # its content in words, for readers who do not see it
    traces: list[dict[str, Any]]
    layout: dict[str, Any]


def rounded(values: FloatArray) -> list[float | None]:
    """Numbers of a Plotly chart in six digits, None for those that are not finite."""
    return [float(f"{v:.6g}") if math.isfinite(v) else None for v in values.tolist()]


def axis_text(text: str) -> str:
    """Text in a Plotly chart, escaped so that no tags, entities or formulas are read in it."""
    shown = cut(printable(text), 40)
    for sign, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("$", "&#36;")):
        shown = shown.replace(sign, entity)
    return shown


def line(letter: str, place: float) -> dict[str, Any]:
    """A Plotly shape: a line across the whole chart at `place` on the axis "x" or "y"."""
    other = "x" if letter == "y" else "y"
    ends = {f"{other}ref": "paper", f"{other}0": 0, f"{other}1": 1}
    return {"role": "line", "type": "line", f"{letter}0": place, f"{letter}1": place, **ends}


def note(letter: str, place: float, text: str, middle: float = 0.0) -> dict[str, Any]:
    """A Plotly annotation: the text of a `line` at `place` on the axis "x" or "y".

    It stands at the top of a vertical line (letter "x"), on the side of ``middle``, the middle of
    the x axis; or at the right end of a horizontal one ("y").
    """
    if letter == "y":
        where = {"xref": "paper", "x": 1, "y": place, "xanchor": "right", "yanchor": "bottom"}
    else:
        side = (
            {"xanchor": "left", "xshift": 4}
            if place < middle
            else {"xanchor": "right", "xshift": -4}
        )
        where = {"yref": "paper", "x": place, "y": 1, "yanchor": "top", **side}
    return {"role": "line", "showarrow": False, "text": text, **where}
