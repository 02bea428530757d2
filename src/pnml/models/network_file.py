"""Convert a LastLayerPNML to and from the values that a model file stores."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from pnml.errors import InputError
from pnml.models.stored_layer import StoredLayer
from pnml.nn import LastLayerPNML
from pnml.nn.head import linear_module


def to_stored(module: LastLayerPNML) -> StoredLayer:
    """What a file holds of a fitted LastLayerPNML: settings and statistic, but not the network.

    The weights are stored only where the whole network is one linear layer.

    >>> m = LastLayerPNML.from_embeddings(torch.eye(3), None, torch.eye(3).repeat(9, 1))
    >>> again = from_stored(to_stored(m))
    >>> bool((again(torch.eye(3)).regret == m(torch.eye(3)).regret).all())
    True
    """
    if not module.statistic.fitted:
        raise InputError("This LastLayerPNML has seen no training rows; fit it before saving it.")
    features = module.statistic.counted.form.features
    out = module.score_features(torch.ones(1, features))
    statistic = {name: _array(t) for name, t in module.statistic.state_dict().items()}
    scale = module.scale_
    if module.settings.scale == "auto" and scale is not None:
        statistic["scale"] = np.array(scale)  # chosen, but perhaps not stored yet
    model = module.model
    head = {} if model is None or not _is_linear(model) else model.state_dict()
    return StoredLayer(
        settings={name: _plain(value) for name, value in vars(module.settings).items()},
        task=out.task.name,
        outputs=out.logits.shape[-1],
        scale=scale,
        statistic=statistic,
        head={name: _array(tensor) for name, tensor in head.items()},
        head_dtype=str(head["weight"].dtype).removeprefix("torch.") if head else None,
    )


def from_stored(stored: StoredLayer, model: Any = None, layer: Any = None) -> LastLayerPNML:
    """A LastLayerPNML from a file, around the network `model` or its own stored linear layer.

    `model` and `layer` are as for LastLayerPNML. Raises InputError where neither is given and the
    file holds no linear layer.
    """
    if model is None and layer is None:
        model = _head(stored)
    module = LastLayerPNML(model, layer, **stored.settings)
    module.statistic.load_state_dict(
        {name: torch.from_numpy(array) for name, array in stored.statistic.items()}
    )
    return module


def _is_linear(model: Any) -> bool:
    """Whether a network is a single linear layer, which the file can hold."""
    return type(model) is nn.Linear and set(model.state_dict()) <= {"weight", "bias"}


def _head(stored: StoredLayer) -> nn.Linear:
    if stored.head_dtype is None:
        raise InputError(
            "it holds what the last layer of a network has counted, but not the network; pass "
            "that too, as in pnml.load(path, model=network)."
        )
    dtype = getattr(torch, stored.head_dtype)
    head = {name: torch.from_numpy(array).to(dtype) for name, array in stored.head.items()}
    return linear_module(head["weight"], head.get("bias"))


def _plain(value: Any) -> Any:
    """A setting for JSON; numbers of any type become float64."""
    return value if value is None or isinstance(value, bool | str) else float(value)


def _array(tensor: Tensor) -> npt.NDArray[Any]:
    """A tensor as a contiguous array with a dtype that files hold."""
    value = tensor.detach().cpu().contiguous()
    short = value.is_floating_point() and value.dtype not in (torch.float32, torch.float64)
    array: npt.NDArray[Any] = (value.float() if short else value).numpy()
    return array
