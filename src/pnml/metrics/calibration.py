"""Calibration of class probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pnml.errors import InputError
from pnml.metrics.checks import whole

if TYPE_CHECKING:
    import numpy.typing as npt

    from pnml.core.arrays import FloatArray

# The sum of the probabilities of a row may differ from 1 by this, as it does in float16.
_SLACK = 1e-2


class ReliabilityCurve(NamedTuple):
    """Calibration curve: confidence and accuracy (k,) in k bins of rows, least confident first.

    >>> curve = reliability_curve([[0.9, 0.1], [0.6, 0.4], [0.3, 0.7]], [0, 1, 1], bins=3)
    >>> curve.rows.tolist(), round(curve.error, 3)
    ([1, 1, 1], 0.333)
    """

    confidence: FloatArray  # mean probability of the class named
    accuracy: FloatArray  # share of rows where that class is right
    rows: npt.NDArray[np.intp]  # number of rows in each bin

    @property
    def error(self) -> float:
        """Expected calibration error: mean |accuracy − confidence| over the rows. Eq. (O15)."""
        return float(self.rows @ np.abs(self.accuracy - self.confidence) / self.rows.sum())


@dataclass(frozen=True)
class Calibration:
    """Calibration scores of class probabilities; small is good, except for the accuracy.

    >>> calibration([[0.8, 0.2], [0.6, 0.4]], [0, 0], bins=1).accuracy
    1.0
    """

    nll: float  # mean log-loss in nats
    brier: float  # mean squared distance to the label's 1, summed over classes
    ece: float  # expected calibration error
    bins: int  # number of bins of the calibration error
    accuracy: float


def calibration(
    probs: npt.ArrayLike, labels: npt.ArrayLike, *, bins: int = 15, binning: str = "mass"
) -> Calibration:
    """Log-loss, Brier score and calibration error of class probabilities. Eqs. (O14), (O15).

    Arguments as in `reliability_curve`.

    Examples
    --------
    >>> scores = calibration([[0.8, 0.2], [0.8, 0.2], [0.6, 0.4]], [0, 1, 0], bins=2)
    >>> round(scores.nll, 3), round(scores.brier, 3), round(scores.ece, 3)
    (0.781, 0.56, 0.333)
    """
    p, y = _probabilities(probs, labels)
    with np.errstate(divide="ignore"):  # a label of probability 0 has infinite loss
        nll = -float(np.mean(np.log(p[np.arange(len(y)), y])))
    brier = float(np.mean(np.sum((p - np.eye(p.shape[1])[y]) ** 2, axis=1)))
    curve = reliability_curve(p, y, bins=bins, binning=binning)
    accuracy = float(curve.rows @ curve.accuracy / curve.rows.sum())
    return Calibration(nll, brier, curve.error, bins, accuracy)


def expected_calibration_error(
    probs: npt.ArrayLike, labels: npt.ArrayLike, *, bins: int = 15, binning: str = "mass"
) -> float:
    """Calibration error: mean |accuracy − confidence| of bins of rows. Eq. (O15).

    It depends on the number of bins: report both. Arguments as in `reliability_curve`.

    Examples
    --------
    >>> expected_calibration_error([[0.75, 0.25], [0.75, 0.25]], [0, 1], bins=1)
    0.25
    """
    return reliability_curve(probs, labels, bins=bins, binning=binning).error


def reliability_curve(
    probs: npt.ArrayLike, labels: npt.ArrayLike, *, bins: int = 15, binning: str = "mass"
) -> ReliabilityCurve:
    """Calibration curve: how often rows of similar confidence are right. Eq. (O15).

    Parameters
    ----------
    probs : array-like of shape (n, C)
        Probabilities of the classes; rows sum to one.
    labels : array-like of shape (n,)
        The class of each row, counted from 0.
    bins : int
        At most so many bins; rows of equal confidence share one, and empty ones are left out.
    binning : "mass" or "width"
        Bins of equally many rows, or equally wide ones between 0 and 1.

    Examples
    --------
    >>> curve = reliability_curve([[0.9, 0.1], [0.6, 0.4], [0.3, 0.7]], [0, 1, 1], bins=3)
    >>> curve.confidence.tolist(), curve.accuracy.tolist()
    ([0.6, 0.7, 0.9], [0.0, 1.0, 1.0])
    """
    p, y = _probabilities(probs, labels)
    bins = whole(bins, "bins", 1)
    confidence, right = p.max(axis=1), p.argmax(axis=1) == y
    if binning == "mass":
        first = np.arange(1, bins) * len(y) // bins  # of each bin but the lowest
        edges = np.unique(np.sort(confidence)[first])
    elif binning == "width":
        edges = np.arange(1, bins) / bins
    else:
        raise InputError(f'binning is {binning!r}, which is not known: pass "mass" or "width".')
    place = np.searchsorted(edges, confidence, side="right")
    count = np.bincount(place, minlength=len(edges) + 1)
    filled = count > 0
    total, hits = (
        np.bincount(place, weights=w, minlength=len(count))[filled] / count[filled]
        for w in (confidence, right.astype(float))
    )
    return ReliabilityCurve(total, hits, count[filled])


def _probabilities(
    probs: npt.ArrayLike, labels: npt.ArrayLike
) -> tuple[FloatArray, npt.NDArray[np.intp]]:
    p, y = np.asarray(probs, dtype=np.float64), np.asarray(labels)
    if p.ndim != 2 or not p.size:
        raise InputError(f"probs has shape {p.shape}, not (n, C): pass one row of probabilities.")
    wrong = ~((p >= 0).all(axis=1) & (np.abs(p.sum(axis=1) - 1) <= _SLACK))
    if wrong.any():
        bad = int(np.argmax(wrong))
        raise InputError(
            f"row {bad} of probs is no distribution (its sum is {p[bad].sum():.3g}): pass "
            "probabilities, not logits."
        )
    if y.shape != (len(p),):
        raise InputError(f"labels has shape {y.shape} but probs has {len(p)} rows: pass one each.")
    if not np.issubdtype(y.dtype, np.integer) or y.min() < 0 or y.max() >= p.shape[1]:
        raise InputError(
            f"labels must be whole numbers from 0 to {p.shape[1] - 1}, the columns of probs, but "
            f"they are {y.dtype} from {y.min()} to {y.max()}: pass positions of classes."
        )
    return p, y.astype(np.intp)
