"""Gram's deviations for image sets at their printed size, computed once and kept with features.

``python -m pnml_experiments.ch5_networks.gram_files TARGET NETWORK`` writes ``layers/NETWORK/
SET.npz`` below a folder that PNML_DATA may name; it can be stopped at any time and goes on when run
again. It reads what ``python -m pnml_experiments.ch5_networks.full_images`` wrote.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pnml.errors import InputError
from pnml.ood.gram_detector import EVERY
from pnml.ood.gram_row_sums import TINY
from pnml.runtime.fingerprint import fingerprint
from pnml_experiments.ch5_networks.full_features import PRINTED_OUTLIERS, all_images, fill_files
from pnml_experiments.ch5_networks.image_subjects import ImageSet, Subject, head_of
from pnml_experiments.ch5_networks.kept_features import Arrays, checked_arrays, kept, write_arrays
from pnml_experiments.ch5_networks.layer_sums import ORDERS, Layers, Sums, layer_function
from pnml_experiments.framework.data import Images, data_path
from pnml_experiments.framework.stored_files import find

Rows = npt.NDArray[np.float32]
HELD = "held"  # every tenth training image, which Gram leaves out of its bounds
# More training images than features, or their matrix would be singular.
_FEW_TRAINING, _FEW = 450, 30
# The other of two similar sets, which the thesis does not set against each other.
_NEAR = {"CIFAR-10": "cifar100", "CIFAR-100": "cifar10"}
_PIECE = 2_000  # training images, the most that an interruption costs


@dataclass(frozen=True)
class GramFiles:
    """Features, bounds and deviations of a network, from files where they are complete."""

    subject: Subject
    target: Path
    tell: Callable[[int], None] = lambda more: None
    few: bool = False  # the first images of each set alone, to see that everything runs

    @cached_property
    def training(self) -> Arrays:
        """Features (n, d) of all training images; least and greatest sums (C, orders, channels)."""
        images = images_of_set(self.subject, "train", few=self.few)
        origin, place = self._origin(images), self._place("train")
        stored = find(str(place)) or self.target / place
        if not stored.is_file():
            path = self.target / place
            path.parent.mkdir(parents=True, exist_ok=True)
            found = _bounds(path, origin, images.images, _network(self.subject), self.tell)
            write_arrays(path, origin, found)
            path.with_suffix(".begun").unlink(missing_ok=True)
            return found
        self.tell(len(images.images))
        return checked_arrays(stored, origin, ("features", "least", "greatest"))

    def seen(self, name: str) -> tuple[Rows, Rows]:
        """Features (n, d) and deviations (n, layers) of a set of images."""
        images = images_of_set(self.subject, name, few=self.few)
        bounds = fingerprint(self.training["least"], self.training["greatest"])
        path = self.target / self._place(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        stored = find(str(self._place(name)))
        rows = kept(
            stored or path, self._origin(images, bounds), images.images, self._rows, self.tell
        )
        return rows[:, : self._width], rows[:, self._width :]

    def is_complete(self, name: str) -> bool:
        """Whether a set has been computed, to the last image."""
        place = self._place(name)
        return find(str(place)) is not None or (self.target / place).is_file()

    @property
    def _width(self) -> int:
        return int(self.training["features"].shape[1])

    def _place(self, name: str) -> Path:
        folder = "layers-of-few" if self.few else "layers"
        return Path(folder, self.subject.key, f"{name}.npz")

    def _origin(self, images: ImageSet, *more: str) -> str:
        return fingerprint(data_path(self.subject.weights), images.fingerprint, "layers", *more)

    @cached_property
    def _roots(self) -> tuple[Sums, Sums]:
        return root(self.training["least"]), root(self.training["greatest"])

    def _rows(self, images: Images) -> Rows:
        """Features and deviations, side by side."""
        network = _network(self.subject)
        seen = network.compute(images)
        predicted, confidence = network.predicted(seen.features)
        least, greatest = self.training["least"], self.training["greatest"]
        low, high = self._roots
        layer = network.layer_of_channel
        found = np.stack(
            [
                deviations(sums, least[k], greatest[k], low[k], high[k], layer)
                for sums, k in zip(seen.sums, predicted, strict=True)
            ]
        )
        return np.hstack([seen.features, (found / confidence[:, None]).astype(np.float32)])


def images_of_set(subject: Subject, name: str, *, few: bool = False) -> ImageSet:
    """The images of a set; of HELD, the training images that Gram leaves out of its bounds."""
    every = all_images(subject, "train" if name == HELD else name).images
    if few:
        every = every[: _FEW_TRAINING if name in ("train", HELD) else _FEW]
    return ImageSet(name, every[EVERY - 1 :: EVERY] if name == HELD else every)


def root(sums: Sums) -> Sums:
    """The p-th roots of sums (..., orders, channels) of order p, with their signs. Eq. (O6)."""
    orders = np.arange(1, ORDERS + 1)[:, None]
    return np.asarray(np.sign(sums) * np.abs(sums) ** (1 / orders))


def deviations(
    sums: Sums,
    least: Sums,
    greatest: Sums,
    least_root: Sums,
    greatest_root: Sums,
    layer_of_channel: npt.NDArray[np.intp],
) -> Sums:
    """How far the sums of one image exceed the bounds of its class, (layers,). Eq. (O7).

    Roots are taken of those sums alone that leave the bounds: the others deviate by 0.
    """
    layers = int(layer_of_channel[-1]) + 1
    if not np.isfinite(least).all():  # predicted for no training image
        return np.full(layers, np.inf)
    total = np.zeros(layers)
    for outside, bound in ((sums < least, least_root), (sums > greatest, greatest_root)):
        order, channel = np.nonzero(outside)
        at = sums[order, channel]
        value = np.sign(at) * np.abs(at) ** (1 / (order + 1))
        edge = bound[order, channel]
        share = np.abs(value - edge) / np.abs(edge + TINY)
        total += np.bincount(layer_of_channel[channel], share, layers)
    return total


@dataclass(frozen=True)
class _Network:
    """A network that runs once it is needed."""

    subject: Subject

    @cached_property
    def _made(self) -> tuple[Callable[[Images], Layers], list[int]]:
        return layer_function(self.subject)

    @cached_property
    def _head(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        head = head_of(self.subject.network())
        return head.weight.detach().double().numpy(), head.bias.detach().double().numpy()

    @cached_property
    def layer_of_channel(self) -> npt.NDArray[np.intp]:
        """To which layer each column of the sums belongs."""
        return np.repeat(np.arange(len(self._made[1])), self._made[1])

    @property
    def classes(self) -> int:
        return len(self._head[1])

    def compute(self, images: Images) -> Layers:
        """Features and sums of images."""
        return self._made[0](images)

    def predicted(self, features: Rows) -> tuple[npt.NDArray[np.intp], Sums]:
        """Predicted classes (n,) and their probabilities (n,)."""
        weight, bias = self._head
        logits = features @ weight.T + bias
        exp = np.exp(logits - logits.max(axis=1, keepdims=True))
        return logits.argmax(axis=1), 1 / exp.sum(axis=1)


@cache
def _network(subject: Subject) -> _Network:
    return _Network(subject)


def _bounds(
    path: Path, origin: str, images: Images, network: _Network, tell: Callable[[int], None]
) -> Arrays:
    """Features of all images, and bounds of the sums of all but every tenth, by class.

    Every so many images a file beside the path keeps what is done.
    """
    begun = path.with_suffix(".begun")
    found: Arrays = {}
    with suppress(InputError):  # none, or one that an interruption left broken
        found = checked_arrays(begun, origin, ("features", "least", "greatest"))
    tell(len(found.get("features", ())))
    for start in range(len(found.get("features", ())), len(images), _PIECE):
        piece = images[start : start + _PIECE]
        for first in range(start, start + len(piece), 100):
            few = images[first : min(first + 100, start + len(piece))]
            seen = network.compute(few)
            if not found:
                shape = (network.classes, *seen.sums.shape[1:])
                found = {"least": np.full(shape, np.inf), "greatest": np.full(shape, -np.inf)}
                found["features"] = np.empty((0, seen.features.shape[1]), np.float32)
            predicted, _ = network.predicted(seen.features)
            for i, (label, sums) in enumerate(zip(predicted, seen.sums, strict=True)):
                if (first + i + 1) % EVERY:
                    np.minimum(found["least"][label], sums, out=found["least"][label])
                    np.maximum(found["greatest"][label], sums, out=found["greatest"][label])
            found["features"] = np.vstack([found["features"], seen.features])
        write_arrays(begun, origin, found)
        tell(len(piece))
    return found


def main() -> None:
    """Compute all that the tables need of the networks that are named."""
    files = cache(GramFiles)  # its bounds serve all sets of a network

    def fill(subject: Subject, name: str, target: Path) -> int:
        found = files(subject, target)
        return len(found.training["features"] if name == "train" else found.seen(name)[0])

    fill_files(__doc__, sets_of_layers, fill)


def sets_of_layers(subject: Subject) -> tuple[str, ...]:
    """Names of files: training images, those held out, test images, the thesis's outliers."""
    others = [
        file
        for name, file in PRINTED_OUTLIERS.items()
        if name != subject.ind and file != _NEAR.get(subject.ind)
    ]
    others.sort(key=lambda file: file == "svhn")  # the largest last
    return ("train", HELD, "test", *others)


if __name__ == "__main__":
    main()
