"""Two sentinels of `trusted`: larger diamonds than in training, and few to many training rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from pnml import PNMLRegressor, TrustedRegressor
from pnml.core.arrays import FloatArray
from pnml.metrics import interval_coverage
from pnml_experiments.framework.output import Arrays, Output
from pnml_experiments.framework.result import Row, Table, exactly, in_percent
from pnml_experiments.studies.trust_files import ORDINARY, read_table
from pnml_experiments.studies.trust_means import mean_over_tables
from pnml_experiments.studies.trust_ours import LINEAR, TRUSTED, own_code
from pnml_experiments.studies.trust_scorers import COVERAGE, LEVEL, lightgbm

_CARAT, _LARGE, _HELD = 0, 1.0, 1 / 3
_SMALL, _BIG = "carat ≤ 1", "carat > 1"
_COLUMNS, _NEW, _UNIT, _MOVED = 8, 2_000, 10.0, 2.0
_ROWS = ("ordinary", "unit", "moved")
DESIGNS: dict[str, Callable[[np.random.Generator, int], FloatArray]] = {
    "Gaussian": lambda rng, n: rng.normal(size=(n, _COLUMNS)),
    "Student, 3 degrees": lambda rng, n: rng.standard_t(3, size=(n, _COLUMNS)),
}
_DIAMONDS = (
    "Trained on two thirds of the diamonds of at most one carat; the target is the logarithm of "
    "the price. Shares in percent of the other third and of all larger diamonds."
)
_SIZES = (
    "Made rows of eight independent columns and a target that is a smooth function of four of them "
    "plus noise. Share of rows in percent that `trusted` rejects at its default level: fresh "
    "ordinary rows; rows with one cell times ten; rows with every column moved by two standard "
    "units (for Student's, two units of its scale). Intervals over repeats."
)


def diamonds_table(out: Output) -> Table:
    """Share trusted and coverage of intervals, for small and for large diamonds."""
    tables = [read_table(f"diamonds_{shift}") for shift in ("nat", "cov")]
    depends = [*(table.digest for table in tables), own_code()]
    found = out.arrays("trust-diamonds", depends, partial(_diamonds, tables))
    rows = [
        Row({"learner": learner, "rows": rows, "number": number}, ours=exactly(100 * value))
        for learner in (LINEAR, TRUSTED)
        for rows in (_SMALL, _BIG)
        for number, value in zip(("trusted", "covered"), found[f"{learner}/{rows}"], strict=True)
    ]
    return Table("Diamonds larger than those of training", tuple(rows), _DIAMONDS, 1)


def _diamonds(tables: Sequence[Any]) -> Arrays:
    """Learner and rows → share trusted, and coverage of its intervals."""
    parts = [
        part
        for table in tables
        for part in (
            table.train,
            *(table.sets[k] for k in (ORDINARY, "nat", "cov") if k in table.sets),
        )
    ]
    whole = np.unique(np.vstack([np.column_stack([part.X, part.y]) for part in parts]), axis=0)
    whole = np.random.default_rng(0).permutation(whole)
    large = whole[:, _CARAT] > _LARGE
    small = whole[~large]
    cut = int(_HELD * len(small))
    held, train = small[:cut], small[cut:]
    models: dict[str, Any] = {
        LINEAR: PNMLRegressor(alpha="loo"),
        TRUSTED: TrustedRegressor(lightgbm(), random_state=0),
    }
    found = {}
    for name, model in models.items():
        model.fit(train[:, :-1], train[:, -1])
        for rows, part in ((_SMALL, held), (_BIG, whole[large])):
            X, y = part[:, :-1], part[:, -1]
            covered = interval_coverage(y, model.predict_interval(X, COVERAGE))
            trusted = np.mean(model.trusted(X, level=LEVEL))
            found[f"{name}/{rows}"] = np.array([trusted, covered])
    return found


def sizes_table(sizes: dict[int, int], out: Output, tell: Callable[[int], None]) -> Table:
    """Shares rejected with so many training rows; `sizes` gives the repeats of each."""
    rows = []
    for design in DESIGNS:
        for n, repeats in sizes.items():
            settings = [design, str(n), str(repeats), own_code()]
            found = out.arrays("trust-sizes", settings, partial(_rejections, design, n, repeats))
            tell(1)
            rows += list(_size_rows(design, n, found["rejected"]))
    return Table("Few and many training rows", tuple(rows), _SIZES, 2)


def _size_rows(design: str, n: int, rejected: FloatArray) -> Iterator[Row]:
    for name, values in zip(_ROWS, rejected.T, strict=True):
        mean = mean_over_tables(list(values))
        labels = {"design": design, "training rows": f"{n:,}", "number": name}
        yield Row(labels, ours=None if mean is None else in_percent(mean))


def _rejections(design: str, n: int, repeats: int) -> Arrays:
    """Share of rows (repeats, kinds) that are not trusted."""
    return {"rejected": np.array([_rejected(design, n, seed) for seed in range(repeats)])}


def _rejected(design: str, n: int, seed: int) -> list[float]:
    rng = np.random.default_rng([n, seed])
    X, new = DESIGNS[design](rng, n), DESIGNS[design](rng, _NEW)
    y = np.sin(X[:, 0]) + np.tanh(X[:, 1]) + 0.5 * X[:, 2] + np.cos(X[:, 3])
    y = y + 0.3 * rng.normal(size=n)
    fitted = lightgbm().fit(X, y)
    # a verdict needs no errors of left-out rows, so no folds
    model = TrustedRegressor(fitted, prefit=True).fit(X, y)
    unit = new.copy()
    unit[np.arange(_NEW), rng.integers(_COLUMNS, size=_NEW)] *= _UNIT
    sets = (new, unit, new + _MOVED)
    return [float(np.mean(~np.asarray(model.trusted(rows, level=LEVEL)))) for rows in sets]
