"""Losses and regrets on UCI sets against the number of training rows, and below a threshold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import spearmanr

from pnml.active.curve_results import band_of
from pnml.core.arrays import FloatArray
from pnml.metrics import Estimate
from pnml_experiments.ch3_overparameterized.linear_sizes import sizes_table
from pnml_experiments.ch3_overparameterized.uci_min_norm import (
    Losses,
    Split,
    as_printed,
    fair_losses,
    printed_losses,
    read_split,
    sizes_of,
)
from pnml_experiments.framework.colours import INKS
from pnml_experiments.framework.data import arrays, is_here
from pnml_experiments.framework.experiment import Experiment, Progress, Scale, counted
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.printed import numbers
from pnml_experiments.framework.result import Figure, Result, Row, Table, exactly
from pnml_experiments.framework.stored_files import UCI

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MatplotlibFigure

EXPERIMENT = Experiment(
    id="uci-double-descent",
    chapter=3,
    title="Double descent and regret thresholds on UCI sets",
    scales=("small", "printed"),
    minutes=(0.2, 4.0),
    extras=("plots",),
    needs=("uci/yacht.npz", "uci/energy.npz", "uci/power-plant.npz"),
    uses=("uci",),
)

SETS = ("yacht", "energy", "power", "concrete", "boston", "wine", "kin8nm", "naval", "protein")
PRINTED, FAIR = "printed", "fair"
PNML, FIT = "pNML", "min-norm"
LEARNERS = {PNML: "pnml", FIT: "min_norm"}
# Shares of the test rows, those of least regret first.
SHARES = (0.05, *np.linspace(0.1, 1, 10).round(2).tolist())
_LOW = {"80 %": SHARES.index(0.8), "all": SHARES.index(1.0)}
# Regrets and bounds, and where a piece has them.
REGRETS = {
    "regret": "regret",
    "bound": "bound",
    "printed bound": "printed_bound",
    "printed bound, near rows as inside": "printed_bound_near",
}
INTERVAL = "95 %, Student's, over splits"
_ENOUGH = 5  # splits for a band that is no wider than the picture
_ABOUT = (
    "Mean log-loss in nats over the numbers of training rows and the splits, of all test rows and "
    "of the 80 % of least regret. Printed are the numbers that the research code gave for the "
    "figure. ours follows its protocol, fair the one below; the two have different features, so "
    "they are not to be compared with each other."
)
_REMARKS = (
    (
        "Print: every row is scaled to unit norm and gets a column of ones, whose slope counts in "
        "the norm; the noise of pNML is the mean of the values best for one validation row each; "
        "labels above the fit stand for those below it; rows with less than a thousandth of their "
        "squared norm outside the span count as inside; the loss of min-norm ends at 36 nats; "
        "rows on which the genie loses more than that are dropped for both learners."
    ),
    (
        "The last of these is not in the text. Without it the mean loss of pNML on yacht would be "
        "2.7, not 1.5: its noise is taken too small."
    ),
    (
        "Fair: columns of unit variance, an intercept that is not bounded, exact regrets, noise of "
        "both learners by the loss of all validation rows together, every row counted."
    ),
    (
        "The class is that of the min-norm ball until the training rows span all directions, and "
        "all linear models from then on."
    ),
)

# What one split has to say, as plain values.
Piece = dict[str, Any]
# set → protocol → split by split
Found = dict[str, dict[str, list[Piece]]]


@dataclass(frozen=True)
class Sizes:
    """Sets, and splits of each."""

    sets: tuple[str, ...]
    splits: int


SIZES = {"small": Sizes(("yacht", "energy", "power"), 2), "full": Sizes(SETS, 20)}
_PROTOCOLS: Mapping[str, tuple[Callable[[Split], Split], Callable[[Split, int], Losses]]] = {
    PRINTED: (as_printed, printed_losses),
    FAIR: (lambda split: split, fair_losses),
}


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """Losses by threshold of the regret and by number of rows, in both protocols."""
    sizes = SIZES[scale]
    here = [name for name in sizes.sets if is_here(_path(name))]
    splits = {name: _splits(name, sizes) for name in here}
    tell = counted(progress, 2 * sum(splits.values()))
    found: Found = {}
    for name in here:
        for protocol in _PROTOCOLS:
            pieces = found.setdefault(name, {}).setdefault(protocol, [])
            for k in range(splits[name]):
                pieces.append(out.piece(f"{name} {protocol} {k}", partial(_one, name, protocol, k)))
                tell(1)
    tables = (_sizes(here), _losses(found), _peaks(found), _dropped(found), _thresholds(found))
    most = max(splits.values(), default=0)
    return Result(tables, _figures(found), tuple(range(most)), most, INTERVAL, _REMARKS)


def _path(name: str) -> str:
    return UCI["housing" if name == "boston" else name]


def _splits(name: str, sizes: Sizes) -> int:
    return min(sizes.splits, sum(key.startswith("train_") for key in arrays(_path(name))))


def _one(name: str, protocol: str, k: int) -> Piece:
    """One split by one protocol."""
    prepared, losses = _PROTOCOLS[protocol]
    split = prepared(read_split(arrays(_path(name)), k))
    return summary(split.train.X.shape[1], {n: losses(split, n) for n in sizes_of(split)})


def summary(columns: int, found: Mapping[int, Losses]) -> Piece:
    """Means by number of training rows, and over all of them below each share of the regrets."""

    def kept(name: str, losses: Losses) -> FloatArray:
        values: FloatArray = getattr(losses, name)[losses.kept]
        return values

    names = (*LEARNERS.values(), *REGRETS.values())
    by_rows = {name: [float(kept(name, one).mean()) for one in found.values()] for name in names}
    pooled = {name: np.concatenate([kept(name, one) for one in found.values()]) for name in names}
    order = np.argsort(pooled["regret"], kind="stable")
    ends = [max(1, round(share * len(order))) for share in SHARES]
    below = {
        name: [float(pooled[name][order[:end]].mean()) for end in ends]
        for name in LEARNERS.values()
    }
    thresholds = [float(pooled["regret"][order[end - 1]]) for end in ends]
    dropped = 1 - float(np.mean([one.kept.mean() for one in found.values()]))
    return {
        "columns": columns,
        "rows": list(found),
        "by rows": by_rows,
        "below": below | {"regret": thresholds},
        "dropped": dropped,
    }


def printed() -> dict[tuple[str, ...], float]:
    """Log-losses behind the printed figure, by set, learner and rows.

    >>> printed()["naval", "pNML", "80 %"]
    1.122
    """
    return numbers("uci", ["set", "learner", "rows"], "log_loss")


def _sizes(names: list[str]) -> Table:
    found = {}
    for name in names:
        stored = arrays(_path(name))
        n, d = stored["X"].shape
        splits = sum(key.startswith("train_") for key in stored)
        found[name] = {"rows": n, "columns": d, "splits": splits}
    return sizes_table("uci", found, {})


def _estimate(values: Any) -> Estimate:
    return Estimate(*(float(part[0]) for part in band_of(np.asarray(values, float)[:, None])))


def _below(each: Mapping[str, list[Piece]], key: str, place: int) -> tuple[Estimate, Estimate]:
    """Log-loss of a learner below one threshold, by the printed and by the fair protocol."""
    printed, fair = (
        _estimate([piece["below"][key][place] for piece in each[protocol]])
        for protocol in (PRINTED, FAIR)
    )
    return printed, fair


def _losses(found: Found) -> Table:
    rows = [
        Row(
            {"set": name, "learner": learner, "rows": words},
            printed()[name, learner, words],
            *_below(each, key, place),
        )
        for name, each in found.items()
        for learner, key in LEARNERS.items()
        for words, place in _LOW.items()
    ]
    return Table("Log-loss of the rows of least regret, and of all", tuple(rows), _ABOUT, digits=3)


def _thresholds(found: Found) -> Table:
    """Log-loss of the rows below each threshold of the regret, as the figure draws it."""
    words = ["all" if share == 1 else f"{100 * share:.0f} %" for share in SHARES]
    rows = [
        Row({"set": name, "learner": learner, "rows": share}, None, *_below(each, key, place))
        for name, each in found.items()
        for learner, key in LEARNERS.items()
        for place, share in enumerate(words)
    ]
    about = (
        "Mean log-loss in nats of the share of the test rows that has the least regret: each share "
        "is a threshold of the regret. The text says that both losses rise with the threshold."
    )
    return Table("Log-loss by threshold of the regret", tuple(rows), about, digits=3)


def _mean(each: list[Piece], name: str) -> FloatArray:
    means: FloatArray = np.mean([piece["by rows"][name] for piece in each], axis=0)
    return means


def _peaks(found: Found) -> Table:
    """Where losses and regrets are largest, and whether they rise and fall together."""
    rows = []
    for name, each in found.items():
        both = {p: each[p] for p in (PRINTED, FAIR)}
        words = {"columns": exactly(both[PRINTED][0]["columns"])}
        fair_words = {"columns": exactly(both[FAIR][0]["columns"])}
        for label, key in {**LEARNERS, **REGRETS}.items():
            for target, protocol in ((words, PRINTED), (fair_words, FAIR)):
                at = int(np.argmax(_mean(both[protocol], key)))
                target[f"rows at the largest {label}"] = exactly(both[protocol][0]["rows"][at])
        for label, key in REGRETS.items():
            for target, protocol in ((words, PRINTED), (fair_words, FAIR)):
                loss, other = (_mean(both[protocol], one) for one in ("pnml", key))
                rho = float(spearmanr(loss, other).statistic)
                target[f"rank correlation of loss and {label}"] = exactly(rho)
        for number, ours in words.items():
            rows.append(Row({"set": name, "number": number}, None, ours, fair_words[number]))
    about = (
        "Of the means over splits. Columns include that of ones in the printed protocol. The text "
        "says that both losses, the regret and its bound are largest where there are as many rows "
        "as columns. The bound is the one that is proven here; the printed bound is the formula of "
        "the thesis, which is no bound in general. Near rows are those that the printed protocol "
        "counts as inside the span; for the printed bound they are not, but where it says so."
    )
    return Table("Double descent", tuple(rows), about, digits=2)


def _dropped(found: Found) -> Table:
    rows = tuple(
        Row({"set": name}, None, _estimate([100 * one["dropped"] for one in each[PRINTED]]))
        for name, each in found.items()
    )
    return Table("Test rows that the printed protocol drops, percent", rows, digits=3)


def _figures(found: Found) -> tuple[Figure, ...]:
    words = {PRINTED: "by the printed protocol", FAIR: "by the fair protocol"}
    made = []
    for protocol, text in words.items():
        each = {name: parts[protocol] for name, parts in found.items()}
        made.append(
            Figure(
                f"regret-threshold-{protocol}",
                f"Log-loss of the test rows of least regret, {text}; bands are the intervals.",
                partial(_drawn, each, _draw_threshold),
            )
        )
        made.append(
            Figure(
                f"double-descent-{protocol}",
                (
                    f"Log-loss, regret and its bound against columns per training row, {text}; "
                    "dotted where there are as many rows as columns."
                ),
                partial(_drawn, each, _draw_descent),
            )
        )
    return tuple(made)


def _drawn(
    each: Mapping[str, list[Piece]], draw: Callable[[tuple[Axes, Axes], list[Piece]], None]
) -> MatplotlibFigure:
    from matplotlib.figure import Figure as Canvas

    across = min(3, len(each))
    down = -(-len(each) // across)
    figure = Canvas(figsize=(3.6 * across, 4.4 * down), layout="constrained")
    axes = figure.subplots(2 * down, across, squeeze=False)
    for place, (name, pieces) in enumerate(each.items()):
        row, column = divmod(place, across)
        pair = (axes[2 * row, column], axes[2 * row + 1, column])
        draw(pair, pieces)
        pair[0].set_title(name)
    axes[0, 0].legend(fontsize="small")
    axes[1, 0].legend(fontsize="small")
    for ax in axes.ravel():
        if not ax.has_data():
            ax.set_axis_off()
    return figure


def _band(ax: Axes, x: Any, values: Any, label: str, ink: str, dashes: str = "-") -> None:
    band = band_of(np.asarray(values, float))
    ax.plot(x, band.mean, color=ink, linestyle=dashes, label=label)
    if len(values) < _ENOUGH:
        return
    ax.fill_between(x, band.low, band.high, color=ink, alpha=0.2, linewidth=0)


def _draw_threshold(axes: tuple[Axes, Axes], pieces: list[Piece]) -> None:
    for (learner, key), ink, dashes in zip(LEARNERS.items(), INKS, ("-", "--"), strict=False):
        _band(axes[0], SHARES, [one["below"][key] for one in pieces], learner, ink, dashes)
    _band(axes[1], SHARES, [one["below"]["regret"] for one in pieces], "threshold", INKS[2])
    axes[0].set(ylabel="log-loss, nats")
    axes[1].set(xlabel="share of test rows", ylabel="regret, nats", yscale="log")


def _draw_descent(axes: tuple[Axes, Axes], pieces: list[Piece]) -> None:
    ratio = pieces[0]["columns"] / np.array(pieces[0]["rows"])
    for (learner, key), ink, dashes in zip(LEARNERS.items(), INKS, ("-", "--"), strict=False):
        _band(axes[0], ratio, [one["by rows"][key] for one in pieces], learner, ink, dashes)
    for key, ink, dashes in (("regret", INKS[0], "-"), ("bound", INKS[4], ":")):
        _band(axes[1], ratio, [one["by rows"][key] for one in pieces], key, ink, dashes)
    for ax, label in zip(axes, ("log-loss, nats", "regret, nats"), strict=True):
        ax.axvline(1, color="0.5", linestyle=":", linewidth=1)
        ax.set(xscale="log", ylabel=label)
    axes[1].set(xlabel="columns per training row")
