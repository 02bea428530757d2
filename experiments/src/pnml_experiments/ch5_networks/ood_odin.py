"""OOD detection with DenseNets and all images: ODIN with a step for each set, as in the thesis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pnml_experiments.ch5_networks import full_features
from pnml_experiments.ch5_networks.network_tables import (
    ABOUT,
    MADE_AS_PRINTED,
    SMALL,
    Found,
    choices,
    rows_of,
)
from pnml_experiments.ch5_networks.ood_networks import subjects_at
from pnml_experiments.ch5_networks.ood_tables import INTERVAL, SEED, measured, three_tables
from pnml_experiments.framework.colours import COLOURS
from pnml_experiments.framework.experiment import Experiment, Progress, Scale, counted
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.result import Figure, Result, Row, Table, exactly

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure

    from pnml_experiments.ch5_networks.kept_features import Features
    from pnml_experiments.ch5_networks.odin_files import MovedFeatures
    from pnml_experiments.ch5_networks.ood_methods import MethodScores, Trio

EXPERIMENT = Experiment(
    id="ood-odin",
    chapter=5,
    title="OOD detection with a DenseNet-BC-100 and all images: ODIN with a step for each set",
    minutes=(1.5, 280.0),
    less=(
        "Without SVHN through the network of CIFAR-10, which is still to be run, and without what "
        "cannot be had: the images of LSUN and iSUN, and plain weights for SVHN."
    ),
    extras=("plots", "torch"),
    needs=("densenets", "images-in-full"),
)
NETWORK = "DenseNet-BC-100"
# Kind of score → the row that it is of.
_ROWS = {"plain": "ODIN", "thesis": "ODIN + pNML"}
# Set of outliers → kind of score → AUROC in percent at every step.
Curves = dict[str, dict[str, list[float]]]
_REMARKS = (
    "The DenseNets are those that the authors of DICE publish; print names no weights.",
    (
        "ODIN: temperature 1000. As in the research code, ours takes for each set the step out of "
        "ten with the highest AUROC on test images; ODIN and ODIN + pNML have steps of their own. "
        "The research code looks at all test images for that, ours at every twentieth; the numbers "
        "are of all images. That is no fair choice: a user knows no outliers. fair takes one step "
        "for all sets of a network, that of the highest mean softmax over every hundredth training "
        "image."
    ),
)


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """AUROC, TNR at TPR 95 % and detection accuracy of ODIN, alone and with pNML."""
    from pnml_experiments.ch5_networks.odin_files import MovedFeatures

    ready = [
        replace(one, methods=("ODIN",))
        for one in subjects_at(scale, NETWORK)
        if "ODIN" in one.methods and full_features.are_here(one)
    ]
    few = scale == "small"
    todo = (MovedFeatures(one, out.cache, few=few) for one in ready if one.key not in out)
    tell = counted(progress, sum(files.work() for files in todo))
    pieces = {
        one.key: out.piece(
            one.key, partial(numbers_of_odin, MovedFeatures(one, out.cache, tell, few))
        )
        for one in ready
    }
    found: dict[str, Found] = {one.ind: pieces[one.key]["methods"] for one in ready}
    sizes = {one.ind: pieces[one.key]["sizes"] for one in ready}
    kept = set(_ROWS.values())
    rows = {
        metric: [row for row in listed if row.labels["method"] in kept]
        for metric, listed in rows_of(NETWORK, found, sizes, MADE_AS_PRINTED).items()
    }
    curves = {one.ind: pieces[one.key]["curves"] for one in ready}
    tables = (*three_tables(rows, ABOUT), _by_step(curves), choices(ready, pieces))
    caption = (
        "AUROC by the step of ODIN, every twentieth image; the dot is the step that ours takes."
    )
    figure = Figure("ood-odin-steps", caption, partial(_draw, curves))
    remarks = _REMARKS + (SMALL,) * few
    return Result(tables, (figure,), (SEED,), 1, INTERVAL, remarks)


def numbers_of_odin(files: MovedFeatures) -> dict[str, Any]:
    """Results of one network as plain JSON values."""
    from pnml_experiments.ch5_networks.feature_extraction import Extraction
    from pnml_experiments.ch5_networks.gram_files import HELD
    from pnml_experiments.ch5_networks.image_subjects import head_of
    from pnml_experiments.ch5_networks.odin_files import MOST, STEPS, sets_of_odin
    from pnml_experiments.ch5_networks.ood_methods import MethodScores

    subject = files.subject
    head = head_of(subject.network())
    scores = MethodScores(Extraction(head, files.training(), None, None, {}))
    fair = STEPS[_surest_step(_logits(head, files.sample(HELD)))]
    usual = _Scored(scores, files, "test")
    methods: Found = {"ODIN": {}}
    curves: Curves = {}
    names = {file: name for name, file in full_features.PRINTED_OUTLIERS.items()}
    outliers = [file for file in sets_of_odin(subject) if file in names]
    for file in outliers:
        name, strange = names[file], _Scored(scores, files, file)
        curves[name] = _curves(usual.by_step, strange.by_step)
        best = {kind: STEPS[int(np.argmax(curve))] for kind, curve in curves[name].items()}
        methods["ODIN"][name] = {
            key: measured(getattr(usual.after(step), kind), getattr(strange.after(step), kind))
            for key, kind, step in (
                ("plain", "plain", best["plain"]),
                ("thesis", "thesis", best["thesis"]),
                ("plain_fair", "plain", fair),
                ("fair", "fair", fair),
            )
        }
        files.tell(files.count(file) * (MOST - len({fair, *best.values()})))  # were not needed
    sizes = {names.get(file, file): files.count(file) for file in ("train", "test", *outliers)}
    classes = {"classes": subject.classes, "all classes": subject.classes}
    return {
        "methods": methods,
        "curves": curves,
        "epsilon": fair,
        "scale": scores.scale,
        "sizes": sizes | classes,
    }


class _Scored:
    """Scores of ODIN for a set of images."""

    def __init__(self, scores: MethodScores, files: MovedFeatures, name: str) -> None:
        self._scores = scores
        self.after = cache(lambda step: self._of(files.whole(name, step)))  # of all images
        # of a sample, after each step
        self.by_step = [self._of(rows) for rows in files.sample(name).swapaxes(0, 1)]

    def _of(self, moved: Features) -> Trio:
        from pnml_experiments.ch5_networks.feature_extraction import Seen

        return self._scores.scores("ODIN", Seen(moved, None, moved))


def _curves(usual: Sequence[Trio], there: Sequence[Trio]) -> dict[str, list[float]]:
    """Kind of score → AUROC at each step."""
    pairs = list(zip(usual, there, strict=True))
    return {kind: [auroc(getattr(a, kind), getattr(b, kind)) for a, b in pairs] for kind in _ROWS}


def auroc(usual: Any, strange: Any) -> float:
    """AUROC in percent of outlier scores of ordinary images and of outliers.

    >>> auroc(np.array([0.0, 1.0]), np.array([0.5, 2.0]))
    75.0
    """
    from pnml.metrics.ranking import Ranking

    return 100 * float(Ranking.of(-usual, -strange).area()[0])


def _surest_step(logits: Any) -> int:
    """Which step makes the largest softmax greatest on average; logits are (n, steps, C)."""
    from pnml.ood import ODIN

    means = [float(np.mean(ODIN.score(logits[:, at]))) for at in range(logits.shape[1])]
    return int(np.argmin(means))


def _logits(head: Any, features: Features) -> Any:
    weight, bias = (part.detach().double().numpy() for part in (head.weight, head.bias))
    return features.astype(np.float64) @ weight.T + bias


def _by_step(curves: Mapping[str, Curves]) -> Table:
    """AUROC at every step."""
    from pnml_experiments.ch5_networks.odin_files import STEPS

    rows = [
        Row({"IND": ind, "OOD": ood, "method": _ROWS[kind], "step": f"{step:g}"}, None, exactly(x))
        for ind, sets in curves.items()
        for ood, kinds in sets.items()
        for kind, curve in kinds.items()
        for step, x in zip(STEPS, curve, strict=True)
    ]
    return Table(
        "AUROC by the step, percent", tuple(rows), "Every twentieth image; with pNML at s = 1."
    )


def _draw(curves: Mapping[str, Curves]) -> MatplotlibFigure:
    from matplotlib import pyplot as plt

    from pnml_experiments.ch5_networks.odin_files import STEPS

    figure, axes = plt.subplots(
        len(curves), 2, figsize=(9, 3.5 * len(curves)), sharey="row", squeeze=False
    )
    places = np.arange(len(STEPS))
    # a set has one colour in all panels, also where a network has not seen every set
    known = {name for sets in curves.values() for name in sets}
    every = [name for name in full_features.PRINTED_OUTLIERS if name in known]
    for line, (ind, sets) in zip(axes, curves.items(), strict=True):
        for ax, (kind, method) in zip(line, _ROWS.items(), strict=True):
            for ood in sorted(sets, key=every.index):
                curve, colour = (
                    np.asarray(sets[ood][kind]),
                    COLOURS[every.index(ood) % len(COLOURS)],
                )
                ax.plot(places, curve, color=colour, label=ood)
                best = int(curve.argmax())
                ax.plot(best, curve[best], "o", color=colour)
            ax.set_xticks(places, [f"{step:g}" for step in STEPS], rotation=45)
            ax.set(title=f"{method}, trained on {ind}", xlabel="step", ylabel="AUROC, percent")
    axes[0, 0].legend(fontsize="small")
    figure.tight_layout()
    return figure
