"""RegretDetector: the regret of the last layer as an outlier score."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

from array_api_compat import is_numpy_array

from pnml.core.arrays import Array
from pnml.core.trust import Reference, Thresholds
from pnml.errors import InputError
from pnml.ood.detector import Detector
from pnml.ood.network_logits import (
    as_input,
    as_numpy,
    batches,
    is_loader,
    is_module,
    is_tensor,
    joined,
    refuse_list_of_batches,
)
from pnml.runtime.progress import tracked

if TYPE_CHECKING:
    from pnml.nn import LastLayerOutput, LastLayerPNML


class RegretDetector(Detector):
    """Detector whose outlier score is the regret of a network's last layer, in nats. Eq. (O1).

    One pass over the training inputs, no labels, no outliers, no retraining. An input is trusted if
    neither its regret nor its leverage is above the threshold from training rows, each row left
    out.

    Parameters
    ----------
    model : torch.nn.Module or LastLayerPNML
        A trained network, or a LastLayerPNML, fitted or not.
    layer : optional
        Where the last layer is, as in `pnml.nn.LastLayerPNML`.
    perturb : callable, optional
        Applied to inputs before they are scored, as ODIN's ``perturb``; not to training inputs.
    **settings
        Settings of `pnml.nn.LastLayerPNML`: ``alpha``, ``normalize``, ``scale`` and so on.

    Attributes
    ----------
    pnml : the LastLayerPNML that computes regrets, as given or as made of the network

    Examples
    --------
    >>> import torch
    >>> _ = torch.manual_seed(0)
    >>> network = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    >>> seen = torch.randn(500, 4) * torch.tensor([1.0, 1.0, 1.0, 0.0])
    >>> detector = RegretDetector(network).fit([seen])
    >>> usual, strange = (
    ...     torch.randn(1, 4) * torch.tensor([1.0, 1.0, 1.0, 0.0]),
    ...     9 * torch.eye(4)[3:],
    ... )
    >>> bool(detector.predict(strange) > detector.predict(usual))
    True
    >>> detector.trusted(usual), detector.trusted(strange)
    (tensor([True]), tensor([False]))
    """

    def __init__(
        self,
        model: Any,
        layer: Any = None,
        *,
        perturb: Callable[[Any], Any] | None = None,
        **settings: Any,
    ) -> None:
        if not has_pnml(model):
            from pnml.nn import LastLayerPNML

            model = LastLayerPNML(model, layer, **settings)
        elif settings or layer is not None:
            raise InputError(
                "The model has pNML on its last layer already, so layer and settings come too "
                "late; pass them to that LastLayerPNML, or pass the network itself."
            )
        self.pnml: LastLayerPNML = model
        self.perturb = perturb

    @classmethod
    def from_embeddings(cls, weight: Any, bias: Any, embeddings: Any, **settings: Any) -> Self:
        """A detector fitted to embeddings (n, d), with the weight (C, d) and bias (C,) of a head.

        Embeddings are what the head takes as input, d numbers for each row, for C classes; bias may
        be None. The inputs of the detector are then embeddings too. Settings are those of
        LastLayerPNML.

        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> seen = np.eye(4)[rng.integers(3, size=200)] + 0.01 * rng.normal(size=(200, 4))
        >>> detector = RegretDetector.from_embeddings(np.eye(4)[:3], None, seen)
        >>> detector.trusted(np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]]))
        array([ True, False])
        """
        from pnml.nn import LastLayerPNML

        return cls(LastLayerPNML.from_embeddings(weight, bias, embeddings, **settings))

    def fit(self, loader: Any, *, mask: Any = None, progress: bool | None = None) -> Self:
        """Learn from the training inputs of a loader, in one pass, and return the detector.

        Where inputs have several positions, such as words, `mask` says which of them count, as in
        `pnml.nn.LastLayerPNML.fit`. `progress` says whether to show a bar.
        """
        rows = list(batches(loader)) if is_numpy_array(loader) or is_tensor(loader) else loader
        self.pnml.fit(rows, mask=mask, progress=progress)
        return self

    def fit_features(self, features: Any, y: Any = None) -> Self:
        """Learn from training features (n, d) instead of inputs; labels `y` are ignored."""
        self.pnml.fit_features(features)
        return self

    def predict(self, x: Any, *, progress: bool | None = None) -> Array:
        """Regrets (n,) of inputs in nats; high means out-of-distribution.

        A loader gives one array of the regrets of all its inputs; `progress` says whether to show a
        bar, by default where the standard error is a terminal. Without a penalty, regrets are
        infinite for inputs outside the span of the training rows. If the network has logits at T
        positions of each of B inputs, regrets are (B, T), NaN at padding; those of a loader come as
        one flat array without padding.
        """
        return self._score_and_leverage(x, progress)[0]

    def predict_features(self, features: Any) -> Array:
        """Regrets (n,) of features (n, d) in nats, as `predict` gives for inputs."""
        import torch

        with torch.no_grad():
            return _measured(self.pnml.score_features(features), features)[0]

    def _score_and_leverage(self, x: Any, progress: bool | None = None) -> tuple[Array, Array]:
        if is_loader(x):
            return joined(
                tuple(map(as_numpy, self._of_batch(batch)))
                for batch in tracked(x, "Scoring inputs", progress)
            )
        refuse_list_of_batches(x)
        return self._of_batch(x)

    def _of_batch(self, x: Any) -> tuple[Array, Array]:
        import torch

        inputs = x if self.perturb is None else self.perturb(x)
        with torch.no_grad():
            return _measured(self.pnml(_ready(self.pnml.model, inputs)), x)

    def _reference(self) -> Reference:
        return self.pnml.reference_

    def _thresholds(self, level: float) -> Thresholds:
        return self.pnml.thresholds(level)  # computed once for each level


def _measured(out: LastLayerOutput, given: Any) -> tuple[Array, Array]:
    """Regrets, infinite where the leverage is, and leverages; arrays if `given` is an array."""
    regret = out.regret.masked_fill(out.leverage.isinf(), float("inf"))
    if is_numpy_array(given):
        return as_numpy(regret), as_numpy(out.leverage)
    return regret, out.leverage


def has_pnml(model: Any) -> bool:
    """Whether a model computes regrets itself, as LastLayerPNML does, and needs no wrapping.

    >>> has_pnml(len)
    False
    """
    methods = ("score_features", "thresholds", "leverage_threshold")
    return all(hasattr(type(model), name) for name in methods)


def _ready(model: Any, x: Any) -> Any:
    """A batch on the network's device, and arrays in its dtype."""
    if not is_module(model):
        return x
    if is_numpy_array(x):
        return as_input(model, x)
    from pnml.nn.batches import device_of, moved

    return moved(x, device_of(model))
