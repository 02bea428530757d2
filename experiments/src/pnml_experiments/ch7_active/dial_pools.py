"""Active learning on MNIST and EMNIST, from clean pools and from pools with as many clothes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pnml_experiments.ch7_active import dial_unfinished
from pnml_experiments.ch7_active.dial import (
    PRINTED_STRATEGIES,
    Data,
    Setting,
    curves_of,
    result_of,
)
from pnml_experiments.framework.data import arrays
from pnml_experiments.framework.experiment import Experiment, Progress, Scale
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.result import Result
from pnml_experiments.framework.stored_files import EMNIST, FASHION_TEST, MNIST
from pnml_experiments.framework.unfinished import Shown

if TYPE_CHECKING:
    from torch import Tensor

EXPERIMENTS = (
    Experiment(
        id="dial-mnist",
        chapter=7,
        title="Active learning on MNIST",
        minutes=(1.5, 60.0, 300.0, 4400.0),
        less="Three of six seeds, and up to 60 of 320 labels.",
        extras=("plots", "torch"),
        case="MNIST, clean",
        scales=("small", "medium", "stored", "printed"),
        needs=("mnist",),
    ),
    Experiment(
        id="dial-mnist-ood",
        chapter=7,
        title="Active learning on MNIST, as many clothes as digits in the pool",
        minutes=(1.5, 80.0, 300.0, 4400.0),
        less="Three of six seeds, and up to 60 of 320 labels.",
        extras=("plots", "torch"),
        case="MNIST, polluted",
        scales=("small", "medium", "stored", "printed"),
        needs=("mnist", "fashion-mnist"),
    ),
    Experiment(
        id="dial-emnist",
        chapter=7,
        title="Active learning on EMNIST",
        minutes=(0.9, 90.0, 4500.0),
        less="Another part of EMNIST: 4,700 of 18,800 test images.",
        extras=("plots", "torch"),
        case="EMNIST, clean",
        scales=("small", "medium", "stored"),
        needs=("emnist",),
    ),
    Experiment(
        id="dial-emnist-ood",
        chapter=7,
        title="Active learning on EMNIST, as many clothes as characters in the pool",
        minutes=(0.7, 120.0, 4500.0),
        less="Another part of EMNIST: 4,700 of 18,800 test images.",
        extras=("plots", "torch"),
        case="EMNIST, polluted",
        scales=("small", "medium", "stored"),
        needs=("emnist", "fashion-mnist"),
    ),
)
LEVELS = {"MNIST": (65, 75, 85, 95, 96), "EMNIST": (25, 30, 40, 53, 56)}
_POOL = 10_000  # images of the data set; as many clothes
_VALIDATION = 1_024
_MEAN, _STD = 0.1307, 0.3081
_SEED = 0  # of the order of the characters, which are stored by class


def run(case: str, scale: Scale, out: Output, progress: Progress) -> Result:
    """Labels to reach accuracies, and how many labels were spent on clothes."""
    name, pool = case.split(", ")
    polluted = pool == "polluted"
    setting = settings(name)[scale]
    load = digits if name == "MNIST" else characters
    data = load(setting.test, polluted=polluted, validated=setting.training.patience > 0)
    curves = curves_of(data, setting, out, progress)
    figures = f"dial-{name.lower()}{'-ood' * polluted}"
    return result_of(figures, name, pool, LEVELS[name], curves, setting.words)


def how_far(case: str, size: Scale, pieces: Mapping[str, Any]) -> str:
    """How far an unfinished run is, from its finished pieces."""
    return dial_unfinished.how_far(settings(case.split(", ")[0])[size], pieces)


def so_far(case: str, size: Scale, pieces: Mapping[str, Any]) -> Shown | None:
    """What an unfinished run shows so far."""
    name, pool = case.split(", ")
    found = dial_unfinished.finished_curves(settings(name)[size], pieces, _POOL)
    if found is None:
        return None
    return dial_unfinished.shown(found, name, pool, LEVELS[name])


def settings(name: str) -> dict[str, Setting]:
    """Network, training and number of rounds at each scale, for MNIST or EMNIST."""
    from pnml_experiments.ch7_active.dial_networks import Training, digit_cnn, letter_cnn, quick

    words = _words(name)
    small = partial(
        Setting, seeds=2, candidates=64, targets=64, passes=20, test=1_000, words=words["small"]
    )
    medium = partial(
        Setting, candidates=128, targets=128, passes=40, test=2_000, words=words["medium"]
    )
    full = partial(
        Setting,
        training=Training(steps=79, batch=64, epochs=300, patience=10),
        step=1,
        turn=20,
        candidates=512,
        targets=512,
        passes=100,
        words=words["full"],
        strategies=PRINTED_STRATEGIES,
    )
    if name == "MNIST":
        build = partial(digit_cnn, 8, 64)
        brief, longer = (Training(steps=steps, batch=24, rate=2e-3) for steps in (100, 120))
        network = partial(quick, digit_cnn)
        whole = full(build=network, seeds=6, start=20, stop=320, test=10_000)
        return {
            "small": small(build=build, training=brief, start=10, stop=28, step=6),
            "medium": medium(build=build, training=longer, seeds=5, start=10, stop=100, step=3),
            "stored": replace(whole, seeds=3, stop=60),
            "full": whole,
        }
    brief = Training(steps=120, batch=24, rate=3e-3)
    longer = Training(steps=200, batch=32, rate=2e-3)
    quarter, half = partial(letter_cnn, 8, 64), partial(letter_cnn, 16, 128)
    return {
        "small": small(build=quarter, training=brief, start=47, stop=67, step=10),
        "medium": medium(build=half, training=longer, seeds=3, start=47, stop=247, step=5),
        "full": full(build=partial(quick, letter_cnn), seeds=3, start=47, stop=347, test=4_700),
    }


def digits(test: int, *, polluted: bool, validated: bool) -> Data:
    """The first digits of the training set, and the first test digits."""
    from pnml_experiments.framework.mnist import pixels, stored

    def read(part: str, rows: Any) -> tuple[Tensor, Any]:
        return pixels(MNIST[part], rows), stored(MNIST[f"{part} labels"])[rows]

    rows = slice(_POOL), slice(-_VALIDATION, None), slice(test)
    return _pool(read, *rows, polluted=polluted, validated=validated)


def characters(test: int, *, polluted: bool, validated: bool) -> Data:
    """Characters of 47 classes, in random order."""
    import torch

    kept = arrays(EMNIST)

    def read(part: str, rows: Any) -> tuple[Tensor, Any]:
        images = torch.from_numpy(kept[f"x_{part}"][rows] / np.float32(255))[:, None]
        return images, kept[f"y_{part}"][rows]

    rng = np.random.default_rng(_SEED)
    train = rng.permutation(len(kept["y_train"]))
    tested = rng.permutation(len(kept["y_test"]))[:test]
    rows = train[:_POOL], train[-_VALIDATION:], tested
    return _pool(read, *rows, polluted=polluted, validated=validated)


def _pool(
    read: Callable[[str, Any], tuple[Tensor, Any]],
    first: Any,
    last: Any,
    tested: Any,
    *,
    polluted: bool,
    validated: bool,
) -> Data:
    """Images normalised and labels, of these rows of the training and the test part."""
    import torch

    from pnml_experiments.framework.mnist import pixels

    def both(part: str, rows: Any) -> tuple[Tensor, Tensor]:
        images, labels = read(part, rows)
        return (images - _MEAN) / _STD, torch.from_numpy(labels.astype(np.int64))

    clothes = (pixels(FASHION_TEST, slice(_POOL)) - _MEAN) / _STD if polluted else None
    validation = both("train", last) if validated else None
    return Data(*both("train", first), *both("test", tested), clothes, validation)


def _words(name: str) -> dict[str, str]:
    """The network and its training at each scale, for the reader."""
    rest = _POOLS[name]
    return {scale: words + rest for scale, words in _TRAININGS[name].items()}


_POOLS = {
    "MNIST": (
        "The pool holds the first 10,000 training digits (and, where it is polluted, the 10,000 "
        "test images of Fashion-MNIST); a pick out of distribution costs a label and is not "
        "trained on. The first labels are spread evenly over the classes; the network is trained "
        "from scratch in each round, and all dropout masks are shared by candidates and targets."
    ),
    "EMNIST": (
        "The pool holds 10,000 characters of 47 classes, drawn from a subset of EMNIST that is not "
        "its official split (and, where it is polluted, the 10,000 test images of Fashion-MNIST); "
        "a pick out of distribution costs a label and is not trained on. The first labels are one "
        "of each class; the network is trained from scratch in each round, and all dropout masks "
        "are shared by candidates and targets."
    ),
}
_TRAININGS = {
    "MNIST": {
        "small": (
            "At the scale small a quarter of the published filters (8 and 16) and 64 hidden units, "
            "100 steps of Adam, two seeds, 24 picks, six at a time: it shows that everything runs. "
        ),
        "medium": (
            "At the scale medium the network has a quarter of the published filters (8 and 16 of "
            "5×5, 64 hidden units), 120 steps of Adam (0.002, weight decay 0.01, batches of 24), "
            "128 random candidates and 128 random targets a round, 40 passes, three picks a round; "
            "accuracy is of the first 2,000 test digits. The thesis has 512 candidates, 100 "
            "passes, one pick a round and training to the end. "
        ),
        "full": (
            "The published network (32 and 64 filters of 5×5, 128 hidden units, dropout 0.5), Adam "
            "(0.001, weight decay 0.01, batches of 64) until the loss on 1,024 validation digits "
            "has not fallen for ten epochs of 5,056 draws; one pick a round of 512 candidates, 512 "
            "targets, 100 passes. "
        ),
    },
    "EMNIST": {
        "small": (
            "At the scale small a quarter of the published filters and 64 hidden units, 120 steps "
            "of Adam, two seeds, 40 picks, ten at a time: it shows that everything runs. "
        ),
        "medium": (
            "At the scale medium the network has half the published filters and 128 hidden units, "
            "200 steps of Adam (0.002, weight decay 0.01, batches of 32), 128 random candidates "
            "and 128 random targets a round, 40 passes, five picks a round. The thesis has 512 "
            "candidates, 100 passes, one pick a round and training to the end. "
        ),
        "full": (
            "The published network (32, 64 and 128 filters of 3×3, 512 hidden units, dropout 0.5), "
            "Adam (0.001, weight decay 0.01, batches of 64) until the loss on 1,024 validation "
            "images has not fallen for ten epochs of 5,056 draws; one pick a round of 512 "
            "candidates, 512 targets, 100 passes. "
        ),
    },
}
