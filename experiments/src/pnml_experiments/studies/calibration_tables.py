"""Tables, figure and explanations of the study of calibration."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pnml.metrics import Estimate
from pnml_experiments.framework.colours import COLOURS, DASHES
from pnml_experiments.framework.result import Figure, Row, Table
from pnml_experiments.studies.calibration_findings import (
    BRIER,
    ECE,
    EXTRA,
    FOUND,
    LOSS,
    RANK,
    Found,
)
from pnml_experiments.studies.calibration_heads import FRESH, PNML, REGRET, SOFTMAX, TEMPERATURE

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure
    from matplotlib.figure import SubFigure

GROUPS, BINS = 10, 15
_MARKS = "osv^Dx"
_KNOWN = (
    "Known test rows. Heads are logistic regressions on half of scikit-learn's breast cancer and "
    "digits, C the inverse of their penalty, and with C = 10 on MiniLM embeddings of CLINC150; "
    "for CIFAR-10 that of a ResNet-20 on its stored features. "
    f"ECE by {BINS} bins of equally many rows, Eq. (O15); log-loss and Brier score by Eq. (O14). "
    "Confidence less accuracy is the mean over all rows: above 0 where the method is too sure. "
    "Temperature is from held-out training rows: of a logistic regression by fits to the other "
    "four fifths, of CLINC150 from its validation rows. The ResNet-20 has seen all its training "
    "rows, so its temperature from them is worth nothing. Other test rows: the temperature of one "
    "half of the test rows for the other half. pNML is PNMLClassifier for breast cancer and digits "
    "and LastLayerPNML for the others, with their defaults; scale 1 is LastLayerPNML with the head "
    "at unit features, as the research code. Refitted is pNML with genies trained to the end."
)
_PAIRED = (
    "The first method less the second, on the same draws of rows; below 0 the first is better."
)
_GROUPED = (
    f"Test rows in {GROUPS} groups of equally many, from the lowest score up: mean confidence of "
    "softmax less accuracy in each. Above 0 softmax is too sure there."
)
_ORDERED = (
    "Of most rows the answer is right, and then the distance of correct (1 or 0) and confidence is "
    "1 − confidence itself: a score that follows the confidence has a high rank correlation with "
    "it. So the second number takes pairs of rows that are next to each other in order of "
    "confidence: by how much softmax is surer than right of the row of higher score than of the "
    "other. Above 0 the score knows more than the confidence."
)
_SHIFT = (
    "ECE on test rows with normal noise, of as many standard deviations of each training column "
    "as is said; labels stay true. Pixels are kept between 0 and 1, sentences at unit length, "
    "features of the ResNet-20 above 0. Temperatures are those of clean rows. The "
    "last columns are differences on the same draws of rows."
)
_FLAGGED = (
    "Area under the ROC curve with which a score tells noisy rows from the same rows clean, "
    "accuracy on the noisy rows, and for clean and noisy rows together the number of pairs of like "
    "confidence, as above, with the regret as the score."
)

# What was found of one set; rows of a table without the name of their set.
OneSet = Mapping[str, Any]
Rows = Iterator[tuple[dict[str, str], Sequence[float]]]


def tables(found: Found) -> tuple[Table, ...]:
    """All numbers, the answer first."""
    parts: tuple[tuple[str, Callable[[OneSet], Rows], str], ...] = (
        ("Probabilities of known rows", _known_rows, _KNOWN),
        ("Two methods on the same rows", _paired_rows, _PAIRED),
        ("What a score says of the error of softmax", _order_rows, _ORDERED),
        ("ECE on noisy rows", _shift_rows, _SHIFT),
        ("Whether noisy rows are told from clean ones", _flag_rows, _FLAGGED),
        ("Confidence less accuracy, by groups", _group_rows, _GROUPED),
    )
    return tuple(
        Table(
            title,
            tuple(
                Row({"set": name} | labels, ours=Estimate(*told))
                for name, one in found.items()
                for labels, told in rows(one)
            ),
            about,
            digits=3,
        )
        for title, rows, about in parts
    )


def _known_rows(one: OneSet) -> Rows:
    for method, numbers in one["known"]["methods"].items():
        for number, told in numbers.items():
            yield {"method": method, "number": number}, told


def _paired_rows(one: OneSet) -> Rows:
    for pair, numbers in one["known"]["pairs"].items():
        for number in (ECE, LOSS, BRIER):
            yield {"methods": pair, "number": number}, numbers[number]


def _order_rows(one: OneSet) -> Rows:
    for score, numbers in one["order"].items():
        for number in (RANK, EXTRA, FOUND):
            yield {"score": score, "number": number}, numbers[number]


def _shift_rows(one: OneSet) -> Rows:
    for strength, methods in one["shift"].items():
        for method, told in methods.items():
            yield {"noise": strength, "method": method}, told


def _flag_rows(one: OneSet) -> Rows:
    for strength, numbers in one["flags"].items():
        for number, told in numbers.items():
            word = f"AUROC of {number}" if number in one["order"] else number
            yield {"noise": strength, "number": word}, told


def _group_rows(one: OneSet) -> Rows:
    for k in range(GROUPS):
        for score, numbers in one["order"].items():
            yield {"group": str(k + 1), "number": f"by {score}"}, numbers["groups"][k]


def figure(found: Found) -> Figure:
    """Groups by regret on the left, noise on the right."""
    caption = (
        f"Left: test rows in {GROUPS} groups by their regret, mean confidence of softmax less "
        "accuracy in each; above the line softmax is too sure. Bars are 95 % intervals. Right: "
        "expected calibration error of four methods against the strength of the noise, in standard "
        "deviations of the training columns; bands are 95 % intervals."
    )
    return Figure("regret-calibration", caption, lambda: _drawn(found))


def _drawn(found: Found) -> MatplotlibFigure:
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(12.0, 5.0), layout="constrained")
    sides: Any = canvas.subfigures(1, 2, width_ratios=(1.0, 1.5))
    left, right = sides
    ax, at = left.subplots(), np.arange(1, GROUPS + 1)
    for k, (name, one) in enumerate(found.items()):
        value, low, _ = np.array(one["order"][REGRET]["groups"]).T
        style = {"color": COLOURS[k], "linestyle": DASHES[k], "marker": _MARKS[k]}
        ax.errorbar(at, value, value - low, label=name, markersize=4, elinewidth=0.8, **style)
    ax.axhline(0.0, color="0.5", linewidth=1)
    ax.set(xlabel="group of test rows, from the lowest regret up", xticks=at)
    ax.set(ylabel="confidence of softmax less accuracy")
    ax.legend(fontsize="small", loc="upper left")
    _noise_panels(right, found)
    return canvas


def _noise_panels(canvas: SubFigure, found: Found) -> None:
    columns = min(3, len(found))
    panels = canvas.subplots(-(-len(found) // columns), columns, squeeze=False, sharex=True)
    for ax in panels.flat[len(found) :]:
        ax.set_visible(False)
    strengths = list(next(iter(found.values()))["shift"])
    at = [float(strength) for strength in strengths]
    for ax, (name, one) in zip(panels.flat, found.items(), strict=False):
        for k, method in enumerate((SOFTMAX, TEMPERATURE, FRESH, PNML)):
            told = [one["shift"][strength][method] for strength in strengths]
            value, low, high = np.array(told).T
            style = {"color": COLOURS[k], "linestyle": DASHES[k], "marker": _MARKS[k]}
            ax.plot(at, value, markersize=4, label=method, **style)
            ax.fill_between(at, np.maximum(low, 0), high, color=COLOURS[k], alpha=0.15)
        ax.set(title=name, ylim=(0, None), xticks=at)
        ax.title.set_fontsize("medium")
    for ax in panels[-1]:
        ax.set_xlabel("noise, standard deviations")
    for ax in panels[:, 0]:
        ax.set_ylabel("ECE")
    handles, labels = panels.flat[0].get_legend_handles_labels()
    canvas.legend(handles, labels, loc="outside lower center", ncols=4, fontsize="small")
