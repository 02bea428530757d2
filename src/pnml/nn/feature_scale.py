"""The scale of the normalised features before the head, chosen from training rows alone.

Some classes are left out: their rows from the geometry, their outputs from the head. The chosen
scale is the one whose regrets best separate the rows of these classes from all others: by d′ of
their logarithms where rows have regions, else by the area under the ROC curve.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh
from scipy.stats import rankdata

from pnml.core import softmax
from pnml.core.arrays import FloatArray
from pnml.nn.feature_geometry import default_penalty, whitening
from pnml.nn.feature_regions import IntArray, Regions, RegionSums

# Classes are left out one by one, or in this many groups if there are more.
_GROUPS = 10
# Of more classes than this, in fewer groups: every group scores all of them once more.
_VERY_MANY, _FEWER_GROUPS = 4096, 5
# Scales that are compared: the typical norm, in steps of √2 down to 1/64 of it.
_HALVINGS = np.arange(13) / 2
# A geometry of the sample has at most one direction for this many rows.
_ROWS_PER_DIRECTION = 8
# Rows times classes that are scored for one scale; a sample of this size is enough.
_NUMBERS = 2**18
# Stands for a regret, or a spread, of 0.
_LEAST = 1e-300


def separation(unknown: FloatArray, known: FloatArray) -> float:
    """Area under the ROC curve, from 0 to 1: how well regrets tell unknown rows from known ones.

    The probability that a row of `unknown` (n,), the regrets of left-out classes, exceeds one of
    `known` (m,); a tie counts half.

    >>> separation(np.array([2.0, 3.0]), np.array([1.0, 2.0]))
    0.875
    """
    ranks = rankdata(np.concatenate([unknown, known]))
    n, m = len(unknown), len(known)
    return float((ranks[:n].sum() - n * (n + 1) / 2) / (n * m))


def discriminability(unknown: FloatArray, known: FloatArray) -> float:
    """How well regrets tell unknown rows from known ones: d′ of their logs. Eq. (F15).

    d′ is the mean log-regret of `unknown` (n,), rows of left-out classes, minus that of `known`
    (m,), divided by the root of the mean of the two variances.

    >>> discriminability(np.exp([3.0, 5.0]), np.exp([0.0, 2.0]))
    3.0
    """
    a, b = (np.log(np.maximum(regrets, _LEAST)) for regrets in (unknown, known))
    spread = np.sqrt((a.var() + b.var()) / 2)
    return float((a.mean() - b.mean()) / max(spread, _LEAST))


def scored_rows(rows: int, classes: int) -> int:
    """Number of sampled rows to score when the scale of features is chosen.

    `rows` is the size of the sample and `classes` the number of outputs of the head: with more
    classes fewer rows are scored, but at least 64 if there are as many.
    """
    return min(rows, max(64, _NUMBERS // classes))


def chosen_scale(
    rows: FloatArray,
    logits_at: Callable[[float | None], FloatArray],
    labels: IntArray,
    share: float | None,
    typical: float,
) -> float:
    """The norm of features at which regrets best tell left-out classes from others. Eq. (F12).

    Parameters
    ----------
    rows : sampled training rows (m, w): features of unit norm, then the log of their norm if rows
        are grouped in regions by predicted class
    logits_at : gives the logits (n, C) of the first n rows, with their features scaled to a norm;
        None leaves the norm as it is
    labels : the class (m,) that the network predicts for each row
    share : ridge penalty divided by the number of rows, above 0; None if rows have regions,
        Eq. (F15)
    typical : typical norm of the features, an upper bound of the scale

    Returns
    -------
    The scale; the typical norm itself if there are fewer than three classes to compare.
    """
    if share is None:
        folds = _region_folds(rows, labels, logits_at(None))
    else:
        scored, classes = logits_at(None).shape
        folds = _folds(rows, labels, classes, scored, share)
    if not folds:
        return typical
    criterion = discriminability if share is None else separation
    scales = typical * 2.0**-_HALVINGS
    quality = np.array([_quality(logits_at(scale), folds, criterion) for scale in scales])
    best = int(np.argmax(quality))
    if not 0 < best < len(scales) - 1:
        return float(scales[best])
    before, here, after = quality[best - 1 : best + 2]
    bend = before - 2 * here + after
    # top of the parabola through the three
    shift = 0.5 * (before - after) / bend if bend < 0 else 0.0
    return float(typical * 2.0 ** -(_HALVINGS[best] + shift * _HALVINGS[1]))


@dataclass(frozen=True)
class _Fold:
    """Some classes left out: which rows are unknown then, and the leverage of every row."""

    kept: npt.NDArray[np.bool_]  # (C,)  outputs of the head that stay
    unknown: npt.NDArray[np.bool_]  # (n,)  rows of the classes left out
    leverages: FloatArray  # (n,)

    @classmethod
    def of(
        cls, kept: npt.NDArray[np.bool_], unknown: npt.NDArray[np.bool_], h: FloatArray
    ) -> _Fold:
        """A fold from leverages h (n,); known rows get h/(1 − h), that left out. Eq. (F6)."""
        np.divide(h, 1 - h, out=h, where=~unknown)
        return cls(kept, unknown, h)


def _left_out(
    labels: IntArray, classes: int, scored: int
) -> Iterator[tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]]:
    """For each group of classes left out: masks of the outputs kept (C,) and of its rows (m,)."""
    groups = _FEWER_GROUPS if classes > _VERY_MANY else min(_GROUPS, classes)
    group_of = np.arange(classes) % groups
    for group in range(groups):
        kept, unknown = group_of != group, group_of[labels] == group
        here = unknown[:scored]
        if kept.sum() >= 2 and here.any() and not here.all():
            yield kept, unknown


def _folds(
    rows: FloatArray, labels: IntArray, classes: int, scored: int, share: float
) -> list[_Fold]:
    coordinates = _leading(rows)
    everything = coordinates.T @ coordinates
    folds = []
    for kept, unknown in _left_out(labels, classes, scored):
        left_out = coordinates[unknown]
        alpha = share * float(np.sum(~unknown))
        white = coordinates[:scored] @ whitening(everything - left_out.T @ left_out, alpha)
        folds.append(_Fold.of(kept, unknown[:scored], np.vecdot(white, white)))
    return folds


def _region_folds(rows: FloatArray, labels: IntArray, own: FloatArray) -> list[_Fold]:
    """Folds whose regions are rebuilt without the classes left out. Eq. (F15).

    `own` are the network's logits (n, C) of the first n rows.
    """
    scored, classes = own.shape
    coordinates = _leading(rows - rows.mean(axis=0))
    folds = []
    for kept, unknown in _left_out(labels, classes, scored):
        sums = RegionSums(Regions.empty(classes, coordinates.shape[1]))
        known = coordinates[~unknown]
        sums.centre(known, labels[~unknown])
        regions, shifted = sums.total()
        scatter = known.T @ known - shifted.T @ shifted + regions.between()
        named = np.where(kept, own, -np.inf).argmax(axis=1)
        slots = regions.slots[named]
        root = whitening(scatter, default_penalty(scatter, len(known)))
        white = (coordinates[:scored] - regions.centres[slots]) @ root
        leverages = np.vecdot(white, white) + regions.shares[slots]
        folds.append(_Fold.of(kept, unknown[:scored], leverages))
    return folds


def _leading(rows: FloatArray) -> FloatArray:
    """Coordinates (m, r) of rows along their r leading directions, r well below m."""
    m, d = rows.shape
    most = min(max(1, m // _ROWS_PER_DIRECTION), d)
    small = min(m, d)
    inner = rows @ rows.T if m < d else rows.T @ rows
    values, vectors = eigh(inner, subset_by_index=(small - most, small - 1))
    return vectors * np.sqrt(np.maximum(values, 0.0)) if m < d else np.asarray(rows @ vectors)


def _quality(
    logits: FloatArray, folds: list[_Fold], criterion: Callable[[FloatArray, FloatArray], float]
) -> float:
    """How well regrets separate unknown rows from known ones, on average over the folds."""
    separations = []
    for fold in folds:
        known = np.where(fold.kept, logits, -np.inf)
        regrets = softmax.regret_of_logits(known, fold.leverages)
        separations.append(criterion(regrets[fold.unknown], regrets[~fold.unknown]))
    return float(np.mean(separations))
