"""How many rows per feature it takes until it no longer matters which linear learner is used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.metrics import Estimate
from pnml_experiments.framework.colours import COLOURS
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.result import Figure, Row, Table
from pnml_experiments.framework.stored_files import UCI
from pnml_experiments.studies.uci_draws import drawn, estimate, over_splits, redrawn
from pnml_experiments.studies.uci_rivals import BAYESIAN_RIDGE, LEARNERS, LUCKINESS, PNML, QUICK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MatplotlibFigure

RATIOS = (1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 40.0, 80.0)
LITTLE = 0.01  # nats that nobody misses
_FEWEST, _TESTED = 8, 500  # training rows, test rows
SHOWN = tuple(name for name in QUICK if name != BAYESIAN_RIDGE)
_ABOUT = (
    "Test log-loss less that of BayesianRidge on the same rows, in nats; below 0 is better. The "
    "mean over sets of means over splits; the median is that over all splits of all sets, because "
    "with fewer than two rows per feature a few splits decide the mean. Ahead is the share of "
    "splits with a smaller log-loss."
)
_WHERE = (
    f"Rows per feature from which on the mean gap to BayesianRidge is smaller than {LITTLE:g} "
    "nats, straight lines between the sizes looked at."
)

# (set, rows per feature) → split by split: learner → test log-loss, nats
Curve = dict[tuple[str, float], list[dict[str, float]]]


def losses(name: str, split: int) -> dict[str, dict[str, float]]:
    """Test log-loss of the quick learners by rows per feature, of one split."""
    whole = drawn(name, split, None)
    found = {}
    for ratio in RATIOS:
        n = round(ratio * whole.X.shape[1])
        if _FEWEST <= n <= len(whole.X):
            found[f"{ratio:g}"] = _losses(name, split, n)
    return found


def _losses(name: str, split: int, n: int) -> dict[str, float]:
    draw = drawn(name, split, n)
    new, truth = draw.new[:_TESTED], draw.truth[:_TESTED]
    out = {}
    for learner in QUICK:
        if learner == "OLS" and n < draw.X.shape[1] + 3:
            continue  # nothing is left to estimate the noise from
        log_prob = LEARNERS[learner].told(draw.X, draw.y, new).log_prob
        if log_prob is not None:
            out[learner] = float(np.log(draw.unit) - log_prob(truth).mean())
    return out


def curve(splits: dict[str, int], out: Output, tell: Callable[[int], None], most: int) -> Curve:
    """Log-losses of all sets and splits, at most so many splits of each."""
    found: Curve = {}
    for name, number in splits.items():
        for k in range(min(number, most)):
            piece = out.piece(f"curve {name} {k}", partial(losses, name, k))
            for ratio, value in piece.items():
                found.setdefault((name, float(ratio)), []).append(value)
            tell(1)
    return found


def gaps(found: Curve, learner: str, ratio: float) -> dict[str, FloatArray]:
    """Set → gap (splits,) to BayesianRidge in log-loss; sets of that many rows alone."""
    return {
        name: np.array([one[learner] - one[BAYESIAN_RIDGE] for one in each])
        for (name, at), each in found.items()
        if at == ratio and all(learner in one for one in each)
    }


def tables(found: Curve) -> tuple[Table, Table]:
    """The gap by rows per feature, and where it gets small."""
    rows = []
    for ratio in RATIOS:
        for learner in SHOWN:
            each = gaps(found, learner, ratio)
            if not each:
                continue
            labels = {"rows per feature": f"{ratio:g}", "learner": learner}
            pooled = np.concatenate(list(each.values()))
            numbers = {
                "mean gap": over_splits(list(each.values())),
                "median gap": _median(pooled),
                "ahead": over_splits([one < 0 for one in each.values()]),
            }
            rows += [Row(labels | {"number": key}, ours=value) for key, value in numbers.items()]
    title = "Gap in log-loss to BayesianRidge, by rows per feature"
    where = [Row({"learner": name}, ours=crossover(found, name)) for name in (PNML, LUCKINESS)]
    return (
        Table(title, tuple(rows), _ABOUT, digits=3),
        Table("Where the gap gets small", tuple(where), _WHERE, digits=1),
    )


def _median(values: FloatArray) -> Estimate:
    picks = np.random.default_rng(0).integers(len(values), size=(500, len(values)))
    return estimate(np.median(values), np.median(values[picks], axis=1))


def crossover(found: Curve, learner: str) -> Estimate:
    """Rows per feature beyond which the mean gap stays smaller than a little."""
    ratios = [ratio for ratio in RATIOS if gaps(found, learner, ratio)]
    each = [gaps(found, learner, ratio) for ratio in ratios]
    means = np.array([np.mean([one.mean() for one in sets.values()]) for sets in each])
    again = np.stack([redrawn(list(sets.values())).mean(axis=0) for sets in each], axis=1)
    at = np.array([last_large(ratios, one) for one in again])
    return estimate(last_large(ratios, means), at)


def last_large(ratios: Sequence[float], means: FloatArray) -> float:
    """Where |mean gap| falls below a little for good, interpolated in the log of the ratio.

    >>> round(last_large([1.0, 10.0, 100.0], np.array([0.03, 0.02, 0.0])), 1)
    31.6
    """
    size = np.abs(means)
    large = np.flatnonzero(size >= LITTLE)
    if len(large) == 0:
        return float(ratios[0])
    last = int(large[-1])
    if last == len(ratios) - 1:
        return float(ratios[-1])
    share = (size[last] - LITTLE) / (size[last] - size[last + 1])
    return float(np.exp((1 - share) * np.log(ratios[last]) + share * np.log(ratios[last + 1])))


def figure(found: Curve) -> Figure:
    """The gap against rows per feature: the mean over sets, and every set."""
    caption = (
        "Test log-loss less that of BayesianRidge, against training rows per feature; medians over "
        "splits. Left: median over all sets and splits, of pNML with a band from the first to the "
        "third quartile. Right: pNML, set by set. The vertical scale is linear within 0.01 nats "
        "and ends at one nat."
    )
    return Figure("uci-crossover", caption, lambda: _drawn(found))


def _drawn(found: Curve) -> MatplotlibFigure:
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(9.0, 3.8), layout="constrained")
    left, right = canvas.subplots(1, 2, sharex=True, sharey=True)
    styles = zip((PNML, LUCKINESS, "OLS", "ridge"), "osv^", COLOURS[:4], strict=True)
    for learner, mark, colour in styles:
        pairs = [(r, gaps(found, learner, r)) for r in RATIOS]
        at = [r for r, each in pairs if each]
        pooled = [np.concatenate(list(each.values())) for _, each in pairs if each]
        low, middle, high = np.array([np.quantile(one, [0.25, 0.5, 0.75]) for one in pooled]).T
        left.plot(at, middle, marker=mark, color=colour, label=learner)
        if learner == PNML:
            left.fill_between(at, low, high, color=colour, alpha=0.15)
    for k, name in enumerate(n for n in UCI if any(key[0] == n for key in found)):
        one = [(r, gaps(found, PNML, r).get(name)) for r in RATIOS]
        points = [(r, float(np.median(gap))) for r, gap in one if gap is not None]
        style = "-" if k < 5 else "--"
        right.plot(*zip(*points, strict=True), style, marker=".", label=name, color=COLOURS[k % 5])
    for ax, title in ((left, "all sets"), (right, "pNML, set by set")):
        _dressed(ax, title)
    left.set_ylabel("log-loss less BayesianRidge's, nats")
    return canvas


def _dressed(ax: Axes, title: str) -> None:
    ax.axhline(0.0, color="0.5", linewidth=1)
    ax.set_xscale("log")
    ax.set_yscale("symlog", linthresh=LITTLE)
    ax.set(xlabel="training rows per feature", title=title, ylim=(-1.0, 1.0))
    ax.legend(fontsize="small", ncols=2)
