"""The model trained in a round of a learning curve: its labels, features and dropout samples."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from pnml.active.checks import as_array
from pnml.active.ensemble import Ensemble
from pnml.core.arrays import FloatArray
from pnml.errors import InputError

_PREDICTION_BATCH = 500  # inputs of one pass for labels and features


def predicted_labels(model: Any, inputs: Any) -> npt.NDArray[Any]:
    """Labels (n,) of inputs by a trained model: from ``predict``, or a network's largest logit.

    >>> from sklearn.dummy import DummyClassifier
    >>> predicted_labels(DummyClassifier().fit([[0], [1]], [3, 3]), [[2]])
    array([3])
    """
    if hasattr(model, "predict"):
        return np.asarray(model.predict(inputs))
    logs = Ensemble([model])(inputs, batch_size=_PREDICTION_BATCH)[0]
    labels: npt.NDArray[Any] = logs.argmax(axis=1)
    return labels


def features_of(model: Any, inputs: Any) -> FloatArray:
    """Features (n, d) of inputs: what a network's last layer receives, or the flattened inputs.

    The inputs themselves serve for models that are not PyTorch networks.

    >>> features_of(None, np.zeros((3, 2, 2))).shape
    (3, 4)
    """
    if len(inputs) and _is_network(model):
        from pnml.active.network_ensemble import last_layer_features

        return last_layer_features(model, inputs, _PREDICTION_BATCH)
    rows = as_array(inputs, "inputs").astype(np.float64, copy=False)
    return rows.reshape(len(rows), math.prod(rows.shape[1:]))


def dropout_models(model: Any, temperature: float, seed: int) -> Any:
    """`MCDropout` of a trained network: inputs → log-probabilities by 100 samples. Eq. (I10).

    Logits are divided by the temperature; raises InputError if the model is not a PyTorch network.
    """
    if not _is_network(model):
        raise InputError(
            f"The trained model is a {type(model).__name__}, of which dropout makes no others; "
            "pass models=, a function of (model, temperature, seed), for instance one that gives "
            "Ensemble(model.estimators_, temperature)."
        )
    from pnml.active.dropout import MCDropout

    return MCDropout(model, temperature=temperature, seed=seed)


def _is_network(model: Any) -> bool:
    torch = sys.modules.get("torch")  # if it is not loaded, the model is no network
    return torch is not None and isinstance(model, torch.nn.Module)
