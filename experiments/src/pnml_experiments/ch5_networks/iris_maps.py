"""Where a single-layer network on two features of Iris can be trusted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.core.geometry.spectrum import Spectrum
from pnml.core.softmax import regret
from pnml.core.statistic.factor import Factor
from pnml_experiments.framework.experiment import Experiment, Progress, Scale
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.result import Figure, Result, Row, Table, exactly

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure

EXPERIMENT = Experiment(
    id="iris-maps",
    chapter=5,
    title="Regret of a single-layer network on Iris",
    scales=("small", "printed"),
    minutes=(0.05, 0.1),
    extras=("plots",),
)

_POINTS = {"small": 50, "full": 100}
_ABOUT = (
    "Regrets are over log 2. In the thesis the rows of the map have unit norm but the training "
    "rows have not, which makes every leverage small; in the fair column neither are scaled."
)


@dataclass(frozen=True)
class Split:
    """Two classes of Iris, thinned out, and the map around them."""

    name: str
    classes: tuple[int, int]  # the second is the one whose probability is shown
    every: int
    below: tuple[float, float]  # how far the map goes beyond the rows
    above: tuple[float, float]


SPLITS = (
    Split("separable", (0, 2), 6, (1.0, 0.5), (1.0, 0.5)),
    Split("inseparable", (2, 1), 5, (1.0, 1.0), (2.0, 2.0)),
)


@dataclass(frozen=True)
class IrisMap:
    """What the network says on a grid over both features."""

    rows: FloatArray  # (n, 2)
    labels: Any  # (n,)  0 or 1
    axes: tuple[FloatArray, FloatArray]
    probability: FloatArray  # (k, k)  of the second class; the second axis is feature 1
    thesis_regret: FloatArray  # (k, k)  over log 2, rows of the map at unit norm
    regret: FloatArray  # (k, k)  over log 2


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """What the text says of the maps, in numbers, and the maps."""
    maps = {}
    for i, split in enumerate(SPLITS):
        maps[split.name] = iris_map(split, _POINTS[scale])
        progress(i + 1, len(SPLITS))
    rows = [row for name, found in maps.items() for row in _rows(name, found)]
    table = Table("What the text says of the maps", tuple(rows), _ABOUT, digits=4)
    figures = tuple(
        Figure(
            f"iris-{name}",
            f"Probability of the second class and regret, {name} classes of Iris.",
            lambda found=found: _draw(found),  # type: ignore[misc]
        )
        for name, found in maps.items()
    )
    return Result((table,), figures, seeds=(0,), remarks=(_HOW,))


_HOW = (
    "The network is linear with two hidden units, fitted by gradient descent for at most 10,000 "
    "rounds as in the research code; its weights are not at the optimum, which does not exist for "
    "separable classes."
)


def iris_map(split: Split, points: int) -> IrisMap:
    """Probabilities and regrets on a grid around the rows of two classes."""
    from sklearn.datasets import load_iris
    from sklearn.neural_network import MLPClassifier

    data = load_iris()
    ours = np.isin(data.target, split.classes)
    rows = data.data[ours, :2][:: split.every]
    labels = (data.target[ours] == split.classes[1]).astype(int)[:: split.every]
    low, high = rows.min(axis=0) - split.below, rows.max(axis=0) + split.above
    axes = (np.linspace(low[0], high[0], points), np.linspace(low[1], high[1], points))
    grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    network = MLPClassifier((2,), activation="identity", solver="sgd", alpha=0.0, max_iter=10_000)
    network.set_params(random_state=0).fit(_with_bias(rows), labels)
    p = np.clip(network.predict_proba(_with_bias(grid)), np.finfo(float).tiny, 1)
    spectrum = Spectrum.of_factor(Factor.of(_with_bias(rows)), intercept=False, unit_columns=True)
    shape = (points, points)

    def regrets(test: FloatArray) -> FloatArray:
        found = regret(np.log(p), spectrum.leverage(test, 0.0)) / np.log(2)
        return np.asarray(found.reshape(shape))

    test = _with_bias(grid)
    unit = test / np.linalg.norm(test, axis=1, keepdims=True)
    return IrisMap(rows, labels, axes, p[:, 1].reshape(shape), regrets(unit), regrets(test))


def _with_bias(rows: FloatArray) -> FloatArray:
    return np.column_stack([rows, np.ones(len(rows))])


def _rows(name: str, found: IrisMap) -> list[Row]:
    """The corners of the map against its middle, and how sure the network is."""
    surest = float(np.maximum(found.probability, 1 - found.probability).max())
    bound = name == "inseparable"
    note = "Printed is a bound: below 0.7 on all of the map." if bound else ""
    rows = [
        Row(
            {"classes": name, "number": "largest probability of a class"},
            0.7 if bound else None,
            exactly(surest),
            note=note,
        )
    ]
    corners = {"top left": (-1, 0), "bottom right": (0, -1)}
    corners |= {"top right": (-1, -1), "bottom left": (0, 0)}
    for corner, at in corners.items():
        rows.append(_regret_row(name, f"regret, {corner}", found, at))
    near = tuple(
        int(np.abs(axis - middle).argmin())
        for axis, middle in zip(found.axes[::-1], found.rows.mean(axis=0)[::-1], strict=True)
    )
    rows.append(_regret_row(name, "regret, middle of the training rows", found, near))
    return rows


def _regret_row(name: str, what: str, found: IrisMap, at: tuple[int, ...]) -> Row:
    labels = {"classes": name, "number": what}
    return Row(labels, None, exactly(found.thesis_regret[at]), exactly(found.regret[at]))


def _draw(found: IrisMap) -> MatplotlibFigure:
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(13, 3.6), sharey=True)
    panels = (
        ("probability of class 2", found.probability),
        ("regret / log 2, map at unit norm", found.thesis_regret),
        ("regret / log 2", found.regret),
    )
    for ax, (title, values) in zip(axes, panels, strict=True):
        shown = ax.pcolormesh(*found.axes, values, shading="auto", rasterized=True)
        figure.colorbar(shown, ax=ax)
        for label, marker in ((0, "o"), (1, "x")):
            chosen = found.rows[found.labels == label]
            ax.scatter(*chosen.T, marker=marker, color="red", s=25, label=f"class {label + 1}")
        ax.set(title=title, xlabel="feature 1")
    axes[0].set_ylabel("feature 2")
    axes[0].legend()
    return figure
