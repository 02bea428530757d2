"""Claims of chapter 2: least squares on polynomials."""

from __future__ import annotations

from pnml_experiments.framework.evidence import Claim, Evidence, Verdict, by_count, by_truth

_PENALTIES = ("λ = 0", "λ = 0.1", "λ = 1")
_DEGREES = ("degree 3", "degree 5", "degree 10")
_BY_PENALTY, _BY_DEGREE = "Degree two on three points", "By degree on ten points"
_NEAR, _FAR = "regret within 0.05 of a point, mean", "regret beyond 0.05, mean"
_ERROR = "training error, root mean square"


def _near_and_far(table: str, fits: tuple[str, ...], evidence: Evidence) -> Verdict:
    pairs = {
        fit: tuple(evidence.value(table, fit=fit, number=where) for where in (_NEAR, _FAR))
        for fit in fits
    }
    said = "Mean regret near and far, in nats: " + ", ".join(
        f"{fit} {near:.2f} and {far:.2f}" for fit, (near, far) in pairs.items()
    )
    return by_count(sum(near < far for near, far in pairs.values()), len(pairs), said + ".")


def _by_penalty(evidence: Evidence) -> Verdict:
    return _near_and_far(_BY_PENALTY, _PENALTIES, evidence)


def _by_degree(evidence: Evidence) -> Verdict:
    return _near_and_far(_BY_DEGREE, _DEGREES, evidence)


def _penalty_lowers_regret(evidence: Evidence) -> Verdict:
    numbers = ("regret at the points, mean", _NEAR, _FAR, "regret at −1")
    falls = 0
    for number in numbers:
        none, some, large = (
            evidence.value(_BY_PENALTY, fit=fit, number=number) for fit in _PENALTIES
        )
        falls += none > some > large
    far = [evidence.value(_BY_PENALTY, fit=fit, number=_FAR) for fit in _PENALTIES]
    said = (
        f"The regret falls with the penalty in {falls} of {len(numbers)} places; away from the "
        f"points it is {far[0]:.2f}, {far[1]:.2f} and {far[2]:.2f} nats at λ = 0, 0.1 and 1."
    )
    return by_count(falls, len(numbers), said)


def _penalty_raises_error(evidence: Evidence) -> Verdict:
    errors = [evidence.value(_BY_PENALTY, fit=fit, number=_ERROR) for fit in _PENALTIES]
    said = f"Training error at λ = 0, 0.1 and 1: {errors[0]:.2f}, {errors[1]:.2f}, {errors[2]:.2f}."
    return by_truth(errors[0] < errors[1] < errors[2], said)


def _ten_like_three(evidence: Evidence) -> Verdict:
    table = "Fit of degree ten against degree three, mean distance"
    near = evidence.value(table, where="within 0.05 of a point")
    far = evidence.value(table, where="beyond 0.05")
    error = evidence.value(_BY_DEGREE, fit="degree 3", number=_ERROR)
    said = (
        f"The two fits differ by {near:.2f} near the points, where degree three misses the labels "
        f"by {error:.2f}, and by {far:.2f} elsewhere."
    )
    return by_truth(near < error, said)


def _mass(evidence: Evidence, fair: bool) -> Verdict:
    rows = evidence.rows("Mass of the printed density")
    found = [row.fair if fair else row.ours for row in rows]
    masses = [one.value for one in found if one is not None]
    whose = "corrected" if fair else "printed"
    said = f"The {whose} density has a mass of {min(masses):.2f} to {max(masses):.2f}."
    return by_truth(max(abs(mass - 1) for mass in masses) < 1e-3, said)


CLAIMS = (
    Claim(
        2,
        "Around the training data the regret is very low in comparison to areas where there are "
        "no training data.",
        "The mean regret within 0.05 of a point is below that elsewhere, at each penalty.",
        "polynomial",
        _by_penalty,
    ),
    Claim(
        2,
        "Models with larger regularization term have lower regret for every point in the interval.",
        "The regret falls from each penalty to the next, at the points, near them and far away.",
        "polynomial",
        _penalty_lowers_regret,
    ),
    Claim(
        2,
        "As λ increases the fitted curve becomes less steep but tends to fit less to the training "
        "data.",
        "The training error rises from each penalty to the next.",
        "polynomial",
        _penalty_raises_error,
    ),
    Claim(
        2,
        "For a polynomial of degree ten … the prediction accuracy near the training samples is "
        "similar to that of a degree three polynomial.",
        "Near the points the two fits differ by less than the training error of degree three.",
        "polynomial",
        _ten_like_three,
    ),
    Claim(
        2,
        "All the learners have regret values that are small near the training samples and large "
        "as t drifts away from these samples.",
        "The mean regret within 0.05 of a point is below that elsewhere, at each degree.",
        "polynomial",
        _by_degree,
    ),
    Claim(
        2,
        "The rest of the evaluation is similar … yielding the following pNML learner [with "
        "regularization].",
        "The printed density has mass one. Ours: with the corrected prefactor.",
        "polynomial",
        lambda evidence: _mass(evidence, fair=False),
        lambda evidence: _mass(evidence, fair=True),
    ),
)
