"""Whether some rule for the penalty makes luckiness better than ridge and Bayes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pnml.active.curve_results import band_of
from pnml.core.arrays import FloatArray
from pnml.metrics import Estimate
from pnml_experiments.ch4_luckiness import shift
from pnml_experiments.ch4_luckiness.linear_learners import Trained, mean_losses
from pnml_experiments.ch4_luckiness.pmlb_rows import RATIOS, drawn, read, sets, shuffled
from pnml_experiments.framework.colours import INKS
from pnml_experiments.framework.data import is_here
from pnml_experiments.framework.evidence import interval_text
from pnml_experiments.framework.experiment import Experiment, Progress, Scale, counted
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.result import Figure, Result, Row, Table, exactly
from pnml_experiments.framework.stored_files import PMLB_SMALL, shift_path
from pnml_experiments.studies.luckiness_rules import all_learners

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure

EXPERIMENT = Experiment(
    id="luckiness-choice",
    chapter=4,
    title="Rules for the penalty of luckiness",
    minutes=(0.2, 4.0),
    extras=("plots",),
    needs=("pmlb-small", "shift"),
    uses=("pmlb",),
    beyond=True,
)

BASE = "luckiness, default"
RIVALS = ("ridge, squared error", "Bayes, default")
_BOTH = ("MSE, percent", "log-loss, mean, nats")
_DRAWS = {"small": 8, "full": 20}
_RESAMPLES = 2000
_FEW = 3  # training rows per column, of the shift sets
_SEED = 0
# A mean log-loss above this is that of a noise that has collapsed; how far above is chance.
CAP = 10.0
INTERVAL = "95 %: over sets, percentiles of sets drawn again; of one set, Student's over draws"
_ABOUT = (
    "Paired differences on the same training and test rows; below 0 is better than luckiness with "
    "today's default. MSE: percent, from the mean of log ratios. Log-loss: nats; losses of a draw "
    f"end at {CAP:g} nats for the mean, and not for the median."
)
_REMARKS = (
    (
        "Default: the least pooled leave-one-out log-loss and, where the rows can be interpolated, "
        "the largest penalty within one standard error of it. The other rules: log-loss, without "
        "that exception; squared error, of the rows left out; GCV, of the ridge fit; one standard "
        "error, always; all penalties at once, the normalised largest density over 8 penalties of "
        "the whole grid; penalties near the best at once, the same over 8 penalties within one "
        "standard error of the best."
    ),
    "The noise is in every case the pooled optimum at the penalty.",
)

# learner → MSE and log-loss by draw
Draws = dict[str, dict[str, list[float]]]


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """Every rule on the PMLB sets and on the shift sets, against today's default and rivals."""
    names = [name for name in sets() if scale == "full" or name in PMLB_SMALL]
    shifted = [name for name in shift.SETS if is_here(shift_path(name))]
    draws, tell = _DRAWS[scale], counted(progress, len(names) + len(shifted))
    found: dict[str, dict[str, Draws]] = {f"{ratio:g}": {} for ratio in RATIOS}
    for name in names:
        piece = out.piece(name, partial(one_set, name, draws))
        for ratio, each in piece.items():
            found[ratio][name] = each
        tell(1)
    moved = {}
    for name in shifted:
        moved[name] = out.piece(f"shift {name}", partial(one_shift, name, draws))
        tell(1)
    tables = [_table(each, f"{ratio} training rows per column") for ratio, each in found.items()]
    tables += [_rivals(found), _moved_all(moved), _moved_few(moved)]
    figure = Figure(
        "luckiness-choice",
        "Every rule and rival less luckiness by default, over PMLB sets; below 0 is better.",
        partial(_drawn, found),
    )
    remarks = (*findings(found), *_REMARKS)
    return Result(tuple(tables), (figure,), tuple(range(draws)), draws, INTERVAL, remarks)


def one_set(name: str, draws: int) -> dict[str, Draws]:
    """Ratio → learner → measures by draw, of one PMLB set."""
    X, y = read(name)
    return {f"{ratio:g}": _judged(partial(drawn, X, y, ratio), draws) for ratio in RATIOS}


def one_shift(name: str, draws: int) -> dict[str, Any]:
    """All training rows, with intervals over test rows; and few of them, draw by draw."""
    trained, new, y = shift.read(name)
    few = min(_FEW * new.shape[1], len(trained.y) // 2)

    def some(seed: int) -> tuple[Trained, FloatArray, FloatArray]:
        rows = shuffled(trained.y, few, seed)[:few]
        return Trained(trained.X[rows], trained.y[rows]), new, y

    told = {learner: says(new) for learner, says in all_learners(trained).items()}
    squares = {learner: (one.mean - y) ** 2 for learner, one in told.items()}
    losses = {learner: -one.log_prob(y) for learner, one in told.items()}
    picks = np.random.default_rng(_SEED).integers(len(y), size=(_RESAMPLES // 4, len(y)))
    change = {learner: _percent(squares[learner], squares[BASE], picks) for learner in squares}
    less = {learner: _nats(losses[learner] - losses[BASE], picks) for learner in losses}
    return {"all": {"MSE": change, "log-loss": less}, "few": _judged(some, draws)}


def _judged(draw: Callable[[int], tuple[Trained, FloatArray, FloatArray]], draws: int) -> Draws:
    found: Draws = {}
    for seed in range(draws):
        trained, new, y = draw(seed)
        for learner, says in all_learners(trained).items():
            mse, log_loss = mean_losses(says(new), y)
            kept = found.setdefault(learner, {"MSE": [], "log-loss": []})
            kept["MSE"].append(mse)
            kept["log-loss"].append(log_loss)
    return found


def _percent(ours: FloatArray, theirs: FloatArray, picks: Any) -> list[float]:
    drawn_again = 100 * (ours[picks].mean(axis=1) / theirs[picks].mean(axis=1) - 1)
    low, high = np.quantile(drawn_again, [0.025, 0.975])
    return [float(100 * (ours.mean() / theirs.mean() - 1)), float(low), float(high)]


def _nats(less: FloatArray, picks: Any) -> list[float]:
    low, high = np.quantile(less[picks].mean(axis=1), [0.025, 0.975])
    return [float(less.mean()), float(low), float(high)]


def differences(each: Mapping[str, Draws], learner: str, base: str) -> dict[str, FloatArray]:
    """Paired differences (sets, draws) of a learner less a base: log MSE, loss, capped loss."""

    def of(name: str, measure: str) -> FloatArray:
        return np.array([one[name][measure] for one in each.values()])

    losses = of(learner, "log-loss"), of(base, "log-loss")
    mine, theirs = (np.minimum(loss, CAP) for loss in losses)
    return {
        "MSE": np.log(of(learner, "MSE") / of(base, "MSE")),
        "log-loss": losses[0] - losses[1],
        "capped": mine - theirs,
    }


def over_sets(values: FloatArray, middle: Callable[..., Any]) -> Estimate:
    """A middle of one number for each set, with percentiles over sets drawn again."""
    rng = np.random.default_rng(_SEED)
    again = middle(values[rng.integers(len(values), size=(_RESAMPLES, len(values)))], axis=1)
    low, high = np.quantile(again, [0.025, 0.975])
    return Estimate(float(middle(values)), float(low), float(high))


def measures(found: Mapping[str, FloatArray]) -> dict[str, Estimate]:
    """What a table shows of paired differences (sets, draws)."""
    ratio = over_sets(found["MSE"].mean(axis=1), np.mean)
    typical = over_sets(np.median(found["log-loss"], axis=1), np.median)
    clear = [_clear(found[key]) for key in ("MSE", "capped")]
    return {
        "MSE, percent": Estimate(*(100 * float(np.expm1(part)) for part in ratio)),
        "log-loss, mean, nats": over_sets(found["capped"].mean(axis=1), np.mean),
        "log-loss, median, nats": typical,
        "sets clearly better in MSE, percent": exactly(clear[0][0]),
        "sets clearly worse in MSE, percent": exactly(clear[0][1]),
        "sets clearly better in log-loss, percent": exactly(clear[1][0]),
        "sets clearly worse in log-loss, percent": exactly(clear[1][1]),
    }


def _clear(values: FloatArray) -> tuple[float, float]:
    """Percent of sets whose interval over draws is below 0, and above."""
    band = band_of(values.T)
    return 100 * float(np.mean(band.high < 0)), 100 * float(np.mean(band.low > 0))


def _learners(each: Mapping[str, Draws]) -> list[str]:
    return list(next(iter(each.values())))


def _table(each: Mapping[str, Draws], title: str) -> Table:
    rows = [
        Row({"learner": learner, "number": number}, None, ours)
        for learner in _learners(each)
        if learner != BASE
        for number, ours in measures(differences(each, learner, BASE)).items()
    ]
    return Table(f"Less luckiness by default: {title}, {len(each)} sets", tuple(rows), _ABOUT, 3)


def _over_all(found: Mapping[str, Mapping[str, Draws]], learner: str, base: str) -> dict[str, Any]:
    """Measures of a learner less a base over all numbers of rows together."""
    each = [differences(one, learner, base) for one in found.values()]
    return measures({key: np.hstack([one[key] for one in each]) for key in each[0]})


def findings(found: Mapping[str, Mapping[str, Draws]]) -> tuple[str, ...]:
    """What came out, from the numbers."""
    learners = _learners(next(iter(found.values())))
    rules = [one for one in learners if one.startswith("luckiness") and one != BASE]
    less = {rule: _over_all(found, rule, BASE) for rule in rules}
    told = "; ".join(f"{rule.removeprefix('luckiness, ')}: {_both(less[rule])}" for rule in rules)
    good = [rule for rule in rules if all(less[rule][key].high < 0 for key in _BOTH)]
    names = ", ".join(rule.removeprefix("luckiness, ") for rule in good) or "none"
    against = "; ".join(f"{rival}: {_both(_over_all(found, BASE, rival))}" for rival in RIVALS)
    return (
        (
            f"**Rules less the default**, over all sets and numbers of rows: {told}. Clearly "
            f"better than the default in both: {names}."
        ),
        f"**Luckiness by default less its rivals**: {against}.",
        (
            "**The default stays.** The labels of an envelope are not Gaussian, and its regret "
            "hardly tells rows far out from others (shifted rows of uci-benchmark), which is what "
            "a regret is for."
        ),
    )


def _both(found: Mapping[str, Estimate]) -> str:
    mse, loss = (found[key] for key in _BOTH)
    return f"MSE {interval_text(mse)} %, log-loss {interval_text(loss, 3)} nats"


def _rivals(found: Mapping[str, Mapping[str, Draws]]) -> Table:
    """Luckiness by every rule against each rival, over all ratios together."""
    rows = []
    for rival in RIVALS:
        for learner in _learners(next(iter(found.values()))):
            if not learner.startswith("luckiness"):
                continue
            for number, ours in list(_over_all(found, learner, rival).items())[:3]:
                labels = {"against": rival, "learner": learner, "number": number}
                rows.append(Row(labels, None, ours))
    about = "Luckiness less a rival, over all numbers of rows; below 0 luckiness is better."
    return Table("Luckiness against rivals", tuple(rows), about, digits=3)


def _moved_all(moved: Mapping[str, Any]) -> Table:
    words = {"MSE": "MSE, percent", "log-loss": "log-loss, nats"}
    rows = [
        Row({"set": name, "learner": learner, "number": word}, None, Estimate(*values))
        for name, piece in moved.items()
        for measure, word in words.items()
        for learner, values in piece["all"][measure].items()
        if learner != BASE
    ]
    about = "All training rows; less luckiness by default, intervals over draws of the test rows."
    return Table("Shifted sets, all rows", tuple(rows), about, digits=3)


def _moved_few(moved: Mapping[str, Any]) -> Table:
    rows = []
    for name, piece in moved.items():
        for learner in piece["few"]:
            if learner == BASE:
                continue
            found = differences({name: piece["few"]}, learner, BASE)
            ratio, loss = (band_of(found[key][0][:, None]) for key in ("MSE", "capped"))
            labels = {"set": name, "learner": learner}
            percent = Estimate(*(100 * float(np.expm1(part[0])) for part in ratio))
            rows.append(Row(labels | {"number": "MSE, percent"}, None, percent))
            nats = Estimate(*(float(part[0]) for part in loss))
            rows.append(Row(labels | {"number": "log-loss, mean, nats"}, None, nats))
    about = f"{_ABOUT} At most half of the training rows are drawn."
    return Table(f"Shifted sets, {_FEW} rows per column", tuple(rows), about, digits=3)


def _drawn(found: Mapping[str, Mapping[str, Draws]]) -> MatplotlibFigure:
    from matplotlib.figure import Figure as Canvas

    learners = [one for one in _learners(next(iter(found.values()))) if one != BASE]
    figure = Canvas(figsize=(9.6, 0.42 * len(learners) + 1.6), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for step, ((ratio, each), ink, mark) in enumerate(
        zip(found.items(), INKS, "osD^", strict=False)
    ):
        numbers = [measures(differences(each, learner, BASE)) for learner in learners]
        places = np.arange(len(learners)) + 0.16 * (step - 1.5)
        for ax, name in zip(axes, _BOTH, strict=True):
            value, low, high = np.array([one[name] for one in numbers]).T
            ax.errorbar(
                value,
                places,
                xerr=np.maximum([value - low, high - value], 0.0),
                fmt=mark,
                color=ink,
                markersize=4,
                label=f"{ratio} rows per column",
            )
    ticks: tuple[list[float], ...] = ([-10, -1, 0, 1, 10, 100], [-1, -0.1, 0, 0.1, 1])
    for ax, name, marked in zip(axes, _BOTH, ticks, strict=True):
        ax.axvline(0, color="0.5", linestyle=":", linewidth=1)
        ax.set_xscale("symlog", linthresh=abs(marked[1]))
        ax.set_xticks(marked, [f"{mark:g}" for mark in marked])
        ax.set(xlabel=f"{name}, less default")
    axes[0].set_yticks(range(len(learners)), learners)
    axes[0].invert_yaxis()
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize="small")
    return figure
