"""What a benchmark says: one line per comparison, on the screen and in a file."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from benchmarks.timing import Duel, FloatArray

_PACKAGES = ("pnml", "numpy", "scipy", "scikit-learn", "statsmodels", "mapie", "crepes")
_LAYOUT = "{:<48} {:<31} {:>8} {:>8} {:>16} {:>17} {:>8} {:<4}"
_HEAD = ("job", "rival", "ours", "rival's", "result", "quartiles", "target", "")


@dataclass(frozen=True)
class Target:
    """What a result has to reach: at most the limit, or at least it."""

    limit: float
    at_least: bool = False

    def met(self, value: float) -> bool:
        return value >= self.limit if self.at_least else value <= self.limit


@dataclass(frozen=True)
class Row:
    """One comparison. The result and its quartiles are in `unit`; the rest is in seconds."""

    job: str
    rival: str
    result: float
    low: float
    high: float
    unit: str
    ours: float | None = None
    rivals: float | None = None
    target: Target | None = None
    note: str = ""

    @property
    def passed(self) -> bool | None:
        """Whether the target is met; None where there is none."""
        return None if self.target is None else self.target.met(self.result)


Job = Callable[[int], Iterable[Row]]


def ratio_row(
    job: str, rival: str, duel: Duel, target: Target | None = None, note: str = ""
) -> Row:
    """Time of ours over the rival's: the median of the rounds' ratios."""
    middle = (float(np.median(duel.ours)), float(np.median(duel.rival)))
    return Row(job, rival, *_quartiles(duel.ratios), "x", *middle, target, note)


def speedup_row(
    job: str, rival: str, duel: Duel, target: Target | None = None, note: str = ""
) -> Row:
    """How many times faster ours is: the median of the rounds' inverse ratios."""
    middle = (float(np.median(duel.ours)), float(np.median(duel.rival)))
    return Row(job, rival, *_quartiles(1 / duel.ratios), "x faster", *middle, target, note)


def absolute_row(
    job: str, values: FloatArray, unit: str, target: Target | None = None, note: str = ""
) -> Row:
    """A number that is compared with nothing but its target: the median of its repeats."""
    return Row(job, "", *_quartiles(values), unit, target=target, note=note)


def missing_row(job: str, rival: str, package: str) -> Row:
    """A rival that is not here."""
    nan = float("nan")
    return Row(job, rival, nan, nan, nan, "x", note=f"skipped: {package} is not installed")


def run(jobs: Iterable[Job], rounds: int) -> list[Row]:
    """Run the jobs one after the other and print each row as it comes."""
    print(f"{machine()}; {_versions()}")
    print(f"one thread, processor time, {rounds} rounds; result = median of the rounds\n")
    print(_LAYOUT.format(*_HEAD).rstrip())
    rows: list[Row] = []
    for job in jobs:
        for row in job(rounds):
            rows.append(row)
            print(_line(row), flush=True)
    met = [row.passed for row in rows if row.passed is not None]
    print(f"\n{sum(met)} of {len(met)} targets met")
    return rows


def as_json(rows: list[Row], rounds: int, *, quick: bool) -> str:
    """The rows with where and when they were measured."""
    head = {
        "machine": machine(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {name: _version(name) for name in _PACKAGES},
        "rounds": rounds,
        "quick": quick,
    }
    body = [
        {k: None if v != v else v for k, v in asdict(row).items()} | {"passed": row.passed}
        for row in rows
    ]
    return json.dumps(head | {"rows": body}, indent=2) + "\n"


def machine() -> str:
    """Processor, cores, system and Python."""
    name = platform.processor() or platform.machine()
    return (
        f"{name}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
    )


def _versions() -> str:
    return ", ".join(f"{name} {_version(name) or 'absent'}" for name in _PACKAGES)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _quartiles(values: FloatArray) -> tuple[float, float, float]:
    """Median, lower and upper quartile."""
    low, middle, high = (float(q) for q in np.quantile(values, [0.25, 0.5, 0.75]))
    return middle, low, high


def _line(row: Row) -> str:
    verdict = {None: "", True: "pass", False: "FAIL"}[row.passed]
    target = ""
    if row.target is not None:
        target = f"{'≥' if row.target.at_least else '≤'} {row.target.limit:g}"
    absent = row.result != row.result
    cells = (
        row.job,
        row.rival,
        _time(row.ours),
        _time(row.rivals),
        "" if absent else f"{_number(row.result)} {row.unit}",
        "" if absent else f"{_number(row.low)} … {_number(row.high)}",
        target,
        verdict,
    )
    line = _LAYOUT.format(*cells).rstrip()
    return f"{line}\n    {row.note}" if row.note else line


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _time(seconds: float | None) -> str:
    if seconds is None:
        return ""
    for size, unit in ((1.0, "s"), (1e-3, "ms")):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} µs"
