"""Claims of chapter 4: luckiness on polynomials, in the null space and on PMLB sets."""

from __future__ import annotations

import re
from collections.abc import Callable

from pnml.errors import InputError
from pnml_experiments.framework.evidence import (
    Claim,
    Evidence,
    Verdict,
    by_count,
    by_truth,
    interval_text,
)

_NEARER = "Points at which luckiness predicts nearer to 0 than ridge, percent"
_SIX = "The six points of the figures"
_AVERAGED, _END = "The averaged rule of the thesis", "largest penalty of the grid"
_WON = "sets won by luckiness"
_MUCH = 2.0  # times as wide is much wider


def _nearer_to_zero(sizes: tuple[str, ...]) -> Callable[[Evidence], Verdict]:
    def judge(evidence: Evidence) -> Verdict:
        shares = {size: evidence.ours(_NEARER, M=size, where="in gaps") for size in sizes}
        said = "Share of points in gaps, points and labels drawn anew: " + ", ".join(
            f"M = {size} {interval_text(share)} %" for size, share in shares.items()
        )
        least = min(share.low for share in shares.values())
        if least > 95:
            return Verdict("holds", said + ".")
        return Verdict("holds in part" if least > 50 else "does not hold", said + ".")

    return judge


def _wider(evidence: Evidence) -> Verdict:
    ratios = {}
    for size in ("11", "20", "100"):
        bayes, ours = (
            evidence.value(_SIX, M=size, number=f"mean standard deviation, {who}")
            for who in ("Bayes", "luckiness")
        )
        ratios[size] = ours / bayes
    said = "Standard deviation over that of Bayes: " + ", ".join(
        f"M = {size} {ratio:.2f}" for size, ratio in ratios.items()
    )
    if min(ratios.values()) > _MUCH:
        return Verdict("holds", said + ".")
    wider = min(ratios.values()) > 1
    return Verdict("holds in part" if wider else "does not hold", said + ".")


def _alike_with_few_features(evidence: Evidence) -> Verdict:
    few = {
        size: evidence.value(_SIX, M=size, number="mean distance of the two elsewhere")
        for size in ("2", "5")
    }
    wide = evidence.value(_SIX, M="20", number="mean standard deviation, luckiness")
    narrow = evidence.value(_SIX, M="5", number="mean standard deviation, luckiness")
    said = (
        f"The two differ by {few['2']:.1g} and {few['5']:.2g} with 2 and 5 features; standard "
        f"deviation with 5 and 20 features {narrow:.2f} and {wide:.2f}."
    )
    return by_truth(max(few.values()) < narrow and narrow < wide, said)


def _equal_in_the_span(evidence: Evidence) -> Verdict:
    table = "Largest distance of luckiness from ridge, power of ten"
    powers = [
        row.ours.value for row in evidence.rows(table, tests="in the span") if row.ours is not None
    ]
    return by_truth(max(powers) < -6, f"The two differ by at most 10^{max(powers):.1f}.")


def _null_space(evidence: Evidence) -> Verdict:
    def size(how: str) -> float:
        rows = evidence.rows(
            "Range of the predictions", tests="in the null space", predicted_by=how
        )
        return max(abs(row.ours.value) for row in rows if row.ours is not None)

    exact, single = size("ridge, dual float64"), size("ridge, primal float32")
    said = (
        f"Ridge predicts 0 there: at most {exact:.0e} in exact enough arithmetic. Normal equations "
        f"in float32 give up to {single:.0f}, which is the printed picture."
    )
    return by_truth(exact > 1, said)


def _unsure_in_the_null_space(evidence: Evidence) -> Verdict:
    table = "Standard deviation of luckiness"
    inside = evidence.value(table, tests="in the span", number="mean")
    outside = evidence.value(table, tests="in the null space", number="mean")
    said = f"Mean standard deviation in the span {inside:.2g}, in the null space {outside:.2g}."
    return by_truth(outside > 10 * inside, said)


def _settings(evidence: Evidence, number: str) -> dict[tuple[str, str], float]:
    """Training rows and largest penalty of the grid → a number by the averaged rule."""
    return {
        (row.labels["training rows"], row.labels[_END]): row.ours.value
        for row in evidence.rows(_AVERAGED, number=number)
        if row.ours is not None
    }


def _sets(evidence: Evidence) -> int:
    """Number of sets behind the counts."""
    about = next(part.about for part in evidence.result.tables if part.title == _AVERAGED)
    found = re.search(r"ours of (\d+)", about)
    if found is None:
        raise InputError("The table does not say how many sets it counts.")
    return int(found[1])


def _reached(number: str, claimed: float, what: str) -> Callable[[Evidence], Verdict]:
    """Holds where every setting that print leaves open reaches the claim, in part where some do."""

    def judge(evidence: Evidence) -> Verdict:
        found = _settings(evidence, number)
        least = claimed * _sets(evidence) / 50 if "sets" in number else claimed
        good = [setting for setting, value in found.items() if value >= least]
        ends = {end: [v for (_, e), v in found.items() if e == end] for _, end in found}
        said = f"{what} by the averaged rule, by the end of its grid: " + "; ".join(
            f"{end}: {min(values):.3g} to {max(values):.3g}" for end, values in ends.items()
        )
        said += (
            f". Reached in {len(good)} of {len(found)} settings; print gives neither rows nor grid."
        )
        if len(good) == len(found):
            return Verdict("holds", said)
        return Verdict("holds in part" if good else "does not hold", said)

    return judge


def _pooled(rival: str, measure: str, claimed: int) -> Callable[[Evidence], Verdict]:
    def judge(evidence: Evidence) -> Verdict:
        rows = [
            row.ours.value
            for row in evidence.rows("The pooled rule", against=rival, number=_WON)
            if row.labels["in"] == measure and row.ours is not None
        ]
        sets = _sets(evidence)
        said = (
            f"With penalties by pooled leave-one-out {min(rows):.0f} to {max(rows):.0f} of {sets} "
            "sets, by the number of training rows."
        )
        if min(rows) >= claimed * sets / 50:
            return Verdict("holds", said)
        most = all(2 * count > sets for count in rows)
        return Verdict("holds in part" if most else "does not hold", said)

    return judge


def _smaller_penalty(evidence: Evidence) -> Verdict:
    ridge, ours = (_settings(evidence, f"penalty of {who}") for who in ("ridge", "luckiness"))
    good = sum(ours[setting] < ridge[setting] for setting in ridge)
    said = f"Median averaged penalty below that of ridge in {good} of {len(ridge)} settings."
    return by_count(good, len(ridge), said)


CLAIMS = (
    Claim(
        4,
        "The LpNML prediction is closer to 0 in intervals that lack training data.",
        "Luckiness predicts nearer to 0 than ridge at more than 95 % of the points in gaps, with "
        "ten powers; in part at more than half.",
        "luckiness-polynomials",
        _nearer_to_zero(("11",)),
    ),
    Claim(
        4,
        "The LpNML has much larger confidence intervals at the interval edges than the Bayesian "
        "learner.",
        "The standard deviation is twice that of Bayes; in part if it is larger.",
        "luckiness-polynomials",
        _wider,
    ),
    Claim(
        4,
        "[For M = 2 and 5] the LpNML and Bayesian have a similar prediction and both have small "
        "variance.",
        "The two differ by less than the standard deviation, which is below that with M = 20.",
        "luckiness-polynomials",
        _alike_with_few_features,
    ),
    Claim(
        4,
        "For M = 20 and M = 100 … in the absence of training data the LpNML prediction is closer "
        "to 0 than the Bayesian prediction.",
        "As above, with 20 and 100 features.",
        "luckiness-polynomials",
        _nearer_to_zero(("20", "100")),
    ),
    Claim(
        4,
        "The LpNML prediction for these test samples [in the span] equals the Ridge ERM "
        "prediction.",
        "The two differ by less than a millionth.",
        "null-space-histograms",
        _equal_in_the_span,
    ),
    Claim(
        4,
        "[In the null space] the pNML predicts 0 while the Ridge ERM prediction varies between "
        "−60 and 100.",
        "Ridge predicts more than 1 there, in arithmetic that is exact enough.",
        "null-space-histograms",
        _null_space,
    ),
    Claim(
        4,
        "Compared to [the span], the variance is large which reflects high uncertainty in the "
        "prediction.",
        "The standard deviation is ten times that in the span.",
        "null-space-histograms",
        _unsure_in_the_null_space,
    ),
    Claim(
        4,
        "The LpNML outperforms the Ridge ERM for 48 of 50 sets.",
        "Lower MSE on 96 % of the sets with averaged penalties, whatever the number of training "
        "rows and the grid; in part for some. Ours: pooled penalties, in part if on most sets.",
        "luckiness-penalty",
        _reached(_WON, 48, "Sets won"),
        _pooled("ridge", "MSE", 48),
    ),
    Claim(
        4,
        "The mean and median MSE reductions are 2.03% and 0.96%, respectively.",
        "The median reduction is that large with averaged penalties, whatever the setting; in part "
        "for some.",
        "luckiness-penalty",
        _reached("median gain, percent of MSE", 0.96, "Median reduction in percent"),
    ),
    Claim(
        4,
        "For the log-loss, the LpNML outperforms the other learners in 37 out of 50 sets.",
        "Lower log-loss than Bayes on 74 % of the sets with averaged penalties, whatever the "
        "setting; in part for some. Ours: pooled penalties, in part if on most sets.",
        "luckiness-penalty",
        _reached("sets won against Bayes in log-loss", 37, "Sets won"),
        _pooled("Bayes", "log-loss", 37),
    ),
    Claim(
        4,
        "Overall, the LpNML has a smaller regularization term.",
        "The median over sets of its averaged penalty is below that of ridge in each setting.",
        "luckiness-penalty",
        _smaller_penalty,
    ),
)
