"""Polynomials fitted by least squares: the fit and its regret, by penalty and by degree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.estimators.regressor import PNMLRegressor
from pnml_experiments.framework.colours import COLOURS, DASHES, TRAINING
from pnml_experiments.framework.experiment import Experiment, Progress, Scale
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.result import Figure, Result, Row, Table, exactly

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure

EXPERIMENT = Experiment(
    id="polynomial",
    chapter=2,
    title="Polynomials fitted by least squares",
    scales=("small", "printed"),
    minutes=(0.05, 0.1),
    extras=("plots",),
)

SEED = 0
PENALTIES = (0.0, 0.1, 1.0)
DEGREES = (3, 5, 10)
PENALTY = 1e-4  # of the curves by degree
NEAR = 0.05  # from a training point
# The ten points of the research code.
TEN = (
    np.array([-0.7, -0.6, 0.05, 0.1, 0.25, 0.3, 0.35, 0.5, 0.55, 0.6]),
    np.array([-0.1, -0.2, -2.0, -1.0, -0.5, -0.3, 0.1, 0.5, 0.2, 0.1]),
)
_STEPS = {"small": 200, "full": 2_000}
_NOISE = 0.01  # on which neither fit nor regret depends
_REMARKS = (
    (
        f"The three points are drawn with seed {SEED}, as those of the thesis are not known; the "
        "ten points are those of the research code. The text names the degrees three and ten and "
        "says that there are three of them; five is ours."
    ),
    (
        "At every point a larger penalty means a smaller regret: the leverage falls with it, "
        "whatever the points are. The text says that the regret rises as one moves away from the "
        "points; here it does so beyond the outermost points and in wide gaps."
    ),
    (
        "The text says that the variance grows by K. It is the standard deviation that does; the "
        "variance grows by K²."
    ),
)
_MASS = (
    "The density of the penalised learner as printed has the factor 1 + κ/(1 + κ) where "
    "1 − κ/(1 + κ) is meant, κ being the leverage. Ours is the integral of what is printed, "
    "1 + 2κ; fair that of our density."
)


@dataclass(frozen=True)
class Curve:
    """A polynomial, its regret on a grid, and what it says at its own points."""

    name: str
    t: FloatArray  # (k,)
    fit: FloatArray  # (k,)
    regret: FloatArray  # (k,)  nats
    at_points: FloatArray  # (n,)  fit
    point_regret: FloatArray  # (n,)  nats


def powers(t: FloatArray, degree: int) -> FloatArray:
    """Columns t⁰ … t^degree.

    >>> powers(np.array([2.0]), 3)
    array([[1., 2., 4., 8.]])
    """
    return np.vander(t, degree + 1, increasing=True)


def curve(name: str, t: FloatArray, y: FloatArray, degree: int, penalty: float, k: int) -> Curve:
    """Fit and regret on k steps from −1 to 1, without 1 itself."""
    model = PNMLRegressor(alpha=penalty, fit_intercept=False, noise_variance=_NOISE)
    model.fit(powers(t, degree), y)
    grid = -1 + 2 * np.arange(k) / k
    over, own = (model.predict_dist(powers(at, degree)) for at in (grid, t))
    return Curve(name, grid, over.mean, over.regret, own.mean, own.regret)


def three_points() -> tuple[FloatArray, FloatArray]:
    """Three points of the square, drawn with a fixed seed."""
    rng = np.random.default_rng(SEED)
    return np.sort(rng.uniform(-1, 1, 3)), rng.uniform(-1, 1, 3)


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """Regrets near and far by penalty and by degree, the mass of the printed density, curves."""
    steps, few = _STEPS[scale], three_points()
    by_penalty = [curve(f"λ = {value:g}", *few, 2, value, steps) for value in PENALTIES]
    by_degree = [curve(f"degree {value}", *TEN, value, PENALTY, steps) for value in DEGREES]
    progress(1, 1)
    tables = (
        _table("Degree two on three points", by_penalty, few, "With λ = 0 the fit is exact."),
        _table("By degree on ten points", by_degree, TEN, f"The penalty is {PENALTY:g}."),
        _likeness(by_degree),
        _masses(by_penalty[1:]),
    )
    figure = Figure(
        "polynomial",
        "Fit and regret of polynomials: three points and three penalties on the left, ten points "
        "and three degrees on the right. Grey are the training points.",
        lambda: _draw(by_penalty, by_degree, few),
    )
    return Result(tables, (figure,), (SEED,), remarks=_REMARKS)


def _table(
    title: str, curves: list[Curve], points: tuple[FloatArray, FloatArray], about: str
) -> Table:
    rows = []
    for one in curves:
        apart = np.abs(one.t[:, None] - points[0]).min(axis=1)
        error = float(np.sqrt(np.mean((one.at_points - points[1]) ** 2)))
        numbers = {
            "training error, root mean square": error,
            "regret at the points, mean": one.point_regret.mean(),
            f"regret within {NEAR:g} of a point, mean": one.regret[apart <= NEAR].mean(),
            f"regret beyond {NEAR:g}, mean": one.regret[apart > NEAR].mean(),
            "regret at −1": one.regret[0],
        }
        rows += [
            Row({"fit": one.name, "number": name}, ours=exactly(value))
            for name, value in numbers.items()
        ]
    return Table(title, tuple(rows), f"Regrets in nats, over [−1, 1). {about}", digits=4)


def _likeness(curves: list[Curve]) -> Table:
    """How far the fit of the highest degree is from that of the lowest, near points and far."""
    low, high = curves[0], curves[-1]
    gap = np.abs(low.fit - high.fit)
    apart = np.abs(low.t[:, None] - TEN[0]).min(axis=1)
    numbers = {
        f"within {NEAR:g} of a point": gap[apart <= NEAR].mean(),
        f"beyond {NEAR:g}": gap[apart > NEAR].mean(),
    }
    rows = tuple(Row({"where": name}, ours=exactly(value)) for name, value in numbers.items())
    about = "The text says that near the points degree ten predicts like degree three."
    return Table("Fit of degree ten against degree three, mean distance", rows, about, digits=3)


def _masses(curves: list[Curve]) -> Table:
    rows = []
    for one in curves:
        for at in (0, len(one.t) // 2):
            printed_mass = 1 + 2 * np.expm1(one.regret[at])
            labels = {"fit": one.name, "t": f"{one.t[at]:g}"}
            rows.append(Row(labels, 1.0, exactly(printed_mass), exactly(1.0)))
    return Table("Mass of the printed density", tuple(rows), _MASS, digits=3)


def _draw(
    by_penalty: list[Curve], by_degree: list[Curve], few: tuple[FloatArray, FloatArray]
) -> MatplotlibFigure:
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(10, 6), layout="constrained")
    axes = figure.subplots(2, 2, sharex=True)
    for column, curves, (t, y) in ((0, by_penalty, few), (1, by_degree, TEN)):
        top, bottom = axes[:, column]
        for one, colour, dash in zip(curves, COLOURS, DASHES, strict=False):
            style = {"color": colour, "linestyle": dash, "label": one.name}
            top.plot(one.t, one.fit, **style)
            bottom.plot(one.t, one.regret, **style)
        top.plot(t, y, "o", color=TRAINING)
        bottom.plot(t, np.zeros_like(t), "o", color=TRAINING, clip_on=False)
        top.set(ylim=(y.min() - 1.5, y.max() + 1.5), ylabel="label")
        bottom.set(ylim=(0, None), xlabel="t", ylabel="regret, nats", xlim=(-1, 1))
        top.legend()
    return figure


def _joined_values(values: list[float]) -> str:
    return ", ".join(f"{value:.2f}" for value in values)
