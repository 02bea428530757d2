"""What a network makes of images, computed once and kept: features, deviations, moved features."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from pnml.ood import ODIN, Gram
from pnml.ood.gram_row_sums import Bounds
from pnml_experiments.ch5_networks.image_subjects import (
    MOVED,
    RECORDED,
    ImageSet,
    Sizes,
    Subject,
    head_of,
)
from pnml_experiments.framework.data import data_path
from pnml_experiments.framework.output import Arrays, Output

# Told how many more images went through the network.
Tell = Callable[[int], None]
# Every tenth training image chooses the step of ODIN; Gram holds out the same ones.
VALIDATION = slice(9, None, 10)


@dataclass(frozen=True)
class Seen:
    """What is kept of a set of images, a row for each."""

    features: npt.NDArray[np.float32]  # (n, d)  what the last layer saw
    deviations: npt.NDArray[np.float64] | None  # (n, layers)  of Gram, where it was asked for
    moved: npt.NDArray[np.float32] | None  # (n, d)  features of the images that ODIN moved


@dataclass(frozen=True)
class Extraction:
    """Everything that the tables need of one network."""

    head: nn.Linear
    train: npt.NDArray[np.float32]  # (n, d)  features, in no special order
    validation: npt.NDArray[np.float64] | None  # (n/10, layers)  deviations of those held out
    epsilon: float | None  # that ODIN chose
    sets: dict[str, Seen]


def images_to_do(subject: Subject, sizes: Sizes, train: ImageSet, others: list[ImageSet]) -> int:
    """How many images go through the network, counted once for each pass."""
    once = sum(len(one.images) for one in others)
    done = len(train.images) + once
    if MOVED & set(subject.methods):
        done += 2 * once + _tuning_passes(sizes) * len(train.images[VALIDATION])
    return done


def _tuning_passes(sizes: Sizes) -> int:
    """One pass for the gradient of a step and one for its score; without a step, the latter."""
    return sum(2 if epsilon else 1 for epsilon in sizes.epsilons)


def extract(
    subject: Subject,
    sizes: Sizes,
    train: ImageSet,
    others: list[ImageSet],
    out: Output,
    tell: Tell,
) -> Extraction:
    """Run the network where its outputs are not kept from before."""
    network = subject.network_of_shown_classes()
    network.register_forward_hook(lambda _module, _inputs, output: tell(len(output)))
    steps = _Steps(subject, sizes, network, train, out, tell)
    bounds = steps.training()
    gram = _restored(network, bounds) if RECORDED & set(subject.methods) else None
    epsilon = steps.chosen_epsilon() if MOVED & set(subject.methods) else None
    sets = {}
    for one in others:
        seen = steps.seen(one, gram)
        moved = None if epsilon is None else steps.moved(one, epsilon)["features"]
        sets[one.name] = Seen(seen["features"], seen.get("deviations"), moved)
    return Extraction(head_of(network), bounds["features"], bounds.get("validation"), epsilon, sets)


@dataclass(frozen=True)
class _Steps:
    subject: Subject
    sizes: Sizes
    network: nn.Module
    train: ImageSet
    out: Output
    tell: Tell

    def training(self) -> Arrays:
        """Features of the training images, and what Gram learns from them."""

        def compute() -> Arrays:
            batches = self.subject.batches(self.train.images)
            with _watched(self.network) as rows:
                if not RECORDED & set(self.subject.methods):
                    _pass(self.network, batches)
                    return {"features": np.concatenate(rows)}
                gram = Gram(self.network).fit(batches)
            bounds, validation = gram.bounds_, gram.validation_
            assert bounds is not None  # noqa: S101  it was fitted
            assert validation is not None  # noqa: S101  the same
            found: Arrays = {"features": np.concatenate(rows), "validation": validation}
            for name, parts in (("least", bounds.least), ("greatest", bounds.greatest)):
                found |= {f"{name}{i}": part.numpy() for i, part in enumerate(parts)}
            return found

        return self._kept("train", self.train, len(self.train.images), compute)

    def seen(self, one: ImageSet, gram: Gram | None) -> Arrays:
        """Features of a set of images, and how far they leave the bounds of Gram."""

        def compute() -> Arrays:
            with _watched(self.network) as rows:
                if gram is None:
                    _pass(self.network, self.subject.batches(one.images))
                    return {"features": np.concatenate(rows)}
                batches = self.subject.batches(one.images)
                deviations = [gram.deviations(batch).numpy() for batch in batches]
            return {"features": np.concatenate(rows), "deviations": np.concatenate(deviations)}

        return self._kept(f"seen {one.name}", one, len(one.images), compute)

    def chosen_epsilon(self) -> float:
        """The step that raises the softmax of every tenth training image most; no outliers."""
        images = self.train.images[VALIDATION]
        part = ImageSet("validation", images)
        passes = len(images) * _tuning_passes(self.sizes)

        def compute() -> Arrays:
            tuned = self._odin().tuned(self.subject.batches(images), epsilons=self.sizes.epsilons)
            return {"epsilon": np.array(tuned.epsilon)}

        words = f"odin {self.sizes.epsilons}"
        return float(self._kept(words, part, passes, compute)["epsilon"])

    def moved(self, one: ImageSet, epsilon: float) -> Arrays:
        """Features of the images that ODIN has moved."""

        def compute() -> Arrays:
            odin = self._odin(epsilon)
            moved = [odin.perturb(batch) for batch in self.subject.batches(one.images)]
            with _watched(self.network) as rows:
                _pass(self.network, moved)
            return {"features": np.concatenate(rows)}

        return self._kept(f"moved {one.name} {epsilon}", one, 2 * len(one.images), compute)

    def _odin(self, epsilon: float = 0.0) -> ODIN:
        return ODIN(self.network, epsilon=epsilon, std=self.subject.std)

    def _kept(self, what: str, one: ImageSet, passes: int, compute: Callable[[], Arrays]) -> Arrays:
        """Arrays that are in the cache, or are computed; their passes count as done in any case."""
        computed: list[bool] = []

        def noted() -> Arrays:
            computed.append(True)
            return compute()

        recorded = bool(RECORDED & set(self.subject.methods))
        depends: tuple[Path | str, ...] = (
            data_path(self.subject.weights),
            self.train.fingerprint,
            one.fingerprint,
            f"{what} {recorded} {head_of(self.network).out_features}",
        )
        name = "-".join([self.subject.key, *what.split()[:2]])
        found = self.out.arrays(
            "".join(c for c in name if c.isalnum() or c in "-_"), depends, noted
        )
        if not computed:
            self.tell(passes)
        return found


def _restored(network: nn.Module, arrays: Arrays) -> Gram:
    """Gram with the bounds that were kept."""
    gram = Gram(network)
    count = sum(name.startswith("least") for name in arrays)
    least, greatest = (
        [torch.from_numpy(arrays[f"{name}{i}"]) for i in range(count)]
        for name in ("least", "greatest")
    )
    gram.bounds_, gram.validation_ = Bounds(least, greatest), arrays["validation"]
    return gram


@contextmanager
def _watched(network: nn.Module) -> Iterator[list[Any]]:
    """Features (n, d) of each batch that goes through the network meanwhile."""
    rows: list[Any] = []

    def watch(_module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        rows.append(inputs[0].detach().numpy())

    handle = head_of(network).register_forward_pre_hook(watch)
    try:
        yield rows
    finally:
        handle.remove()


def _pass(network: nn.Module, batches: Iterable[Tensor]) -> None:
    with torch.no_grad():
        for batch in batches:
            network(batch)
