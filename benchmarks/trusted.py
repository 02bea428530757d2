"""Trust in a boosted model: fitting and scoring against LightGBM's own fit and predict."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count

import numpy as np
from lightgbm import LGBMRegressor

from benchmarks.report import Job, Row, Target, absolute_row, ratio_row
from benchmarks.timing import duel
from pnml import TrustedRegressor
from pnml.core.leaves import cells, leaf_gram, leaf_leverage
from pnml.core.leaves.leaf_gram import LeafGram

_COLUMNS = 20


@dataclass(frozen=True)
class Sizes:
    """How many rows there are. Targets hold at full size only."""

    rows: int
    scored: int
    long: int
    full: bool

    def target(self, limit: float) -> Target | None:
        return Target(limit) if self.full else None


def jobs(*, quick: bool) -> list[Job]:
    """All comparisons: 100 trees of 31 leaves, 20 columns."""
    sizes = Sizes(3_000, 500, 5_000, False) if quick else Sizes(100_000, 20_000, 1_000_000, True)
    return [partial(_boosting, sizes), partial(_memory, sizes)]


def table(rows: int):
    """Normal columns, and a target that is linear in one of them and not in two others."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, _COLUMNS))
    return X, X[:, 0] + np.sin(3 * X[:, 1]) * X[:, 2] + rng.normal(size=rows)


def _boosting(sizes: Sizes, rounds: int) -> Iterator[Row]:
    X, y = table(sizes.rows)
    lightgbm = LGBMRegressor(n_jobs=1, verbose=-1)
    fitted = LGBMRegressor(n_jobs=1, verbose=-1).fit(X, y)
    name = f"{sizes.rows:,} x {_COLUMNS}"
    model = TrustedRegressor(fitted, prefit=True).fit(X, y)

    def fit() -> None:
        lightgbm.fit(X, y)
        TrustedRegressor(fitted, prefit=True).fit(X, y)

    both = duel(fit, partial(lightgbm.fit, X, y), min(rounds, 5))
    limit = 3 + 3 / float(np.median(both.rival))
    yield ratio_row(f"fit without folds, {name}", "LightGBM fit", both, sizes.target(limit))
    leaves = model.learner_.base.trust_map.leaves
    leaf, Z = leaves.leaf(X), X.copy()
    gram = duel(partial(LeafGram.of, leaves.ends, leaf, Z), partial(fitted.predict, X), 3)
    micros = 1e6 * gram.ours / sizes.rows
    yield absolute_row(f"Gram, {name}", micros, "µs a row", sizes.target(15))
    new = X[: sizes.scored]
    score, own = _scoring(model, new), partial(fitted.predict, new)
    name = f"{sizes.scored:,} x {_COLUMNS}"
    with_numba = duel(score, own, rounds)
    yield ratio_row(f"predict, regret, trusted, {name}", "predict", with_numba, sizes.target(4))
    yield absolute_row(
        f"predict, regret, trusted, {name}", 1e6 * with_numba.ours / sizes.scored, "µs a row"
    )
    with _NoLoops():
        plain = duel(score, own, 1)
    yield absolute_row(
        f"the same without numba, {name}", 1e6 * plain.ours / sizes.scored, "µs a row"
    )


def _scoring(model: TrustedRegressor, new) -> Callable[[], None]:
    """A call that scores rows which it has not scored before: leverages are remembered."""
    fresh = count(1)

    def score() -> None:
        rows = new + 1e-12 * next(fresh)
        model.predict(rows)
        model.regret(rows)
        model.trusted(rows)

    return score


class _NoLoops:
    """Leaves in numpy for a while, as where numba is not installed."""

    def __enter__(self) -> None:
        self._kept = [module.compiled for module in (cells, leaf_gram, leaf_leverage)]
        for module in (cells, leaf_gram, leaf_leverage):
            module.compiled = lambda: None

    def __exit__(self, *_) -> None:
        for module, kept in zip((cells, leaf_gram, leaf_leverage), self._kept, strict=True):
            module.compiled = kept


_LONG = """
import re, sys
from pathlib import Path
from lightgbm import LGBMRegressor
from benchmarks.trusted import table
from pnml import TrustedRegressor
X, y = table(int(sys.argv[1]))
model = TrustedRegressor(LGBMRegressor(n_jobs=1, verbose=-1), cv=2, random_state=0).fit(X, y)
model.trusted(X), model.predict_interval(X)
print(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
"""


def _memory(sizes: Sizes, rounds: int) -> Iterator[Row]:
    run = [sys.executable, "-c", _LONG, str(sizes.long)]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    peak = float(done.stdout) * 1024 / 1e9
    name = f"peak memory of fit, trusted, intervals, {sizes.long:,} x {_COLUMNS}"
    yield absolute_row(name, np.array([peak]), "GB", sizes.target(2), "the table takes 0.16 GB")
