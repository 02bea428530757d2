"""Tables of the trust study from the numbers of all files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from pnml.metrics import Estimate
from pnml_experiments.framework.result import Row, Table, exactly, in_percent
from pnml_experiments.studies.trust_class_rivals import BAGGED_ENTROPY, ENTROPY, MAX_PROBABILITY
from pnml_experiments.studies.trust_files import KINDS, ORDINARY
from pnml_experiments.studies.trust_means import Files
from pnml_experiments.studies.trust_measures import (
    ALL,
    AURC,
    AUROC,
    COVERED,
    REJECTED,
    SCORE,
    WIDTH,
)
from pnml_experiments.studies.trust_ours import (
    CELLS,
    EXPECTED,
    KERNEL,
    LINEAR,
    NOISE,
    REGRET,
    TRUSTED,
    TRUSTED_CLASSES,
)
from pnml_experiments.studies.trust_rivals import BAGGED, BAGGED_LOF, FOREST, GP, KNN, LOF
from pnml_experiments.studies.trust_rivals import MAHALANOBIS as MAHALANOBIS_DISTANCE

OWN = (TRUSTED, TRUSTED_CLASSES, REGRET, EXPECTED, LINEAR, KERNEL, CELLS, NOISE)
_PARTS = (CELLS, NOISE)
_DETECTORS = (REGRET, KNN, LOF, GP, MAHALANOBIS_DISTANCE)
_RANKERS = (EXPECTED, BAGGED, FOREST, BAGGED_LOF)
_CLASS_METHODS = (MAX_PROBABILITY, ENTROPY, BAGGED_ENTROPY)
_WORST = 10

_SUMMARY = (
    "AUROC: how well a score tells shifted rows from ordinary ones, mean over the sets of a table, "
    "then over tables. AURC: area under the risk–coverage curve of the |error| of LightGBM on "
    "ordinary and shifted rows, 0 as by the errors themselves and 1 as by chance; each kind of "
    "shift with the ordinary rows, then the mean as before; in the last column all rows of a file "
    "together."
)
_GAPS = (
    "On the same tables: AUROC of the regret less that of a rival (above 0 is better), and AURC of "
    "the expected error less that of a rival (below 0 is better)."
)
_DISTRUST = (
    "Shares of rows in percent that a method rejects. Ours: `trusted` at its default level, 99 %. "
    "LOF and isolation forest: their own verdict at default settings. kNN: beyond the 99 % "
    "quantile of training rows, each left out. Mahalanobis: beyond the 99 % quantile of a "
    "Gaussian. The others come without a rule. The worst file is the one with the largest share of "
    "ordinary rows rejected."
)
_INTERVALS = (
    "Intervals for 90 %. Widths and interval scores (width plus penalties for misses, lower is "
    "better) are in standard deviations of the training labels."
)
_INTERVAL_GAPS = (
    "TrustedRegressor less each rival on the same tables: coverage of shifted rows in points, and "
    "the logarithm of the interval score, below 0 is better."
)
_ABLATION = (
    "Cells alone: share of trees whose cell a row leaves. Leaf noise alone: mean left-out error in "
    "the leaves of a row. Linear: regret of least squares. The regret is that of cells and linear "
    "columns together, the expected error is leaf noise widened by the regret."
)
_FAILS = (
    "Sets on which the best of the rivals is furthest ahead: AUROC of the regret, and AURC of the "
    "expected error."
)


def regression_tables(files: Files, about: str) -> Iterator[Table]:
    """All tables of regression; `about` names the group of tables."""
    if not files.files:
        return
    yield Table(f"Scores, {about}", (*_summary(files),), _SUMMARY, 3)
    yield Table(f"Ours less each rival, {about}", (*_score_gaps(files),), _GAPS, 3)
    yield Table(f"AUROC by kind of shift, {about}", (*_by_kind(files, AUROC),), _kinds_about(), 3)
    yield Table(f"AURC by kind of shift, {about}", (*_by_kind(files, AURC),), _kinds_about(), 3)
    yield Table(f"False distrust, {about}", (*_distrust(files),), _DISTRUST, 1)
    yield Table(f"Intervals, {about}", (*_interval_rows(files),), _INTERVALS, 3)
    yield Table(
        f"Intervals, ours less each rival, {about}", (*_interval_gaps(files),), _INTERVAL_GAPS, 3
    )
    yield Table(f"What carries the gain, {about}", (*_ablation(files),), _ABLATION, 3)
    yield Table(f"Where it fails, {about}", (*_failures(files),), _FAILS, 3)
    yield Table(f"AUROC, table by table, {about}", (*_each(files, AUROC, _DETECTORS),), digits=3)
    yield Table(f"AURC, table by table, {about}", (*_each(files, AURC, _RANKERS),), digits=3)


def class_tables(files: Files, about: str) -> Iterator[Table]:
    """All tables of classes; the loss is whether the predicted class is wrong."""
    if not files.files:
        return
    yield Table(f"Classes, {about}", (*_summary(files),), _SUMMARY, 3)
    rows = tuple(_distrust(files))
    yield Table(f"Classes, false distrust, {about}", rows, _DISTRUST, 1)
    methods = (REGRET, EXPECTED, *_CLASS_METHODS)
    yield Table(
        f"Classes, AURC, table by table, {about}", (*_each(files, AURC, methods),), digits=3
    )


def _rows(labels: dict[str, str], numbers: dict[str, Estimate | None]) -> Iterator[Row]:
    for name, value in numbers.items():
        if value is not None:
            yield Row({**labels, "number": name}, ours=value)


def _summary(files: Files) -> Iterator[Row]:
    for method in _ours_first(files.methods(AUROC)):
        numbers = {
            AUROC: files.mean(method, AUROC),
            AURC: files.mean(method, AURC),
            "AURC, all rows": files.mean(method, AURC, [ALL]),
        }
        yield from _rows({"score": method}, numbers)


def _ours_first(methods: Iterable[str]) -> list[str]:
    shown = [method for method in methods if method not in _PARTS]
    return sorted(shown, key=lambda method: OWN.index(method) if method in OWN else len(OWN))


def _score_gaps(files: Files) -> Iterator[Row]:
    for method in _ours_first(files.methods(AUROC)):
        if method not in (REGRET, EXPECTED):
            numbers = {
                "AUROC of the regret": files.gap((REGRET, method), AUROC),
                "AURC of the expected error": files.gap((EXPECTED, method), AURC),
            }
            yield from _rows({"rival": method}, numbers)


def _kinds_about() -> str:
    said = "; ".join(f"`{kind}`: {words}" for kind, words in KINDS.items())
    return f"Kinds of shift: {said}."


def _by_kind(files: Files, measure: str) -> Iterator[Row]:
    for method in _ours_first(files.methods(measure)):
        for kind in files.kinds():
            value = files.mean(method, measure, [kind])
            if value is not None:
                yield Row({"score": method, "number": kind}, ours=value)


def _distrust(files: Files) -> Iterator[Row]:
    for method in _ours_first(files.methods(REJECTED)):
        ordinary, shifted = (files.mean(method, REJECTED, kinds) for kinds in ([ORDINARY], KINDS))
        if ordinary is None or shifted is None:
            continue
        worst, file = files.worst(method, REJECTED)
        labels = {"method": method}
        yield Row({**labels, "number": "ordinary rows"}, ours=in_percent(ordinary))
        yield Row({**labels, "number": "worst file"}, ours=exactly(100 * worst), note=f"On {file}.")
        yield Row({**labels, "number": "shifted rows"}, ours=in_percent(shifted))


def _interval_rows(files: Files) -> Iterator[Row]:
    for method in _ours_first(files.methods(COVERED)):
        numbers = {
            f"{measure}, {rows}": files.mean(method, measure, kinds)
            for measure in (COVERED, WIDTH, SCORE)
            for rows, kinds in (("ordinary", [ORDINARY]), ("shifted", list(KINDS)))
        }
        yield from _rows({"intervals": method}, numbers)


def _interval_gaps(files: Files) -> Iterator[Row]:
    for method in _ours_first(files.methods(COVERED)):
        pair = (TRUSTED, method)
        if method != TRUSTED:
            covered = files.gap(pair, COVERED)
            numbers = {
                "coverage, shifted": None if covered is None else in_percent(covered),
                "log score, ordinary": files.gap(pair, SCORE, [ORDINARY], _log),
                "log score, shifted": files.gap(pair, SCORE, KINDS, _log),
            }
            yield from _rows({"rival": method}, numbers)


def _log(value: float) -> float:
    return float(np.log(value))


def _ablation(files: Files) -> Iterator[Row]:
    for method in (CELLS, LINEAR, REGRET, NOISE, EXPECTED):
        numbers = {AUROC: files.mean(method, AUROC), AURC: files.mean(method, AURC)}
        yield from _rows({"part": method}, numbers)


def _failures(files: Files) -> Iterator[Row]:
    """Sets with the largest lead of a rival, for detection and for the ranking of errors."""
    for measure, method, sign in ((AUROC, REGRET, 1), (AURC, EXPECTED, -1)):
        rivals = [name for name in files.methods(measure) if name not in OWN]
        found = []
        for one in files.files:
            for kind in KINDS:
                mine = one.numbers.get((kind, method, measure))
                if mine is not None:
                    known = [(one.numbers[kind, name, measure], name) for name in rivals]
                    best, name = max(known, key=lambda pair: sign * pair[0])
                    found.append((sign * (mine - best), f"{one.table}, {kind}", mine, best, name))
        for _, place, mine, best, name in sorted(found)[:_WORST]:
            labels = {"measure": measure, "set": place, "best rival": name}
            yield Row({**labels, "number": "ours"}, ours=exactly(mine))
            yield Row({**labels, "number": "rival"}, ours=exactly(best))


def _each(files: Files, measure: str, methods: Iterable[str]) -> Iterator[Row]:
    for table in files.tables:
        for method in methods:
            value = files.values(method, measure).get(table)
            if value is not None:
                yield Row({"table": table, "score": method}, ours=exactly(value))
