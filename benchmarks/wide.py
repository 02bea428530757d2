"""Rows of twenty thousand features, made piece by piece: projected as they come, and exactly."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.timing import FloatArray
from pnml import PNMLRegressor
from pnml.core.geometry.random_projection import effective_dimension

_PIECE = 250  # rows
_FACTORS = 60
_NEW = 100


@dataclass(frozen=True)
class Wide:
    """A table with few directions that matter among many features, and a little noise in all."""

    rows: int = 3000
    columns: int = 20_000
    size: int = 1000  # features after the projection
    alpha: float = 10.0
    noise: float = 0.003

    def pieces(self) -> Iterator[FloatArray]:
        """Training rows, a few at a time; always the same."""
        factors = self._factors()
        for seed in range(-(-self.rows // _PIECE)):
            rng = np.random.default_rng(seed)
            n = min(_PIECE, self.rows - seed * _PIECE)
            near = rng.normal(size=(n, _FACTORS)) @ factors
            yield near + self.noise * rng.standard_normal(size=(n, self.columns))

    def new(self) -> FloatArray:
        """Rows like those, rows three times as large, and rows of another kind."""
        rng, factors = np.random.default_rng(10**6), self._factors()
        like = rng.normal(size=(_NEW, _FACTORS)) @ factors
        strange = rng.normal(size=(_NEW, self.columns)) / np.sqrt(self.columns)
        return np.vstack([like, 3 * like, 3 * strange])

    def projection(self) -> FloatArray:
        """Independent normal numbers (k, d) of variance 1/k. Eq. (K8)."""
        rng = np.random.default_rng(10**7)
        R: FloatArray = rng.standard_normal(size=(self.size, self.columns)) / np.sqrt(self.size)
        return R

    def _factors(self) -> FloatArray:
        rng = np.random.default_rng(10**8)
        sizes = np.arange(1.0, _FACTORS + 1) ** -1.0 / np.sqrt(self.columns)
        found: FloatArray = rng.normal(size=(_FACTORS, self.columns)) * sizes[:, None]
        return found


WIDE = Wide()


def report(made: Wide) -> None:
    """Learn from projected rows, and print regrets, processor seconds and peak memory."""
    start = time.process_time()
    R, making = made.projection(), 0.0
    sizes = [made.size // 4, made.size]
    models = {k: PNMLRegressor(alpha=made.alpha, noise_variance=1.0, fit_intercept=False)
              for k in sizes}  # fmt: skip
    pieces, begun = made.pieces(), time.process_time()
    for X in pieces:
        making += time.process_time() - begun
        Z = X @ R.T
        for k, model in models.items():
            model.partial_fit(_first(Z, k), Z[:, 0])
        begun = time.process_time()
    seconds = time.process_time() - start
    new = made.new() @ R.T
    regrets = {k: model.regret(_first(new, k)).tolist() for k, model in models.items()}
    peak = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    held = 1024 * int(peak[1]) if peak else 0
    print(json.dumps({"regrets": regrets, "seconds": seconds, "making": making, "peak": held}))


def _first(Z: FloatArray, k: int) -> FloatArray:
    """The projection to the first k of all directions."""
    found: FloatArray = Z[:, :k] * np.sqrt(Z.shape[1] / k)
    return found


def exact_regrets(made: Wide) -> tuple[FloatArray, float]:
    """Regrets of the new rows with all features, and the effective dimension. Eq. (K6).

    There are fewer rows than features, so that inner products of rows will do.
    """
    X, new = np.vstack(list(made.pieces())), made.new()
    squares, U = np.linalg.eigh(X @ X.T)
    inner = (new @ X.T) @ U
    explained = np.sum(inner**2 / (squares + made.alpha), axis=1)
    leverage = (np.vecdot(new, new) - explained) / made.alpha
    return np.log1p(leverage), effective_dimension(np.maximum(squares, 0.0), made.alpha)
