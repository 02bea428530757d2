"""Features of images that ODIN has moved, computed once and kept.

Each image has one direction, the sign of a gradient, and is moved along it by steps of several
lengths. Every twentieth image is moved by all steps, which shows the best ones; all images are then
moved by these. Files are below ``moved/NETWORK`` and are made piece by piece, so that an
interrupted run goes on.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pnml.runtime.fingerprint import fingerprint
from pnml_experiments.ch5_networks.gram_files import HELD, images_of_set, sets_of_layers
from pnml_experiments.ch5_networks.image_subjects import ImageSet, Subject
from pnml_experiments.ch5_networks.kept_features import Features, kept
from pnml_experiments.ch5_networks.quick_features import BATCH, feature_function, feature_runner
from pnml_experiments.framework.data import Images, data_path
from pnml_experiments.framework.stored_files import find

if TYPE_CHECKING:
    from torch import Tensor, nn

Bits = npt.NDArray[np.uint8]
Indices = npt.NDArray[np.intp]
# Steps that the research code tries, in units of the image before normalisation.
STEPS = (0.0, 0.0005, 0.001, 0.0014, 0.002, 0.0024, 0.005, 0.01, 0.05, 0.1)
MOST = 3  # steps by which all images of a set are moved: ODIN's, that with pNML, the fair one
_SAMPLE = slice(None, None, 20)  # images that are moved by all steps
_HELD = slice(None, None, 10)  # of the training images held out, those that choose one step
_MANY = 5_000  # images from which compiling the network for a minute and a half pays


def sets_of_odin(subject: Subject) -> tuple[str, ...]:
    """Names of the image sets: held-out training images, test images, outliers of the thesis."""
    return tuple(name for name in sets_of_layers(subject) if name != "train")


@dataclass(frozen=True)
class MovedFeatures:
    """Features of a network for moved images: from files where they are complete.

    A stored file must be that of the images and weights below PNML_DATA, and unchanged.
    """

    subject: Subject
    target: Path  # folder of the files that are not below PNML_DATA
    tell: Callable[[int], None] = lambda more: None  # called with how many more images are done
    few: bool = False  # the first images of each set alone, to see that everything runs

    def training(self) -> Features:
        """Features (n, d) of the training images, which ODIN does not move."""
        images = self.images("train")
        path, origin = self._path("train"), self._origin(images)
        return kept(path, origin, images.images, lambda few: self._plain(few), self.tell)

    def sample(self, name: str) -> Features:
        """Features (n/20, steps, d) of every twentieth image of a set after each of all steps."""
        part = slice(None) if name == HELD else _SAMPLE
        return self._moved(name, STEPS, part, f"{name}-sample")

    def whole(self, name: str, step: float) -> Features:
        """Features (n, d) of all images of a set after a step."""
        tell = (lambda more: None) if name == "test" else self.tell
        return self._moved(name, (step,), slice(None), f"{name}-{step:g}", tell)[:, 0]

    def images(self, name: str) -> ImageSet:
        """The images of a set; of HELD, as many as choose a step."""
        images = images_of_set(self.subject, name, few=self.few)
        return ImageSet(name, images.images[_HELD]) if name == HELD else images

    def work(self) -> int:
        """Total of what `tell` counts: every image once, and outliers once more for each step."""
        counts = {name: self.count(name) for name in ("train", *sets_of_odin(self.subject))}
        outliers = sum(n for name, n in counts.items() if name not in ("train", "test", HELD))
        return sum(counts.values()) + MOST * outliers

    def count(self, name: str) -> int:
        """Number of images in a set."""
        return len(self.images(name).images)

    def _moved(
        self,
        name: str,
        steps: Sequence[float],
        part: slice,
        file: str,
        tell: Callable[[int], None] = lambda more: None,
    ) -> Features:
        images, directions = self.images(name), self._directions(name)
        origin = self._origin(images, f"moved {tuple(steps)} {part}")

        def compute(rows: Indices) -> Features:
            pieces = (rows[i : i + BATCH] for i in range(0, len(rows), BATCH))
            return np.concatenate(
                [self._after(images.images[at], directions[at], steps) for at in pieces]
            )

        rows = np.arange(len(images.images))[part]
        found = kept(self._path(file), origin, rows, compute, tell)
        return found.reshape(len(found), len(steps), -1)

    def _after(self, images: Images, bits: Bits, steps: Sequence[float]) -> Features:
        """Features of a few images after each step, side by side."""
        import torch

        batch = next(self.subject.batches(images))
        signs = torch.from_numpy(np.unpackbits(bits, axis=1, count=batch[0].numel()))
        move = (2.0 * signs - 1).reshape(batch.shape)
        move /= torch.tensor(self.subject.std).reshape(-1, 1, 1)
        return np.hstack([self._features(batch + step * move) for step in steps])

    def _directions(self, name: str) -> Bits:
        """Signs of the gradient of each image as bits (n, pixels · channels / 8)."""
        if name not in self._signs_of_set:
            images = self.images(name)
            path, origin = self._path(f"{name}-directions"), self._origin(images, "directions")
            self._signs_of_set[name] = kept(
                path, origin, images.images, lambda few: self._signs(few), self.tell
            )
        return self._signs_of_set[name]

    def _path(self, file: str) -> Path:
        place = Path("moved-of-few" if self.few else "moved", self.subject.key, f"{file}.npz")
        path = find(str(place)) or self.target / place
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def _origin(self, images: ImageSet, *more: str) -> str:
        return fingerprint(data_path(self.subject.weights), images.fingerprint, *more)

    @cached_property
    def _signs_of_set(self) -> dict[str, Bits]:
        return {}

    # Networks are made at their first use: complete files need none.
    @cached_property
    def _plain(self) -> Callable[[Images], Features]:
        return feature_function(self.subject)

    @cached_property
    def _features(self) -> Callable[..., Features]:
        return feature_runner(self.subject.network())

    @cached_property
    def _signs(self) -> Callable[[Images], Bits]:
        many = len(self.images("test").images) >= _MANY
        return sign_function(self.subject, compiled=many and shutil.which("g++") is not None)


def sign_function(subject: Subject, *, compiled: bool) -> Callable[[Images], Bits]:
    """A function of images that gives the signs of ODIN's moves as bits, a row for each image.

    A compiled network takes half the time for a gradient.
    """
    from pnml.ood import ODIN

    network = subject.network().requires_grad_(False)
    if compiled:
        network = _compiled(network)
    odin = ODIN(network, epsilon=1.0, std=subject.std)

    def of_few(images: Images) -> Bits:
        # the network is compiled for one size alone, so fewer images are repeated
        batch = next(subject.batches(np.resize(images, (BATCH, *images.shape[1:]))))
        up = (odin.perturb(batch) > batch).reshape(len(batch), -1)
        return np.packbits(up.numpy(), axis=1)[: len(images)]

    def signs(images: Images) -> Bits:
        pieces = (images[i : i + BATCH] for i in range(0, len(images), BATCH))
        return np.concatenate([of_few(piece) for piece in pieces])

    return signs


def _compiled(network: nn.Module) -> nn.Module:
    """A compiled copy of a network that ODIN does not recognise as compiled.

    ODIN runs compiled modules uncompiled, because it must see their hooks; none is needed here.
    """
    import torch
    from torch import nn

    run = torch.compile(network, dynamic=False)

    class Unknown(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            out: Tensor = run(x)
            return out

    return Unknown().eval()
