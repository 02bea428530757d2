"""Active learning on MNIST, from a pool of digits or of digits and clothes."""

from __future__ import annotations

from functools import partial

import numpy as np

from pnml_experiments.ch7_active.dial import ALL_STRATEGIES, Data, Setting, curves_of, result_of
from pnml_experiments.framework.experiment import Experiment, Progress, Scale
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.result import Result

EXPERIMENT = Experiment(
    id="dial-mnist",
    chapter=7,
    title="Active learning on MNIST",
    needs=("mnist",),
    extras=("plots", "torch"),
    scales=("small", "medium", "full"),
    minutes=(1.5, 60.0, 600.0),
)

LEVELS = (65, 75, 85, 95, 96)
_POOL = 10_000  # training images; as many clothes
_VALIDATION = 1_024
_MEAN, _STD = 0.1307, 0.3081
_FILES = {
    "train": "mnist/train-images-idx3-ubyte.gz",
    "train labels": "mnist/train-labels-idx1-ubyte.gz",
    "test": "mnist/t10k-images-idx3-ubyte.gz",
    "test labels": "mnist/t10k-labels-idx1-ubyte.gz",
    "strange": "fashion_mnist/t10k-images-idx3-ubyte.gz",
}


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """Labels to reach accuracies, from a pool of digits alone."""
    return run_pool("dial-mnist", scale, out, progress, polluted=False)


def run_pool(name: str, scale: Scale, out: Output, progress: Progress, *, polluted: bool) -> Result:
    """Curves of all strategies, from a pool with or without clothes."""
    setting = settings()[scale]
    data = digits(setting.test, polluted=polluted, validated=setting.training.patience > 0)
    found = curves_of(data, setting, out, progress)
    pool = "polluted" if polluted else "clean"
    return result_of(name, "MNIST", pool, LEVELS, found, setting.words)


def settings() -> dict[str, Setting]:
    """How much is done at each scale."""
    from pnml_experiments.ch7_active.dial_networks import Training, digit_cnn

    small = Setting(
        build=partial(digit_cnn, 8, 64),
        training=Training(steps=100, batch=24, rate=2e-3),
        seeds=2,
        start=10,
        stop=34,
        step=6,
        candidates=64,
        targets=64,
        passes=20,
        test=1_000,
        words=_WORDS["small"],
    )
    medium = Setting(
        build=partial(digit_cnn, 8, 64),
        training=Training(steps=120, batch=24, rate=2e-3),
        seeds=5,
        start=10,
        stop=100,
        step=3,
        candidates=128,
        targets=128,
        passes=40,
        test=2_000,
        words=_WORDS["medium"],
    )
    full = Setting(
        build=digit_cnn,
        training=Training(steps=79, batch=64, epochs=300, patience=10),
        seeds=6,
        start=20,
        stop=320,
        step=1,
        candidates=512,
        targets=512,
        passes=100,
        test=10_000,
        words=_WORDS["full"],
        strategies=ALL_STRATEGIES,
    )
    return {"small": small, "medium": medium, "full": full}


def digits(test: int, *, polluted: bool, validated: bool) -> Data:
    """The first digits of the training set, test digits, and clothes where they are asked for."""
    import torch

    from pnml_experiments.framework.mnist import pixels, stored

    def images(name: str, rows: slice) -> torch.Tensor:
        return (pixels(_FILES[name], rows) - _MEAN) / _STD

    def labels(name: str, rows: slice) -> torch.Tensor:
        return torch.from_numpy(stored(_FILES[name])[rows].astype(np.int64))

    first, last = slice(_POOL), slice(-_VALIDATION, None)
    held = (images("train", last), labels("train labels", last)) if validated else None
    return Data(
        x=images("train", first),
        y=labels("train labels", first),
        x_test=images("test", slice(test)),
        y_test=labels("test labels", slice(test)),
        x_ood=images("strange", first) if polluted else None,
        validation=held,
    )


_REST = (
    "The pool holds the first 10,000 training digits (and, where it is polluted, the 10,000 test "
    "images of Fashion-MNIST); a pick out of distribution costs a label and is not trained on. "
    "The first labels are spread evenly over the classes; the network is trained from scratch in "
    "each round, and all dropout masks are shared by candidates and targets."
)
_WORDS = {
    "small": (
        "At the scale small a quarter of the published filters (8 and 16) and 64 hidden units, 100 "
        "steps of Adam, two seeds, 24 picks, six at a time: it shows that everything runs. " + _REST
    ),
    "medium": (
        "At the scale medium the network has a quarter of the published filters (8 and 16 of 5×5, "
        "64 hidden units), 120 steps of Adam (0.002, weight decay 0.01, batches of 24), 128 random "
        "candidates and 128 random targets a round, 40 passes, three picks a round; accuracy is of "
        "the first 2,000 test digits. The thesis has 512 candidates, 100 passes, one pick a round "
        "and training to the end. " + _REST
    ),
    "full": (
        "The published network (32 and 64 filters of 5×5, 128 hidden units, dropout 0.5), Adam "
        "(0.001, weight decay 0.01, batches of 64) until the loss on 1,024 validation digits has "
        "not fallen for ten epochs of 5,056 draws; one pick a round of 512 candidates, 512 "
        "targets, 100 passes. " + _REST
    ),
}
