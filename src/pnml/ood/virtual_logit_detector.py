"""ViM: how far features leave the principal space of training, against the energy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.errors import InputError
from pnml.ood.feature_detector import FeatureDetector
from pnml.ood.logit_detectors import Energy
from pnml.ood.network_features import LinearHead, Rows
from pnml.runtime.checks import check_whole


class ViM(FeatureDetector):
    """Detector by features and logits: virtual-logit matching. Eqs. (O21), (O22).

    Wang et al. 2022. The part of the features outside the principal space of the training
    features becomes one more logit; its scale makes it as large as the largest logit on average
    over the training rows. No labels are needed; training features are kept during `fit`.

    Parameters
    ----------
    model, layer, weight, bias
        As in `FeatureDetector`.
    dim : int, optional
        Dimension of the principal space: by default 1000 of 2048 or more features, 512 of 768 or
        more, and half of fewer.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 4)) * [2.0, 1.0, 0.1, 0.1]
    >>> detector = ViM(weight=np.eye(4)[:2], bias=np.zeros(2)).fit_features(X)
    >>> inside, outside = detector.predict_features(np.array([[2.0, 1.0, 0, 0], [2.0, 1.0, 1, 0]]))
    >>> bool(outside > inside)
    True
    """

    def __init__(
        self,
        model: Any = None,
        layer: Any = None,
        *,
        weight: Any = None,
        bias: Any = None,
        dim: int | None = None,
    ) -> None:
        super().__init__(model, layer, weight=weight, bias=bias)
        self.dim = None if dim is None else check_whole("dim", dim, 1)

    def _learn(self, rows: Iterator[Rows]) -> None:
        features = np.concatenate([part.features for part in rows])
        width = features.shape[1]
        self.head_ = self._head(width)
        dim = principal_dimension(width) if self.dim is None else self.dim
        if not 0 < dim < width:
            raise InputError(
                f"The principal space would have {dim} of {width} dimensions, and nothing or all "
                f"would lie outside; pass dim from 1 to {width - 1}."
            )
        self.origin_, self.residual_ = residual_space(features, self.head_, dim)
        outside = _outside(features, self.origin_, self.residual_)
        size = np.linalg.norm(features - self.origin_, axis=1).mean()
        if not outside.mean() > 1e-12 * size:
            raise InputError(
                f"All {len(features)} training rows lie within {dim} dimensions, so nothing says "
                "how large the part outside usually is; pass more rows, or a smaller dim."
            )
        logits = self.head_.logits(features)
        self.factor_ = float(logits.max(axis=1).mean() / outside.mean())

    @staticmethod
    def score(
        features: FloatArray,
        head: LinearHead,
        origin: FloatArray,
        residual: FloatArray,
        factor: float,
    ) -> FloatArray:
        """Outlier scores (n,): virtual logit plus free energy of features (n, d). Eq. (O22).

        The virtual logit is `factor` times the length of the features outside the principal space:
        from `origin` (d,), along the directions `residual` (d, r), both of `residual_space`. The
        energy is that of the logits of `head`.
        """
        virtual = factor * _outside(features, origin, residual)
        return np.asarray(virtual + Energy.score(head.logits(features)))

    def _scores(self, features: FloatArray) -> FloatArray:
        return self.score(features, self.head_, self.origin_, self.residual_, self.factor_)


def principal_dimension(width: int) -> int:
    """Default dimension of ViM's principal space for features of a width, as its authors set it.

    >>> principal_dimension(2048), principal_dimension(768), principal_dimension(64)
    (1000, 512, 32)
    """
    return 1000 if width >= 2048 else 512 if width >= 768 else width // 2


def residual_space(
    features: FloatArray, head: LinearHead, dim: int
) -> tuple[FloatArray, FloatArray]:
    """ViM's origin (d,) and directions (d, d − dim) of least training variance. Eq. (O21).

    The origin is the point whose logits are as near to 0 as the head allows; the directions are
    orthonormal columns.
    """
    origin = -np.linalg.pinv(head.weight) @ head.bias
    rows = features - origin
    _, V = np.linalg.eigh(rows.T @ rows)  # in rising order
    return np.asarray(origin), np.ascontiguousarray(V[:, : V.shape[0] - dim])


def _outside(features: FloatArray, origin: FloatArray, residual: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.norm((features - origin) @ residual, axis=1))
