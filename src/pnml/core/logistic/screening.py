"""Screening: labels whose genie gains a negligible probability, found without a refit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pnml.core.arrays import FloatArray
from pnml.core.logistic.preconditioner import Preconditioner, Whole
from pnml.core.logistic.training import TrainingRows

_ROWS_AT_ONCE = 512


@dataclass(frozen=True)
class Screen:
    """Bound that finds, without a refit, labels whose genie gains a negligible probability.

    `radius` is the largest change of a difference of two logits, over all training rows, by a step
    of the weights of unit length in the norm of the Hessian.
    """

    radius: float  # largest change of a difference of two logits of a training row

    @classmethod
    def of(cls, training: TrainingRows, preconditioner: Preconditioner) -> Screen:
        """The screen for training rows; it excludes no label if the whole Hessian is not known."""
        if not isinstance(preconditioner, Whole):
            return cls(np.inf)
        largest = 0.0
        for start in range(0, len(training.values), _ROWS_AT_ONCE):
            part = training.values[start : start + _ROWS_AT_ONCE]
            largest = max(largest, float(_spans(preconditioner.reach(part).matrix).max()))
        return cls(float(np.sqrt(largest)))

    def gains(self, log_prob: FloatArray, reach: FloatArray) -> FloatArray:
        """Upper bounds (T, C) on the gain in probability by the genie of each label. Eq. (H10).

        Parameters
        ----------
        log_prob : array (T, C)
            Log-probabilities of the rows before a label is added.
        reach : array (T, C, C)
            Change of each row's logits per unit of pull at them, `Reach.matrix`.
        """
        p = np.exp(log_prob)
        spans = _spans(reach)
        # The final pull of any genie is a mixture of e_y − e_c.
        pull = np.sqrt(np.maximum(spans.max(axis=2), 0.0))  # (T, C)
        toward = np.eye(p.shape[1]) - p[:, None, :]  # (T, C, C): e_y − p
        first = np.sqrt(np.maximum(np.einsum("tyc,tcd,tyd->ty", toward, reach, toward), 0.0))
        share = self.radius * pull
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            stretch = np.where(share < 1, -np.log1p(-np.minimum(share, 1.0)) / self.radius, np.inf)
            stretch = np.where(self.radius > 0, stretch, pull)
            gain = p * np.expm1(first * stretch)
        return np.asarray(np.minimum(np.nan_to_num(gain, nan=np.inf), 1 - p))


def left_out(gains: FloatArray, allowance: float) -> npt.NDArray[np.bool_]:
    """Which labels (T, C) need no refit: those of a row together gain at most `allowance`.

    `gains` (T, C) bounds the probability that the genie of each label gains.

    >>> left_out(np.array([[0.5, 1e-9, 1e-4]]), 1e-3)
    array([[False,  True,  True]])
    """
    order = np.argsort(gains, axis=1)
    total = np.cumsum(np.take_along_axis(gains, order, axis=1), axis=1)
    out = np.zeros(gains.shape, dtype=bool)
    np.put_along_axis(out, order, total <= allowance, axis=1)
    return out


def _spans(reach: FloatArray) -> FloatArray:
    """Squared lengths (T, C, C) of e_c − e_d in the metric of the reach."""
    own = np.einsum("tcc->tc", reach)
    return np.asarray(own[:, :, None] + own[:, None, :] - reach - reach.swapaxes(1, 2))
