"""Learners side by side on the UCI sets: log-loss, error, coverage, few rows and many."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pnml.estimators.regressor import PNMLRegressor
from pnml.metrics import Estimate, interval_coverage, interval_score
from pnml_experiments.framework.colours import COLOURS
from pnml_experiments.framework.experiment import Experiment, Progress, Scale, counted
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.result import Figure, Result, Row, Table
from pnml_experiments.framework.stored_files import UCI
from pnml_experiments.studies import uci_crossover, uci_shift
from pnml_experiments.studies.uci_draws import (
    INTERVAL,
    Draw,
    drawn,
    over_splits,
    sets_here,
    splits_of,
)
from pnml_experiments.studies.uci_findings import findings
from pnml_experiments.studies.uci_learners import COVERAGE, Told
from pnml_experiments.studies.uci_rivals import BAYESIAN_RIDGE, LEARNERS, OURS

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure

EXPERIMENT = Experiment(
    id="uci-benchmark",
    chapter=4,
    title="Learners side by side on the UCI sets",
    minutes=(0.8, 20.0),
    extras=("plots",),
    needs=("uci-small",),
    uses=("uci", "shift"),
    beyond=True,
)

_HARD = 0.1  # share of the test rows
_LOSS, _ERROR, _COVERED, _HARD_COVERED, _SCORE = (
    "log-loss, nats",
    "RMSE",
    "coverage",
    "coverage, highest regret",
    "interval score",
)
_MEDIAN = "interval score, median split"
MEASURES = (_LOSS, _ERROR, _COVERED, _HARD_COVERED, _SCORE)
_ABOUT = (
    "The target is in standard deviations of all training labels of the split, so that sizes can "
    f"be compared. Coverage is that of {COVERAGE:.0%} intervals; highest regret is the tenth of "
    "the test rows with the highest regret of pNML, the same rows for every learner. The interval "
    "score is width plus fines for misses, lower is better; its mean over splits can hang on one "
    "row, so the mean over sets of medians over splits stands beside."
)
_GAPS = (
    "Test log-loss less that of BayesianRidge on the same split, in nats; below 0 is better. Pairs "
    "are kept together where splits are drawn again."
)
_RAW = (
    "Log-loss with all training rows and the target in its own unit, as the literature prints "
    "it for these splits."
)

# set and rows → split by split: learner → measure → value; the target's spread under ""
Found = dict[tuple[str, str], list[dict[str, dict[str, float | None]]]]


@dataclass(frozen=True)
class Sizes:
    """Sets, splits and training rows that are looked at; None for all rows."""

    sets: tuple[str, ...]
    splits: int
    last: int  # splits that are looked at with all rows
    rows: tuple[int | None, ...]
    curve: int  # splits of the study of rows per feature
    draws: int  # of made rows
    shifts: tuple[str, ...]
    seeds: int  # of rows that are held back


SIZES = {
    "small": Sizes(tuple(UCI)[:3], 2, 2, (30, 100), 2, 1, ("wine", "fire", "fertility"), 2),
    "full": Sizes(tuple(UCI), 20, 5, (30, 100, None), 10, 20, uci_shift.SHIFTS, 5),
}


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """All learners on the published splits, rows per feature, and rows that lie elsewhere."""
    sizes = SIZES[scale]
    splits = {name: splits_of(name, sizes.splits) for name in sets_here(sizes.sets)}
    keys = list(_keys(splits, sizes))
    total = len(keys) + sum(min(number, sizes.curve) for number in splits.values())
    total += len(uci_shift.SHAPES) * sizes.draws + len(sizes.shifts) * sizes.seeds
    tell = counted(progress, total)
    found: Found = {}
    for name, rows, k in keys:
        piece = out.piece(f"{name} {_of(rows)} {k}", partial(_judged, name, rows, k))
        found.setdefault((name, _of(rows)), []).append(piece)
        tell(1)
    curve = uci_crossover.curve(splits, out, tell, sizes.curve)
    shifted = uci_shift.coverage_table(sizes.draws, out, tell)
    apart = uci_shift.shift_table(sizes.shifts, sizes.seeds, out, tell)
    tables = (_summary(found), _gap_table(found), *uci_crossover.tables(curve), shifted, apart)
    raw = (_raw(found),) if None in sizes.rows else ()
    figures = (uci_crossover.figure(curve), _coverage_figure(found))
    most = max(splits.values())
    said = (*findings(tables, found), *_remarks(sizes))
    every = tuple(_table(found, measure) for measure in MEASURES)
    return Result((*tables, *raw, *every), figures, tuple(range(most)), most, INTERVAL, said)


def _keys(splits: dict[str, int], sizes: Sizes) -> Iterator[tuple[str, int | None, int]]:
    """Sets, training rows and splits, in the order in which they are looked at."""
    for name, number in splits.items():
        for rows in sizes.rows:
            for k in range(number if rows is not None else min(number, sizes.last)):
                yield name, rows, k


def _of(rows: int | None) -> str:
    return "all" if rows is None else str(rows)


def _judged(name: str, rows: int | None, split: int) -> dict[str, dict[str, float | None]]:
    """Every learner that is installed, on one split."""
    draw = drawn(name, split, rows)
    regret = PNMLRegressor(alpha="loo").fit(draw.X, draw.y).regret(draw.new)
    hard = np.argsort(-regret, kind="stable")[: int(np.ceil(_HARD * len(regret)))]
    found: dict[str, dict[str, float | None]] = {
        learner: measured(entry.told(draw.X, draw.y, draw.new), draw, hard)
        for learner, entry in LEARNERS.items()
        if entry.installed
    }
    return found | {"": {"log spread": float(np.log(draw.spread))}}


def measured(told: Told, draw: Draw, hard: npt.NDArray[np.intp]) -> dict[str, float | None]:
    """What one learner is worth on the test rows; None where there is no finite number."""
    ends, truth = told.interval, draw.truth
    loss = np.inf if told.log_prob is None else np.log(draw.unit) - told.log_prob(truth).mean()
    error = draw.unit * np.sqrt(np.mean((truth - told.mean) ** 2))
    found = {
        _LOSS: loss,
        _ERROR: error,
        _COVERED: interval_coverage(truth, ends),
        _HARD_COVERED: interval_coverage(truth[hard], ends[hard]),
        _SCORE: draw.unit * interval_score(truth, ends, coverage=COVERAGE),
        **_widest(told),
    }
    return {key: float(value) if np.isfinite(value) else None for key, value in found.items()}


def _widest(told: Told) -> dict[str, float]:
    """Share of the widest interval in all widths, and whether its row is trusted."""
    width = np.ptp(told.interval, axis=1)
    row = int(np.argmax(width))
    trust = {} if told.trusted is None else {"widest trusted": float(told.trusted[row])}
    return {"widest share": float(width[row] / width.sum())} | trust


def _values(found: Found, name: str, rows: str, learner: str, measure: str) -> list[float] | None:
    """Value of every split; None where a learner has none."""
    each = [one.get(learner, {}).get(measure) for one in found[name, rows]]
    known = [value for value in each if value is not None]
    return known if len(known) == len(each) else None


def _names(found: Found) -> list[str]:
    return list(dict.fromkeys(name for name, _ in found))


def _rows_of(found: Found) -> list[str]:
    return list(dict.fromkeys(rows for _, rows in found))


def _number(found: Found, names: list[str], rows: str, learner: str, measure: str) -> Row:
    """Mean over sets and splits, or why there is none."""
    labels = {"learner": learner}
    if not LEARNERS[learner].installed:
        return Row(labels, note=f"{LEARNERS[learner].package} is not installed.")
    each = [_values(found, name, rows, learner, measure) for name in names]
    known = [values for values in each if values is not None]
    if len(known) < len(each):
        return Row(labels, note="It gives intervals, but no density; or one that is infinite.")
    return Row(labels, ours=over_splits(known), note=_capped(learner, rows))


def _capped(learner: str, rows: str) -> str:
    most = LEARNERS[learner].most
    return f"From {most:,} rows at most." if most is not None and rows == "all" else ""


def _labelled(row: Row, labels: dict[str, str]) -> Row:
    return Row(labels | dict(row.labels), ours=row.ours, note=row.note)


def _summary(found: Found) -> Table:
    rows = []
    for size in _rows_of(found):
        for measure in MEASURES:
            for learner in LEARNERS:
                row = _number(found, _names(found), size, learner, measure)
                rows.append(_labelled(row, {"rows": size, "number": measure}))
        rows += [_median(found, size, learner) for learner in LEARNERS]
    return Table("Mean over all sets", tuple(rows), _ABOUT, digits=3)


def _median(found: Found, size: str, learner: str) -> Row:
    """Interval score, the mean over sets of medians over splits."""
    each = [_values(found, name, size, learner, _SCORE) for name in _names(found)]
    known = [values for values in each if values is not None]
    labels = {"rows": size, "number": _MEDIAN, "learner": learner}
    if len(known) < len(each):
        return Row(labels, note=_number(found, _names(found), size, learner, _SCORE).note)
    return Row(labels, ours=over_splits(known, np.median), note=_capped(learner, size))


def _table(found: Found, measure: str) -> Table:
    rows = []
    for name, size in found:
        for learner in LEARNERS:
            row = _number(found, [name], size, learner, measure)
            if row.ours is not None:
                rows.append(_labelled(row, {"set": name, "rows": size}))
    title = measure[0].upper() + measure[1:]
    return Table(f"{title}, set by set", tuple(rows), _ABOUT, digits=3)


def _gaps(found: Found, names: list[str], rows: str, learner: str) -> Estimate | None:
    pairs = [
        (
            _values(found, name, rows, learner, _LOSS),
            _values(found, name, rows, BAYESIAN_RIDGE, _LOSS),
        )
        for name in names
    ]
    each = [
        np.subtract(mine, rival) for mine, rival in pairs if mine is not None and rival is not None
    ]
    return over_splits(each) if len(each) == len(names) else None


def _gap_table(found: Found) -> Table:
    rows = []
    for size in _rows_of(found):
        groups = {"all": _names(found)} | {name: [name] for name in _names(found)}
        for group, names in groups.items():
            for learner in LEARNERS:
                gap = _gaps(found, names, size, learner)
                if gap is not None and learner != BAYESIAN_RIDGE:
                    labels = {"rows": size, "set": group, "learner": learner}
                    rows.append(Row(labels, ours=gap, note=_capped(learner, size)))
    return Table("Gap in log-loss to BayesianRidge", tuple(rows), _GAPS, digits=3)


def _raw(found: Found) -> Table:
    rows = []
    for name in _names(found):
        spread = np.array([one[""]["log spread"] for one in found[name, "all"]], dtype=float)
        for learner in LEARNERS:
            values = _values(found, name, "all", learner, _LOSS)
            if values is not None:
                ours = over_splits([np.array(values) + spread])
                labels = {"set": name, "learner": learner}
                rows.append(Row(labels, ours=ours, note=_capped(learner, "all")))
    return Table("Log-loss in the target's own unit, all rows", tuple(rows), _RAW, digits=2)


def _coverage_figure(found: Found) -> Figure:
    caption = (
        f"Coverage of {COVERAGE:.0%} intervals, mean over sets: all test rows (open) and the tenth "
        "of them with the highest regret (filled), with the intervals of the table; learners of "
        "this package in blue."
    )
    return Figure("uci-coverage", caption, lambda: _drawn(found))


def _drawn(found: Found) -> MatplotlibFigure:
    from matplotlib.figure import Figure as Canvas

    sizes, names = _rows_of(found), _names(found)
    shown = [learner for learner in LEARNERS if LEARNERS[learner].installed]
    canvas = Canvas(figsize=(3.4 * len(sizes) + 1.4, 4.6), layout="constrained")
    axes = canvas.subplots(1, len(sizes), sharey=True, squeeze=False)[0]
    for ax, size in zip(axes, sizes, strict=True):
        for place, learner in enumerate(shown):
            colour = COLOURS[0] if learner in OURS else COLOURS[1]
            for measure, full in ((_COVERED, "white"), (_HARD_COVERED, colour)):
                ours = _number(found, names, size, learner, measure).ours
                if ours is not None:
                    at = place - 0.15 if measure == _COVERED else place + 0.15
                    ax.plot([ours.low, ours.high], [at, at], color=colour)
                    ax.plot(ours.value, at, "o", color=colour, markerfacecolor=full)
        ax.axvline(COVERAGE, color="0.5", linewidth=1)
        ax.set(xlabel="coverage", title=f"{size} training rows")
        ax.set_yticks(range(len(shown)), shown)
    axes[0].invert_yaxis()
    return canvas


def _remarks(sizes: Sizes) -> tuple[str, ...]:
    return tuple(_said(sizes))


def _said(sizes: Sizes) -> Iterator[str]:
    yield (
        "Published splits. Of each, so many training rows are drawn, the same for all learners; "
        "columns and target are standardised on these. All learners have an unpenalised "
        "intercept. Penalty and noise of pNML, LpNML, kernel pNML, ridge and Bayes come from the "
        "same leave-one-out rule, each by its own log-loss; widths of kernels and of Fourier "
        "features too, out of four. Network features are the columns and 50 hidden units of a "
        "network trained on the same rows; its penalty and noise come from five folds that were "
        "kept from the network too, because leaving a row out of the last layer alone would "
        "flatter features that have seen its label. BayesianRidge and GPR follow their "
        "evidence. MAPIE and crepes put intervals around ridge regression with its own "
        "leave-one-out penalty, a third of the rows being held back for calibration (CV+: ten "
        "folds). NGBoost grows as many trees, at a "
        "learning rate of 0.1, as served a third of the rows held back best, and then grows them "
        "on all rows."
    )
    capped = [f"{name} ({entry.most:,})" for name, entry in LEARNERS.items() if entry.most]
    yield (
        f"At most {sizes.splits} splits of each set, {sizes.last} with all rows, {sizes.curve} for "
        f"rows per feature; {sizes.draws} draws of made rows and {sizes.seeds} of held-back ones."
    )
    yield f"Learners that are given no more than so many rows: {', '.join(capped)}."
    missing = [name for name, entry in LEARNERS.items() if not entry.installed]
    if missing:
        yield f"Not installed here, so without a number: {', '.join(missing)}."
    if "wine" in sizes.sets:
        yield (
            "240 of the 1,599 rows of wine are copies of others. Leave-one-out meets the copy of a "
            "row among the others, and in some splits the kernel then takes a penalty near 0: "
            "hence the wide intervals of kernel pNML there. Drop copies before fitting."
        )
    yield "The thesis has no such table."
