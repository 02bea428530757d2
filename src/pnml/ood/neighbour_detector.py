"""KNN: the distance to the k-th nearest training row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.core.statistic.row_sample import RowSample, row_keys
from pnml.errors import InputError
from pnml.ood.feature_detector import FeatureDetector
from pnml.ood.network_features import Rows
from pnml.runtime.checks import check_whole


class KNN(FeatureDetector):
    """Detector by features: distance to the k-th nearest training row, at unit norm. Eq. (O20).

    Sun et al. 2022, exact, in blocks of bounded memory. Features are scaled to unit norm first. All
    training features are kept, or a uniform sample of them.

    Parameters
    ----------
    model, layer
        As in `FeatureDetector`. No labels and no head are needed.
    k : int, default=50
        Which neighbour counts. Sun et al. use 50 for CIFAR-10, 200 for CIFAR-100 and 1000 for
        ImageNet.
    max_rows : int, optional
        Most training rows to keep, sampled uniformly; all by default.

    Examples
    --------
    >>> import numpy as np
    >>> detector = KNN(k=2).fit_features(np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 3.0]]))
    >>> detector.predict_features(np.array([[5.0, 0.0], [0.0, 5.0]])).round(3)
    array([0.   , 1.414])
    """

    def __init__(
        self, model: Any = None, layer: Any = None, *, k: int = 50, max_rows: int | None = None
    ) -> None:
        super().__init__(model, layer)
        self.k = check_whole("k", k, 1)
        self.max_rows = None if max_rows is None else check_whole("max_rows", max_rows, 2)

    def _learn(self, rows: Iterator[Rows]) -> None:
        if self.max_rows is None:
            bank = np.concatenate([unit_rows(part.features) for part in rows])
        else:
            sample: RowSample | None = None
            seen = 0
            for part in rows:
                units = unit_rows(part.features)
                more = RowSample.of(units, row_keys(units, seen), self.max_rows)
                sample = more if sample is None else sample + more
                seen += len(units)
            bank = np.zeros((0, 0)) if sample is None else sample.rows
        if self.k >= len(bank):
            raise InputError(
                f"k is {self.k}, but there are {len(bank)} training rows, and a row is not its own "
                f"neighbour; pass more rows, or k below {len(bank)}."
            )
        self.bank_, self._rows = bank, _index(bank)

    @staticmethod
    def score(features: FloatArray, bank: FloatArray, k: int) -> FloatArray:
        """Outlier scores (n,): distance of each row to the k-th nearest row of the bank. Eq. (O20).

        `bank` (m, d) holds training features of unit norm; `features` (n, d) are scaled to unit
        norm here.
        """
        return _distance(features, bank, _index(bank), k)

    def _scores(self, features: FloatArray) -> FloatArray:
        return _distance(features, self.bank_, self._rows, self.k)

    def _scores_of_training_rows(self, features: FloatArray) -> FloatArray:
        # the nearest of all is the row itself; a sample may lack it, and the score is then larger
        return _distance(features, self.bank_, self._rows, self.k + 1)


def unit_rows(features: FloatArray) -> FloatArray:
    """Features (n, d) of a detector with each row scaled to unit norm; rows of zeros stay zeros.

    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    largest = np.abs(features).max(axis=1, keepdims=True, initial=0.0)
    scaled = features / np.where(largest > 0, largest, 1.0)  # so that no square overflows
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    return np.asarray(scaled / np.where(lengths > 0, lengths, 1.0))


def _index(bank: FloatArray) -> Any:
    """Fitted nearest-neighbour search over rows: exact, in blocks of bounded memory."""
    from sklearn.neighbors import NearestNeighbors

    return NearestNeighbors(algorithm="brute").fit(bank)


def _distance(features: FloatArray, bank: FloatArray, index: Any, k: int) -> FloatArray:
    Q = unit_rows(features)
    last = index.kneighbors(Q, k)[1][:, -1]
    # from the difference itself: products of rows lose the digits of a small distance
    return np.asarray(np.linalg.norm(Q - bank[last], axis=1))
