"""A claim of the thesis, the verdict on it, and the rows behind the verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from pnml.errors import InputError
from pnml.metrics import Estimate
from pnml_experiments.framework.result import Result, Row

Word = Literal["holds", "holds in part", "does not hold", "not settled"]


class Verdict(NamedTuple):
    """The verdict on a claim, and a sentence with the numbers behind it."""

    word: Word
    evidence: str
    settle: str = ""  # what would settle a claim that is not settled


@dataclass(frozen=True)
class Evidence:
    """Rows of a result, looked up by table and labels."""

    result: Result

    def rows(self, table: str, **labels: str) -> list[Row]:
        """Rows of the table whose title begins like this, and which have these labels."""
        titled = [part for part in self.result.tables if part.title.startswith(table)]
        if not titled:
            raise InputError(f"There is no table {table!r} here; run the experiment again.")
        asked = {name.replace("_", " "): value for name, value in labels.items()}
        return [
            row
            for part in titled
            for row in part.rows
            if asked.items() <= {name.rstrip(", %"): v for name, v in row.labels.items()}.items()
        ]

    def row(self, table: str, **labels: str) -> Row:
        """The one row with these labels."""
        rows = self.rows(table, **labels)
        if len(rows) != 1:
            raise InputError(f"{len(rows)} rows of {table!r} have {labels}, not one.")
        return rows[0]

    def value(self, table: str, **labels: str) -> float:
        """Our number under the protocol of the thesis, without its interval."""
        return self.ours(table, **labels).value

    def ours(self, table: str, **labels: str) -> Estimate:
        """Our number under the protocol of the thesis."""
        value = self.row(table, **labels).ours
        if value is None:
            raise InputError(f"The row {labels} of {table!r} was not run.")
        return value

    def fair(self, table: str, **labels: str) -> Estimate:
        """Our number under the fair protocol, or that of the thesis if they are the same."""
        row = self.row(table, **labels)
        value = row.ours if row.fair is None else row.fair
        if value is None:
            raise InputError(f"The row {labels} of {table!r} was not run.")
        return value


Rule = Callable[[Evidence], Verdict]


@dataclass(frozen=True)
class Claim:
    """A claim of the thesis in its own words, and the rule that judges it."""

    chapter: int
    words: str  # of the thesis, without its mathematics
    rule: str  # when the claim holds, in one sentence
    experiment: str
    judge: Rule  # by the protocol of the thesis, against its own rivals
    variant: Rule | None = None  # the same claim by our protocol, or against more rivals
    from_print: bool = False  # whether printed numbers alone are judged, whatever was run
    beside: str = ""  # another experiment whose tables the rules look at too
    so_far: bool = False  # whether an unfinished run at a larger scale is quoted while it is open


def by_count(good: int, of: int, evidence: str) -> Verdict:
    """Verdict on a claim about several cases, by the number of cases where it is true."""
    if good == of:
        return Verdict("holds", evidence)
    return Verdict("holds in part" if 2 * good >= of else "does not hold", evidence)


def open_question(evidence: str, settle: str) -> Verdict:
    """A claim that the rows do not settle, and what would."""
    return Verdict("not settled", evidence, settle)


def by_truth(true: bool, evidence: str) -> Verdict:
    """Verdict on a claim that is true or false.

    >>> by_truth(True, "1 < 2.").word
    'holds'
    """
    return Verdict("holds" if true else "does not hold", evidence)


def against_rivals(ahead: Mapping[str, Estimate], evidence: str, settle: str) -> Verdict:
    """Verdict on being ahead of every rival, from paired leads with their intervals.

    >>> clear, open_ = Estimate(2.0, 1.0, 3.0), Estimate(0.5, -1.0, 2.0)
    >>> against_rivals({"a": clear, "b": clear}, "", "").word
    'holds'
    >>> against_rivals({"a": clear, "b": open_}, "", "More seeds.").word
    'not settled'
    """
    if all(lead.low > 0 for lead in ahead.values()):
        return Verdict("holds", evidence)
    if any(lead.high < 0 for lead in ahead.values()):
        some = any(lead.low > 0 for lead in ahead.values())
        return Verdict("holds in part" if some else "does not hold", evidence)
    return open_question(evidence, settle)


def interval_text(value: Estimate, digits: int = 1) -> str:
    """A number with its interval."""
    if value.low == value.high:
        return f"{value.value:.{digits}f}"
    return f"{value.value:.{digits}f} [{value.low:.{digits}f}, {value.high:.{digits}f}]"
