"""The result of an experiment, beside what was printed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pnml.metrics import Estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure


@dataclass(frozen=True)
class Row:
    """One number: as printed, as it came out, and as it comes out under a fair protocol.

    >>> row = Row({"OOD": "SVHN"}, printed=89.9, ours=Estimate(90.4, 89.7, 91.1))
    >>> round(row.difference, 6)
    0.5
    """

    labels: Mapping[str, str]  # heading → what the number is of
    printed: float | None = None
    ours: Estimate | None = None  # by the protocol of the thesis, where that can be had
    fair: Estimate | None = None  # where the fair protocol is another one
    note: str = ""  # why a row is missing, or why its data differ

    @property
    def difference(self) -> float | None:
        """Ours less printed; None where either is missing."""
        return None if self.ours is None or self.printed is None else self.ours.value - self.printed

    def record(self) -> dict[str, Any]:
        """The row as plain names and values."""
        out: dict[str, Any] = dict(self.labels) | {"printed": self.printed}
        for name, estimate in (("ours", self.ours), ("fair", self.fair)):
            value, low, high = estimate or (None, None, None)
            out |= {name: value, f"{name}_low": low, f"{name}_high": high}
        return out | {"difference": self.difference, "note": self.note}


@dataclass(frozen=True)
class Table:
    """Rows with the same headings."""

    title: str
    rows: tuple[Row, ...]
    about: str = ""  # what ours and fair mean here, in full sentences
    digits: int = 1

    @property
    def headings(self) -> tuple[str, ...]:
        """Names of the labels, in the order of their first use."""
        return tuple(dict.fromkeys(name for row in self.rows for name in row.labels))


@dataclass(frozen=True)
class Figure:
    """A picture that is drawn only when it is to be written."""

    name: str  # of the file, without its ending
    caption: str
    draw: Callable[[], MatplotlibFigure]


@dataclass(frozen=True)
class Result:
    """Tables, figures and remarks of an experiment."""

    tables: tuple[Table, ...]
    figures: tuple[Figure, ...] = ()
    seeds: tuple[int, ...] = ()
    repeats: int = 1
    interval: str = "none: nothing here is random"
    remarks: tuple[str, ...] = ()


def exactly(value: float) -> Estimate:
    """A number without an interval, for what is not estimated.

    >>> exactly(0.5)
    Estimate(value=0.5, low=0.5, high=0.5)
    """
    return Estimate(float(value), float(value), float(value))


def in_percent(estimate: Estimate) -> Estimate:
    """The same share in percent.

    >>> in_percent(Estimate(0.5, 0.25, 0.75))
    Estimate(value=50.0, low=25.0, high=75.0)
    """
    return Estimate(*(100 * number for number in estimate))
