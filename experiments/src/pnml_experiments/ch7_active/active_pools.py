"""What the pools of active learning look like, with the images that do not belong there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pnml_experiments.ch5_networks.image_subjects import spread
from pnml_experiments.framework.data import arrays
from pnml_experiments.framework.experiment import Experiment, Progress, Scale
from pnml_experiments.framework.mnist import stored
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.result import Figure, Result, Row, Table, exactly
from pnml_experiments.framework.stored_files import EMNIST, FASHION_TEST, MNIST

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure

EXPERIMENT = Experiment(
    id="active-pools",
    chapter=7,
    title="The pools of active learning",
    minutes=(0.05, 0.1),
    less="Parts of EMNIST, CIFAR-10 and SVHN.",
    extras=("plots", "torch"),
    needs=("mnist", "fashion-mnist", "emnist", "images/cifar10_small.npz", "images/ood_small.npz"),
)

Pictures = npt.NDArray[Any]
_SIDE = 6  # images along each side of a panel
_ABOUT = (
    "Printed is the size of each set as the text gives it, ours what is stored here. The strange "
    "images are those of Fashion-MNIST for MNIST and EMNIST, of SVHN for CIFAR-10."
)


@dataclass(frozen=True)
class Pool:
    """Images that the network is to learn, and strange ones among them."""

    name: str
    own: Pictures  # (n, 28, 28) or (n, 32, 32, 3)
    strange: Pictures

    def mixed(self) -> Pictures:
        """As many of the one as of the other, in turn."""
        half = _SIDE * _SIDE // 2
        both = (part[spread(len(part), half)] for part in (self.own, self.strange))
        return np.stack(list(both), axis=1).reshape(-1, *self.own.shape[1:])

    def alone(self) -> Pictures:
        """Own images only."""
        return self.own[spread(len(self.own), _SIDE * _SIDE)]


def pools() -> list[Pool]:
    """The three pools of the thesis."""
    clothes = stored(FASHION_TEST)
    own, strange = arrays("images/cifar10_small.npz"), arrays("images/ood_small.npz")
    return [
        Pool("MNIST", stored(MNIST["test"]), clothes),
        Pool("EMNIST", arrays(EMNIST)["x_test"], clothes),
        Pool("CIFAR-10", own["x_test"], strange["svhn"]),
    ]


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """How many images there are here, and some of them."""
    shown = pools()
    here = {
        "MNIST": (70_000, len(stored(MNIST["train"])) + len(shown[0].own)),
        "EMNIST": (
            240_000,
            len(arrays(EMNIST)["x_train"]) + len(shown[1].own),
        ),
        "CIFAR-10": (
            60_000,
            len(arrays("images/cifar10_small.npz")["x_train"]) + len(shown[2].own),
        ),
        "Fashion-MNIST": (70_000, len(shown[0].strange)),
        "SVHN": (600_000, len(shown[2].strange)),
    }
    progress(1, 1)
    rows = tuple(
        Row({"set": name}, float(printed), exactly(count))
        for name, (printed, count) in here.items()
    )
    caption = "Pools with strange images on top, test images without them below."
    figure = Figure("active-pools", caption, lambda: _draw(shown))
    return Result((Table("Images", rows, _ABOUT, digits=0),), (figure,))


def _draw(shown: list[Pool]) -> MatplotlibFigure:
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(3.6 * len(shown), 7.6), layout="constrained")
    for column, pool in zip(figure.subplots(2, len(shown)).T, shown, strict=True):
        panels = ((f"{pool.name} and strange images", pool.mixed()), (pool.name, pool.alone()))
        for ax, (title, pictures) in zip(column, panels, strict=True):
            ax.imshow(tiled(pictures), cmap="gray", vmin=0, vmax=255)
            ax.set(title=title, xticks=[], yticks=[])
    return figure


def tiled(pictures: Pictures) -> Pictures:
    """Square images (n², s, s, ...) as one of n by n.

    >>> tiled(np.arange(4).reshape(4, 1, 1))
    array([[0, 1],
           [2, 3]])
    """
    side, pixels = int(len(pictures) ** 0.5), pictures.shape[1]
    rows = pictures.reshape(side, side, *pictures.shape[1:]).swapaxes(1, 2)
    return np.asarray(rows.reshape(side * pixels, side * pixels, *pictures.shape[3:]))
