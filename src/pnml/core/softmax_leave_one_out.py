"""Leave-one-out of a classifier."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
import numpy.typing as npt

from pnml.core import softmax
from pnml.core.arrays import FloatArray
from pnml.core.conditions import ANY_NUMBER, MAY_BE_INFINITE, NOT_NAN, NOT_NEGATIVE, SHARE
from pnml.core.geometry.spectrum import Spectrum
from pnml.core.leave_one_out import Folds
from pnml.core.trust import DEFAULT_LEVEL, Reference


@dataclass(frozen=True)
class LabelsLeftOut:
    """Leave-one-out results of a classifier: its n training rows, as if each were new. Eq. (F6)."""

    # Without a penalty, infinite for a row that alone determines a direction.
    leverages: Annotated[FloatArray, "n", MAY_BE_INFINITE]
    regrets: Annotated[FloatArray, "n", NOT_NAN]  # nats
    log_losses: Annotated[
        FloatArray, "n", ANY_NUMBER
    ]  # nats; of the pNML probability of the row's own label
    weights: Annotated[FloatArray, "n", NOT_NEGATIVE]
    # 1 where the most probable label is another than the row's own; None where that is not known.
    wrong: Annotated[FloatArray, "n", SHARE] | None = field(default=None, kw_only=True)

    @property
    def error_rate(self) -> float:
        """Share of the rows whose most probable label is wrong; NaN if `wrong` is None."""
        return (
            float("nan")
            if self.wrong is None
            else float(np.average(self.wrong, weights=self.weights))
        )

    @property
    def log_loss(self) -> float:
        """Mean log-loss over the rows, in nats."""
        losses = np.where(self.weights > 0, self.log_losses, 0.0)  # an infinite one may not count
        return float(self.weights @ losses / self.weights.sum())

    @property
    def reference(self) -> Reference:
        """Left-out regrets and leverages, with which those of new rows are compared. Eq. (F8)."""
        return Reference(self.regrets, self.weights, self.leverages)

    def threshold(self, level: float = DEFAULT_LEVEL) -> float:
        """Quantile `level` of the left-out regrets, in nats; −inf if no row counts.

        Only rows of finite regret and leverage count.
        """
        return self.reference.thresholds(level).regret

    def leverage_threshold(self, level: float = DEFAULT_LEVEL) -> float:
        """Largest leverage at which a new row is trusted: a quantile of those of training rows.

        It is the quantile `level` (above 0, at most 1) of `leverages`, each computed with its row
        left out. Only rows of finite regret and leverage and of weight above 0 count; −inf, so that
        no row is trusted, if there are none. Eq. (F8).
        """
        return self.reference.thresholds(level).leverage


def leave_labels_out(
    log_p: FloatArray,
    labels: npt.NDArray[np.intp],
    leverages: FloatArray,
    weights: FloatArray,
) -> LabelsLeftOut:
    """Leave-one-out regrets, log-losses and errors of a classifier's n training rows.

    From its log-probabilities (n, C), the `labels` (n,) as positions of classes, the left-out
    `leverages` (n,) and the `weights` (n,), copies of each row.
    """
    dist = softmax.predictive(log_p, leverages)
    losses = -dist.log_prob[np.arange(len(labels)), labels]
    wrong = (dist.log_prob.argmax(axis=1) != labels) * 1.0
    return LabelsLeftOut(leverages, dist.regret, losses, weights, wrong=wrong)


def left_out_leverages(
    spectrum: Spectrum,
    X: FloatArray,
    weights: FloatArray,
    alpha: float,
    shares: FloatArray | None = None,
) -> FloatArray:
    """Leave-one-out leverage (n,) of each training row X (n, d) of a classifier. Eq. (F6).

    `spectrum` is that of the training rows, `weights` (n,) the copies of each, `alpha` the penalty.
    `shares` (n,) are the part of each leverage that is due to the constant, by default that of the
    intercept for all rows.
    """
    out = np.empty(len(X))
    constant = np.full(len(X), spectrum.intercept_share) if shares is None else shares
    kept = spectrum.h2 / (spectrum.h2 + alpha)
    no_target = np.zeros(len(kept))
    for part in spectrum.blocks(len(X)):
        U = spectrum.components(np.asarray(X[part], dtype=float)) / np.sqrt(spectrum.h2)
        folds = Folds(
            U,
            no_target,
            np.zeros(len(U)),
            spectrum.h2,
            np.array([alpha]),
            weights[part],
            constant[part],
        )
        hat = constant[part] + (U * U) @ kept
        with np.errstate(divide="ignore"):
            out[part] = hat / folds.slack[:, 0]
    return out
