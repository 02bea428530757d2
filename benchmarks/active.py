"""DIAL against literal loops, against what its layout costs, and against other criteria."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec

import numpy as np

from benchmarks.report import (
    Job,
    Row,
    Target,
    absolute_row,
    missing_row,
    ratio_row,
    speedup_row,
)
from benchmarks.timing import Duel, FloatArray, duel, extra_memory
from pnml.active import dial_scores, dial_select, dial_select_batch, linear_select

_MEGABYTE = 1e6


@dataclass(frozen=True)
class Sizes:
    """How large the jobs are. Targets hold at full size only."""

    rows: int  # candidates, and as many targets
    models: int
    classes: int
    dense: int  # rows for which all sums are held at once
    large: tuple[int, int]  # candidates and targets of a large pool
    full: bool

    def target(self, limit: float, *, at_least: bool = False) -> Target | None:
        return Target(limit, at_least) if self.full else None


FULL = Sizes(512, 100, 10, 64, (10_000, 2_000), full=True)
QUICK = Sizes(48, 10, 4, 12, (100, 50), full=False)


def jobs(*, quick: bool) -> list[Job]:
    """All comparisons of this suite."""
    sizes = QUICK if quick else FULL
    return [partial(job, sizes) for job in (loops, layout, criteria, memory, batch, linear)]


def drawn(sizes: Sizes, rows: int, seed: int, spread: float = 1.0) -> FloatArray:
    """Log-probabilities (M, rows, C) of models that agree in part."""
    rng = np.random.default_rng(seed)
    logits = 2 * rng.normal(size=(1, rows, sizes.classes))
    logits = logits + spread * rng.normal(size=(sizes.models, rows, sizes.classes))
    return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))


def _name(sizes: Sizes, rows: int) -> str:
    return f"{rows}x{rows}, C = {sizes.classes}, M = {sizes.models}"


def loops(sizes: Sizes, rounds: int) -> Iterator[Row]:
    """All scores, and the picks, against the loops of the definition and their lower limit."""
    name, rounds = _name(sizes, sizes.rows), max(2, rounds // 2)
    if find_spec("numba") is None:
        yield missing_row(f"DIAL scores, {name}", "literal loops, numba", "numba")
        return
    from benchmarks import active_rivals as rivals

    a, b = drawn(sizes, sizes.rows, 0), drawn(sizes, sizes.rows, 1)
    flat = [np.ascontiguousarray(part.transpose(1, 2, 0)) for part in (a, b)]
    times = duel(lambda: dial_scores(a, b), lambda: rivals.literal_scores(*flat), rounds)
    target = sizes.target(8.0, at_least=True)
    yield speedup_row(f"DIAL scores, {name}", "literal loops, numba", times, target)
    bare = duel(lambda: dial_scores(a, b), lambda: rivals.max_plus_scores(a, b), 2 * rounds)
    yield ratio_row(f"DIAL scores, {name}", "max-plus without winners", bare, sizes.target(3.0))
    literal = rivals.literal_scores(*flat)
    error = float(np.abs(dial_scores(a, b) - literal).max())
    yield absolute_row("largest difference of scores", np.array([error]), "", sizes.target(1e-5))
    for n in (1, 3, 16):
        picks = duel(lambda n=n: dial_select(a, b, n), lambda: rivals.literal_scores(*flat), rounds)
        expected = np.argsort(literal.max(axis=1), kind="stable")[:n]
        same = np.array_equal(dial_select(a, b, n), expected)
        target = sizes.target(40.0, at_least=True) if n == 1 else None
        note = "same picks" if same else "OTHER PICKS"
        yield speedup_row(f"exact pick of {n}, {name}", "literal loops, numba", picks, target, note)


def layout(sizes: Sizes, rounds: int) -> Iterator[Row]:
    """The published layout at a size at which it can be held, and its memory at full size."""
    if find_spec("numba") is None:
        return
    from benchmarks import active_rivals as rivals

    a, b = drawn(sizes, sizes.dense, 0), drawn(sizes, sizes.dense, 1)
    times = duel(lambda: dial_scores(a, b), lambda: rivals.dense_scores(a, b), max(2, rounds // 3))
    gigabytes = 8e-9 * sizes.models * (sizes.rows * sizes.classes) ** 2
    note = f"which would hold {gigabytes:.3g} GB at {sizes.rows}x{sizes.rows}"
    yield speedup_row(
        f"DIAL scores, {_name(sizes, sizes.dense)}", "all sums at once", times, None, note
    )


def criteria(sizes: Sizes, rounds: int) -> Iterator[Row]:
    """One pick, against criteria that know less."""
    if find_spec("numba") is None:
        return
    from benchmarks import active_rivals as rivals

    a, b = drawn(sizes, sizes.rows, 0), drawn(sizes, sizes.rows, 1)
    job = f"exact pick of 1, {_name(sizes, sizes.rows)}"
    for name, rival in (("BALD", lambda: rivals.bald(a)), ("EPIG", lambda: rivals.epig(a, b))):
        yield ratio_row(job, name, duel(lambda: dial_select(a, b), rival, max(2, rounds // 3)))


def memory(sizes: Sizes, rounds: int) -> Iterator[Row]:
    """What is held beside the log-probabilities themselves, and a large pool."""
    a, b = drawn(sizes, sizes.rows, 0), drawn(sizes, sizes.rows, 1)
    used = extra_memory(lambda: dial_scores(a, b)) / _MEGABYTE
    name = _name(sizes, sizes.rows)
    yield absolute_row(
        f"extra memory of scores, {name}", np.array([used]), "MB", sizes.target(300.0)
    )
    many, far = (drawn(sizes, rows, seed) for seed, rows in enumerate(sizes.large))
    dial_select(a, b)  # what is loaded once is loaded now
    used = extra_memory(lambda: dial_select(many, far)) / _MEGABYTE
    held = used + (many.nbytes + far.nbytes) / _MEGABYTE
    job = f"memory with inputs, {sizes.large[0]} candidates, {sizes.large[1]} targets"
    yield absolute_row(job, np.array([held]), "MB", sizes.target(1000.0))


def batch(sizes: Sizes, rounds: int) -> Iterator[Row]:
    """A batch whose members know of each other, against the best of each on its own."""
    a, b = drawn(sizes, sizes.rows, 0), drawn(sizes, sizes.rows, 1)
    times = duel(lambda: dial_select_batch(a, b, 4), lambda: dial_select(a, b, 4), 2)
    yield ratio_row(f"batch of 4, {_name(sizes, sizes.rows)}", "top 4", times)


def linear(sizes: Sizes, rounds: int) -> Iterator[Row]:
    """The row of a pool that lowers the regret of least squares most, against refits."""
    rng = np.random.default_rng(0)
    X, pool, targets = (rng.normal(size=(n, 20)) for n in (100, 20 * sizes.rows, sizes.rows))
    few = pool[:10]

    def refits() -> None:
        for z in few:
            P = np.linalg.inv(X.T @ X + np.outer(z, z) + 0.1 * np.eye(20))
            np.log1p(np.einsum("td,de,te->t", targets, P, targets)).mean()

    part = duel(
        lambda: linear_select(X, pool, targets, alpha=0.1, fit_intercept=False), refits, rounds
    )
    times = Duel(part.ours, part.rival * (len(pool) / len(few)))
    note = f"extrapolated from {len(few)} rows"
    job = f"least squares, {len(pool)} rows, {len(targets)} targets"
    yield speedup_row(job, "an inverse for each row", times, None, note)
