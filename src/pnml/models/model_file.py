"""Save a model to a file and load it again, equal to the last bit."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy.typing as npt

from pnml.errors import MOST_PATH, InputError, how_to_install, shorten
from pnml.models.container import pack, unpack
from pnml.models.decode import decode, needs_model
from pnml.models.encode import encode
from pnml.models.pipelines import last_of
from pnml.models.refusals import UnmetNeedError
from pnml.models.registry import MODEL_CLASSES, refuse_without_pyarrow
from pnml.models.stored_layer import KEY, StoredLayer
from pnml.runtime.atomic import check_path, reason, write_whole
from pnml.runtime.checks import check_count


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Save a fitted model to a file, without pickle; `load` returns an equal model.

    The file appears whole or not at all. It holds numbers and names, no code; its layout is
    described in ``docs/model-file.md``.

    Parameters
    ----------
    model : fitted estimator of this library, `TableModel`, or fitted `pnml.nn.LastLayerPNML`
        A model with a part that no file can hold is refused with an InputError that names the part.
        A `Pipeline` must end in an estimator of this library, after usual preprocessing of
        scikit-learn; in a `PNMLClassifier`, no other classifier than LogisticRegression is stored.

        A `TrustedRegressor` or `TrustedClassifier` is stored with the model inside, if that is
        a linear model, tree, forest or boosting of scikit-learn, LightGBM, XGBoost or CatBoost. Of
        other models the file holds only a fingerprint (predictions of a few training rows), and a
        warning says so: keep that model, and pass it to ``load(path, model=fitted)``.

        Of a LastLayerPNML the file holds the statistic of the training rows, not the network: pass
        that to ``load(path, model=network)``. After ``from_embeddings`` the file also holds the
        head, and ``load(path)`` is enough.
    path : str or path
        By custom it ends in ``.pnml``. An existing file is replaced.

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
    described, tensors = _encoded(model)
    pieces = pack(described, tensors)
    try:
        write_whole(path, pieces)
    except InputError:
        raise
    except (OSError, ValueError) as error:
        raise InputError(
            f"Cannot write {_shown(path)}: {reason(error)}; check the path."
        ) from error


def load(
    path: str | os.PathLike[str],
    *,
    model: Any = None,
    layer: Any = None,
    max_bytes: int | None = None,
) -> Any:
    """Load the model that `save` wrote to a file; code in the file is never run.

    Parameters
    ----------
    path : str or path
    model : torch.nn.Module or fitted model, optional
        The network that a LastLayerPNML was fitted with, or the fitted model inside an estimator
        of which the file holds only a fingerprint. A model with another fingerprint is refused.
    layer : optional
        Where the last layer of that network is, as for `pnml.nn.LastLayerPNML`.
    max_bytes : int, optional
        Length of the longest file that is read, 8 GiB if left out. Longer ones are refused before
        their checksum is computed.

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
    return read(path, max_bytes).model(model, layer)


def read(path: str | os.PathLike[str], max_bytes: int | None = None) -> ModelFile:
    """The content of a model file, after its checksum was verified; no model is built yet."""
    path = check_path(path)
    if max_bytes is not None:
        check_count("max_bytes", max_bytes)
    try:
        document, tensors = unpack(path, max_bytes)
        refuse_without_pyarrow(document)
    except InputError as error:
        raise InputError(f"Cannot load {_shown(path)}: {error}") from error
    except (OSError, ValueError) as error:
        raise InputError(f"Cannot load {_shown(path)}: {reason(error)}; check the path.") from error
    return ModelFile(path, document, tensors)


@dataclass(frozen=True)
class ModelFile:
    """The content of a model file: its JSON document, as a dict, and its arrays by name."""

    path: Path
    document: dict[str, Any]
    tensors: dict[str, npt.NDArray[Any]]

    @property
    def written_by(self) -> dict[str, Any]:
        """Dict of ``format`` (a number), ``version`` (of the pnml that wrote it) and ``sha256``."""
        given = self.document
        return {"format": given["format"], "version": given["pnml"], "sha256": given["sha256"]}

    @property
    def last_layer(self) -> StoredLayer | None:
        """The stored last layer of a network, or None if the file holds another kind of model."""
        if KEY not in self.document:
            return None
        try:
            return StoredLayer.of(self.document, self.tensors)
        except InputError as error:
            raise self._unreadable(error) from error

    def model(self, network: Any = None, layer: Any = None) -> Any:
        """The model in the file; the arguments are ``model`` and ``layer`` of `load`.

        A stored last layer is put around `network`, or around its own linear head where the file
        has one. For other models, `network` is the fitted model of which the file holds only a
        fingerprint.
        """
        stored = self.last_layer
        if stored is not None:
            try:
                return _network_file().from_stored(stored, network, layer)
            except InputError as error:
                raise InputError(f"Cannot load {_shown(self.path)}: {error}") from error
        try:
            model = decode(self.document, self.tensors, network)
        except UnmetNeedError as error:
            raise InputError(f"Cannot load {_shown(self.path)}: {error}") from error
        except (InputError, RecursionError) as error:
            raise self._unreadable(error) from error
        self._refuse_spare(model, network, layer)
        return model

    def _refuse_spare(self, model: Any, network: Any, layer: Any) -> None:
        """Raise if the user passed a network or a layer that the file does not need."""
        around = needs_model(self.document)
        if layer is None and (network is None or around):
            return
        kind = type(model).__name__
        raise InputError(
            f"Cannot load {_shown(self.path)} around a network: it holds a {kind}, which "
            + (
                "needs no layer; leave it out."
                if around
                else "needs none; leave out model and layer."
            )
        )

    def _unreadable(self, error: Exception) -> InputError:
        reason = str(error).rstrip(".")
        return InputError(
            f"Cannot load {_shown(self.path)}: {reason}; upgrade pnml if a newer version wrote it, "
            "else save the model again."
        )


def _shown(path: Path) -> str:
    """The path as it stands in a message."""
    return shorten(path, MOST_PATH)


def _encoded(model: Any) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Description and arrays of a model, checked by decoding them once."""
    check: Callable[..., Any] = partial(decode, given=_inside(model))
    if _is_last_layer(model):
        stored = _network_file().to_stored(model)
        described, tensors, check = stored.document, stored.tensors, StoredLayer.of
    else:
        described, tensors = encode(model)
    try:
        check(described, tensors)  # never write a file that cannot be read back
    except InputError as error:
        raise InputError(
            f"This {type(model).__name__} cannot be saved, since {error}; fit it again first."
        ) from error
    return described, tensors


def _inside(model: Any) -> Any:
    """The fitted model of another library inside an estimator; None where there is none."""
    while type(last_of(model)) in MODEL_CLASSES:
        held = vars(last_of(model))
        model = held.get("estimator_", held.get("regressor_"))
    return model


def _is_last_layer(model: Any) -> bool:
    networks = sys.modules.get("pnml.nn")  # not imported: then the model is not from there
    return networks is not None and type(model) is networks.LastLayerPNML


def _network_file() -> ModuleType:
    """The module for networks, imported on demand since it needs PyTorch."""
    try:
        from pnml.models import network_file
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise InputError(
            "it holds the last layer of a network, which needs PyTorch; "
            f"{how_to_install('torch')} and load it again."
        ) from error
    return network_file
