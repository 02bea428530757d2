"""Mahalanobis and RMD: distances of features to class means, in units of their spread."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.errors import InputError
from pnml.ood.class_moments import ClassMoments, whitening
from pnml.ood.feature_detector import FeatureDetector
from pnml.ood.network_features import Rows


class Mahalanobis(FeatureDetector):
    """Detector by features: squared Mahalanobis distance to the nearest class mean. Eq. (O18).

    Lee et al. 2018, on the last layer, without their input step and their combination of layers.
    The covariance is one for all classes. Directions in which no training row varies are left
    out, so what is new in them is not seen.

    Parameters
    ----------
    model, layer, weight, bias
        As in `FeatureDetector`. The head only names classes where labels are missing.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(200) % 2
    >>> X = np.array([[0.0, 0.0], [9.0, 0.0]])[y] + rng.normal(size=(200, 2))
    >>> detector = Mahalanobis().fit_features(X, y)
    >>> detector.predict_features(np.array([[9.0, 0.0], [4.5, 0.0]])).round(0)
    array([ 0., 20.])
    """

    def _learn(self, rows: Iterator[Rows]) -> None:
        moments = ClassMoments.of((part.features, self._labels(part)) for part in rows)
        self.whiten_ = _whitening(moments, moments.within, "Mahalanobis")
        self.centres_ = moments.means @ self.whiten_

    @staticmethod
    def score(features: FloatArray, centres: FloatArray, whiten: FloatArray) -> FloatArray:
        """Outlier scores (n,): squared distance to the nearest class mean, whitened. Eq. (O18).

        `whiten` (d, r) makes the covariance of features (n, d) within classes the identity;
        `centres` (C, r) are the means of C classes times `whiten`.
        """
        Y = features @ whiten
        # about the mean of the centres, so that no digits are lost to a common offset
        middle = centres.mean(axis=0)
        Y, M = Y - middle, centres - middle
        squares = np.sum(M**2, axis=1) - 2 * Y @ M.T
        return np.asarray(np.maximum(np.sum(Y**2, axis=1) + squares.min(axis=1), 0.0))

    def _scores(self, features: FloatArray) -> FloatArray:
        return self.score(features, self.centres_, self.whiten_)


class RMD(FeatureDetector):
    """Detector by features: Mahalanobis distance minus that to the mean of all rows. Eq. (O19).

    Ren et al. 2021. Both distances are squared; what makes a row unusual for all classes alike
    cancels.

    Parameters
    ----------
    model, layer, weight, bias
        As in `FeatureDetector`. The head only names classes where labels are missing.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(200) % 2
    >>> X = np.array([[0.0, 0.0], [9.0, 0.0]])[y] + rng.normal(size=(200, 2))
    >>> detector = RMD().fit_features(X, y)
    >>> near, far = detector.predict_features(np.array([[9.0, 0.0], [4.5, 0.0]]))
    >>> bool(far > near)
    True
    """

    def _learn(self, rows: Iterator[Rows]) -> None:
        moments = ClassMoments.of((part.features, self._labels(part)) for part in rows)
        if len(moments.means) < 2:
            raise InputError(
                "All training rows are of one class, and then RMD is 0 for every row; pass rows of "
                "two classes or more, or use Mahalanobis."
            )
        self.whiten_ = _whitening(moments, moments.within, "RMD")
        self.centres_ = moments.means @ self.whiten_
        self.background_ = _whitening(moments, moments.total, "RMD")
        self.mean_ = moments.mean

    @staticmethod
    def score(
        features: FloatArray,
        centres: FloatArray,
        whiten: FloatArray,
        mean: FloatArray,
        background: FloatArray,
    ) -> FloatArray:
        """Outlier scores (n,): Mahalanobis score minus the distance² to the mean. Eq. (O19).

        `features` (n, d), `centres` (C, r) and `whiten` (d, r) are as in `Mahalanobis.score`;
        `mean` (d,) is that of all training features, and `background` (d, r') whitens their
        covariance.
        """
        inner = Mahalanobis.score(features, centres, whiten)
        return np.asarray(inner - np.sum(((features - mean) @ background) ** 2, axis=1))

    def _scores(self, features: FloatArray) -> FloatArray:
        return self.score(features, self.centres_, self.whiten_, self.mean_, self.background_)


def _whitening(moments: ClassMoments, scatter: FloatArray, name: str) -> FloatArray:
    L = whitening(scatter / moments.n)
    noise = np.abs(moments.total).max() * 1e-14  # of sums of squares that cancel
    if not L.shape[1] or scatter.diagonal().max() <= noise:
        raise InputError(
            f"{name} needs rows that differ within a class, but the {moments.n} training rows of "
            f"{len(moments.means)} classes do not; pass more rows of each class."
        )
    return L
