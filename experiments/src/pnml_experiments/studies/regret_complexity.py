"""How the regret counts parameters: mean regret against effective degrees of freedom."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import RBFSampler
from sklearn.tree import DecisionTreeRegressor

from pnml.core.arrays import FloatArray
from pnml.estimators.kernel import KernelPNMLRegressor
from pnml.estimators.regressor import PNMLRegressor
from pnml.estimators.tree_regressor import PNMLTreeRegressor
from pnml_experiments.framework.colours import COLOURS
from pnml_experiments.framework.experiment import Experiment, Progress, Scale, counted
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.result import Figure, Result, Row, Table
from pnml_experiments.framework.stored_files import UCI
from pnml_experiments.studies.uci_draws import (
    INTERVAL,
    Draw,
    drawn,
    over_splits,
    sets_here,
    splits_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MatplotlibFigure

EXPERIMENT = Experiment(
    id="regret-complexity",
    chapter=8,
    title="Regret, and effective degrees of freedom",
    minutes=(0.1, 1.0),
    extras=("plots",),
    needs=("uci-small",),
    uses=("uci",),
    beyond=True,
)


# Penalties over the number of rows.
PENALTIES = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
FEATURES = (10, 25, 50, 75, 100, 150, 300)
LEAVES = (2, 4, 8, 16, 32)
_SMALL, _TEST = 1e-3, 500  # penalty of the random features over the rows, test rows
NUMBERS = {
    "dof": "degrees of freedom",
    "left out": "mean regret, each row by the others",
    "least": "least that this mean can be, −log(1 − dof/N)",
    "inside": "mean regret, each row by all",
    "new": "mean regret, test rows",
    "optimism": "leave-one-out loss less training loss",
}
_ABOUT = (
    "Regrets in nats. Degrees of freedom are those of the smoother, the sum of the fitted rows' "
    "shares in their own prediction; penalties are over the number of rows, on columns of unit "
    "variance. The last number is the leave-one-out log-loss of pNML less the training log-loss "
    "of the fit inside it, which is the mean regret by Eq. (P3)."
)
_REMARKS = (
    (
        "Exact for linear, ridge and kernel regression and for trees whose splits are kept, Eq. "
        "(J6): the degrees of freedom are the sum of exp(Γ) − 1 over the training rows, judged by "
        "all, and of 1 − exp(−Γ), judged by the others. The regret counts parameters."
    ),
    (
        "So by Eq. (J7) the mean regret is at least dof/N where rows are judged by the others, and "
        "at most dof/N where they are judged by all; both are dof/N to first order, and equal for "
        "equal leverages."
    ),
    (
        "By Eq. (J8) the leave-one-out loss of pNML is the training loss plus the mean regret, of "
        "which dof/N is what AIC adds: pNML is AIC with a charge that grows where rows are few."
    ),
    "The thesis names degrees of freedom as a way to go and has no table on it.",
)


@dataclass(frozen=True)
class Sizes:
    """Sets, splits and training rows."""

    sets: tuple[str, ...]
    splits: int
    train: int


SIZES = {"small": Sizes(tuple(UCI)[:3], 2, 100), "full": Sizes(tuple(UCI), 10, 100)}


def degrees_of_freedom(inside: FloatArray) -> float:
    """Degrees of freedom from the regrets of training rows, judged by all of them. Eq. (J6).

    >>> round(degrees_of_freedom(np.log([1.5, 1.25, 1.25])), 12)
    1.0
    """
    return float(np.sum(np.expm1(inside)))


def least_mean_regret(dof: float, n: int) -> float:
    """Least mean regret of n training rows, each judged by the others. Eq. (J7).

    >>> round(least_mean_regret(1.0, 2), 3)
    0.693
    """
    return float(-np.log1p(-dof / n))


def _ridge(draw: Draw, setting: float) -> tuple[Any, FloatArray, FloatArray]:
    model = PNMLRegressor(alpha=setting * len(draw.y), noise_variance=1.0)
    return model.fit(draw.X, draw.y), draw.X, draw.new


def _kernel(draw: Draw, setting: float) -> tuple[Any, FloatArray, FloatArray]:
    model = KernelPNMLRegressor(alpha=setting * len(draw.y), noise_variance=1.0)
    return model.fit(draw.X, draw.y), draw.X, draw.new


def _fourier(draw: Draw, setting: float) -> tuple[Any, FloatArray, FloatArray]:
    gamma = 1 / draw.X.shape[1]
    features = RBFSampler(gamma=gamma, n_components=int(setting), random_state=0).fit(draw.X)
    model = PNMLRegressor(alpha=_SMALL * len(draw.y), noise_variance=1.0)
    X = features.transform(draw.X)
    return model.fit(X, draw.y), X, features.transform(draw.new)


def _tree(draw: Draw, setting: float) -> tuple[Any, FloatArray, FloatArray]:
    tree = DecisionTreeRegressor(max_leaf_nodes=int(setting), min_samples_leaf=2, random_state=0)
    model = PNMLTreeRegressor(FrozenEstimator(tree.fit(draw.X, draw.y)), noise_variance=1.0)
    return model.fit(draw.X, draw.y), draw.X, draw.new


@dataclass(frozen=True)
class Class:
    """A class of models, and what is varied."""

    fit: Callable[[Draw, float], tuple[Any, FloatArray, FloatArray]]
    varied: str
    settings: tuple[float, ...]


CLASSES: Mapping[str, Class] = {
    "ridge": Class(_ridge, "penalty", PENALTIES),
    "kernel": Class(_kernel, "penalty", PENALTIES),
    "Fourier features": Class(_fourier, "features", FEATURES),
    "tree": Class(_tree, "leaves", LEAVES),
}


def measured(draw: Draw, kind: Class, setting: float) -> dict[str, float]:
    """All numbers of one fitted model; the noise has variance 1."""
    model, X, new = kind.fit(draw, setting)
    inside, n = model.regret(X), len(X)
    training = 0.5 * (np.log(2 * np.pi) + np.mean((draw.y - model.predict(X)) ** 2))
    dof = degrees_of_freedom(inside)
    return {
        "dof": dof,
        "left out": float(np.mean(model.loo_.regrets)),
        "least": least_mean_regret(dof, n),
        "inside": float(np.mean(inside)),
        "new": float(np.mean(model.regret(new[:_TEST]))),
        "optimism": float(model.loo_.log_loss - training),
    }


# (set, class, setting) → split by split: number → value
Found = dict[tuple[str, str, float], list[dict[str, float]]]


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """Regrets and degrees of freedom over penalties, features and leaves."""
    sizes = SIZES[scale]
    splits = {name: splits_of(name, sizes.splits) for name in sets_here(sizes.sets)}
    tell = counted(progress, sum(splits.values()))
    found: Found = {}
    for name, number in splits.items():
        for k in range(number):
            piece = out.piece(f"{name} {k}", partial(_one, name, k, sizes))
            for (kind, setting), numbers in zip(_settings(), piece, strict=True):
                found.setdefault((name, kind, setting), []).append(numbers)
            tell(1)
    most = max(splits.values())
    return Result(
        (_table(found),), (_figure(found, sizes),), tuple(range(most)), most, INTERVAL, _REMARKS
    )


def _settings() -> Iterator[tuple[str, float]]:
    return ((kind, float(at)) for kind, each in CLASSES.items() for at in each.settings)


def _one(name: str, split: int, sizes: Sizes) -> list[dict[str, float]]:
    draw = drawn(name, split, sizes.train)
    return [measured(draw, CLASSES[kind], setting) for kind, setting in _settings()]


def _table(found: Found) -> Table:
    names = list(dict.fromkeys(name for name, _, _ in found))
    rows = []
    for kind, setting in _settings():
        for number, words in NUMBERS.items():
            each = [[one[number] for one in found[name, kind, setting]] for name in names]
            varied = f"{CLASSES[kind].varied} {setting:g}"
            labels = {"class": kind, "varied": varied, "number": words}
            rows.append(Row(labels, ours=over_splits(each)))
    title = "Regret and degrees of freedom, mean over all sets"
    return Table(title, tuple(rows), _ABOUT, digits=3)


def _figure(found: Found, sizes: Sizes) -> Figure:
    caption = (
        f"N = {sizes.train} training rows, all sets and splits. Left: mean regret of the training "
        "rows against degrees of freedom per row; filled judged by the others, open judged by all. "
        "The lines are −log(1 − t), t and log(1 + t), Eq. (J7). Right: mean regret of test rows "
        "and of training rows judged by the others, against the number of random features; "
        "medians, with quartiles as a band."
    )
    return Figure("regret-complexity", caption, lambda: _drawn(found, sizes))


def _drawn(found: Found, sizes: Sizes) -> MatplotlibFigure:
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(9.0, 4.0), layout="constrained")
    left, right = canvas.subplots(1, 2)
    for kind, colour, mark in zip(CLASSES, COLOURS, "osv^", strict=False):
        each = [one for (_, k, _), some in found.items() if k == kind for one in some]
        t = np.array([one["dof"] for one in each]) / sizes.train
        style = {"marker": mark, "s": 12, "alpha": 0.6}
        left.scatter(t, [one["left out"] for one in each], color=colour, label=kind, **style)
        inside = [one["inside"] for one in each]
        left.scatter(t, inside, facecolors="none", edgecolors=colour, **style)
    t = np.geomspace(0.01, 0.95, 200)
    for line, dash in ((-np.log1p(-t), "--"), (t, "-"), (np.log1p(t), ":")):
        left.plot(t, line, dash, color="0.5", linewidth=1)
    left.set(xlabel="degrees of freedom over rows", ylabel="mean regret, nats")
    left.set(xscale="log", yscale="log")
    left.legend()
    _by_features(right, found, sizes)
    return canvas


def _by_features(ax: Axes, found: Found, sizes: Sizes) -> None:
    for number, colour in (("new", COLOURS[0]), ("left out", COLOURS[1]), ("inside", COLOURS[2])):
        points = []
        for at in FEATURES:
            pooled = [
                one[number]
                for key, some in found.items()
                if key[1:] == ("Fourier features", at)
                for one in some
            ]
            points.append(np.quantile(pooled, [0.25, 0.5, 0.75]))
        low, middle, high = np.array(points).T
        ax.plot(FEATURES, middle, marker="o", color=colour, label=NUMBERS[number])
        ax.fill_between(FEATURES, low, high, color=colour, alpha=0.15)
    ax.axvline(sizes.train, color="0.5", linewidth=1)
    ax.set(xlabel="random features", ylabel="mean regret, nats", xscale="log", ylim=(0, None))
    ax.legend(fontsize="small")
