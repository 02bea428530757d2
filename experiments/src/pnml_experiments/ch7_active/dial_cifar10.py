"""Active learning on CIFAR-10 with SVHN in the pool, where a GPU and the whole sets are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pnml_experiments.ch7_active.dial import (
    ALL_STRATEGIES,
    Data,
    Setting,
    curves_of,
    result_of,
    unrun,
)
from pnml_experiments.framework.data import arrays, is_here
from pnml_experiments.framework.experiment import Experiment, Progress, Scale
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.result import Result

if TYPE_CHECKING:
    import torch

EXPERIMENT = Experiment(
    id="dial-cifar10",
    chapter=7,
    title="Active learning on CIFAR-10, as many house numbers as pictures in the pool",
    scales=("small", "printed"),
    minutes=(0.05, 0.1),
    extras=("plots", "torch"),
    uses=("images/cifar10.npz", "images/svhn.npz"),
    own=("images/cifar10.npz",),
    gpu=True,
)

LEVELS = (60, 62, 65)
FILES = ("images/cifar10.npz", "images/svhn.npz")
_POOL = 10_000  # pictures; as many house numbers
_VALIDATION = 1_024
_MEAN, _STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
_WORDS = (
    "A ResNet-18 for pictures of 32×32 with dropout after three stages and before its last layer, "
    "trained from scratch in each round; the research code begins with weights from ImageNet. "
    "16 picks a round of 512 candidates, 512 targets, 100 passes. The pool holds the first 10,000 "
    "pictures of CIFAR-10 and of SVHN; a pick out of distribution costs a label and is not "
    "trained on."
)


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """Labels to reach accuracies; what was printed alone where there is no GPU or no data."""
    why = _why_not()
    if why:
        return unrun("CIFAR-10", "polluted", why)
    setting = settings()[scale]
    return run_on("cuda", setting, out, progress)


def run_on(device: str, setting: Setting, out: Output, progress: Progress) -> Result:
    """Curves of all strategies with the network on a device."""
    data = pictures(device, setting.test)
    curves = curves_of(data, setting, out, progress)
    return result_of("dial-cifar10", "CIFAR-10", "polluted", LEVELS, curves, setting.words)


def settings() -> dict[str, Setting]:
    """How much is done at each scale."""
    from pnml_experiments.ch7_active.dial_networks import Training, picture_resnet

    full = Setting(
        build=partial(picture_resnet, drop=0.1),
        training=Training(steps=79, batch=64, epochs=300, patience=10),
        seeds=6,
        start=1_000,
        stop=4_008,
        step=16,
        candidates=512,
        targets=512,
        passes=100,
        test=10_000,
        words=_WORDS,
        strategies=ALL_STRATEGIES,
    )
    small = replace(full, training=replace(full.training, epochs=5), seeds=2, stop=1_080)
    return {"small": small, "full": full}


def pictures(device: str, test: int) -> Data:
    """Pictures of CIFAR-10 and house numbers of SVHN on a device."""
    kept, strange = (arrays(name) for name in FILES)
    last = slice(-_VALIDATION, None)
    first = slice(min(_POOL, len(kept["y_train"]) * 9 // 10))

    def labels(part: str, rows: slice) -> torch.Tensor:
        return _tensor(kept[f"y_{part}"][rows].astype(np.int64), device)

    return Data(
        x=_scaled(kept, "x_train", first, device),
        y=labels("train", first),
        x_test=_scaled(kept, "x_test", slice(test), device),
        y_test=labels("test", slice(test)),
        x_ood=_scaled(strange, "x_train", first, device),
        validation=(_scaled(kept, "x_train", last, device), labels("train", last)),
    )


def _scaled(kept: Mapping[str, Any], name: str, rows: slice, device: str) -> torch.Tensor:
    """Images (n, 3, 32, 32), normalised."""
    values = kept[name][rows] / np.float32(255)
    normal = (values - np.array(_MEAN, np.float32)) / np.array(_STD, np.float32)
    return _tensor(normal.transpose(0, 3, 1, 2).copy(), device)


def _tensor(values: Any, device: str) -> torch.Tensor:
    import torch

    return torch.from_numpy(values).to(device)


def _why_not() -> str:
    """What is missing, in a sentence."""
    import torch

    if not torch.cuda.is_available():
        return "Not run: training a ResNet-18 hundreds of times needs a GPU, and there is none."
    absent = [name for name in FILES if not is_here(name)]
    if absent:
        return (
            f"Not run: {' and '.join(absent)} (arrays x_train, y_train, x_test, y_test of the "
            "whole sets, uint8) are not below the data folder."
        )
    return ""
