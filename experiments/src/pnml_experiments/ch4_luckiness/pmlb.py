"""Few training rows of PMLB sets: least squares, ridge, Bayes, pNML and luckiness, one rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pnml.active.curve_results import band_of
from pnml.core.arrays import FloatArray
from pnml.metrics import Estimate
from pnml_experiments.ch4_luckiness.averaged_rule import averaged
from pnml_experiments.ch4_luckiness.linear_learners import METHODS, mean_losses
from pnml_experiments.ch4_luckiness.pmlb_rows import (
    ENDS,
    RATIOS,
    drawn,
    grid,
    printed,
    read,
    sets,
)
from pnml_experiments.framework.colours import INKS
from pnml_experiments.framework.experiment import Experiment, Progress, Scale, counted
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.result import Figure, Result, Row, Table, exactly
from pnml_experiments.framework.stored_files import PMLB_SMALL

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure

EXPERIMENT = Experiment(
    id="pmlb",
    chapter=4,
    title="Luckiness, ridge and Bayes on PMLB sets",
    minutes=(0.05, 4.0),
    less="49 of the 50 sets; the number of training rows is not printed, so several are tried.",
    extras=("plots",),
    needs=("pmlb-small",),
    uses=("pmlb",),
)


# The first is nearest to what was printed.
_TRIED = (0.3, *RATIOS)
PLAIN = "least squares"
NAMES = (PLAIN, *METHODS)
MEASURES = ("MSE", "log-loss")
INTERVAL = "95 %, Student's, over draws of the training rows"
_ABOUT = (
    "Means over draws of the training rows. Printed is what the thesis has for training rows of a "
    "number that it does not give. Targets have variance 1 over the whole set."
)
_COUNTS = (
    "ours counts sets by their means over draws, as print seems to; fair by the median over draws "
    "of the paired difference, which one draw in which the noise collapses cannot decide."
)
_AVERAGES = (
    "The same counts by the rule of the thesis: penalty and noise are means of those best for each "
    "row left out, by the end of the grid of penalties, which print does not give. Each grid has "
    "60 penalties from a millionth."
)
# Against whom, and in what → printed percent of the sets where luckiness is better, and median.
_CLAIMED = {("ridge", "MSE"): (96.0, 0.96), ("Bayes", "log-loss"): (74.0, 0.13)}
_MORE = (("ridge", "log-loss"), ("pNML", "log-loss"))
_UNITS = {"MSE": "percent of MSE", "log-loss": "nats"}
_REMARKS = (
    (
        "Every learner has its own penalty and noise by one rule: the least pooled leave-one-out "
        "log-loss, and the largest penalty within a standard error of it where the rows can be "
        "interpolated. The thesis averages the penalties best for each row left out, most of "
        "which are at the ends of its grid."
    ),
    (
        "Columns have mean 0 and variance 1 over all rows of a set, labelled or not. At least 3 "
        "training rows are drawn, also for 2 columns. Where there are no more rows than columns, "
        "least squares is the fit of smallest norm, and its left-out residuals are limits."
    ),
    (
        "The noise is never below a millionth of the variance of the targets seen. With a handful "
        "of rows of a target that takes few values this floor can be met, and then a mean "
        "log-loss of hundreds of nats says no more than that. Print has such means too."
    ),
    "Of the 50 sets of print, 1191_BNG_pbc cannot be had.",
)

# ratio → set → learner → measure → value by draw
Found = dict[float, dict[str, dict[str, dict[str, list[float]]]]]


@dataclass(frozen=True)
class Sizes:
    """Sets, and draws of each."""

    sets: tuple[str, ...]
    draws: int


def sizes_of(scale: Scale) -> Sizes:
    """All sets that are here, or a few of them."""
    here = sets()
    if scale == "small":
        return Sizes(tuple(name for name in here if name in PMLB_SMALL), 10)
    return Sizes(tuple(here), 40)


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """Errors and losses of every learner at every number of rows per column."""
    sizes = sizes_of(scale)
    tell = counted(progress, len(sizes.sets))
    found: Found = {ratio: {} for ratio in _TRIED}
    for name in sizes.sets:
        piece = out.piece(name, partial(one_set, name, sizes.draws))
        for ratio in _TRIED:
            found[ratio][name] = piece[f"{ratio:g}"]
        tell(1)
    totals = (_nearest(found), _counts(found), _averages(found))
    tables = (*totals, *(_table(found, ratio) for ratio in _TRIED))
    figure = Figure(
        "pmlb-gains",
        (
            "Luckiness against ridge in MSE and against Bayes in log-loss, one dot a set: median "
            "over draws of the paired change; above 0 luckiness is better."
        ),
        partial(_drawn, found),
    )
    seeds = tuple(range(sizes.draws))
    return Result(tables, (figure,), seeds, sizes.draws, INTERVAL, _REMARKS)


def one_set(name: str, draws: int) -> dict[str, dict[str, dict[str, list[float]]]]:
    """Ratio → learner → measure → value by draw, of one set."""
    X, y = read(name)
    return {f"{ratio:g}": _one(X, y, ratio, draws) for ratio in _TRIED}


def _one(
    X: FloatArray, y: FloatArray, ratio: float, draws: int
) -> dict[str, dict[str, list[float]]]:
    found: dict[str, dict[str, list[float]]] = {}
    for seed in range(draws):
        trained, new, labels = drawn(X, y, ratio, seed)
        said = {PLAIN: trained.says(METHODS["ridge"], trained.least_squares())}
        for name, method in METHODS.items():
            said[name] = trained.says(method, trained.chosen(method))
            for end in ENDS:
                at = averaged(trained, method, grid(end)).chosen
                said[name + _averaged_to(end)] = trained.says(method, at)
        for name, says in said.items():
            into = found.setdefault(name, {measure: [] for measure in MEASURES})
            for measure, value in zip(MEASURES, mean_losses(says(new), labels), strict=True):
                into[measure].append(value)
    return found


def _averaged_to(end: float) -> str:
    """What follows the name of a learner whose penalty is by the averaged rule."""
    return f", averaged to {end:g}"


def losses(
    each: Mapping[str, Mapping[str, Any]], over: str, measure: str, rule: str = ""
) -> tuple[FloatArray, FloatArray]:
    """Of luckiness and of another learner, (sets, draws)."""
    ours, theirs = (
        np.array([one[name + rule][measure] for one in each.values()])
        for name in ("luckiness", over)
    )
    return ours, theirs


def gains(ours: FloatArray, theirs: FloatArray, measure: str) -> FloatArray:
    """What the first gains over the second: percent of MSE, or nats."""
    found: FloatArray = 100 * (1 - ours / theirs) if measure == "MSE" else theirs - ours
    return found


def _counts(found: Found) -> Table:
    rows = [
        row
        for ratio, each in found.items()
        for over, measure in (*_CLAIMED, *_MORE)
        for row in _compared(each, {"rows per column": f"{ratio:g}"}, over, measure)
    ]
    count = len(next(iter(found.values())))
    return Table(f"Luckiness against others, {count} sets", tuple(rows), _COUNTS, digits=2)


def _averages(found: Found) -> Table:
    rows: list[Row] = []
    for ratio, each in found.items():
        for end in ENDS:
            labels = {"rows per column": f"{ratio:g}", "largest penalty of the grid": f"{end:g}"}
            for over, measure in _CLAIMED:
                rows += _compared(each, labels, over, measure, _averaged_to(end))
    return Table("Averaged penalties by the end of the grid", tuple(rows), _AVERAGES, digits=2)


def _compared(
    each: Mapping[str, Mapping[str, Any]],
    labels: Mapping[str, str],
    over: str,
    measure: str,
    rule: str = "",
) -> Iterator[Row]:
    """Sets where luckiness is better than another learner, and the median gain over sets."""
    better, typical = _CLAIMED.get((over, measure), (None, None))
    ours, theirs = losses(each, over, measure, rule)
    means = gains(ours.mean(axis=1), theirs.mean(axis=1), measure)
    medians = np.median(gains(ours, theirs, measure), axis=1)
    what = {**labels, "against": over, "in": measure}
    yield Row(
        what | {"number": "sets where luckiness is better, percent"},
        better,
        exactly(100 * float(np.mean(means > 0))),
        exactly(100 * float(np.mean(medians > 0))),
    )
    yield Row(
        what | {"number": f"median gain over sets, {_UNITS[measure]}"},
        typical,
        exactly(float(np.median(means))),
        exactly(float(np.median(medians))),
    )


def distance(each: Mapping[str, Mapping[str, Any]]) -> Estimate:
    """How far means are from the printed MSE of ridge: median of |log ratio| over sets."""
    found = [
        abs(np.log(np.mean(one["ridge"]["MSE"]) / printed()[name, "ridge", "MSE"]))
        for name, one in each.items()
    ]
    low, high = np.quantile(found, [0.25, 0.75])
    return Estimate(float(np.median(found)), float(low), float(high))


def _nearest(found: Found) -> Table:
    rows = tuple(
        Row({"rows per column": f"{ratio:g}"}, None, distance(each))
        for ratio, each in found.items()
    )
    about = (
        "Median over sets of |log(ours / printed)| for the MSE of ridge, with quartiles: which "
        "number of training rows the printed table may have had. Least is nearest."
    )
    return Table("How near the printed MSE of ridge is", rows, about, digits=3)


def _table(found: Found, ratio: float) -> Table:
    rows = []
    for name, each in found[ratio].items():
        for measure in MEASURES:
            for learner in NAMES:
                ours = Estimate(
                    *(float(part[0]) for part in band_of(np.array(each[learner][measure])[:, None]))
                )
                rows.append(
                    Row(
                        {"set": name, "measure": measure, "learner": learner},
                        printed().get((name, learner, measure)),
                        ours,
                    )
                )
    return Table(f"{ratio:g} training rows per column", tuple(rows), _ABOUT, digits=3)


def _drawn(found: Found) -> MatplotlibFigure:
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(8.4, 3.6), layout="constrained")
    axes = figure.subplots(1, 2)
    kinds = (("ridge", "MSE", "gain in MSE, %"), ("Bayes", "log-loss", "gain in log-loss, nats"))
    rng = np.random.default_rng(0)
    for ax, (over, measure, label), ink in zip(axes, kinds, INKS, strict=False):
        for place, each in enumerate(found.values()):
            medians = np.median(gains(*losses(each, over, measure), measure), axis=1)
            jitter = rng.uniform(-0.18, 0.18, len(medians))
            ax.scatter(place + jitter, medians, s=12, color=ink, alpha=0.7, linewidths=0)
            ax.plot([place - 0.25, place + 0.25], [np.median(medians)] * 2, color="0.2")
        ax.axhline(0, color="0.5", linestyle=":", linewidth=1)
        ax.set_xticks(range(len(found)), [f"{ratio:g}" for ratio in found])
        ax.set_yscale("symlog", linthresh=1.0 if measure == "MSE" else 0.1)
        ax.set(xlabel="training rows per column", ylabel=label, title=f"luckiness against {over}")
    return figure
