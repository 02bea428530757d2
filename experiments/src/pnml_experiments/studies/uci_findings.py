"""What came out of the UCI benchmark, said in sentences from its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.metrics import Estimate
from pnml_experiments.framework.result import Table
from pnml_experiments.studies.uci_crossover import LITTLE
from pnml_experiments.studies.uci_rivals import BAYESIAN_RIDGE, LUCKINESS, OURS, PNML
from pnml_experiments.studies.uci_shift import (
    APART,
    COVERED,
    NEAR_BEST,
    TRUSTED,
    TRUSTED_SAME,
)

_LOSS, _ERROR, _HARD, _SCORE = (
    "log-loss, nats",
    "RMSE",
    "coverage, highest regret",
    "interval score",
)
# set and rows → split by split: learner → measure → value
Found = Mapping[tuple[str, str], Sequence[Mapping[str, Mapping[str, float | None]]]]
Told = Mapping[tuple[str, ...], Estimate]


def findings(tables: Sequence[Table], found: Found) -> tuple[str, ...]:
    """Where pNML is ahead, where the learners meet, where it loses; most important first.

    The tables are those of means, gaps, the curve, the crossover and shifted rows, in this order.
    """
    means, gaps, _, crossover, shifted = (_told(table) for table in tables[:5])
    return (
        *_ahead(means, gaps),
        *_meet(gaps, crossover),
        *_behind(means, gaps),
        *_wide(found),
        *_shifted(shifted),
        *_default(shifted),
    )


def _told(table: Table) -> Told:
    return {tuple(row.labels.values()): row.ours for row in table.rows if row.ours is not None}


def _short(found: Estimate, digits: int = 2) -> str:
    return f"{found.value:.{digits}f} [{found.low:.{digits}f}, {found.high:.{digits}f}]"


def _sizes(gaps: Told) -> list[str]:
    return list(dict.fromkeys(size for size, _, _ in gaps))


def _ahead(means: Told, gaps: Told) -> Iterator[str]:
    """Few rows: log-loss of all learners, and coverage of hard rows."""
    size = _sizes(gaps)[0]
    gap = gaps[size, "all", PNML]
    losses = {key[2]: one.value for key, one in means.items() if key[:2] == (size, _LOSS)}
    side = "less" if gap.value < 0 else "more"
    yield (
        f"**Few rows.** With {size} rows pNML has a test log-loss of {losses[PNML]:.2f} nats, "
        f"{abs(gap.value):.3f} {side} than BayesianRidge (gap {_short(gap, 3)}). The least: "
        f"{'; '.join(_least(means, one) for one in _sizes(gaps))}."
    )
    hard = {key[2]: one.value for key, one in means.items() if key[:2] == (size, _HARD)}
    others = sorted(((value, name) for name, value in hard.items() if name not in OURS))
    mine = sorted(hard[name] for name in OURS if name in hard)
    listed = ", ".join(f"{name} {value:.2f}" for value, name in others)
    yield (
        f"**Hard rows.** Of the tenth of the rows with the highest regret, 90 % intervals of the "
        f"learners of this package cover {mine[0]:.2f} to {mine[-1]:.2f} with {size} rows; those "
        f"of the others: {listed}."
    )


def _least(means: Told, size: str) -> str:
    """The learner of least log-loss, and that of the least outside this package."""
    losses = {key[2]: one.value for key, one in means.items() if key[:2] == (size, _LOSS)}
    best = min(losses, key=losses.__getitem__)
    rival = min(set(losses) - set(OURS), key=losses.__getitem__)
    other = f", before {rival}, {losses[rival]:.2f}" if best != rival else ""
    return f"with {size} rows {best}, {losses[best]:.2f}{other}"


def _meet(gaps: Told, crossover: Told) -> Iterator[str]:
    """How many rows it takes until the choice no longer matters."""
    size = _sizes(gaps)[-1]
    yield (
        f"**Where they meet.** From {_short(crossover[(PNML,)], 1)} rows per feature on, the mean "
        f"gap of pNML to BayesianRidge is smaller than {LITTLE:g} nats; with "
        f"{size} rows it is {_short(gaps[size, 'all', PNML], 3)}."
    )


def _behind(means: Told, gaps: Told) -> Iterator[str]:
    """Where pNML is worse than its nearest rival, beyond chance."""
    lost = [
        f"{name} with {size} rows ({_short(gap, 3)})"
        for (size, name, learner), gap in gaps.items()
        if learner == PNML and name != "all" and gap.low > 0 and gap.value >= LITTLE / 10
    ]
    where = "; ".join(lost) or "nowhere beyond the intervals"
    size = _sizes(gaps)[0]
    errors = [means[size, _ERROR, name].value for name in (PNML, LUCKINESS, BAYESIAN_RIDGE)]
    yield (
        f"**Where it loses.** pNML has a larger log-loss than BayesianRidge {_on(lost)}{where}. "
        f"With {size} rows its RMSE is {errors[0]:.2f}, that of LpNML {errors[1]:.2f}, that of "
        f"BayesianRidge {errors[2]:.2f}."
    )


def _on(lost: Sequence[str]) -> str:
    return "on " if lost else ""


def _wide(found: Found) -> Iterator[str]:
    """The largest mean interval score of ours: where it comes from."""
    scores: dict[tuple[str, ...], FloatArray] = {
        (learner, *key): np.array([one[learner][_SCORE] for one in each], dtype=float)
        for key, each in found.items()
        for learner in each[0]
        if all(one.get(learner, {}).get(_SCORE) is not None for one in each)
    }
    means = {key: float(np.mean(values)) for key, values in scores.items()}
    learner, name, size = max((key for key in means if key[0] in OURS), key=means.__getitem__)
    rivals = [key for key in means if key[0] not in OURS and key[1:] == (name, size)]
    values = scores[learner, name, size]
    if np.mean(values) < 2 * np.median(values):
        return
    split = int(np.argmax(values))
    of_row = found[name, size][split][learner]
    trust = "trusts" if of_row["widest trusted"] else "does not trust"
    yield (
        f"**Wide intervals.** The largest interval score of ours is that of {learner} on {name} "
        f"with {size} rows: {np.mean(values):.1f} in the mean over splits, "
        f"{np.median(values):.1f} in the median{_rival(scores, rivals)}. In the worst split "
        f"({values[split]:.1f}) one row has {of_row['widest share']:.0%} of the width "
        f"of all intervals, and the learner {trust} it. This is no defect of the arithmetic: "
        "where labels are nearly free of noise, leave-one-out takes a very small penalty. The few "
        "rows that no training row is near then have a leverage of thousands, and the interval of "
        "pNML widens with one plus the leverage."
    )


def _rival(scores: Mapping[tuple[str, ...], FloatArray], keys: Sequence[tuple[str, ...]]) -> str:
    """Mean and median of the best other learner on the same rows."""
    if not keys:
        return ""
    best = min(keys, key=lambda key: float(np.mean(scores[key])))
    return f" ({best[0]}: {np.mean(scores[best]):.1f} and {np.median(scores[best]):.1f})"


def _shifted(shifted: Told) -> Iterator[str]:
    """Coverage of shifted rows, and whether they are trusted."""
    said = []
    for n, d in dict.fromkeys(key[:2] for key in shifted):
        mine, rival, trusted, same = (
            shifted[n, d, name, number].value
            for name, number in (
                (PNML, COVERED),
                (BAYESIAN_RIDGE, COVERED),
                (PNML, TRUSTED),
                (PNML, TRUSTED_SAME),
            )
        )
        said.append(
            f"{n} rows of {d} columns: {mine:.2f} by pNML, which trusts {trusted:.1%} of these "
            f"rows and {same:.1%} of fresh rows of the training kind; {rival:.2f} by BayesianRidge"
        )
    yield f"**Shifted rows** in 90 % intervals. {'. '.join(said)}."


def _default(shifted: Told) -> Iterator[str]:
    """Why luckiness keeps one penalty by default."""
    wide = [key[:2] for key in shifted if key[2:] == (NEAR_BEST, COVERED)]
    lost = [
        shifted[n, d, NEAR_BEST, APART].value < shifted[n, d, LUCKINESS, APART].value
        for n, d in wide
    ]
    if not wide or not all(lost):
        return
    said = "; ".join(
        f"{n} × {d}: {shifted[n, d, NEAR_BEST, COVERED].value:.2f} of the labels instead of "
        f"{shifted[n, d, LUCKINESS, COVERED].value:.2f}, AUROC of the regret "
        f"{shifted[n, d, NEAR_BEST, APART].value:.2f} instead of "
        f"{shifted[n, d, LUCKINESS, APART].value:.2f}"
        for n, d in wide
    )
    yield (
        f"**Why the default stays.** LpNML that follows all penalties near the best at once, "
        f"against LpNML as it is, where columns outnumber rows: {said}. Its regret tells shifted "
        "rows from others worse, and the regret is what trust rests on, so it is not the default."
    )
