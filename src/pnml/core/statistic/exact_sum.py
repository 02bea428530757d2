"""Compensated sums of Grams: the last digits do not depend on the order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from pnml.core.arrays import FloatArray
from pnml.core.conditions import OF_ROWS
from pnml.core.statistic.gram import Gram, joint_mean, joint_moments, with_moments
from pnml.core.statistic.row_sample import RowSample
from pnml.errors import InputError

_NUMBERS = ("rows", "weight", "rounding", "whole")
_SLACK = 1e-6  # of the largest moment
_ROUNDING = 1e-12  # corrections are below this share of the largest moment, by far
_MOMENTS = ("x_mean", "y_mean", "xx", "xy", "yy")

Document = dict[str, Any]
Arrays = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class GramSum:
    """Exact sum of Grams: one Gram and the rounding errors of its moments. Eq. (B1).

    A Gram holds the means and second moments of rows. `high` is the rounded sum; `low_mean` and
    `low` are what rounding cut off its means and moments. Sums of a thousand Grams in any order
    then agree to the last digit or nearly so. GramSums add with +, so that many workers can build
    them and merge them in a tree.

    >>> rng = np.random.default_rng(0)
    >>> parts = [GramSum.of(Gram.of(rng.normal(size=(9, 2)))) for _ in range(100)]
    >>> forth, back = merged(parts).gram(), merged(parts[::-1]).gram()
    >>> bool(np.allclose(forth.xx, back.xx, rtol=1e-15, atol=0))
    True
    """

    high: Gram
    low_mean: Annotated[FloatArray, "d+k", OF_ROWS]  # correction of the means
    low: Annotated[FloatArray, "d+k d+k"]  # correction of the moments

    @classmethod
    def of(cls, gram: Gram) -> GramSum:
        """A GramSum that holds one Gram; its corrections for rounding are 0."""
        m = len(gram.x_mean) + len(gram.y_mean)
        return cls(gram, np.zeros(m), np.zeros((m, m)))

    @classmethod
    def empty(cls, features: int, targets: int, keep: int | None = None) -> GramSum:
        """A GramSum without rows, to which rows of so many features and targets can be added.

        `keep` is the most rows that its sample of rows may hold; None takes the default.
        """
        return cls.of(Gram.empty(features, targets, keep))

    @property
    def rows(self) -> int:
        """Rows counted so far."""
        return self.high.rows

    def __add__(self, other: GramSum) -> GramSum:
        """The GramSum of the rows of both operands. Eqs. (G2) and (B1)."""
        a, b = self.high, other.high
        if not b.rows:
            return self
        if not a.rows:
            return replace(other, high=replace(b, sample=a.sample + b.sample))
        a.check_width(b, "add")
        weight = a.weight + b.weight
        share = b.weight / weight
        first = joint_mean(a)
        step = (joint_mean(b) - first) + (other.low_mean - self.low_mean)
        mean, cut_mean = two_sum(first, share * step)
        mean, cut_mean = two_sum(mean, cut_mean + self.low_mean)
        moments, cut = two_sum(joint_moments(a), joint_moments(b))
        cut += self.low + other.low
        pulled, cut_pull = two_sum(moments, (a.weight * share) * np.outer(step, step))
        moments, cut = two_sum(pulled, cut + cut_pull)
        return GramSum(with_moments(a.counts_with(b), mean, moments), cut_mean, cut)

    def plus_rows(self, X: FloatArray, Y: FloatArray, weights: FloatArray | None = None) -> GramSum:
        """The GramSum with rows X (n, d), targets Y (n, k) and weights (n,) added. Eq. (B1).

        Rows that would not stay in its sample of rows are not copied.
        """
        sample = self.high.sample
        part = Gram.of(X, Y, weights, keep=sample.size, below=sample.threshold, seen=self.rows)
        return self + GramSum.of(part)

    def widened(self, features: int) -> GramSum:
        """The GramSum of the same rows with new feature columns of 0, `features` in all."""
        d = len(self.high.x_mean)
        if features == d:
            return self
        places = [d] * (features - d)
        low = np.insert(np.insert(self.low, places, 0.0, axis=0), places, 0.0, axis=1)
        return GramSum(self.high.widened(features), np.insert(self.low_mean, places, 0.0), low)

    def gram(self) -> Gram:
        """The sum as one Gram: rounding errors are added back to the means and moments."""
        mean, moments = joint_mean(self.high) + self.low_mean, joint_moments(self.high) + self.low
        return with_moments(self.high, mean, moments)


def added(total: GramSum | None, part: GramSum | Gram) -> GramSum:
    """The GramSum of `total` and one more `part`; a `total` of None stands for no rows yet.

    >>> added(added(None, Gram.of(np.ones((2, 1)))), Gram.of(np.ones((3, 1)))).rows
    5
    """
    part = part if isinstance(part, GramSum) else GramSum.of(part)
    return part if total is None else total + part


def merged(parts: Iterable[GramSum | Gram]) -> GramSum:
    """The GramSum of all `parts`, Grams or GramSums; raises InputError if there are none."""
    total: GramSum | None = None
    for part in parts:
        total = added(total, part)
    if total is None:
        raise InputError("There are no statistics to merge; give at least one.")
    return total


def state_of(total: GramSum) -> tuple[Document, Arrays]:
    """The GramSum as a dict of plain numbers for JSON and a dict of arrays, to be saved."""
    high, sample = total.high, total.high.sample
    document = {name: getattr(high, name) for name in _NUMBERS}
    document |= {"size": sample.size, "bound": sample.bound}
    arrays = {name: getattr(high, name) for name in _MOMENTS}
    arrays |= {} if high.lost is None else {"lost": high.lost}
    return document, arrays | {
        "keys": sample.keys,
        "sampled": sample.rows,
        "low_mean": total.low_mean,
        "low": total.low,
    }


def _are_sums_of_products(moments: FloatArray) -> bool:
    """Whether no moment S_ij is far larger than √(S_ii S_jj), as sums of products never are.

    A factor of two, and a millionth of the largest S_ii, are left for rounding.
    """
    squares = np.diagonal(moments)
    if not len(squares):
        return True
    if squares.min() < -_SLACK * squares.max():
        return False
    roots = np.sqrt(np.maximum(squares, 0.0))
    most = 2 * roots[:, None] * roots + _SLACK * squares.max() + np.finfo(float).tiny
    return bool((np.abs(moments) <= most).all())


def sum_of(document: Document, arrays: Arrays) -> GramSum:
    """The GramSum that `state_of` gave as a dict of numbers and a dict of arrays.

    Raises InputError if its sample of rows could hold no row, its moments are no sums of products,
    or its corrections are larger than rounding errors can be.
    """
    if document["size"] < 1:
        raise InputError(f"its sample keeps {document['size']} rows, but a sum keeps at least 1")
    sample = RowSample(arrays["keys"], arrays["sampled"], document["size"], document["bound"])
    numbers: dict[str, Any] = {name: document[name] for name in _NUMBERS}
    moments = {name: arrays[name] for name in _MOMENTS}
    high = Gram(**(numbers | moments), sample=sample, lost=arrays.get("lost"))
    joint = joint_moments(high)
    if not _are_sums_of_products(joint):
        raise InputError("its moments are no sums of products of rows")
    largest = np.abs(joint).max(initial=0.0)
    if np.abs(arrays["low"]).max(initial=0.0) > _ROUNDING * largest:
        raise InputError("its corrections are larger than the rounding of its sums")
    return GramSum(high, arrays["low_mean"], arrays["low"])


def two_sum(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The rounded sum a + b and its rounding error, elementwise; together they are exact. Eq. (B1).

    >>> two_sum(np.array([1.0]), np.array([1e-20]))
    (array([1.]), array([1.e-20]))
    """
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)
