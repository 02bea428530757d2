"""How claims are judged: a claim, a verdict, and the rows that it rests on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from pnml.errors import InputError
from pnml.metrics import Estimate
from pnml_experiments.framework.result import Result, Row

Word = Literal["holds", "holds in part", "does not hold", "not settled here"]


class Verdict(NamedTuple):
    """What became of a claim, and the numbers that say so."""

    word: Word
    evidence: str


@dataclass(frozen=True)
class Evidence:
    """Rows of a result, to be asked for by table and labels."""

    result: Result

    def rows(self, table: str, **labels: str) -> list[Row]:
        """Rows of the table whose title begins like this, and which have these labels."""
        titled = [each for each in self.result.tables if each.title.startswith(table)]
        if not titled:
            raise InputError(f"There is no table {table!r} here; run the experiment again.")
        asked = {name.replace("_", " "): value for name, value in labels.items()}
        return [
            row
            for each in titled
            for row in each.rows
            if asked.items() <= {name.rstrip(",%"): v for name, v in row.labels.items()}.items()
        ]

    def row(self, table: str, **labels: str) -> Row:
        """The one row with these labels."""
        found = self.rows(table, **labels)
        if len(found) != 1:
            raise InputError(f"{len(found)} rows of {table!r} have {labels}, not one.")
        return found[0]

    def ours(self, table: str, **labels: str) -> Estimate:
        """What came out, by the protocol of the thesis."""
        value = self.row(table, **labels).ours
        if value is None:
            raise InputError(f"The row {labels} of {table!r} was not run.")
        return value

    def fair(self, table: str, **labels: str) -> Estimate:
        """What came out by the fair protocol, which may be the same."""
        row = self.row(table, **labels)
        value = row.ours if row.fair is None else row.fair
        if value is None:
            raise InputError(f"The row {labels} of {table!r} was not run.")
        return value


@dataclass(frozen=True)
class Claim:
    """What the thesis says, in our words, and the rule by which it is judged."""

    chapter: int
    text: str
    experiment: str
    judge: Callable[[Evidence], Verdict]


def by_count(good: int, of: int, evidence: str) -> Verdict:
    """A verdict on something that should be so in all of several cases."""
    if good == of:
        return Verdict("holds", evidence)
    return Verdict("holds in part" if 2 * good >= of else "does not hold", evidence)


def interval_text(value: Estimate, digits: int = 1) -> str:
    """A number with its interval."""
    if value.low == value.high:
        return f"{value.value:.{digits}f}"
    return f"{value.value:.{digits}f} [{value.low:.{digits}f}, {value.high:.{digits}f}]"
