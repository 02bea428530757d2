"""A LastLayerPNML as the contents of a file, and back again around its network."""

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


def take_apart(module: LastLayerPNML) -> StoredLayer:
    """The stored form of a fitted module: without weights, unless the network is only a head.

    >>> m = LastLayerPNML.from_embeddings(torch.eye(3), None, torch.eye(3).repeat(9, 1))
    >>> again = put_together(take_apart(m))
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
        statistic["scale"] = np.array(scale)  # after partial_fit it is chosen but not stored yet
    head = module.model.state_dict() if _is_whole(module.model) else {}
    return StoredLayer(
        settings={name: _plain(value) for name, value in vars(module.settings).items()},
        task=out.task.name,
        outputs=out.logits.shape[-1],
        scale=scale,
        statistic=statistic,
        head={name: _array(tensor) for name, tensor in head.items()},
        head_dtype=str(head["weight"].dtype).removeprefix("torch.") if head else None,
    )


def put_together(stored: StoredLayer, model: Any = None, layer: Any = None) -> LastLayerPNML:
    """The module around a network, given as for LastLayerPNML, or around its stored head."""
    if model is None and layer is None:
        model = _head(stored)
    module = LastLayerPNML(model, layer, **stored.settings)
    module.statistic.load_state_dict(
        {name: torch.from_numpy(array) for name, array in stored.statistic.items()}
    )
    return module


def _is_whole(model: Any) -> bool:
    """Whether a network is only a linear layer, so that the file can hold it."""
    return type(model) is nn.Linear and set(model.state_dict()) <= {"weight", "bias"}


def _head(stored: StoredLayer) -> nn.Linear:
    if stored.head_dtype is None:
        raise InputError(
            "it holds what the last layer of a network has counted, but not the network; pass "
            "that too, as in pnml.load(path, model=network)."
        )
    dtype = getattr(torch, stored.head_dtype)
    weights = {name: torch.from_numpy(array).to(dtype) for name, array in stored.head.items()}
    return linear_module(weights["weight"], weights.get("bias"))


def _plain(value: Any) -> Any:
    """A setting as a JSON value: numbers of any type become floats."""
    return value if value is None or isinstance(value, bool | str) else float(value)


def _array(tensor: Tensor) -> npt.NDArray[Any]:
    """A tensor as a contiguous array of a dtype that files hold."""
    value = tensor.detach().cpu().contiguous()
    short = value.is_floating_point() and value.dtype not in (torch.float32, torch.float64)
    array: npt.NDArray[Any] = (value.float() if short else value).numpy()
    return array
