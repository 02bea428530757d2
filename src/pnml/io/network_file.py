"""What a network's last layer has counted, in a file without the network."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from pnml.core.errors import InputError
from pnml.io.atomic import write_whole
from pnml.io.container import pack, unpack
from pnml.nn import LastLayerPNML
from pnml.nn.heads import linear_module
from pnml.nn.statistic import FeatureStatistic

_KEY = "last_layer"  # of the document: the settings
_OTHER = "so it holds no last layer of a network; pass one that save_network has written."


def save_network(module: LastLayerPNML, path: str | os.PathLike[str]) -> None:
    """A file from which `load_network` makes the same module around the same network.

    It holds the settings and the statistic, not the network's weights; where the network is
    nothing but a head, as after `from_embeddings`, it holds that head too. No code is in it, and
    it appears whole or not at all.

    >>> import tempfile
    >>> m = LastLayerPNML.from_embeddings(torch.eye(3), None, torch.eye(3).repeat(9, 1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_network(m, Path(folder, "last.pnml"))
    ...     again = load_network(Path(folder, "last.pnml"))
    >>> bool((again(torch.eye(3)).regret == m(torch.eye(3)).regret).all())
    True
    """
    if not module.statistic.fitted:
        raise InputError("This LastLayerPNML has seen no training rows; fit it before saving it.")
    tensors = _arrays(module.statistic, "statistic")
    if isinstance(module.model, nn.Linear):
        tensors |= _arrays(module.model, "head")
    try:
        write_whole(Path(path), pack({_KEY: vars(module.settings)}, tensors))
    except OSError as error:
        raise InputError(f"Cannot write {path}: {error.strerror}; check the path.") from error


def load_network(
    path: str | os.PathLike[str], model: Any = None, layer: Any = None
) -> LastLayerPNML:
    """The module that `save_network` put into a file, around the network it was fitted with.

    Parameters
    ----------
    path : str or path
    model, layer : as for LastLayerPNML; the model may be left out if the file holds the head.
    """
    try:
        document, tensors = unpack(Path(path))
        settings = document.get(_KEY)
        if type(settings) is not dict:
            raise InputError(f"its header has no entry {_KEY!r}, {_OTHER}")
        module = LastLayerPNML(
            _head(tensors) if model is None and layer is None else model, layer, **settings
        )
        _fill(module.statistic, tensors)
    except (InputError, TypeError) as error:
        raise InputError(f"Cannot load {path}: {error}") from error
    except OSError as error:
        raise InputError(f"Cannot load {path}: {error.strerror}; check the path.") from error
    return module


def _arrays(module: nn.Module, prefix: str) -> dict[str, npt.NDArray[Any]]:
    """The tensors of a module as arrays of the kinds that files hold."""
    found = {}
    for name, tensor in module.state_dict().items():
        value = tensor.detach().cpu()
        if value.is_floating_point() and value.dtype not in (torch.float32, torch.float64):
            value = value.float()
        found[f"{prefix}.{name}"] = value.numpy()
    return found


def _head(tensors: dict[str, npt.NDArray[Any]]) -> nn.Linear:
    weight, bias = tensors.get("head.weight"), tensors.get("head.bias")
    if weight is None or weight.ndim != 2 or (bias is not None and bias.shape != weight.shape[:1]):
        raise InputError("it holds no network; pass the one it was fitted with as model.")
    return linear_module(torch.from_numpy(weight), None if bias is None else torch.from_numpy(bias))


def _fill(statistic: FeatureStatistic, tensors: dict[str, npt.NDArray[Any]]) -> None:
    """Put arrays into the buffers, if they fit together."""
    found = {name: tensors.get(f"statistic.{name}") for name in statistic.state_dict()}
    arrays = {name: value for name, value in found.items() if value is not None}
    if len(arrays) < len(found):
        raise InputError(f"it lacks the array {min(set(found) - set(arrays))!r}, {_OTHER}")
    width, sampled = len(np.atleast_1d(arrays["xx"])), arrays["sample_keys"].size
    shapes = {
        "counts": (3,),
        "xx": (width, width),
        "energy": (),
        "sample_keys": (sampled,),
        "sample_rows": (sampled, width + 1),
        "sample_bound": (2,),
        "scale": (),
    }
    for name, shape in shapes.items():
        kind = np.int64 if name == "counts" else np.float64
        if arrays[name].shape != shape or arrays[name].dtype != kind:
            raise InputError(f"its array {name!r} does not fit the others, {_OTHER}")
    if width == 0 or arrays["counts"][0] < 1:
        raise InputError(f"it counts no rows, {_OTHER}")
    statistic.load_state_dict({name: torch.from_numpy(value) for name, value in arrays.items()})
