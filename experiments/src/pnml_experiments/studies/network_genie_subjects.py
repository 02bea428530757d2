"""Small networks on MNIST digits, and digits, clothes and letters to judge them on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from pnml_experiments.ch5_networks.image_subjects import spread
from pnml_experiments.framework.data import arrays, data_path
from pnml_experiments.framework.mnist import body, pixels, stored
from pnml_experiments.framework.output import Arrays, Output
from pnml_experiments.framework.stored_files import EMNIST, FASHION_TEST, MNIST

Labels = npt.NDArray[np.int64]
Index = npt.NDArray[np.intp]
DIGITS, CLOTHES, LETTERS = "digits", "clothes", "letters"
MEMBERS = 3  # networks of an ensemble
_FIRST_LETTER = 10  # classes of EMNIST before it are digits
_DROPPED, _RATE, _BATCH = 0.25, 2e-3, 64


@dataclass(frozen=True)
class Sizes:
    """Sizes of the training sets with steps of Adam, and how many rows are judged."""

    trained: dict[int, int]
    seeds: tuple[int, ...]
    held: int  # training digits that no network sees, to choose settings on
    known: int
    unknown: int  # of clothes, and as many letters
    few: int  # of each kind, for a look at all settings afterwards
    draws: int  # for intervals


SIZES = {
    "small": Sizes({500: 150}, (0,), 20, 30, 20, 5, 20),
    "medium": Sizes({1_000: 600, 10_000: 1_600}, (0, 1, 2), 100, 300, 200, 60, 200),
    "full": Sizes({1_000: 600, 55_000: 8_000}, (0, 1, 2, 3, 4), 500, 2_000, 1_000, 200, 400),
}


@dataclass(frozen=True)
class Subject:
    """A trained network, others like it, and all rows."""

    network: nn.Sequential
    others: tuple[nn.Sequential, ...]  # from other seeds
    train: tuple[Tensor, Tensor]  # images and labels
    held: tuple[Tensor, Tensor]
    rows: Tensor  # (n, 1, 28, 28)  digits, clothes, letters


@dataclass(frozen=True)
class Rows:
    """Images to judge, and where they come from."""

    images: Tensor
    labels: Labels  # of the digits
    places: dict[str, slice]

    def some(self, count: int) -> Rows:
        """So many of every kind, spread evenly."""
        at = self.places_of_some(count)
        fewer = {name: self.images[place] for name, place in at.items()}
        return Rows.of(fewer, self.labels[at[DIGITS]])

    def places_of_some(self, count: int) -> dict[str, Index]:
        """Where they are among all images."""
        return {
            name: place.start + spread(place.stop - place.start, count)
            for name, place in self.places.items()
        }

    @classmethod
    def of(cls, parts: dict[str, Tensor], labels: Labels) -> Rows:
        """All images in one row of them."""
        ends = np.cumsum([0, *map(len, parts.values())]).tolist()
        places = {name: slice(ends[k], ends[k + 1]) for k, name in enumerate(parts)}
        return cls(torch.cat(list(parts.values())), labels, places)


def small_network() -> nn.Sequential:
    """A small image classifier: two convolutions, two linear layers, dropout before the last."""
    return nn.Sequential(*body(filters=8, hidden=32), nn.Dropout(_DROPPED), nn.Linear(32, 10))


def judged_rows(sizes: Sizes) -> Rows:
    """Test digits, then clothes, then letters, spread evenly over their files."""
    labels = stored(MNIST["test labels"])
    known = spread(len(labels), sizes.known)
    clothes = pixels(FASHION_TEST, spread(len(stored(FASHION_TEST)), sizes.unknown))
    characters = arrays(EMNIST)
    letters = np.flatnonzero(characters["y_test"] >= _FIRST_LETTER)
    letters = letters[spread(len(letters), sizes.unknown)]
    drawn = torch.from_numpy(characters["x_test"][letters] / np.float32(255))[:, None]
    parts = {DIGITS: pixels(MNIST["test"], known), CLOTHES: clothes, LETTERS: drawn}
    return Rows.of(parts, labels[known].astype(np.int64))


def subject(sizes: Sizes, trained: int, seed: int, rows: Tensor, out: Output) -> Subject:
    """Networks trained on so many digits, from the cache where they are there."""
    images, labels = _training(slice(trained))
    files = [data_path(MNIST[name]) for name in ("train", "train labels")]
    networks, steps = [], sizes.trained[trained]
    for member in range(MEMBERS):
        own = seed * MEMBERS + member
        compute = partial(_weights, images, labels, steps, own)
        settings = f"{trained} {steps} {own}"
        kept = out.arrays("network-genie-weights", [*files, settings], compute, ours=False)
        network = small_network()
        network.load_state_dict({name: torch.from_numpy(value) for name, value in kept.items()})
        networks.append(network.eval().requires_grad_(False))
    held = _training(slice(-sizes.held, None))
    return Subject(networks[0], tuple(networks[1:]), (images, labels), held, rows)


def _training(rows: slice) -> tuple[Tensor, Tensor]:
    labels = stored(MNIST["train labels"])[rows].astype(np.int64)
    return pixels(MNIST["train"], rows), torch.from_numpy(labels)


def _weights(images: Tensor, labels: Tensor, steps: int, seed: int) -> Arrays:
    network = _trained(images, labels, steps, seed)
    return {name: value.numpy() for name, value in network.state_dict().items()}


def _trained(images: Tensor, labels: Tensor, steps: int, seed: int) -> nn.Sequential:
    """The network after so many steps of Adam."""
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        torch.manual_seed(seed)
        network = small_network()
        descent = torch.optim.Adam(network.parameters(), lr=_RATE)
        done = 0
        while done < steps:
            for rows in torch.split(torch.randperm(len(images)), _BATCH)[: steps - done]:
                descent.zero_grad()
                loss = nn.functional.cross_entropy(network(images[rows]), labels[rows])
                loss.backward()  # type: ignore[no-untyped-call]
                descent.step()
                done += 1
    return network.eval().requires_grad_(False)
