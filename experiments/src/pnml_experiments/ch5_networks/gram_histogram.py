"""Gram against Gram + pNML, image by image, with the best threshold of each."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pnml.core.arrays import FloatArray
from pnml_experiments.ch5_networks.image_subjects import SIZES, own_images, strange_images
from pnml_experiments.ch5_networks.ood_networks import subjects
from pnml_experiments.framework.experiment import Experiment, Progress, Scale, counted
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.result import Figure, Result, Row, Table, exactly

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure

    from pnml_experiments.ch5_networks.ood_methods import Trio

EXPERIMENT = Experiment(
    id="gram-histogram",
    chapter=5,
    title="Gram against Gram + pNML, sample by sample",
    minutes=(0.8, 10.0),
    less="2,500 of 50,000 training images, and crops of Tiny-ImageNet for those of LSUN.",
    extras=("plots", "torch"),
    needs=("small-images", "weights/densenet_bc100_cifar100.pth"),
)

_IND, _OOD = "CIFAR-100", "Imagenet (C)"
# One network on two sets: there is time for more images of either kind.
_SIZES = {"small": replace(SIZES["small"], others=150), "full": SIZES["full"]}
_NOTE = (
    "Printed for LSUN (C), whose images cannot be had, and 10,000 images of either kind; here {:,} "
    "known images and {:,} crops of Tiny-ImageNet, and {:,} of 50,000 training images, of the "
    "classes that those show."
)
_ABOUT = (
    "Percent of the images. The threshold of each method is the one of its best detection "
    "accuracy; ours is at s = 1, fair at the s chosen from training rows."
)


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """Which images each of the two methods gets wrong, and the histograms."""
    trained, usual, strange = _scores(scale, out, progress)
    note = _NOTE.format(len(usual.plain), len(strange.plain), trained)
    ours, fair = (_mistakes(usual, strange, kind) for kind in ("thesis", "fair"))
    rows = tuple(
        Row({"number": what}, printed, exactly(ours[what]), exactly(fair[what]), note)
        for what, printed in _PRINTED.items()
    )
    figure = Figure(
        "gram-histogram",
        f"Gram score and regret of Gram + pNML, {_IND} on the left and {_OOD} on the right; lines "
        "are the best thresholds. What is infinite is in the last row and column.",
        lambda: _draw(usual, strange),
    )
    return Result((Table("Images told wrong", rows, _ABOUT, digits=2),), (figure,))


# Percent: 1205 and 891 of 10,000 images, 473 and 76 of the outliers.
_PRINTED = {
    "known images that Gram takes for outliers": 12.05,
    "known images that Gram + pNML takes for outliers": 8.91,
    "outliers that Gram + pNML finds and Gram does not": 4.73,
    "outliers that Gram finds and Gram + pNML does not": 0.76,
}


def best_threshold(usual: FloatArray, strange: FloatArray) -> float:
    """The outlier score from which on images are best taken for outliers.

    >>> best_threshold(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    3.0
    """
    levels = np.unique(np.concatenate([usual, strange]))
    kept = np.searchsorted(np.sort(usual), levels) / len(usual)
    detected = 1 - np.searchsorted(np.sort(strange), levels) / len(strange)
    return float(levels[np.argmax(kept + detected)])


def _scores(scale: Scale, out: Output, progress: Progress) -> tuple[int, Trio, Trio]:
    from pnml_experiments.ch5_networks.feature_extraction import extract, images_to_do
    from pnml_experiments.ch5_networks.ood_methods import MethodScores

    sizes = _SIZES[scale]
    plain = next(
        one for one in subjects("DenseNet-BC-100") if one.ind == _IND and "Gram" in one.methods
    )
    subject = replace(plain, methods=("Gram",))
    own = own_images(subject, sizes)
    outliers = next(one for one in strange_images(subject, sizes) if one.name == _OOD)
    sets = [own.test, outliers]
    tell = counted(progress, images_to_do(subject, sizes, own.train, sets))
    kept = extract(subject, sizes, own.train, sets, out, tell)
    scores = MethodScores(kept)
    usual, strange = (scores.scores("Gram", kept.sets[name]) for name in ("test", _OOD))
    return len(own.train.images), usual, strange


def _mistakes(usual: Trio, strange: Trio, kind: str) -> dict[str, float]:
    gram = best_threshold(usual.plain, strange.plain)
    ours_in, ours_out = getattr(usual, kind), getattr(strange, kind)
    pnml = best_threshold(ours_in, ours_out)
    by_gram, by_pnml = strange.plain >= gram, ours_out >= pnml
    shares = (usual.plain >= gram, ours_in >= pnml, by_pnml & ~by_gram, by_gram & ~by_pnml)
    return {what: 100 * float(np.mean(share)) for what, share in zip(_PRINTED, shares, strict=True)}


def _draw(usual: Trio, strange: Trio) -> MatplotlibFigure:
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharex=True, sharey=True)
    x, y = (_Axis(getattr(usual, kind), getattr(strange, kind)) for kind in ("plain", "fair"))
    for ax, one, name in zip(axes, (usual, strange), (_IND, _OOD), strict=True):
        bins = [x.bins, y.bins]
        *_, drawn = ax.hist2d(x.logs(one.plain), y.logs(one.fair), bins=bins, cmin=1)
        figure.colorbar(drawn, ax=ax)
        ax.axvline(x.threshold, color="red", linewidth=1)
        ax.axhline(y.threshold, color="red", linewidth=1)
        ax.set(title=name, xlabel="log₁₀ Gram score")
    axes[0].set_ylabel("log₁₀ regret, Gram + pNML")
    return figure


class _Axis:
    """Scores of a method on a log axis that ends at the last finite one."""

    def __init__(self, usual: FloatArray, strange: FloatArray) -> None:
        everything = np.concatenate([usual, strange])
        drawn = everything[np.isfinite(everything) & (everything > 0)]
        drawn = drawn if len(drawn) else np.ones(1)
        self._low, self._high = float(drawn.min()), float(drawn.max()) * (1 + 1e-9)
        self.bins = np.linspace(np.log10(self._low), np.log10(self._high), 40)
        self.threshold = float(self.logs(np.array([best_threshold(usual, strange)]))[0])

    def logs(self, scores: FloatArray) -> FloatArray:
        return np.asarray(np.log10(np.clip(scores, self._low, self._high)))
