"""Polynomials with luckiness: where the prediction goes to zero, and who pays for it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pnml.active.curve_results import band_of
from pnml.core.arrays import FloatArray
from pnml.core.distributions.normal import Normal
from pnml.core.gaussian import bayes_spread
from pnml.estimators.luckiness import LpNMLRegressor
from pnml.estimators.regressor import PNMLRegressor
from pnml.metrics import Estimate
from pnml_experiments.ch2_least_squares.polynomial import powers
from pnml_experiments.framework.colours import COLOURS, DASHES, TRAINING
from pnml_experiments.framework.experiment import Experiment, Progress, Scale, counted
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.result import Figure, Result, Row, Table, exactly

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure

EXPERIMENT = Experiment(
    id="luckiness-polynomials",
    chapter=4,
    title="Polynomials with luckiness",
    scales=("small", "printed"),
    minutes=(0.1, 1.2),
    extras=("plots",),
)

PENALTY, NOISE = 1e-3, 1e-2
FEATURES = (2, 5, 11, 20, 100)
POINTS = (
    np.array([-0.75, -0.5, -0.25, 0.0, 0.1, 0.85]),
    np.array([-0.6, 0.1, 0.5, 0.3, 0.4, -0.5]),
)
GAP = 0.2  # from the nearest training point
RIDGE, BAYES, LUCKY, PNML = "ridge", "Bayes", "luckiness", "pNML"
_DRAWS = {"small": 100, "full": 2_000}
EDGES = {"−1": 0, "1": -1}  # where they are in a grid over the interval
TWICE = 2.0  # what counts as much wider
INTERVAL = "95 %, Student's, over draws of the points, where points are drawn"
_REMARKS = (
    (
        f"Features are t⁰ … t^(M−1), all of them penalised with λ = {PENALTY:g}; M = 11 is the "
        "polynomial of degree 10 of the text. Neither points nor noise are published: six points "
        f"of ours, as few where the text says so, and a noise variance of {NOISE:g}."
    ),
    (
        "Bayes has the fit of ridge. In width luckiness lies between Bayes and pNML at every "
        "point; all four are at the same λ and noise."
    ),
)
_ABOUT_GAPS = (
    f"Over [−1, 1]; in a gap is farther than {GAP:g} from all points. The text says that luckiness "
    "is nearer to 0 there. For these points it is not, and it is no law: the next table says how "
    "often it is so for others."
)
_ABOUT_LOSS = (
    "Labels are sin(πt) and normal noise, whose variance all learners know, at six points drawn "
    "from [−1, 1]; the log-loss is over all of [−1, 1]. Lower is better."
)


@dataclass(frozen=True)
class Learners:
    """What every learner says of the grid."""

    t: FloatArray  # (k,)
    says: dict[str, Normal]  # learner → labels of the grid
    apart: FloatArray  # (k,)  distance to the nearest training point


def learners(t: FloatArray, y: FloatArray, features: int, grid: FloatArray) -> Learners:
    """Ridge, Bayes, luckiness and pNML of polynomials, fitted to points."""
    X, rows = powers(t, features - 1), powers(grid, features - 1)
    settings: dict[str, Any] = {
        "alpha": PENALTY,
        "fit_intercept": False,
        "noise_variance": NOISE,
    }
    pnml = PNMLRegressor(**settings).fit(X, y).predict_dist(rows)
    lucky = LpNMLRegressor(**settings).fit(X, y).predict_dist(rows)
    sigma, none = np.sqrt(NOISE), np.zeros(len(grid))
    bayes = Normal(pnml.mean, sigma * bayes_spread(np.expm1(pnml.regret)), none)
    ridge = Normal(pnml.mean, np.full(len(grid), sigma), none)
    apart = np.abs(grid[:, None] - t).min(axis=1)
    learners: dict[str, Any] = {RIDGE: ridge, BAYES: bayes, LUCKY: lucky, PNML: pnml}
    return Learners(grid, learners, apart)


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """Tables of shrinkage, standard deviations and log-losses of the learners, and their curves."""
    grid, draws = np.linspace(-1, 1, 201), _DRAWS[scale]
    found = {m: learners(*POINTS, m, grid) for m in FEATURES}
    tell = counted(progress, len(FEATURES))
    drawn = {}
    for m in FEATURES:
        drawn[m] = out.piece(f"draws {m} {draws}", partial(many_draws, m, draws))
        tell(1)
    tables = (
        _points_table(found),
        _nearer_table(drawn),
        _loss_table(drawn),
        _edges_table(found, drawn),
    )
    figures = tuple(
        Figure(
            f"luckiness-polynomials-{name}",
            f"Ridge (the mean of Bayes too) and luckiness, {words}; bands are one standard "
            "deviation. Grey are the training points.",
            lambda chosen=chosen: _draw({m: found[m] for m in chosen}),  # type: ignore[misc]
        )
        for name, words, chosen in (
            ("ten", "degree 10", (11,)),
            ("degrees", "other numbers of features M", (2, 5, 20, 100)),
        )
    )
    return Result(tables, figures, (0,), draws, INTERVAL, _REMARKS)


def many_draws(features: int, draws: int) -> dict[str, list[float]]:
    """By draw of the points: shares nearer to zero, widths at the edges, and log-losses."""
    rng, grid = np.random.default_rng(0), np.linspace(-1, 1, 101)
    found: dict[str, list[float]] = {}
    for _ in range(draws):
        t = rng.uniform(-1, 1, 6)
        y = np.sin(np.pi * t) + np.sqrt(NOISE) * rng.normal(size=6)
        one = learners(t, y, features, grid)
        numbers = {f"nearer, {name}": value for name, value in nearer(one).items()}
        numbers |= {f"edge {edge}": value for edge, value in wider(one).items()}
        # the mean over labels with the true mean and noise, in closed form
        bias = {name: np.sin(np.pi * grid) - dist.mean for name, dist in one.says.items()}
        for name, dist in one.says.items():
            squared = (bias[name] ** 2 + NOISE) / dist.std**2
            losses = 0.5 * np.log(2 * np.pi * dist.std**2) + 0.5 * squared
            numbers[f"loss, {name}"] = float(np.mean(losses))
        for name, value in numbers.items():
            found.setdefault(name, []).append(float(value))
    return found


def nearer(one: Learners) -> dict[str, float]:
    """Shares of the grid, in percent, on which luckiness predicts nearer to 0 than ridge."""
    shrinks = np.abs(one.says[LUCKY].mean) < np.abs(one.says[RIDGE].mean)
    gap = one.apart > GAP
    parts = {"in gaps": shrinks[gap], "elsewhere": shrinks[~gap]}
    return {name: 100 * float(np.mean(part)) for name, part in parts.items() if len(part)}


def wider(one: Learners) -> dict[str, float]:
    """Edge → standard deviation of luckiness over that of Bayes, on a grid from −1 to 1."""
    ratio = one.says[LUCKY].std / one.says[BAYES].std
    return {edge: float(ratio[place]) for edge, place in EDGES.items()}


def _points_table(found: dict[int, Learners]) -> Table:
    rows = []
    for m, one in found.items():
        gap = one.apart > GAP
        fit, lucky = one.says[RIDGE].mean, one.says[LUCKY].mean
        numbers = {
            "mean size of ridge in gaps": np.abs(fit[gap]).mean(),
            "mean size of luckiness in gaps": np.abs(lucky[gap]).mean(),
            "mean distance of the two elsewhere": np.abs(fit - lucky)[~gap].mean(),
        }
        for name in (BAYES, LUCKY, PNML):
            numbers[f"mean standard deviation, {name}"] = one.says[name].std.mean()
        rows += [
            Row({"M": str(m), "number": name}, ours=exactly(value))
            for name, value in numbers.items()
        ]
    return Table("The six points of the figures", tuple(rows), _ABOUT_GAPS, digits=3)


def _nearer_table(drawn: dict[int, dict[str, list[float]]]) -> Table:
    rows = tuple(
        Row({"M": str(m), "where": where}, ours=_estimate(one[f"nearer, {where}"]))
        for m, one in drawn.items()
        for where in ("in gaps", "elsewhere")
    )
    title = "Points at which luckiness predicts nearer to 0 than ridge, percent"
    return Table(title, rows, "Six points drawn from [−1, 1], as below.", digits=1)


def _loss_table(drawn: dict[int, dict[str, list[float]]]) -> Table:
    rows = []
    for m, one in drawn.items():
        losses = {name: one[f"loss, {name}"] for name in (RIDGE, BAYES, LUCKY, PNML)}
        gain = np.subtract(losses[LUCKY], losses[BAYES])
        rows += [
            Row({"M": str(m), "learner": name}, ours=_estimate(values))
            for name, values in (*losses.items(), ("luckiness less Bayes", gain))
        ]
    return Table("Expected log-loss, nats", tuple(rows), _ABOUT_LOSS, digits=3)


def _edges_table(found: dict[int, Learners], drawn: dict[int, dict[str, list[float]]]) -> Table:
    rows = []
    for m, one in drawn.items():
        figures = {"M": str(m), "points": "of the figures"}
        rows += [
            Row(figures | {"number": f"ratio at {edge}"}, ours=exactly(value))
            for edge, value in wider(found[m]).items()
        ]
        ratios = {edge: np.array(one[f"edge {edge}"]) for edge in EDGES}
        estimates = {f"ratio at {edge}": _estimate(each) for edge, each in ratios.items()}
        both = _estimate(100.0 * (np.min(list(ratios.values()), axis=0) >= TWICE))
        estimates["draws with twice the width at both edges, percent"] = Estimate(
            both.value, max(both.low, 0.0), min(both.high, 100.0)
        )
        rows += [
            Row({"M": str(m), "points": "drawn anew", "number": number}, ours=value)
            for number, value in estimates.items()
        ]
    about = (
        "Standard deviation of luckiness over that of Bayes at the same λ. It depends on where the "
        "points are, not on labels and noise. The text says that it is much larger at the edges."
    )
    title = "Width of luckiness over that of Bayes at the edges"
    return Table(title, tuple(rows), about, digits=2)


def _estimate(values: Any) -> Estimate:
    return Estimate(*(float(part[0]) for part in band_of(np.asarray(values, float)[:, None])))


def _draw(found: dict[int, Learners]) -> MatplotlibFigure:
    from matplotlib.figure import Figure as Canvas

    side = 1 if len(found) == 1 else 2
    figure = Canvas(figsize=(6 * side, 4 * side), layout="constrained")
    axes = np.ravel(figure.subplots(side, side, sharex=True, squeeze=False))
    for ax, (m, one) in zip(axes, found.items(), strict=True):
        for name, colour, dash in zip((BAYES, LUCKY), COLOURS, DASHES, strict=False):
            mean, std = one.says[name].mean, one.says[name].std
            ax.plot(one.t, mean, color=colour, linestyle=dash, label=name)
            ax.fill_between(one.t, mean - std, mean + std, color=colour, alpha=0.2, linewidth=0)
        ax.plot(*POINTS, "o", color=TRAINING)
        ax.set(title=f"M = {m}", ylim=(-3, 3), xlabel="t", ylabel="label", xlim=(-1, 1))
    axes[0].legend()
    return figure
