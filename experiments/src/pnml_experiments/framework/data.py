"""Read arrays and weights below the folder that PNML_DATA names."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pnml.errors import InputError
from pnml_experiments.framework.stored_files import VARIABLE, find

if TYPE_CHECKING:
    from torch import Tensor, nn

# Images as they are stored: (n, 32, 32, 3), 0 … 255.
Images = npt.NDArray[np.uint8]


def data_path(name: str) -> Path:
    """Path of a file below the data folder; it may be missing."""
    return find(name) or Path(name)


def is_here(name: str) -> bool:
    """Whether there is such a file below the data folder."""
    return find(name) is not None


class StoredArrays(dict[str, npt.NDArray[Any]]):
    """The arrays of a file by name; a missing one raises InputError."""

    def __init__(self, name: str, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        super().__init__(arrays)
        self._name = name

    def __missing__(self, key: str) -> npt.NDArray[Any]:
        raise InputError(
            f"{self._name} below {VARIABLE} holds no array {key}, so it is not the file that is "
            "meant; put the right one there."
        )


def arrays(name: str) -> dict[str, npt.NDArray[Any]]:
    """All arrays of an ``.npz`` file below the data folder; pickles are refused."""
    path = data_path(name)
    if not is_here(name):
        raise InputError(
            f"{name} is not below {VARIABLE}={os.environ.get(VARIABLE, '')}; set {VARIABLE} to "
            "the folder that holds it."
        )
    with _readable(name), path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
        return StoredArrays(name, stored)


def weights(name: str) -> dict[str, Tensor]:
    """The state dict of a checkpoint below the data folder, loaded with weights_only."""
    import torch

    with _readable(name):
        stored = torch.load(data_path(name), weights_only=True, map_location="cpu")
        state: dict[str, Tensor] = stored.get("state_dict", stored)
        return {key.removeprefix("module."): value for key, value in state.items()}


def with_weights(network: nn.Module, name: str) -> nn.Module:
    """The network with exactly the weights of a checkpoint, in eval mode."""
    state = weights(name)
    # checkpoints of old releases do not count batches
    for key, value in network.state_dict().items():
        if key.endswith("num_batches_tracked"):
            state.setdefault(key, value)
    try:
        network.load_state_dict(state, strict=True)
    except RuntimeError as error:
        reason = str(error).split("\n\t")[1].strip(" .")
        raise InputError(
            f"{name} below {VARIABLE} holds the weights of another network than the "
            f"{type(network).__name__} here ({reason}); put the right checkpoint there."
        ) from error
    return network.eval().requires_grad_(False)


@contextmanager
def _readable(name: str) -> Iterator[None]:
    """Turn any error of a reader into one sentence that names the file."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        raise InputError(
            f"{name} below {VARIABLE}={os.environ.get(VARIABLE, '')} cannot be read "
            f"({type(error).__name__}), so it is broken or another file; put the right one there."
        ) from error


def uniform_noise(n: int, seed: int = 0) -> Images:
    """Images of independent integers from 0 to 255.

    >>> uniform_noise(2).shape
    (2, 32, 32, 3)
    """
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, size=(n, 32, 32, 3), dtype=np.uint8)


def gaussian_noise(n: int, seed: int = 0) -> Images:
    """Images of 255 times a normal number plus 127.5, clipped to 0 … 255.

    >>> float(np.mean(gaussian_noise(10) == 0).round(1))
    0.3
    """
    rng = np.random.default_rng(seed)
    noise = 255 * rng.normal(size=(n, 32, 32, 3)) + 127.5
    return np.clip(noise, 0, 255).astype(np.uint8)
