"""What is asked of a trained model in each round, for networks and for classifiers alike."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from pnml.active.checks import as_array
from pnml.core.arrays import FloatArray
from pnml.errors import InputError

_BATCH = 500  # inputs that go through a network at once


def predicted(model: Any, inputs: Any) -> npt.NDArray[Any]:
    """Labels (n,) of inputs: by ``predict``, or the largest of a network's logits.

    >>> from sklearn.dummy import DummyClassifier
    >>> predicted(DummyClassifier().fit([[0], [1]], [3, 3]), [[2]])
    array([3])
    """
    if hasattr(model, "predict"):
        return np.asarray(model.predict(inputs))
    from pnml.active.ensemble import Ensemble

    logs = Ensemble([model])(inputs, batch_size=_BATCH)[0]
    found: npt.NDArray[Any] = logs.argmax(axis=1)
    return found


def features_of(model: Any, inputs: Any) -> FloatArray:
    """Features (n, d): what a network's last layer sees, of other models the inputs themselves.

    >>> features_of(None, np.zeros((3, 2, 2))).shape
    (3, 4)
    """
    if len(inputs) and _is_network(model):
        return _of_network(model, inputs)
    rows = as_array(inputs, "inputs").astype(np.float64, copy=False)
    return rows.reshape(len(rows), math.prod(rows.shape[1:]))


def dropout_models(model: Any, temperature: float, seed: int) -> Any:
    """A hundred models by dropout of a network: where nothing else is said. Eq. (I10)."""
    if not _is_network(model):
        raise InputError(
            f"The trained model is a {type(model).__name__}, of which dropout makes no others; "
            "pass models=, a function of (model, temperature, seed), for instance one that gives "
            "Ensemble(model.estimators_, temperature)."
        )
    from pnml.active.dropout import MCDropout

    return MCDropout(model, temperature=temperature, seed=seed)


def _is_network(model: Any) -> bool:
    import sys

    torch = sys.modules.get("torch")  # where it is not loaded, the model is not of it
    return torch is not None and isinstance(model, torch.nn.Module)


def _of_network(model: Any, inputs: Any) -> FloatArray:
    import torch

    from pnml.active.network_ensemble import batches
    from pnml.nn.batches import device_of, input_of, moved
    from pnml.nn.eval_mode import as_in_use, unwrapped
    from pnml.nn.find_head import found_by_running

    network = unwrapped(model)
    found = []
    with as_in_use([network]), torch.no_grad():
        parted = None
        for batch in batches(inputs, _BATCH):
            given = moved(input_of(batch, network), device_of(network))
            parted = parted or found_by_running(network, given)
            found.append(parted.run(given)[0].double().cpu().flatten(1).numpy())
    return np.concatenate(found)
