"""Active learning on EMNIST, from a pool of characters or of characters and clothes."""

from __future__ import annotations

from functools import partial

import numpy as np

from pnml_experiments.ch7_active.dial import ALL_STRATEGIES, Data, Setting, curves_of, result_of
from pnml_experiments.framework.data import arrays
from pnml_experiments.framework.experiment import Experiment, Progress, Scale
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.result import Result

EXPERIMENT = Experiment(
    id="dial-emnist",
    chapter=7,
    title="Active learning on EMNIST",
    needs=("emnist",),
    extras=("plots", "torch"),
    scales=("small", "medium", "full"),
    minutes=(2.7, 90.0, 900.0),
)

LEVELS = (25, 30, 40, 53, 56)
_FILE = "emnist/emnist47_small.npz"
_STRANGE = "fashion_mnist/t10k-images-idx3-ubyte.gz"
_POOL = 10_000  # characters; as many clothes
_VALIDATION = 1_024
_MEAN, _STD = 0.1307, 0.3081
_SEED = 0  # of the order of the images, which are stored by class


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """Labels to reach accuracies, from a pool of characters alone."""
    return run_pool("dial-emnist", scale, out, progress, polluted=False)


def run_pool(name: str, scale: Scale, out: Output, progress: Progress, *, polluted: bool) -> Result:
    """Curves of all strategies, from a pool with or without clothes."""
    setting = settings()[scale]
    data = characters(setting.test, polluted=polluted, validated=setting.training.patience > 0)
    found = curves_of(data, setting, out, progress)
    pool = "polluted" if polluted else "clean"
    return result_of(name, "EMNIST", pool, LEVELS, found, setting.words)


def settings() -> dict[str, Setting]:
    """How much is done at each scale."""
    from pnml_experiments.ch7_active.dial_networks import Training, letter_cnn

    small = Setting(
        build=partial(letter_cnn, 8, 64),
        training=Training(steps=120, batch=24, rate=3e-3),
        seeds=2,
        start=47,
        stop=87,
        step=10,
        candidates=64,
        targets=64,
        passes=20,
        test=1_000,
        words=_WORDS["small"],
    )
    medium = Setting(
        build=partial(letter_cnn, 16, 128),
        training=Training(steps=200, batch=32, rate=2e-3),
        seeds=3,
        start=47,
        stop=247,
        step=5,
        candidates=128,
        targets=128,
        passes=40,
        test=2_000,
        words=_WORDS["medium"],
    )
    full = Setting(
        build=letter_cnn,
        training=Training(steps=79, batch=64, epochs=300, patience=10),
        seeds=6,
        start=47,
        stop=347,
        step=1,
        candidates=512,
        targets=512,
        passes=100,
        test=4_700,
        words=_WORDS["full"],
        strategies=ALL_STRATEGIES,
    )
    return {"small": small, "medium": medium, "full": full}


def characters(test: int, *, polluted: bool, validated: bool) -> Data:
    """Characters in random order, and clothes where they are asked for."""
    import torch

    from pnml_experiments.framework.mnist import pixels

    kept = arrays(_FILE)
    chance = np.random.default_rng(_SEED)
    train = chance.permutation(len(kept["y_train"]))
    judged = chance.permutation(len(kept["y_test"]))[:test]
    first, last = train[:_POOL], train[-_VALIDATION:]

    def images(part: str, rows: np.ndarray) -> torch.Tensor:
        scaled = torch.from_numpy(kept[f"x_{part}"][rows] / np.float32(255))[:, None]
        return (scaled - _MEAN) / _STD

    def labels(part: str, rows: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(kept[f"y_{part}"][rows].astype(np.int64))

    return Data(
        x=images("train", first),
        y=labels("train", first),
        x_test=images("test", judged),
        y_test=labels("test", judged),
        x_ood=(pixels(_STRANGE, slice(_POOL)) - _MEAN) / _STD if polluted else None,
        validation=(images("train", last), labels("train", last)) if validated else None,
    )


_REST = (
    "The pool holds 10,000 characters of 47 classes, drawn from a subset of EMNIST that is not "
    "its official split (and, where it is polluted, the 10,000 test images of Fashion-MNIST); a "
    "pick out of distribution costs a label and is not trained on. The first labels are one of "
    "each class; the network is trained from scratch in each round, and all dropout masks are "
    "shared by candidates and targets."
)
_WORDS = {
    "small": (
        "At the scale small a quarter of the published filters and 64 hidden units, 120 steps of "
        "Adam, two seeds, 40 picks, ten at a time: it shows that everything runs. " + _REST
    ),
    "medium": (
        "At the scale medium the network has half the published filters and 128 hidden units, 200 "
        "steps of Adam (0.002, weight decay 0.01, batches of 32), 128 random candidates and 128 "
        "random targets a round, 40 passes, five picks a round. The thesis has 512 candidates, 100 "
        "passes, one pick a round and training to the end. " + _REST
    ),
    "full": (
        "The published network (32, 64 and 128 filters of 3×3, 512 hidden units, dropout 0.5), "
        "Adam (0.001, weight decay 0.01, batches of 64) until the loss on 1,024 validation images "
        "has not fallen for ten epochs of 5,056 draws; one pick a round of 512 candidates, 512 "
        "targets, 100 passes. " + _REST
    ),
}
