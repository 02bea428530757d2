"""Monotone maps of labels, read off a fitted transformer of scikit-learn."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from sklearn.base import BaseEstimator

from pnml.core.arrays import FloatArray
from pnml.core.conditions import NOT_NAN
from pnml.estimators.label_slopes import log_slope, one_column

_CLOSE = 1e-6  # of the spread: how near a label must come back, and which gaps are looked at
_FAR = 1e12  # an end so many times beyond the training labels is none
_TINY = 1e-300
_POINTS, _ROUNDS = 200, 150  # of the search for an end: enough to come within 1e-308 of 0

Ends = tuple[float, float]  # a transformed label and its label


@dataclass(frozen=True)
class LabelRange:
    """Direction of a monotone transform of labels, and the labels between which it is defined."""

    increasing: bool  # whether larger labels have larger transformed labels
    low: Annotated[float, NOT_NAN]  # smallest label; −inf where there is none
    high: Annotated[float, NOT_NAN]  # largest label; inf where there is none
    z_low: Annotated[float, NOT_NAN]  # smallest transformed label that has a label
    z_high: Annotated[float, NOT_NAN]

    @classmethod
    def of(cls, transformer: BaseEstimator, y: FloatArray) -> LabelRange | None:
        """The range of a fitted transformer, followed outwards from the training labels y.

        None if on these labels it is not strictly monotone or its inverse does not lead back.
        """
        labels = np.unique(np.asarray(y, dtype=float))
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the search leaves the domain of the transform
            z = one_column(transformer.transform, labels)
            direction = _direction(labels, z)
            if direction == 0 or not _comes_back(transformer, labels, z):
                return None
            ends = [_followed(transformer, labels, z, side) for side in (-1, 1)]
        (z_low, at_low), (z_high, at_high) = ends
        low, high = (at_low, at_high) if direction > 0 else (at_high, at_low)
        return cls(direction > 0, low, high, z_low, z_high)


@dataclass(frozen=True)
class LabelScale:
    """Map from labels to transformed labels and back, by a fitted monotone transformer."""

    transformer: BaseEstimator
    range: LabelRange

    @property
    def increasing(self) -> bool:
        """Whether larger labels have larger transformed labels."""
        return self.range.increasing

    @property
    def ends(self) -> tuple[float, float]:
        """Smallest and largest label that the transform takes; infinite where there is no end."""
        return self.range.low, self.range.high

    def forward(self, y: FloatArray) -> FloatArray:
        """Transformed labels, in the shape of y; labels beyond an end count as that end."""
        y, (low, high), z = np.asarray(y, dtype=float), self.ends, self._transformed_ends
        out = np.where(y <= low, z[0], np.where(y >= high, z[1], np.nan))
        within = (y > low) & (y < high)
        with np.errstate(all="ignore"):
            out[within] = one_column(self.transformer.transform, y[within])
        return out

    def inverse(self, z: FloatArray) -> FloatArray:
        """Labels whose transforms are z, in the shape of z, by the transformer's own inverse."""
        z, at = np.asarray(z, dtype=float), self.range
        below, above = (at.low, at.high) if at.increasing else (at.high, at.low)
        out = np.where(z <= at.z_low, below, np.where(z >= at.z_high, above, np.nan))
        within = (z > at.z_low) & (z < at.z_high)
        with np.errstate(all="ignore"):
            out[within] = one_column(self.transformer.inverse_transform, z[within])
        return out

    def log_slope(self, y: FloatArray) -> FloatArray:
        """Log of the absolute slope of the transform at labels y; NaN at infinite labels."""
        y = np.asarray(y, dtype=float)
        out = np.full(y.shape, np.nan)
        finite = np.isfinite(y)
        with np.errstate(all="ignore"):
            out[finite] = log_slope(self.transformer, y[finite], self.ends)
        return out

    @property
    def _transformed_ends(self) -> tuple[float, float]:
        at = self.range
        return (at.z_low, at.z_high) if at.increasing else (at.z_high, at.z_low)


def _direction(labels: FloatArray, z: FloatArray) -> int:
    """1 for a transform that rises with the sorted labels, −1 for one that falls, else 0."""
    gaps, rises = np.diff(labels), np.diff(z)
    rises = rises[gaps > _CLOSE * (labels[-1] - labels[0])]  # smaller gaps may round to nothing
    if not len(rises) or not np.all(np.isfinite(z)):
        return 0
    return 1 if np.all(rises > 0) else -1 if np.all(rises < 0) else 0


def _comes_back(transformer: BaseEstimator, labels: FloatArray, z: FloatArray) -> bool:
    off = np.abs(one_column(transformer.inverse_transform, z) - labels)
    return bool(np.all(off <= _CLOSE * (np.abs(labels) + labels[-1] - labels[0])))


def _followed(transformer: BaseEstimator, labels: FloatArray, z: FloatArray, side: int) -> Ends:
    """The last transformed label on one side that leads to a label and back, and that label."""
    outmost = int(np.argmax(side * z))
    spread, last, good_label = float(np.ptp(z)), float(z[outmost]), float(labels[outmost])
    towards = 1 if outmost else -1  # where labels go, which are sorted
    path = last + side * spread * 2.0 ** np.arange(-30, 1020)
    path = path[np.isfinite(path)]
    for _ in range(_ROUNDS):
        reached = _reached(transformer, path, spread)
        onward = towards * np.diff(reached, prepend=good_label) >= 0  # NaN is not
        count = len(path) if onward.all() else int(np.argmin(onward))
        if count:
            last, good_label = float(path[count - 1]), float(reached[count - 1])
        if count == len(path) or abs(path[count] - last) <= np.finfo(float).eps * abs(last):
            break
        path = np.linspace(last, float(path[count]), _POINTS)[1:]
    at_zero = _reached(transformer, np.zeros(1), spread)[0]
    if abs(last) <= 10 * _CLOSE * spread and np.isfinite(at_zero):
        last, good_label = 0.0, float(at_zero)  # an end at 0 is exact
    last = float(one_column(transformer.transform, np.array([good_label]))[0])
    if abs(good_label) > _FAR * (np.abs(labels).max() + np.ptp(labels)):
        good_label = towards * np.inf
    return last, 0.0 if abs(good_label) < _TINY else good_label


def _reached(transformer: BaseEstimator, z: FloatArray, spread: float) -> FloatArray:
    """Labels of z, an outward path; NaN where the transform does not lead back to z."""
    labels = one_column(transformer.inverse_transform, z)
    good, back = np.isfinite(labels), np.full(len(z), np.nan)
    taken = np.flatnonzero(good)[: _taken(transformer, labels[good])]
    back[taken] = one_column(transformer.transform, labels[taken])
    return np.where(np.abs(back - z) <= _CLOSE * (spread + np.abs(z)), labels, np.nan)


def _taken(transformer: BaseEstimator, labels: FloatArray) -> int:
    """How many of the first labels the transformer takes; Box–Cox raises at 0."""
    taken, refused = 0, len(labels) + 1
    at = len(labels)
    while taken + 1 < refused:
        try:
            one_column(transformer.transform, labels[:at])
            taken = at
        except ValueError:
            refused = at
        at = (taken + refused) // 2
    return taken
