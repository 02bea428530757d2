"""The base of detectors that are fitted to the features of training rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, Self

import numpy as np

from pnml.core.arrays import Array, FloatArray
from pnml.core.statistic.row_sample import RowSample, row_keys
from pnml.core.trust import Reference
from pnml.errors import InputError
from pnml.ood.detector import Detector, required_scores
from pnml.ood.network_features import (
    Labels,
    LinearHead,
    NetworkFeatures,
    Rows,
    checked_features,
    in_blocks,
    like,
    rows_of,
)
from pnml.runtime.progress import Progress, tracked

# Training rows whose scores give the threshold.
_SAMPLE = 2048


class FeatureDetector(Detector):
    """Base of detectors by features: what the last layer of a network receives for each input.

    Parameters
    ----------
    model : network or callable, optional
        A network of PyTorch, split at its last layer; or a function from inputs to features. With
        a weight, a network is an encoder: its outputs are the features. Without a model, inputs
        are features.
    layer : optional
        Where the last layer is, as in `pnml.nn.LastLayerPNML`.
    weight, bias : arrays or tensors of shape (C, d) and (C,), optional
        The head, for C classes and d features, where it is not the last layer of the model.

    Examples
    --------
    >>> import torch
    >>> from pnml.ood import KNN
    >>> _ = torch.manual_seed(0)
    >>> net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    >>> x = torch.randn(200, 4)
    >>> by_inputs = KNN(net, k=5).fit(x).predict(x[:2])
    >>> by_features = KNN(k=5).fit_features(net[:2](x)).predict_features(net[:2](x[:2]))
    >>> isinstance(KNN(), FeatureDetector), torch.allclose(by_inputs, by_features)
    (True, True)
    """

    def __init__(
        self, model: Any = None, layer: Any = None, *, weight: Any = None, bias: Any = None
    ) -> None:
        shared = isinstance(model, NetworkFeatures)
        self.source = model if shared else NetworkFeatures(model, layer, weight, bias)
        self.training_scores_: FloatArray | None = None
        self.width_: int | None = None

    def fit(self, loader: Any, *, progress: Progress = None) -> Self:
        """Learn from the training inputs of a loader, in one pass, and return the detector.

        Labels are the second element of a batch. Detectors that need none ignore them; the others
        take the classes that the network predicts where there are no labels. `progress` shows a
        bar, or is a function of (done, total).
        """
        return self._fit(tracked(self.source.rows(loader), "Counting training features", progress))

    def fit_features(self, features: Any, y: Any = None) -> Self:
        """Learn from training features (n, d), and labels (n,) if needed; returns the detector.

        Without labels, a detector that needs them takes the classes that the head predicts.
        """
        return self._fit(rows_of(features, y))

    def predict(self, x: Any) -> Array:
        """Outlier scores (n,) of inputs; high means out-of-distribution."""
        return like(self._checked_scores(self.source.of(x)), x)

    def predict_features(self, features: Any) -> Array:
        """Outlier scores (n,) of features (n, d); high means out-of-distribution."""
        return like(self._checked_scores(checked_features(features)), features)

    @abstractmethod
    def _learn(self, rows: Iterator[Rows]) -> None:
        """Fit to the features of all training rows, which come in blocks."""

    @abstractmethod
    def _scores(self, features: FloatArray) -> FloatArray:
        """Outlier scores (n,) of features (n, d) of the width that was fitted."""

    def _scores_of_training_rows(self, features: FloatArray) -> FloatArray:
        """Outlier scores (n,) of training features; each row left out where that is cheap."""
        return self._scores(features)

    def _fit(self, rows: Iterable[Rows]) -> Self:
        sampled = _Sampled(rows, type(self).__name__)
        self._learn(iter(sampled))
        features = sampled.rows
        self.width_ = features.shape[1]
        self.training_scores_ = in_blocks(self._scores_of_training_rows, features)
        return self

    def _head(self, width: int) -> LinearHead:
        head = self.source.head(width, f"{type(self).__name__} needs")
        if head.weight.shape[1] != width:
            head.logits(np.zeros((0, width)))  # says what clashes
        return head

    def _labels(self, rows: Rows) -> Labels:
        """Labels (n,) of the rows or, where there are none, the classes that the head predicts."""
        if rows.labels is not None:
            return rows.labels
        why = f"{type(self).__name__} needs labels of the training rows, or"
        head = self.source.head(rows.features.shape[1], why)
        return np.asarray(head.logits(rows.features).argmax(axis=1))

    def _checked_scores(self, features: FloatArray) -> FloatArray:
        required_scores(self, self.training_scores_)
        if features.shape[1] != self.width_:
            raise InputError(
                f"The features have {features.shape[1]} columns, but those of the training rows "
                f"had {self.width_}; pass what the last layer sees."
            )
        return in_blocks(self._scores, features)

    def _reference(self) -> Reference:
        return Reference(required_scores(self, self.training_scores_))


class _Sampled:
    """Iterable over blocks of training rows, with a bounded uniform sample of their features."""

    def __init__(self, rows: Iterable[Rows], name: str) -> None:
        self._rows = rows
        self._name = name
        self._sample: RowSample | None = None

    def __iter__(self) -> Iterator[Rows]:
        seen = 0
        for number, part in enumerate(self._rows):
            if not len(part.features):
                continue
            below = 1.0 if self._sample is None else self._sample.threshold
            keys = row_keys(part.features, seen)
            more = RowSample.of(part.features, keys, _SAMPLE, below)
            seen += len(keys)
            if self._sample is not None and self._sample.rows.shape[1] != more.rows.shape[1]:
                raise InputError(
                    f"The features of batch {number} have {more.rows.shape[1]} columns, those "
                    f"before had {self._sample.rows.shape[1]}; pass rows of one network."
                )
            self._sample = more if self._sample is None else self._sample + more
            yield part
        if self._sample is None:
            raise InputError(
                f"There are no rows to fit this {self._name} to; pass a loader or features with "
                "rows in them."
            )

    @property
    def rows(self) -> FloatArray:
        """Features (m, d) of the sampled training rows."""
        return np.zeros((0, 0)) if self._sample is None else self._sample.rows
