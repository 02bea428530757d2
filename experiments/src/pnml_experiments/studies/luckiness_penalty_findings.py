"""Findings on the penalty's part in luckiness against ridge, each from the rows of a table."""

from __future__ import annotations

from collections.abc import Sequence

from pnml.metrics import Estimate
from pnml_experiments.framework.evidence import interval_text
from pnml_experiments.framework.result import Table
from pnml_experiments.studies.luckiness_penalty_numbers import DEFAULTS, FIXED, RIDGE, TODAY
from pnml_experiments.studies.luckiness_penalty_tables import GAIN, HALVES, WON

_MSE, _LOSS = "MSE, percent", "log-loss, nats"


def findings(tables: Sequence[Table]) -> tuple[str, ...]:
    """How the printed counts come out, why, and what to conclude."""
    fixed, averaged, pooled, why, best, wine, wine_averaged, *halves = tables
    return (
        _how(fixed, averaged),
        _why(why, best, pooled),
        _wine(wine, wine_averaged),
        _default(halves),
        _conclusion(best, halves),
    )


def values(table: Table, **labels: str) -> list[float]:
    """Numbers of the rows with these labels, `_` in a name standing for a space."""
    wanted = {name.replace("_", " "): value for name, value in labels.items()}
    return [
        row.ours.value
        for row in table.rows
        if row.ours is not None and wanted.items() <= row.labels.items()
    ]


def _span(numbers: Sequence[float], digits: int = 0) -> str:
    low, high = f"{min(numbers):.{digits}f}", f"{max(numbers):.{digits}f}"
    return low if low == high else f"{low} to {high}"


def _how(fixed: Table, averaged: Table) -> str:
    at_ten = [
        values(fixed, training_rows="10", penalty_of_both=f"{a:g}", number=WON)[0] for a in FIXED
    ]
    counts = ", ".join(f"{count:.0f}" for count in at_ten)
    small = values(averaged, largest_penalty_of_the_grid="0.1", number=WON)
    large = values(averaged, largest_penalty_of_the_grid="1000", number=WON)
    ends = values(averaged, number="rows of ridge at an end of the grid, percent")
    return (
        "**How 48 of 50 comes out.** With 10 training rows and one fixed penalty for both, "
        f"luckiness has the lower error on {counts} sets at the penalties "
        f"{', '.join(f'{a:g}' for a in FIXED)}. With the averaged rule of the thesis and a grid "
        f"that ends at 0.1 it wins on {_span(small)} sets, depending on the number of training "
        f"rows; with a grid that ends at 1000 on {_span(large)}. In the median set {_span(ends)} % of "
        "the rows left out have the best penalty of ridge at an end of such a grid, so the grid sets "
        "the penalty, not the data."
    )


def _why(why: Table, best: Table, pooled: Table) -> str:
    same = values(why, number="sets where both or neither")
    total = max(same)
    gains = values(best, number=GAIN)
    wins = values(best, number=WON)
    fair = [
        row.ours.value
        for row in pooled.rows
        if row.ours is not None and row.labels["against"] == "ridge" and row.labels["number"] == WON
    ]
    return (
        "**Why.** Luckiness shrinks a prediction further than ridge of the same penalty. Whether "
        f"it wins is whether ridge would gain by twice the penalty: the two agree on {_span(same)} "
        f"sets of those in the table (at best {total:.0f}). With the best penalty of each in "
        f"hindsight luckiness wins on {_span(wins)} sets, the median gain being "
        f"{_span(gains, 2)} %; with one pooled rule for both on {_span(fair)}."
    )


def _wine(wine: Table, averaged: Table) -> str:
    ridge = [row for row in wine.rows if row.labels["penalty"].startswith("where ridge")]
    lucky = [row for row in wine.rows if row.labels["penalty"].startswith("where luckiness")]
    at = [[f"{row.ours.value:.3g}" for row in rows if row.ours] for rows in (ridge, lucky)]
    errors = {
        learner: values(
            averaged, largest_penalty_of_the_grid="10000", learner=learner, number="RMSE"
        )
        for learner in ("ridge", "luckiness")
    }
    shown = ("10", "100", "1000")
    gains = [values(wine, penalty=a, number="gain, percent")[0] for a in shown]
    both = ", ".join(f"{g:.1f} % at {a}" for g, a in zip(gains, shown, strict=True))
    return (
        f"**Wine.** The printed error of ridge is met at the penalty {' and '.join(at[0])}, that "
        f"of luckiness at {' and '.join(at[1])}: the printed gain of 26 % compares a ridge that is "
        f"hardly penalised with luckiness that is. At one penalty for both the gain is {both}. The "
        f"averaged rule with a grid to 10000 has {errors['luckiness'][0]:.3f} for luckiness, and "
        f"{errors['ridge'][0]:.3f} for ridge."
    )


def _pair(table: Table, default: str, base: str) -> tuple[Estimate, Estimate]:
    found = {
        row.labels["number"]: row.ours
        for row in table.rows
        if row.ours is not None and row.labels["default"] == default and row.labels["less"] == base
    }
    return found[_MSE], found[_LOSS]


def picked(halves: Sequence[Table]) -> str:
    """The default of least mean log-loss on the first half that costs no error, or today's."""
    good = {
        default: _pair(halves[0], default, TODAY)[1].value
        for default in DEFAULTS[1:]
        if all(part.high <= 0 for part in _pair(halves[0], default, TODAY))
    }
    return min(good, key=good.__getitem__) if good else TODAY


def _default(halves: Sequence[Table]) -> str:
    told = []
    for half, name in zip(halves, HALVES, strict=True):
        each = "; ".join(f"{d}: {_text(_pair(half, d, TODAY))}" for d in DEFAULTS[1:])
        told.append(f"on the {name} of the sets {each}")
    chosen = picked(halves)
    if chosen == TODAY:
        verdict = "None is clearly better in both on the first half, so today's default stays."
    else:
        again = all(part.high <= 0 for part in _pair(halves[1], chosen, TODAY))
        word = "is clearly better again" if again else "is not clearly better again"
        verdict = (
            f"On the first half “{chosen}” is clearly better in both; on the second it {word}."
        )
    return (
        "**Is there a default that helps where the penalty is small?** Luckiness by five other "
        f"defaults less luckiness by today's: {'. '.join(told)}. {verdict}"
    )


def _text(pair: tuple[Estimate, Estimate]) -> str:
    return f"MSE {interval_text(pair[0])} %, log-loss {interval_text(pair[1], 2)} nats"


def _conclusion(best: Table, halves: Sequence[Table]) -> str:
    against = "; ".join(
        f"{_text(_pair(half, TODAY, RIDGE))} on the {name}"
        for half, name in zip(halves, HALVES, strict=True)
    )
    return (
        "**What to conclude.** Choose the penalty by leave-one-out, as the estimators here do by "
        "default; then luckiness and ridge predict alike, and luckiness is for its distribution "
        f"and its regret (by default, less ridge: {against}). If the penalty is fixed and small, "
        "for instance because many models share it, take luckiness: it repairs part of a penalty "
        "that is too small. If the penalty is large already, luckiness harms."
    )
