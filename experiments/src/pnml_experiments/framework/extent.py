"""How much of what the thesis had stands behind a result."""

from __future__ import annotations

from typing import Literal

from pnml_experiments.framework.experiment import Experiment
from pnml_experiments.framework.result import Result
from pnml_experiments.framework.scales import REDUCED

Extent = Literal["printed scale", "subset", "other data", "printed numbers alone", "study of ours"]

_OUTLOOK = 8  # chapter of future research: the thesis has no data of it


def extent(experiment: Experiment, scale: str, result: Result) -> Extent:
    """Whether a result has the size and the data of the thesis."""
    rows = (row for table in result.tables for row in table.rows)
    if all(row.ours is None and row.fair is None for row in rows):
        return "printed numbers alone"
    if experiment.other:
        return "other data"
    if experiment.beyond and (not experiment.less or experiment.chapter == _OUTLOOK):
        return "study of ours"
    return "subset" if scale in REDUCED or _lacks(experiment, scale) else "printed scale"


def extent_line(experiment: Experiment, scale: str, result: Result) -> str:
    """First line of a page whose result has less, or other data, than the thesis, or both.

    >>> one = Experiment("one", 2, "One", less="10 of 50 sets.")
    >>> from pnml_experiments.framework.result import Row, Table, exactly
    >>> result = Result((Table("A", (Row({}, ours=exactly(1.0)),)),))
    >>> extent_line(one, "stored", result)
    '**Less than the thesis had.** 10 of 50 sets.'
    >>> one = Experiment("one", 2, "One", less="10 of 50 sets.", other="Pens for pencils.")
    >>> extent_line(one, "stored", result)
    '**Other data than the thesis had, and not all of it.** Pens for pencils. 10 of 50 sets.'
    """
    kind, lacks = extent(experiment, scale, result), _lacks(experiment, scale)
    if kind == "printed numbers alone":
        return f"**Printed numbers alone.** Nothing was run. {lacks}".strip()
    if scale in REDUCED:
        lacks = f"The scale {scale} has fewer rows, draws or steps."
    if kind == "other data":
        part = ", and not all of it" if lacks else ""
        return f"**Other data than the thesis had{part}.** {experiment.other} {lacks}".strip()
    if not lacks:
        return ""
    whose = "the data at hand" if kind == "study of ours" else "the thesis had"
    return f"**Less than {whose}.** {lacks}"


def _lacks(experiment: Experiment, scale: str) -> str:
    """What a run lacks of what the thesis had, or of the data at hand."""
    return "" if scale == "printed" else experiment.less
