"""Claims of chapter 2: least squares on polynomials."""

from __future__ import annotations

import numpy as np

from pnml_experiments.framework.evidence import Claim, Evidence, Verdict, by_count, by_truth

_PENALTIES = ("λ = 0", "λ = 0.1", "λ = 1")
_DEGREES = ("degree 3", "degree 5", "degree 10")
_BY_PENALTY, _BY_DEGREE = "Degree two on three points", "By degree on ten points"
_NEAR, _FAR = "regret within 0.05 of a point, mean", "regret beyond 0.05, mean"
_AT, _EDGE = "regret at the points, mean", "regret at −1"
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
    numbers = (_AT, _NEAR, _FAR, _EDGE)
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


def _rises_away(evidence: Evidence) -> Verdict:
    means = {
        fit: [evidence.value(_BY_PENALTY, fit=fit, number=where) for where in (_AT, _NEAR, _FAR)]
        for fit in _PENALTIES
    }
    rises = sum(at < near < far for at, near, far in means.values())
    at, between = regrets_of_three_points()
    said = (
        f"Mean regret at the points, within 0.05 of one and beyond rises at {rises} of "
        f"{len(means)} penalties. It does not at every step: of the points −1, 0 and 1 without a "
        f"penalty it is {at:.2f} nats at each and {between:.2f} at 0.5, farthest from them."
    )
    return Verdict("holds in part" if 2 * rises >= len(means) else "does not hold", said)


def regrets_of_three_points() -> tuple[float, float]:
    """Regret of a polynomial of degree two at its points −1, 0 and 1, and at 0.5, in nats.

    >>> at, between = regrets_of_three_points()
    >>> between < at
    True
    """
    points = np.vander([-1.0, 0.0, 1.0], increasing=True)
    rows = np.vander([0.0, 0.5], 3, increasing=True)
    leverage = np.sum(np.linalg.solve(points.T, rows.T) ** 2, axis=0)
    at, between = np.log1p(leverage)
    return float(at), float(between)


def _variance_grows(evidence: Evidence) -> Verdict:
    regret = evidence.value(_BY_PENALTY, fit="λ = 0", number=_EDGE)
    variance = log_variance_of_genies(regret)
    said = (
        f"At t = −1 without a penalty log K is {regret:.2f}, and the logarithm of the variance of "
        f"the normalised density over that of the noise {variance:.2f}: the variance grows by K², "
        "the standard deviation by K."
    )
    return by_truth(abs(variance - regret) < 1e-3, said)


def log_variance_of_genies(regret: float) -> float:
    """Log variance of the normalised density of the genies, over the noise, by quadrature.

    A genie has seen the label and misses it by 1/K of what the fit misses it by.

    >>> round(log_variance_of_genies(1.5), 6)
    3.0
    """
    misses = np.linspace(-12, 12, 4001)  # of the genies; those of the fit are K times as large
    density = np.exp(-0.5 * misses**2)
    return 2 * regret + float(np.log(np.sum(misses**2 * density) / np.sum(density)))


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
        "For all regularization terms, the regret increases as moving away from the training data.",
        "It increases at every step away from a point; in part if its mean does from the points to "
        "near and far, at most of the penalties.",
        "polynomial",
        _rises_away,
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
    Claim(
        2,
        "[The pNML assignment is Gaussian] … with a variance that increases by a factor K whose "
        "logarithm is the learnability measure Γ.",
        "The normalised density of the genies has K times the variance of the noise.",
        "polynomial",
        _variance_grows,
    ),
)
