"""Tables of the penalty's part in luckiness against ridge."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.metrics import Estimate
from pnml_experiments.ch4_luckiness.pmlb_rows import ENDS
from pnml_experiments.framework.result import Row, Table, exactly
from pnml_experiments.studies.luckiness_choice import CAP, over_sets
from pnml_experiments.studies.luckiness_penalty_numbers import (
    DEFAULTS,
    FIXED,
    LEARNERS,
    PATH,
    RIDGE,
    TODAY,
    WINE_ENDS,
    Draws,
)

# training rows → set → name → mean over draws
Means = Mapping[str, Mapping[str, Mapping[str, float]]]
WON = "sets won by luckiness"
GAIN = "median gain, percent of MSE"
_PRINTED_GAIN, _PRINTED_SETS, _PRINTED_LOSS_SETS = 0.96, 48.0, 37.0
_WINE_RIDGE, _WINE_LUCKINESS = 0.994, 0.732
_WINE_SHOWN = (1.0, 10.0, 100.0, 1e3, 10**3.5, 10**3.75, 1e4, 1e5)
_UNITS = (
    "Below 0 is better. MSE: percent, from the mean of log ratios. Log-loss: nats, losses of a "
    f"draw end at {CAP:g}."
)
HALVES = ("first half", "second half")


def means_of(each: Mapping[str, Draws]) -> dict[str, dict[str, float]]:
    """Set → name → mean over draws."""
    return {
        name: {key: float(np.mean(values)) for key, values in one.items()}
        for name, one in each.items()
    }


def won(each: Mapping[str, Mapping[str, float]], ours: str, theirs: str) -> tuple[int, float]:
    """Sets on which one number is below another, and the median gain over sets in percent.

    >>> won({"a": {"x": 1.0, "y": 2.0}, "b": {"x": 3.0, "y": 2.0}}, "x", "y")
    (1, 0.0)
    """
    pairs = np.array([[one[ours], one[theirs]] for one in each.values()])
    gains = 100 * (1 - pairs[:, 0] / pairs[:, 1])
    return int(np.sum(pairs[:, 0] < pairs[:, 1])), float(np.median(gains))


def beats_both(one: Mapping[str, float], rule: str) -> bool:
    """Whether luckiness has a lower log-loss than ridge and Bayes on a set.

    >>> losses = {"luckiness": 1.0, "ridge": 2.0, "Bayes": 1.0}
    >>> beats_both({f"{who}, pooled, log-loss": loss for who, loss in losses.items()}, "pooled")
    False
    """
    ours, *others = (one[f"{who}, {rule}, log-loss"] for who in ("luckiness", "ridge", "Bayes"))
    return ours < min(others)


def fixed_table(means: Means) -> Table:
    """One penalty for both, by training rows."""
    rows = []
    for n, each in means.items():
        for alpha in FIXED:
            count, gain = won(each, f"luckiness at {alpha:g}", f"ridge at {alpha:g}")
            labels = {"training rows": n, "penalty of both": f"{alpha:g}"}
            rows.append(Row(labels | {"number": WON}, None, exactly(count)))
            rows.append(Row(labels | {"number": GAIN}, None, exactly(gain)))
    about = f"Both learners have the same fixed penalty; {_sets(means)} sets, mean squared error."
    return Table("One fixed penalty for both", tuple(rows), about, digits=2)


def averaged_table(means: Means) -> Table:
    """Table of the averaged rule, by number of training rows and end of the grid."""
    rows = []
    for n, each in means.items():
        for end in ENDS:
            rule = f"averaged to {end:g}"
            count, gain = won(each, f"luckiness, {rule}, MSE", f"ridge, {rule}, MSE")
            losses = [
                one[f"luckiness, {rule}, log-loss"] < one[f"Bayes, {rule}, log-loss"]
                for one in each.values()
            ]
            labels = {"training rows": n, "largest penalty of the grid": f"{end:g}"}
            numbers: dict[str, tuple[float | None, float]] = {
                WON: (_PRINTED_SETS, count),
                GAIN: (_PRINTED_GAIN, gain),
                "sets won against Bayes in log-loss": (_PRINTED_LOSS_SETS, float(sum(losses))),
            }
            for learner in ("ridge", "luckiness"):
                numbers[f"penalty of {learner}"] = (
                    None,
                    _median(each, f"{learner}, {rule}, penalty"),
                )
            ends = _median(each, f"ridge, {rule}, at ends")
            numbers["rows of ridge at an end of the grid, percent"] = (None, 100 * ends)
            rows += [
                Row(labels | {"number": number}, printed, exactly(ours))
                for number, (printed, ours) in numbers.items()
            ]
    about = (
        f"Printed are counts of 50 sets, ours of {_sets(means)}. Print gives no number of training "
        "rows and no grid, so the printed numbers stand in every line. Penalties are medians over "
        "sets of means over draws."
    )
    return Table("The averaged rule of the thesis", tuple(rows), about, digits=2)


def pooled_table(means: Means) -> Table:
    """One pooled rule for every learner, by training rows."""
    rows = []
    for n, each in means.items():
        for over, part in (("ridge", "MSE"), ("Bayes", "log-loss")):
            pairs = [
                (one[f"luckiness, pooled, {part}"], one[f"{over}, pooled, {part}"])
                for one in each.values()
            ]
            labels = {"training rows": n, "against": over, "in": part}
            rows.append(Row(labels | {"number": WON}, None, exactly(sum(a < b for a, b in pairs))))
        both = sum(beats_both(one, "pooled") for one in each.values())
        labels = {"training rows": n, "against": "ridge and Bayes", "in": "log-loss"}
        rows.append(Row(labels | {"number": WON}, None, exactly(both)))
        for learner in LEARNERS:
            labels = {"training rows": n, "against": learner, "in": "median penalty"}
            value = _median(each, f"{learner}, pooled, penalty")
            rows.append(Row(labels | {"number": "penalty"}, None, exactly(value)))
    about = f"Penalty and noise of each learner by pooled leave-one-out; {_sets(means)} sets."
    return Table("The pooled rule", tuple(rows), about, digits=1)


def why_table(means: Means) -> Table:
    """Luckiness wins on the sets whose ridge penalty is too small."""
    rows = []
    for n, each in means.items():
        for alpha in FIXED:
            plain, twice = f"ridge at {alpha:g}", f"ridge at twice {alpha:g}"
            lucky = f"luckiness at {alpha:g}"
            same = sum(
                (one[lucky] < one[plain]) == (one[twice] < one[plain]) for one in each.values()
            )
            labels = {"training rows": n, "penalty": f"{alpha:g}"}
            numbers = {
                "sets where luckiness beats ridge": won(each, lucky, plain)[0],
                "sets where ridge gains by twice the penalty": won(each, twice, plain)[0],
                "sets where both or neither": same,
                "median gain of luckiness, percent": won(each, lucky, plain)[1],
                "median gain of twice the penalty, percent": won(each, twice, plain)[1],
            }
            rows += [
                Row(labels | {"number": number}, None, exactly(value))
                for number, value in numbers.items()
            ]
    about = (
        "Luckiness shrinks a prediction further than ridge of the same penalty, most where the "
        "leverage is large. So it helps where ridge would be helped by a larger penalty, and harms "
        f"where not. {_sets(means)} sets, mean squared error."
    )
    return Table("Why: luckiness acts like a larger penalty", tuple(rows), about, digits=2)


def best_table(means: Means) -> Table:
    """Each learner at the fixed penalty that is best for it in hindsight."""
    rows = []
    for n, each in means.items():
        best = {
            name: {k: min(one[f"{k} at {a:g}"] for a in PATH) for k in ("ridge", "luckiness")}
            for name, one in each.items()
        }
        at = {
            k: [PATH[np.argmin([one[f"{k} at {a:g}"] for a in PATH])] for one in each.values()]
            for k in ("ridge", "luckiness")
        }
        count, gain = won(best, "luckiness", "ridge")
        numbers = {WON: count, GAIN: gain}
        numbers |= {f"median best penalty of {k}": float(np.median(v)) for k, v in at.items()}
        rows += [
            Row({"training rows": n, "number": number}, None, exactly(value))
            for number, value in numbers.items()
        ]
    about = (
        "For every set the fixed penalty with the least mean test error, which no rule can know. "
        f"{_sets(means)} sets."
    )
    return Table("Best penalty in hindsight", tuple(rows), about, digits=2)


def wine_table(on_wine: Mapping[str, Mapping[str, list[float]]]) -> Table:
    """Errors on wine by the penalty, and where the printed errors are met."""
    penalties = np.array(on_wine["penalty"][""])
    paths = {learner: np.array(on_wine["path"][learner]) for learner in ("ridge", "luckiness")}
    rows = []
    for shown in _WINE_SHOWN:
        at = int(np.argmin(np.abs(np.log(penalties / shown))))
        ridge, lucky = (float(paths[learner][at]) for learner in ("ridge", "luckiness"))
        numbers = {"ridge": ridge, "luckiness": lucky, "gain, percent": 100 * (1 - lucky / ridge)}
        rows += [
            Row({"penalty": f"{penalties[at]:.4g}", "number": name}, None, exactly(value))
            for name, value in numbers.items()
        ]
    for learner, error in (("ridge", _WINE_RIDGE), ("luckiness", _WINE_LUCKINESS)):
        for place, value in enumerate(crossings(penalties, paths[learner], error), 1):
            labels = {"penalty": f"where {learner} has the printed {error}, {place}"}
            rows.append(Row(labels | {"number": learner}, None, exactly(value)))
    about = "RMSE on red wine after training on white wine; the last lines are penalties."
    return Table("Wine by the penalty", tuple(rows), about, digits=3)


def crossings(penalties: FloatArray, errors: FloatArray, level: float) -> list[float]:
    """Penalties at which errors cross a level, between penalties on a line in the logarithm.

    >>> [round(a, 9) for a in crossings(np.array([1.0, 100.0]), np.array([2.0, 4.0]), 3.0)]
    [10.0]
    """
    over = errors > level
    found = []
    for i in np.flatnonzero(over[1:] != over[:-1]):
        part = (level - errors[i]) / (errors[i + 1] - errors[i])
        found.append(float(penalties[i] * (penalties[i + 1] / penalties[i]) ** part))
    return found


def wine_averaged_table(on_wine: Mapping[str, Mapping[str, list[float]]]) -> Table:
    """The rule of the thesis on wine, by the end of its grid."""
    rows = []
    print_of = {"ridge": _WINE_RIDGE, "luckiness": _WINE_LUCKINESS}
    words = ("RMSE", "penalty", "rows at an end of the grid, percent")
    for end in WINE_ENDS:
        for learner, printed in print_of.items():
            error, penalty, ends = on_wine["averaged"][f"{learner} to {end:g}"]
            labels = {"largest penalty of the grid": f"{end:g}", "learner": learner}
            for word, value in zip(words, (error, penalty, 100 * ends), strict=True):
                shown = printed if word == "RMSE" else None
                rows.append(Row(labels | {"number": word}, shown, exactly(value)))
    about = "The grid has 60 penalties from 0.001. Print gives one error each and no grid."
    return Table("Wine by the averaged rule", tuple(rows), about, digits=3)


def defaults_tables(found: Mapping[str, Mapping[str, Draws]]) -> tuple[Table, ...]:
    """Defaults of luckiness on one half of the sets, on the other, and by training rows."""
    names = list(next(iter(found.values())))
    halves = [
        _defaults_table(found, names[place::2], f"{half} of the sets")
        for place, half in enumerate(HALVES)
    ]
    rows = []
    for n, each in found.items():
        for default in DEFAULTS[1:]:
            for number, ours in _compared({n: each}, names, default, TODAY).items():
                labels = {"training rows": n, "default": default, "number": number}
                rows.append(Row(labels, None, ours))
    about = f"Luckiness by a default less luckiness by today's, all sets. {_UNITS}"
    return (*halves, Table("Defaults by the number of training rows", tuple(rows), about, digits=2))


def _defaults_table(
    found: Mapping[str, Mapping[str, Draws]], names: list[str], which: str
) -> Table:
    rows = []
    for base, others in ((RIDGE, DEFAULTS), (TODAY, DEFAULTS[1:])):
        for default in others:
            for number, ours in _compared(found, names, default, base).items():
                rows.append(Row({"less": base, "default": default, "number": number}, None, ours))
    about = (
        f"Luckiness by a default less a base, over all numbers of training rows. {_UNITS} The sets "
        "of the printed table, every second one."
    )
    return Table(f"Defaults of luckiness, {which}, {len(names)} sets", tuple(rows), about, digits=3)


def _compared(
    found: Mapping[str, Mapping[str, Draws]], names: list[str], default: str, base: str
) -> dict[str, Estimate]:
    def each(part: str, of: Callable[[FloatArray], Any]) -> FloatArray:
        """One number a set: mean over draws and numbers of training rows."""
        ours, theirs = (
            np.array([[by[name][f"{who}, {part}"] for by in found.values()] for name in names])
            for who in (default, base)
        )
        return np.asarray(np.mean(of(ours) - of(theirs), axis=(1, 2)))

    ratio = over_sets(each("MSE", np.log), np.mean)
    percent = Estimate(*(100 * float(np.expm1(part)) for part in ratio))
    loss = over_sets(each("log-loss", lambda values: np.minimum(values, CAP)), np.mean)
    return {"MSE, percent": percent, "log-loss, nats": loss}


def _median(each: Mapping[str, Mapping[str, float]], name: str) -> float:
    return float(np.median([one[name] for one in each.values()]))


def _sets(means: Means) -> int:
    return len(next(iter(means.values())))
