"""Leave-one-out of four learners on a whole path of penalties, from one spectrum.

Leaving a row out changes the fit by a rank-one update, so every fold has a closed form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.core.conditions import ANY_NUMBER, MAY_BE_INFINITE, NOT_NAN, NOT_NEGATIVE
from pnml.core.geometry.spectrum import Spectrum
from pnml.core.trust import DEFAULT_LEVEL, Reference
from pnml.errors import InputError

# The noise is never taken to be smaller than a thousandth of the spread of the targets. Eq. (V4).
NOISE_FLOOR = 1e-6
# Below this 1 − hat, the row alone determines a direction.
ALONE = 1e-11
# Numbers in one block of folds: those of 2**17 leave the cache and take up to twice as long.
_BLOCK_NUMBERS = 2**15


@dataclass(frozen=True)
class Folds:
    """Leave-one-out ridge fits of n rows at L penalties; most properties are (n, L). Eq. (V1).

    The fold of a row is the fit without it. Of a row of weight 1 or more one copy is left out; of
    a lighter row, all of it. Nothing is refitted: all follows from the fit to all rows.
    """

    U: FloatArray  # (n, r)  single copies of the rows in whitened coordinates, x̃V/h
    z: FloatArray  # (r,)  UᵀY
    rest: FloatArray  # (n,)  y − ȳ − Uz, what no model of the class explains
    h2: FloatArray  # (r,)
    alphas: FloatArray  # (L,)
    weights: FloatArray  # (n,)
    intercept_share: float | FloatArray  # or (n,), of a constant that not all rows share

    @cached_property
    def copies(self) -> FloatArray:
        """Copies of each row that its fold leaves out: its weight, but at most 1, (n, 1)."""
        return np.minimum(self.weights, 1.0)[:, None]

    @cached_property
    def _shrink(self) -> FloatArray:
        return self.alphas / (self.h2[:, None] + self.alphas)  # (r, L)

    @cached_property
    def _U2(self) -> FloatArray:
        return self.U * self.U

    @cached_property
    def _room(self) -> FloatArray:
        """`slack` at penalty 0, (n,); 0 for a row that the fit to all rows interpolates."""
        room = 1.0 - self.copies[:, 0] * (self.intercept_share + np.sum(self._U2, axis=1))
        return np.where(room < ALONE, 0.0, room)

    @cached_property
    def residual(self) -> FloatArray:
        """Residual y − ŷ (n, L) of the ridge fit to all rows; accurate even at small penalties."""
        rest = np.where(self._room > 0, self.rest, 0.0)
        return rest[:, None] + self.U @ (self.z[:, None] * self._shrink)

    @cached_property
    def slack(self) -> FloatArray:
        """1 − copies·hat (n, L), the share of a row's left-out residual that fitting it leaves.

        hat is the leverage of the row in the fit to all rows, copies how much its fold leaves out.
        """
        return self._room[:, None] + self.copies * (self._U2 @ self._shrink)

    @cached_property
    def left_out(self) -> FloatArray:
        """Residual (n, L) of each row under the ridge fit to the others: `residual` / `slack`.

        Where both are 0, the limit as the penalty goes to 0.
        """
        lost = self.slack == 0
        if not bool(np.any(lost)):
            return self.residual / self.slack
        with np.errstate(invalid="ignore"):  # 0/0 = NaN: a row without any others
            limit = (self.U @ (self.z / self.h2)) / (self._U2 @ (1 / self.h2))  # as alpha → 0
        return np.where(lost, limit[:, None], self.residual / np.where(lost, 1.0, self.slack))

    @cached_property
    def spread(self) -> FloatArray:
        """Luckiness term λ xᵀP²x (n, L) of each row x in the fit to all rows; λ is the penalty.

        x is centred and scaled, as the training rows X are; P = (XᵀX + λI)⁻¹.
        """
        return self._U2 @ (self._shrink * (1 - self._shrink))

    @cached_property
    def pull(self) -> FloatArray:
        """Luckiness term λ θᵀPx (n, L) of each row x in the fit to all rows; λ is the penalty.

        x is centred and scaled, as the training rows X are; P = (XᵀX + λI)⁻¹, θ the ridge fit.
        """
        return self.U @ (self.z[:, None] * self._shrink * (1 - self._shrink))

    @cached_property
    def v(self) -> FloatArray:
        """`slack`² + `spread` (n, L): noise variance over that of the luckiness prediction.

        So where a full copy of the row is left out; else that ratio is v over `widen`².
        """
        return self.slack * self.slack + self.spread

    @cached_property
    def log_K(self) -> FloatArray:
        """Log of 1 + leverage of each row among the others, (n, L): its left-out regret in nats.

        Infinite for a row that alone determines a direction.
        """
        with np.errstate(divide="ignore"):
            log_K: FloatArray = np.log(self.widen) - np.log(self.slack)
        return log_K

    @cached_property
    def widen(self) -> FloatArray | float:
        """exp(`log_K`)·`slack`, which is `slack` + hat, (n, L); 1.0 if all folds leave full copies.

        hat is the leverage of the row in the fit to all rows.
        """
        if bool(np.all(self.copies == 1.0)):
            return 1.0
        return self.slack + self.intercept_share + self._U2 @ (1 - self._shrink)


FoldBlocks = Iterable[Folds]


@dataclass(frozen=True)
class Learner:
    """Leave-one-out formulas of one learner, from Folds to arrays (rows, penalties). Eq. (V2)."""

    residual: Callable[[Folds], FloatArray]  # y − mean
    square: Callable[[Folds], FloatArray]  # residual² / ratio, ratio = variance / noise variance
    log_ratio: Callable[[Folds], FloatArray]  # log(variance / noise variance)
    regret: Callable[[Folds, float], FloatArray]  # at a noise variance, nats


def _ridge_square(folds: Folds) -> FloatArray:
    return folds.left_out**2


def _no_log_ratio(folds: Folds) -> FloatArray:
    return np.zeros_like(folds.residual)


def _no_regret(folds: Folds, noise_variance: float) -> FloatArray:
    return np.zeros_like(folds.residual)


def _left_out(folds: Folds) -> FloatArray:
    return folds.left_out


def _bayes_square(folds: Folds) -> FloatArray:
    return folds.left_out * folds.residual / folds.widen


def _bayes_log_ratio(folds: Folds) -> FloatArray:
    return folds.log_K


def _pnml_square(folds: Folds) -> FloatArray:
    return (folds.residual / folds.widen) ** 2


def _pnml_log_ratio(folds: Folds) -> FloatArray:
    return 2 * folds.log_K


def _pnml_regret(folds: Folds, noise_variance: float) -> FloatArray:
    """Regret of each row with respect to the others. Eq. (R1)."""
    return np.maximum(folds.log_K, 0.0)


def _pulled(folds: Folds) -> FloatArray:
    """Residual of the luckiness learner times v."""
    pulled = folds.residual * folds.slack + folds.widen * folds.pull
    if isinstance(folds.widen, float):
        return pulled
    return pulled + folds.residual * folds.spread * (1 - folds.copies)


def _luckiness_residual(folds: Folds) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(folds.v > 0, _pulled(folds) / folds.v, folds.left_out)


def _luckiness_square(folds: Folds) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        square = (_pulled(folds) / folds.widen) ** 2 / folds.v
    return np.where(folds.v > 0, square, 0.0)


def _luckiness_log_ratio(folds: Folds) -> FloatArray:
    with np.errstate(divide="ignore"):
        return 2 * np.log(folds.widen) - np.log(folds.v)


def _luckiness_regret(folds: Folds, noise_variance: float) -> FloatArray:
    """Relative regret of each row with respect to the others. Eq. (L3)."""
    pull = folds.pull - folds.copies * folds.left_out * folds.spread
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = np.where(folds.v > 0, pull**2 / (2 * noise_variance * folds.v), 0.0)
    return np.maximum(shift + 0.5 * _luckiness_log_ratio(folds), 0.0)


RIDGE = Learner(_left_out, _ridge_square, _no_log_ratio, _no_regret)
BAYES = Learner(_left_out, _bayes_square, _bayes_log_ratio, _no_regret)
PNML = Learner(_left_out, _pnml_square, _pnml_log_ratio, _pnml_regret)
LUCKINESS = Learner(_luckiness_residual, _luckiness_square, _luckiness_log_ratio, _luckiness_regret)


@dataclass(frozen=True)
class Path:
    """Mean leave-one-out log-loss at each of p penalties, with the noise variance taken there."""

    alphas: Annotated[FloatArray, "p", MAY_BE_INFINITE]
    noise_variance: Annotated[FloatArray, "p", ANY_NUMBER]
    log_loss: Annotated[FloatArray, "p", ANY_NUMBER]  # mean over rows, nats

    def best(self) -> int:
        """Index of the penalty with the smallest leave-one-out log-loss."""
        return int(np.argmin(self.log_loss))

    def cautious(self, standard_error: float) -> int:
        """Index of the largest penalty with a loss within `standard_error` of the least. Eq. (V3).

        Raises InputError where losses are NaN.
        """
        good = np.flatnonzero(self.log_loss <= self.log_loss.min() + standard_error)
        if not len(good):
            raise InputError(
                "The leave-one-out loss is not a number, since the sums of the training rows leave "
                "the range of floating-point numbers; rescale the columns, and fit again."
            )
        return int(good[np.argmax(self.alphas[good])])


def pooled(
    blocks: FoldBlocks, learner: Learner, noise_variance: float | None, floor: float
) -> Path:
    """Path of one learner: mean leave-one-out log-loss of all rows at each penalty. Eq. (V2).

    `blocks` are the Folds of some rows each, at the same penalties. Where `noise_variance` is None
    it is the one of least mean loss at each penalty, but at least `floor`. The best one of each row
    alone would be no estimate: most of those sit at the ends of the grid.
    """
    alphas, weight, squares, logs = np.zeros(0), 0.0, np.zeros(()), np.zeros(())
    for folds in blocks:
        alphas, weight = folds.alphas, weight + float(folds.weights.sum())
        squares = squares + folds.weights @ learner.square(folds)
        logs = logs + folds.weights @ learner.log_ratio(folds)
    square = squares / weight
    noise = np.maximum(square, floor) if noise_variance is None else noise_variance + 0 * square
    loss = 0.5 * (np.log(2 * np.pi * noise) + logs / weight + square / noise)
    return Path(alphas, noise, loss)


@dataclass(frozen=True)
class LeaveOneOut:
    """Leave-one-out results of the training rows. All per-row arrays are (n,)."""

    residuals: Annotated[FloatArray, "n", ANY_NUMBER]  # y − prediction without the row
    sds: Annotated[FloatArray, "n", ANY_NUMBER]  # standard deviation of that prediction
    regrets: Annotated[FloatArray, "n", NOT_NAN]  # nats
    log_losses: Annotated[FloatArray, "n", ANY_NUMBER]  # nats
    weights: Annotated[FloatArray, "n", NOT_NEGATIVE]
    path: Path | None = None  # where the penalty was chosen

    @property
    def log_loss(self) -> float:
        """Mean log-loss over the rows, in nats; NaN where no row was left out."""
        weight = float(self.weights.sum())
        return float(self.weights @ self.log_losses) / weight if weight > 0 else float("nan")

    @property
    def standard_error(self) -> float:
        """Standard error of the mean log-loss over the rows, in nats; NaN without rows."""
        if not self.weights.sum() > 0:
            return float("nan")
        with np.errstate(invalid="ignore"):
            spread = np.average((self.log_losses - self.log_loss) ** 2, weights=self.weights)
        return float(np.sqrt(spread / self.weights.sum()))

    @property
    def reference(self) -> Reference:
        """Left-out regrets of the training rows, with which those of new rows are compared."""
        return Reference(self.regrets, self.weights)

    def threshold(self, level: float = DEFAULT_LEVEL) -> float:
        """Quantile `level` of the finite left-out regrets, in nats; −inf where none is finite."""
        return self.reference.thresholds(level).regret


def leave_one_out(
    blocks: FoldBlocks, learner: Learner, noise_variance: float, path: Path | None = None
) -> LeaveOneOut:
    """Leave-one-out results of all rows by one learner, at one penalty and noise variance.

    `blocks` are the Folds of some rows each, at this penalty alone; `path` is only passed on.
    """
    parts = []
    for folds in blocks:
        log_variance = np.log(noise_variance) + learner.log_ratio(folds)[:, 0]
        square = learner.square(folds)[:, 0] / noise_variance
        with np.errstate(over="ignore"):
            sds = np.exp(log_variance / 2)
        parts.append(
            (
                learner.residual(folds)[:, 0],
                sds,
                learner.regret(folds, noise_variance)[:, 0],
                0.5 * (np.log(2 * np.pi) + log_variance + square),
                folds.weights,
            )
        )
    residuals, sds, regrets, losses, weights = map(np.concatenate, zip(*parts, strict=True))
    return LeaveOneOut(residuals, sds, regrets, losses, weights, path)


def folds_of(
    spectrum: Spectrum, X: FloatArray, y: FloatArray, weights: FloatArray, alphas: FloatArray
) -> FoldBlocks:
    """Leave-one-out Folds of training rows, at penalties `alphas` (L,), in blocks of some rows.

    X (n, d) are rows, y (n,) their labels, `weights` (n,) their copies; `spectrum` is that of all
    training rows. Blocks bound the memory.
    """
    step = max(64, _BLOCK_NUMBERS // max(len(alphas), X.shape[1]))
    h, z = np.sqrt(spectrum.h2), spectrum.z[:, 0]
    for start in range(0, len(X), step):
        part = slice(start, start + step)
        U = spectrum.components(np.asarray(X[part], dtype=float)) / h
        rest = y[part] - spectrum.y_mean[0] - U @ z
        yield Folds(U, z, rest, spectrum.h2, alphas, weights[part], spectrum.intercept_share)


def all_learners(
    spectrum: Spectrum,
    X: FloatArray,
    y: FloatArray,
    alphas: FloatArray,
    weights: FloatArray | None = None,
) -> dict[str, Path]:
    """Leave-one-out Path of each learner, by name: "ridge", "bayes", "pnml" and "luckiness".

    All for the same training rows X (n, d), labels y (n,), penalties `alphas` (L,) and copies
    `weights` (n,), 1 by default; each with the noise variance that is best at each penalty.
    """
    w = np.ones(len(X)) if weights is None else weights
    blocks = list(folds_of(spectrum, X, y, w, alphas))
    floor = NOISE_FLOOR * float(np.average((y - np.average(y, weights=w)) ** 2, weights=w))
    learners = {"ridge": RIDGE, "bayes": BAYES, "pnml": PNML, "luckiness": LUCKINESS}
    return {name: pooled(blocks, learner, None, floor) for name, learner in learners.items()}
