"""Rows on their way through frozen trees: what may be missing, and which splits tell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from pnml.core import gaussian
from pnml.core.arrays import FloatArray
from pnml.core.leaves import regret as leaves
from pnml.core.leaves.partition import IntArray, Partition
from pnml.errors import InputError
from pnml.estimators.base import TrustMixin
from pnml.estimators.tree_growing import grown_on, partition_of, takes_gaps
from pnml.estimators.validation import (
    as_rows,
    as_targets,
    check_rows,
    like_input,
    refuse_extreme,
    refuse_nonfinite,
)

_LARGEST = float(np.finfo(np.float32).max)


class Leaves(Protocol):
    """What the leaves of trees remember of the training rows."""

    @property
    def weight(self) -> FloatArray:
        """Rows in every node, (m,)."""

    def leverage(self, leaf: IntArray) -> FloatArray:
        """K − 1 of rows in leaves (n, T)."""


class TreeRowsMixin(TrustMixin):
    """What classifier and regressor do alike with rows."""

    partition_: Partition
    leaves_: Leaves
    _takes_gaps: bool
    _had_gaps: npt.NDArray[np.bool_]  # (d,)  features with values missing in training

    _loo: Any
    _usual: FloatArray  # (n,)  regrets of training rows as new rows would have them

    def trusted(self, X: Any, level: float = 0.99) -> Any:
        """Whether each row's leaves hold as many rows as those of training rows.

        A row is trusted if its regret does not pass the `level` quantile of those of the training
        rows: of their leave-one-out regrets where the trees were grown on other rows. Trees grown
        on these rows have made room for each of them, and would be as full without it; there the
        regrets are those of the rows as they are. Rows that lack a value of a feature that no
        training row lacked are never trusted. Eq. (T12).
        """
        return super().trusted(X, level)

    @property
    def loo_(self) -> Any:
        """What leaving each training row out of its leaves shows. Eqs. (T8) and (T9).

        Exact for the splits as they are; trees grown on the same rows knew the row, though.
        """
        check_is_fitted(self)
        return self._loo

    def _leave_one_out(self) -> Any:
        return replace(self._loo, regrets=self._usual)

    def explain(self, X: Any) -> Any:
        """Share of each feature in the leverage of each row: (n, n_features), ≥ 0.

        Every split on the way to a leaf leaves fewer rows, and so raises the leverage
        ``K − 1 = exp(regret) − 1``; its feature answers for that. The rows sum to the leverage
        less that of a tree without splits.
        """
        X = self._checked(X)
        weight, roots = self.leaves_.weight, self.partition_.roots
        at_root = float(self.leaves_.leverage(roots[None])[0])
        falls = [self.partition_.falls(X[part], weight) for part in self._blocks(X)]
        shares = leaves.explain(np.concatenate(falls), self._leverage(X), at_root)
        return like_input(shares, X)

    def _keep(self, trees: Any, rows: FloatArray, used: npt.NDArray[np.bool_]) -> None:
        """Remember the splits, and which features lack values in rows that count."""
        self.partition_ = partition_of(trees)
        self._takes_gaps = takes_gaps(self)
        self._had_gaps = np.any(np.isnan(rows[used]), axis=0)

    def _set_usual(self, trees: Any, rows: FloatArray, used: npt.NDArray[np.bool_]) -> None:
        """Regrets to compare new ones with. Eq. (T12)."""
        known = grown_on(trees, self.partition_, rows[used])
        self._usual = self._regret(rows) if known else self._loo.regrets

    def _blocks(self, X: FloatArray) -> Iterator[slice]:
        return self.partition_.blocks(len(X))

    def _leverage(self, X: FloatArray) -> FloatArray:
        leaf = (self.partition_.leaves(X[part]) for part in self._blocks(X))
        return np.concatenate([self.leaves_.leverage(at) for at in leaf])

    def _regret(self, X: FloatArray) -> FloatArray:
        regret: FloatArray = gaussian.regret(self._leverage(X))
        return regret

    def _judged(self, X: Any, level: float) -> FloatArray:
        """Regret of rows; infinite where a value is missing that never was. Eq. (T12)."""
        X = self._checked(X)
        return np.where(self._unknown_gaps(X), np.inf, self._regret(X))

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self)
        X = check_rows(self, X)
        check_values(self, X, gaps=self._takes_gaps)
        return X

    def _unknown_gaps(self, X: FloatArray) -> npt.NDArray[np.bool_]:
        """Whether rows miss a value of a feature that no training row missed."""
        unknown: npt.NDArray[np.bool_] = np.any(np.isnan(X) & ~self._had_gaps, axis=1)
        return unknown

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = takes_gaps(self)
        return tags


def check_training_values(model: Any, X: Any, targets: int) -> FloatArray:
    """Rows (n, d) to grow trees on and count, as many as there are targets."""
    rows: FloatArray = as_rows(model, X, reset=True)
    if len(rows) != targets:
        raise InputError(
            f"X has {len(rows)} rows but y has {targets} values; pass exactly one target per row."
        )
    check_values(model, rows, gaps=takes_gaps(model))
    return rows


def check_targets(model: Any, y: Any) -> FloatArray:
    """Finite targets (n,) whose squares are finite too."""
    targets = as_targets(model, y)
    refuse_extreme("y", targets)
    return targets


def check_values(model: Any, X: FloatArray, *, gaps: bool) -> None:
    """Raise where a value is one that trees cannot compare; gaps where they are not taken."""
    seen = np.where(np.isnan(X), 0.0, X) if gaps else X
    refuse_nonfinite(model, seen)
    largest = float(np.abs(seen).max())
    if largest > _LARGEST:
        raise InputError(
            f"X has values up to {largest:.0e}, but trees compare float32 numbers, which end at "
            f"{_LARGEST:.0e}; rescale it, for instance with sklearn.preprocessing.StandardScaler."
        )
