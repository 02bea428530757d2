"""Save a model and load it again, the same to the last bit."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pnml.core.errors import InputError
from pnml.io.atomic import write_whole
from pnml.io.container import pack, unpack
from pnml.io.decode import decode
from pnml.io.encode import encode
from pnml.io.registry import refuse_lacking


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """A file from which `load` makes the same model: same numbers, same next `partial_fit`.

    The file appears whole or not at all. It holds numbers and names, no code; its layout is
    described in ``docs/model-file.md``.

    Parameters
    ----------
    model : a fitted estimator of this library
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
    path = _path(path)
    described, tensors = encode(model)
    try:
        decode(described, tensors)  # what cannot be read back must not be written
    except InputError as error:
        raise InputError(
            f"This {type(model).__name__} cannot be saved, since {error}; fit it again first."
        ) from error
    pieces = pack(described, tensors)
    try:
        write_whole(path, pieces)
    except InputError:
        raise
    except (OSError, ValueError) as error:
        raise InputError(f"Cannot write {path}: {_reason(error)}; check the path.") from error


def load(path: str | os.PathLike[str]) -> Any:
    """The model that `save` put into a file; nothing in the file is ever run.

    Parameters
    ----------
    path : str or path

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
    path = _path(path)
    try:
        described, tensors = unpack(path)
        refuse_lacking(described)
    except InputError as error:
        raise InputError(f"Cannot load {path}: {error}") from error
    except (OSError, ValueError) as error:
        raise InputError(f"Cannot load {path}: {_reason(error)}; check the path.") from error
    try:
        return decode(described, tensors)
    except (InputError, RecursionError) as error:
        reason = str(error).rstrip(".")
        raise InputError(
            f"Cannot load {path}: {reason}; upgrade pnml if a newer version wrote it, "
            "else save the model again."
        ) from error


def written_by(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Format, version of the library and checksum that a model file gives."""
    document, _ = unpack(_path(path))
    return {"format": document["format"], "version": document["pnml"], "sha256": document["sha256"]}


def _path(path: Any) -> Path:
    if not isinstance(path, str | os.PathLike) or not str(path):
        raise InputError(
            f"path is {path!r}, but it must name a file; pass a text or a path such as "
            '"model.pnml".'
        )
    return Path(path)


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
