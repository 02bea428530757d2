"""Save a model and load it again, the same to the last bit."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy.typing as npt

from pnml.errors import InputError
from pnml.models.container import pack, unpack
from pnml.models.decode import decode
from pnml.models.encode import encode
from pnml.models.registry import refuse_lacking
from pnml.models.stored_layer import KEY, StoredLayer
from pnml.runtime.atomic import check_path, reason, write_whole


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """A file from which `load` makes the same model: same numbers, same next `partial_fit`.

    The file appears whole or not at all. It holds numbers and names, no code; its layout is
    described in ``docs/model-file.md``.

    Parameters
    ----------
    model : a fitted estimator of this library, or a fitted `pnml.nn.LastLayerPNML`
        Of the latter the file holds what was counted, not the network; after
        ``from_embeddings`` the head is in the file, too.
    path : str or path
        By custom it ends in ``.pnml``. A file that is there is replaced.

    Examples
    --------
    >>> import os, tempfile
    >>> from pnml import PNMLRegressor, load, save
    >>> model = PNMLRegressor().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.5])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, os.path.join(folder, "model.pnml"))
    ...     again = load(os.path.join(folder, "model.pnml"))
    >>> bool(again.regret([[3.0]]) == model.regret([[3.0]]))
    True
    """
    path = check_path(path)
    described, tensors = _described(model)
    pieces = pack(described, tensors)
    try:
        write_whole(path, pieces)
    except InputError:
        raise
    except (OSError, ValueError) as error:
        raise InputError(f"Cannot write {path}: {reason(error)}; check the path.") from error


def load(path: str | os.PathLike[str], *, model: Any = None, layer: Any = None) -> Any:
    """The model that `save` put into a file; nothing in the file is ever run.

    Parameters
    ----------
    path : str or path
    model : torch.nn.Module, optional
        The network that a LastLayerPNML was fitted with: its file does not hold it.
    layer : optional
        Where the last layer of that network is, as for `pnml.nn.LastLayerPNML`.

    Raises
    ------
    InputError
        Where the file is missing, foreign, cut short, changed, or of a newer format.

    Examples
    --------
    >>> import os, tempfile
    >>> from pnml import PNMLRegressor, load, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.pnml")
    ...     save(PNMLRegressor().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0]), path)
    ...     load(path)
    PNMLRegressor()
    """
    return read(path).model(model, layer)


def read(path: str | os.PathLike[str]) -> ModelFile:
    """A file whose checksum is right, before anything is made of it."""
    path = check_path(path)
    try:
        document, tensors = unpack(path)
        refuse_lacking(document)
    except InputError as error:
        raise InputError(f"Cannot load {path}: {error}") from error
    except (OSError, ValueError) as error:
        raise InputError(f"Cannot load {path}: {reason(error)}; check the path.") from error
    return ModelFile(path, document, tensors)


@dataclass(frozen=True)
class ModelFile:
    """What a whole file holds."""

    path: Path
    document: dict[str, Any]
    tensors: dict[str, npt.NDArray[Any]]

    @property
    def written_by(self) -> dict[str, Any]:
        """Format, version of the library and checksum that the file gives."""
        given = self.document
        return {"format": given["format"], "version": given["pnml"], "sha256": given["sha256"]}

    @property
    def last_layer(self) -> StoredLayer | None:
        """What was counted of a network; None where the file holds something else."""
        if KEY not in self.document:
            return None
        try:
            return StoredLayer.of(self.document, self.tensors)
        except InputError as error:
            raise self._unreadable(error) from error

    def model(self, network: Any = None, layer: Any = None) -> Any:
        """The model itself, around the network it needs, if it does."""
        stored = self.last_layer
        if stored is not None:
            try:
                return _networks().put_together(stored, network, layer)
            except InputError as error:
                raise InputError(f"Cannot load {self.path}: {error}") from error
        try:
            made = decode(self.document, self.tensors)
        except (InputError, RecursionError) as error:
            raise self._unreadable(error) from error
        if network is not None or layer is not None:
            raise InputError(
                f"Cannot load {self.path} around a network: it holds a {type(made).__name__}, "
                "which needs none; leave out model and layer."
            )
        return made

    def _unreadable(self, error: Exception) -> InputError:
        reason = str(error).rstrip(".")
        return InputError(
            f"Cannot load {self.path}: {reason}; upgrade pnml if a newer version wrote it, "
            "else save the model again."
        )


def _described(model: Any) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Description and arrays of a model, such as can be read back."""
    check: Callable[..., Any] = decode
    if _is_last_layer(model):
        stored = _networks().take_apart(model)
        described, tensors, check = stored.document, stored.tensors, StoredLayer.of
    else:
        described, tensors = encode(model)
    try:
        check(described, tensors)  # what cannot be read back must not be written
    except InputError as error:
        raise InputError(
            f"This {type(model).__name__} cannot be saved, since {error}; fit it again first."
        ) from error
    return described, tensors


def _is_last_layer(model: Any) -> bool:
    networks = sys.modules.get("pnml.nn")  # there is no such model where that was never imported
    return networks is not None and type(model) is networks.LastLayerPNML


def _networks() -> ModuleType:
    """What knows networks; PyTorch is imported here and not before."""
    try:
        from pnml.models import network_file
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise InputError(
            "it holds the last layer of a network, which needs PyTorch; run "
            'pip install "pnml[torch]" and load it again.'
        ) from error
    return network_file
