"""Which scale the normalised features take before the head: chosen from training rows alone.

Classes play the unknown: the rows of some are left out of the geometry and their outputs out of
the head, and the scale is the one whose regrets tell them best from the rows that stayed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh
from scipy.stats import rankdata

from pnml.core import softmax
from pnml.core.arrays import FloatArray
from pnml.nn.feature_geometry import whitening

# Classes are left out one by one; more than this many, in this many groups.
_GROUPS = 10
# Scales looked at: the typical norm, and halvings of it in steps of √2 down to 1/64.
_HALVINGS = np.arange(13) / 2
# A geometry of the sample has at most one direction for this many rows.
_ROWS_PER_DIRECTION = 8
# Rows times classes that are judged for one scale; a sample of this size tells well enough.
_NUMBERS = 2**18


def separation(unknown: FloatArray, known: FloatArray) -> float:
    """Share of pairs in which the unknown row has the larger regret; a tie counts half.

    >>> separation(np.array([2.0, 3.0]), np.array([1.0, 2.0]))
    0.875
    """
    ranks = rankdata(np.concatenate([unknown, known]))
    n, m = len(unknown), len(known)
    return float((ranks[:n].sum() - n * (n + 1) / 2) / (n * m))


def chosen_scale(
    rows: FloatArray,
    logits_at: Callable[[int, float], FloatArray],
    labels: npt.NDArray[np.intp],
    share: float,
    typical: float,
) -> float:
    """The scale that best tells left-out classes from the others. Eq. (F12).

    Parameters
    ----------
    rows : sampled rows (m, d) of unit norm
    logits_at : gives the logits (n, C) of the first n rows times a scale
    labels : the network's own label (m,) of each row
    share : penalty for each row counted, above 0
    typical : typical norm of the features, above which the scale never goes

    Returns
    -------
    The typical norm itself where fewer than three classes leave nothing to compare.
    """
    classes = logits_at(1, typical).shape[1]
    judged = min(len(rows), max(64, _NUMBERS // classes))
    folds = _folds(rows, labels, classes, judged, share)
    if not folds:
        return typical
    scales = typical * 2.0**-_HALVINGS
    quality = np.array([_quality(logits_at(judged, scale), folds) for scale in scales])
    best = int(np.argmax(quality))
    if not 0 < best < len(scales) - 1:
        return float(scales[best])
    before, here, after = quality[best - 1 : best + 2]
    bend = before - 2 * here + after
    shift = 0.5 * (before - after) / bend if bend < 0 else 0.0  # top of the parabola through them
    return float(typical * 2.0 ** -(_HALVINGS[best] + shift * _HALVINGS[1]))


@dataclass(frozen=True)
class _Fold:
    """Some classes left out: who is unknown then, and how far each row is from the others."""

    kept: npt.NDArray[np.bool_]  # (C,)  outputs of the head that stay
    unknown: npt.NDArray[np.bool_]  # (n,)  rows of the classes left out
    leverages: FloatArray  # (n,)


def _folds(
    rows: FloatArray, labels: npt.NDArray[np.intp], classes: int, judged: int, share: float
) -> list[_Fold]:
    group_of = np.arange(classes) % _GROUPS
    coordinates = _leading(rows)
    everything = coordinates.T @ coordinates
    folds = []
    for group in range(min(_GROUPS, classes)):
        kept, unknown = group_of != group, group_of[labels] == group
        here = unknown[:judged]
        if kept.sum() < 2 or here.all() or not here.any():
            continue
        gone = coordinates[unknown]
        alpha = share * float(np.sum(~unknown))
        white = coordinates[:judged] @ whitening(everything - gone.T @ gone, alpha)
        h = np.vecdot(white, white)
        np.divide(h, 1 - h, out=h, where=~here)  # these rows are left out of their own: Eq. (F6)
        folds.append(_Fold(kept, here, h))
    return folds


def _leading(rows: FloatArray) -> FloatArray:
    """Rows (m, r) along their leading directions, few enough for the rows to fill them."""
    m, d = rows.shape
    most = min(max(1, m // _ROWS_PER_DIRECTION), d)
    small = min(m, d)
    inner = rows @ rows.T if m < d else rows.T @ rows
    values, vectors = eigh(inner, subset_by_index=(small - most, small - 1))
    return vectors * np.sqrt(np.maximum(values, 0.0)) if m < d else np.asarray(rows @ vectors)


def _quality(logits: FloatArray, folds: list[_Fold]) -> float:
    """How well regrets tell unknown rows from known ones, on average over the folds."""
    found = []
    for fold in folds:
        regrets = softmax.regret(softmax.log_softmax(logits[:, fold.kept]), fold.leverages)
        found.append(separation(regrets[fold.unknown], regrets[~fold.unknown]))
    return float(np.mean(found))
