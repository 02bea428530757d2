"""Claims of chapter 4: luckiness on polynomials and in the null space."""

from __future__ import annotations

from collections.abc import Callable

from pnml.metrics import Estimate
from pnml_experiments.framework.evidence import (
    Claim,
    Evidence,
    Verdict,
    by_truth,
    interval_text,
)

_NEARER = "Points at which luckiness predicts nearer to 0 than ridge, percent"
_SIX = "The six points of the figures"
_EDGES = "Width of luckiness over that of Bayes at the edges"


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


def _wider_at_the_edges(evidence: Evidence) -> Verdict:
    def ratios(points: str) -> list[Estimate]:
        return [
            evidence.ours(_EDGES, M="11", points=points, number=f"ratio at {edge}")
            for edge in ("−1", "1")
        ]

    six, drawn = ratios("of the figures"), ratios("drawn anew")
    share = evidence.ours(
        _EDGES,
        M="11",
        points="drawn anew",
        number="draws with twice the width at both edges, percent",
    )
    said = (
        "With ten powers the standard deviation at −1 and 1 is "
        f"{' and '.join(f'{one.value:.2f}' for one in six)} times that of Bayes for six points of "
        f"ours, and {' and '.join(interval_text(one, 2) for one in drawn)} times in the mean over "
        "draws of six points, as the thesis draws them; it is twice that of Bayes at both edges in "
        f"{interval_text(share)} % of the draws."
    )
    if share.low > 95:
        return Verdict("holds", said)
    return Verdict("holds in part" if share.low > 50 else "does not hold", said)


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
        f"in float32 give up to {single:.0f} in size; print is of that size."
    )
    return by_truth(exact > 1, said)


def _unsure_in_the_null_space(evidence: Evidence) -> Verdict:
    table = "Standard deviation of luckiness"
    inside = evidence.value(table, tests="in the span", number="mean")
    outside = evidence.value(table, tests="in the null space", number="mean")
    said = f"Mean standard deviation in the span {inside:.2g}, in the null space {outside:.2g}."
    return by_truth(outside > 10 * inside, said)


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
        "With ten powers the standard deviation is at least twice that of Bayes at both edges, for "
        "more than 95 % of draws of the points; in part for more than half.",
        "luckiness-polynomials",
        _wider_at_the_edges,
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
)
