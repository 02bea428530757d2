"""Features that took long to compute: made in pieces, then one file that carries its checksum."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, cast
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from pnml.errors import InputError
from pnml.runtime.atomic import whole_file
from pnml.runtime.fingerprint import fingerprint

Features = npt.NDArray[np.float32]
Arrays = dict[str, npt.NDArray[Any]]
Given = TypeVar("Given", bound=npt.NDArray[Any])
Rows = TypeVar("Rows", bound=npt.NDArray[Any])
PIECE = 500  # images, the most that an interruption costs


def kept(
    path: Path,
    origin: str,
    images: Given,
    compute: Callable[[Given], Rows],
    tell: Callable[[int], None] = lambda more: None,
) -> Rows:
    """Features of images out of a file, or computed piece by piece and then written to it.

    An interrupted run keeps its finished pieces beside the file, and the next one goes on.

    Parameters
    ----------
    path : the file, which ends in ``.npz``
    origin : what the features depend on: a fingerprint of images and weights
    images : or whatever else `compute` makes features of, a row for each
    compute : features (n, d) of a piece of the images
    tell : is called with how many more images are done
    """
    if path.is_file():
        tell(len(images))
        return cast("Rows", checked(path, origin))
    parts = path.with_suffix(".parts") / origin[:16]
    parts.mkdir(parents=True, exist_ok=True)
    done = []
    for start in range(0, len(images), PIECE):
        piece = cast("Given", images[start : start + PIECE])
        try:
            done.append(_piece(parts / f"{start:06d}.npy", piece, compute))
        except FileNotFoundError:  # another process was quicker, and has removed the pieces
            return cast("Rows", checked(path, origin))
        tell(len(piece))
    found = cast("Rows", np.concatenate(done))
    write(path, origin, found)
    shutil.rmtree(parts.parent, ignore_errors=True)
    return found


def write(path: Path, origin: str, features: npt.NDArray[Any]) -> None:
    """Write features to a file in one step, with the checksum that `checked` asks for."""
    write_arrays(path, origin, {"features": features})


def write_arrays(path: Path, origin: str, arrays: Arrays) -> None:
    """Write arrays to a file in one step, with the checksum that `checked_arrays` asks for."""
    with whole_file(path) as file:
        np.savez(
            file,
            allow_pickle=False,
            **arrays,
            origin=np.array(origin),
            checksum=np.array(_checksum(origin, arrays)),
        )


def checked(path: Path, origin: str) -> Features:
    """The features in a file; InputError where they were changed or belong to other images."""
    return checked_arrays(path, origin, ("features",))["features"]


def checked_arrays(path: Path, origin: str, names: tuple[str, ...]) -> Arrays:
    """The arrays in a file; InputError where they were changed or belong to other images."""
    again = "delete the file, and the next run computes it again"
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            found = {name: stored[name] for name in names}
            of, told = (str(stored[key]) for key in ("origin", "checksum"))
    except (OSError, ValueError, KeyError, BadZipFile, EOFError) as error:
        raise InputError(
            f"{path} cannot be read as features ({type(error).__name__}), so it is broken; {again}."
        ) from error
    if _checksum(of, found) != told:
        raise InputError(
            f"The features in {path} do not have the checksum {told[:16]} that is stored with "
            f"them, so they were changed; {again}."
        )
    if of != origin:
        raise InputError(
            f"The features in {path} are those of other images or other weights than the ones "
            f"below PNML_DATA; put the right images there, or {again}."
        )
    return found


def _checksum(origin: str, arrays: Arrays) -> str:
    return fingerprint(origin, *(arrays[name] for name in sorted(arrays)))


def _piece(path: Path, images: Given, compute: Callable[[Given], Rows]) -> Rows:
    """One piece; a file that an interruption left broken is computed again."""
    if path.is_file():
        with suppress(OSError, ValueError, EOFError), path.open("rb") as file:
            stored = np.load(file, allow_pickle=False)
            if len(stored) == len(images):
                return cast("Rows", np.asarray(stored))
    found = compute(images)
    with whole_file(path) as file:
        np.save(file, found, allow_pickle=False)
    return found
