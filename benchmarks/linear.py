"""Linear learners: leave-one-out, norm ball, large tables, tabular peers, and the import."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from sklearn.linear_model import LinearRegression, Ridge, RidgeCV

from benchmarks import rivals, tabular
from benchmarks.report import Job, Row, Target, absolute_row, ratio_row, speedup_row
from benchmarks.timing import Duel, FloatArray, duel, extra_memory, fresh_process
from pnml import NormBallRegressor, PNMLRegressor
from pnml.core import leave_one_out
from pnml.core.geometry.spectrum import Spectrum
from pnml.core.statistic.factor import Factor


@dataclass(frozen=True)
class Sizes:
    """How large the jobs are. Targets hold at full size only."""

    path: tuple[int, int, int]  # rows, features, penalties
    timed: tuple[int, int]  # folds and penalties of it that the slow rivals are timed on
    ball: tuple[int, int, int]  # training rows, features, new rows
    large: tuple[int, int]
    chunk: int
    table: tuple[int, int]
    processes: int
    full: bool

    def target(self, limit: float, *, at_least: bool = False) -> Target | None:
        return Target(limit, at_least) if self.full else None


FULL = Sizes(
    path=(1000, 50, 100),
    timed=(40, 3),
    ball=(100, 200, 1000),
    large=(1_000_000, 50),
    chunk=20_000,
    table=(10_000, 20),
    processes=5,
    full=True,
)
QUICK = Sizes(
    path=(200, 10, 20),
    timed=(5, 2),
    ball=(10, 20, 50),
    large=(20_000, 20),
    chunk=5_000,
    table=(1_000, 10),
    processes=1,
    full=False,
)


def jobs(*, quick: bool) -> list[Job]:
    """All comparisons of this suite."""
    sizes = QUICK if quick else FULL
    rows, features = sizes.table
    return [
        partial(leave_one_out_path, sizes),
        partial(norm_ball, sizes),
        partial(fit_in_memory, sizes),
        partial(fit_in_chunks, sizes),
        partial(regret_of_many, sizes),
        partial(tabular.peers, rows, features),
        partial(import_time, sizes),
    ]


def leave_one_out_path(sizes: Sizes, rounds: int) -> Iterator[Row]:
    """Four learners on a whole path of penalties."""
    n, d, penalties = sizes.path
    folds, few = sizes.timed
    X, y = table(n, d)
    alphas = np.geomspace(1e-3, 1e3, penalties)
    job = f"leave-one-out, 4 learners, {n}x{d}, {penalties} λ"

    def ours() -> object:
        spectrum = Spectrum.of_factor(Factor.of(X, y), intercept=True, unit_columns=False)
        return leave_one_out.all_learners(spectrum, X, y, alphas)

    peer = duel(ours, lambda: RidgeCV(alphas=alphas).fit(X, y), rounds)
    yield ratio_row(job, "RidgeCV, 1 learner", peer, sizes.target(0.5))

    some = alphas[:: penalties // few][:few]
    part = n * penalties / (folds * few)
    note = f"extrapolated from {folds} folds at {few} λ"
    naive = _scaled(duel(ours, lambda: rivals.refits(X, y, some, folds), rounds), part)
    yield speedup_row(job, "a refit per fold", naive, sizes.target(3000, at_least=True), note)
    loop = _scaled(duel(ours, lambda: rivals.downdates(X, y, some, folds), rounds), part)
    yield speedup_row(job, "a downdate per fold", loop, None, note)
    at_once = duel(ours, lambda: rivals.downdates_at_once(X, y, alphas), rounds)
    yield speedup_row(job, "downdates of all folds at once", at_once)


def norm_ball(sizes: Sizes, rounds: int) -> Iterator[Row]:
    """Exact regret with more features than rows."""
    n, d, new = sizes.ball
    X, y = table(n, d)
    model = NormBallRegressor(noise_variance=0.01).fit(X, y)
    fresh, _ = table(new, d, seed=1)
    job = f"norm-ball regret, {n}x{d}, {new} rows"
    brute = duel(
        lambda: model.regret(fresh),
        lambda: rivals.norm_ball_regret(X, y, fresh[0], 0.01),
        rounds,
    )
    per_row = Duel(brute.ours / new, brute.rival)
    yield absolute_row(job, 1e3 * per_row.ours, "ms a row", sizes.target(0.2))
    yield speedup_row(f"{job}, per row", "quadrature over refits", per_row)


def fit_in_memory(sizes: Sizes, rounds: int) -> Iterator[Row]:
    """Least squares of a large table."""
    X, y = table(*sizes.large)
    fits = duel(
        lambda: PNMLRegressor().fit(X, y),
        lambda: LinearRegression().fit(X, y),
        rounds,
    )
    yield ratio_row(_large("fit", X), "LinearRegression().fit", fits, sizes.target(0.8))


def fit_in_chunks(sizes: Sizes, rounds: int) -> Iterator[Row]:
    """The same from a stream, to the coefficients."""
    X, y = table(*sizes.large)
    parts = [slice(start, start + sizes.chunk) for start in range(0, len(X), sizes.chunk)]

    def ours() -> object:
        model = PNMLRegressor(alpha=1.0)
        for part in parts:
            model.partial_fit(X[part], y[part])
        return model.coef_

    fits = duel(ours, lambda: Ridge(solver="cholesky").fit(X, y), rounds)
    job = _large(f"partial_fit by {sizes.chunk}, coef_", X)
    yield ratio_row(job, 'Ridge(solver="cholesky").fit', fits, sizes.target(1.2))


def regret_of_many(sizes: Sizes, rounds: int) -> Iterator[Row]:
    """Regret of every row against the one matrix product it cannot do without."""
    X, y = table(*sizes.large)
    model = PNMLRegressor().fit(X[: len(X) // 10], y[: len(X) // 10])
    W = np.random.default_rng(2).normal(size=(X.shape[1], X.shape[1]))
    job, rival = _large("regret", X), "X @ W, W {}x{}".format(*W.shape)
    scores = duel(lambda: model.regret(X), lambda: X @ W, rounds)
    yield ratio_row(job, rival, scores, sizes.target(1.2))
    room = np.empty_like(X)  # half of X @ W is spent on memory that the system hands out
    scores = duel(lambda: model.regret(X), lambda: np.matmul(X, W, out=room), rounds)
    yield ratio_row(job, "X @ W into room made before", scores)
    share = extra_memory(lambda: model.regret(X)) / X.nbytes
    job = _large("extra memory of regret", X)
    yield absolute_row(job, np.array([share]), "of X", sizes.target(0.5))


def import_time(sizes: Sizes, rounds: int) -> Iterator[Row]:
    """What a new process waits for; the best of a few, the disk being shared."""
    note = f"best of {sizes.processes} fresh processes"
    first = "from {} import {}"
    ours, model, peer = (
        fresh_process(statement, sizes.processes).min(keepdims=True)
        for statement in (
            "import pnml",
            first.format("pnml", "PNMLRegressor"),
            first.format("sklearn.linear_model", "LinearRegression"),
        )
    )
    yield absolute_row("import pnml", ours, "s", sizes.target(1.0), note)
    yield ratio_row("import of PNMLRegressor", "of LinearRegression", Duel(model, peer), None, note)


@lru_cache(maxsize=2)
def table(rows: int, features: int, seed: int = 0) -> tuple[FloatArray, FloatArray]:
    """A linear problem with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features))
    y = X @ rng.normal(size=features) / np.sqrt(features) + 0.1 * rng.normal(size=rows)
    return X, y


def _large(job: str, X: FloatArray) -> str:
    return f"{job}, {len(X)}x{X.shape[1]}"


def _scaled(part: Duel, times: float) -> Duel:
    """The duel against `times` as much work of the rival."""
    return Duel(part.ours, part.rival * times)
