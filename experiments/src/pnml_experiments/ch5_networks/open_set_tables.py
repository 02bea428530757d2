"""What confidence scores make of unknown classes → the tables and figures of the thesis."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from pnml.metrics import Estimate
from pnml.metrics.open_set import FPR
from pnml.plots.confidence import ConfidenceDisplay
from pnml.plots.oscr import OSCRDisplay
from pnml_experiments.ch5_networks.open_set import AUTO, CURVE, PNML, Judged
from pnml_experiments.framework.printed import lines
from pnml_experiments.framework.result import Figure, Row, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MatplotlibFigure

INTERVAL = "95 %: 200 draws of the rows"
ABOUT = (
    "pNML takes the head at s times the unit features: ours is s = 1 as in the research code, fair "
    "the s that is chosen from training rows alone."
)
# As keys of a printed row, and as titles.
NUMBERS = {"area": "OSCR area"} | {f"{level:g}": f"CCR at FPR {level:g}" for level in FPR}


@dataclass(frozen=True)
class PrintedScore:
    """A row of an open-set table: shares at each of `NUMBERS`."""

    unknown: str
    score: str
    numbers: Mapping[str, float]


@cache
def printed_scores() -> tuple[PrintedScore, ...]:
    """The open-set table of CIFAR-10 and a DenseNet-BC-100, in its order.

    >>> printed_scores()[0].numbers["area"]
    0.82
    """
    return tuple(
        PrintedScore(
            line["unknown"], line["score"], {number: float(line[number]) for number in NUMBERS}
        )
        for line in lines("open_set")
    )


def six_tables(
    found: Mapping[str, Judged],
    part: str,
    printed: Mapping[tuple[str, str], PrintedScore],
    note: Callable[[str, str, bool], str],
) -> tuple[Table, ...]:
    """One table for the area and each rate.

    `printed` is by unknown set and score, and `note` is asked with these and whether it was run.
    """
    oods = tuple(next(iter(found.values()))["sets"])
    shown = [name for name in found if name != AUTO]
    pairs = [(ood, name) for ood in oods for name in shown]
    pairs += [pair for pair in printed if pair not in pairs]
    places = {ood: i for i, ood in enumerate(dict.fromkeys(ood for ood, _ in pairs))}
    pairs.sort(key=lambda pair: places[pair[0]])  # keeps the order within a set
    tables = []
    for i, (number, title) in enumerate(NUMBERS.items()):
        rows = []
        for ood, name in pairs:
            ours = _estimate(found, name, ood, i)
            rows.append(
                Row(
                    {"unknown": ood, "score": name},
                    printed[ood, name].numbers[number] if (ood, name) in printed else None,
                    ours,
                    _estimate(found, AUTO, ood, i) if name == PNML else None,
                    note(ood, name, ours is not None),
                )
            )
        tables.append(Table(f"{title}, {part}", tuple(rows), ABOUT, digits=3))
    return tuple(tables)


def _estimate(found: Mapping[str, Judged], name: str, ood: str, i: int) -> Estimate | None:
    """The area, and then the rates in their order; None where it was not run."""
    one = found[name]["sets"].get(ood) if name in found else None
    return None if one is None else Estimate(*(one["area"] if i == 0 else one["ccr"][i - 1]))


def figures(name: str, known: str, found: Mapping[str, Judged]) -> tuple[Figure, Figure]:
    """Curves, a picture for each unknown set, and histograms, a picture for each score."""
    return (
        Figure(
            f"{name}-curves",
            f"Correct classification rate on {known} against the rate of unknown rows let in.",
            lambda: _draw_curves(found),
        ),
        Figure(
            f"{name}-confidence",
            f"Confidence scores of {known}, filled, and of unknown rows. The first and the last "
            "bin also hold what lies beyond them.",
            lambda: _draw_histograms(found),
        ),
    )


def _draw_curves(found: Mapping[str, Judged]) -> MatplotlibFigure:
    oods = tuple(next(iter(found.values()))["sets"])
    figure, axes = _grid(len(oods))
    for ax, ood in zip(axes, oods, strict=True):
        for i, (name, judged) in enumerate(found.items()):
            one = judged["sets"][ood]
            ccr, area = np.array(one["curve"]), float(one["area"][0])
            last = i + 1 == len(found)
            OSCRDisplay(fpr=CURVE, ccr=ccr, area=area, name=name).plot(ax, plot_accuracy=last)
        ax.set_title(ood)
        ax.legend(fontsize="x-small", loc="lower right")
    return figure


def _draw_histograms(found: Mapping[str, Judged]) -> MatplotlibFigure:
    figure, axes = _grid(len(found))
    for ax, (name, judged) in zip(axes, found.items(), strict=True):
        ConfidenceDisplay(
            edges=np.array(judged["edges"]),
            known=np.array(judged["known"]),
            unknown={ood: np.array(one["histogram"]) for ood, one in judged["sets"].items()},
            name=f"{name}, confidence score",
        ).plot(ax)
        ax.legend(fontsize="x-small")
    return figure


def _grid(count: int) -> tuple[MatplotlibFigure, list[Axes]]:
    """So many axes in rows of three."""
    from matplotlib import pyplot as plt

    columns = min(3, count)
    lines = -(-count // columns)
    figure, axes = plt.subplots(lines, columns, figsize=(5 * columns, 4 * lines), squeeze=False)
    for ax in axes.flat[count:]:
        ax.remove()
    figure.set_layout_engine("tight")
    return figure, list(axes.flat[:count])
