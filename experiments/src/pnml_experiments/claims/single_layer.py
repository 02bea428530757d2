"""Claims of chapter 5 on the single layer: its regret, Iris, spectra, tuned layers."""

from __future__ import annotations

from collections.abc import Callable

from pnml.errors import InputError
from pnml_experiments.framework.evidence import (
    Claim,
    Evidence,
    Verdict,
    by_count,
    by_truth,
    open_question,
)

_CURVE, _MAPS, _SPECTRA = "Regret over log 2", "What the text says of the maps", "Spectra"
_LAYERS, _TOLD = "By the number of tuned layers, log base 10", "Images told wrong"
_STEPS = ("0.1", "0.5", "0.9", "1")


def _curve(evidence: Evidence, p: str, at: str) -> float:
    return evidence.value(_CURVE, **{"p₁": p, "xᵀg": at})


def _sure_models_respond_most(evidence: Evidence) -> Verdict:
    rises = {
        p: [
            high - low
            for low, high in zip(
                [0.0, *(_curve(evidence, p, at) for at in _STEPS[:-1])],
                [_curve(evidence, p, at) for at in _STEPS],
                strict=True,
            )
        ]
        for p in ("0.55", "0.85", "0.99")
    }
    ends = list(zip(("0", *_STEPS[:-1]), _STEPS, strict=True))
    largest = [
        f"{low} to {high}"
        for (low, high), sure, *others in zip(
            ends, rises["0.99"], rises["0.55"], rises["0.85"], strict=True
        )
        if sure > max(others)
    ]
    said = f"Largest for p = 0.99 where xᵀg goes from {', '.join(largest) or 'nowhere'}, not else."
    return by_count(len(largest), len(_STEPS), said)


def _sure_models_have_none(evidence: Evidence) -> Verdict:
    at_end = {p: _curve(evidence, p, "1") for p in ("0.55", "0.85", "0.99")}
    said = (
        f"Outside the span, xᵀg = 1, the regret over log 2 is {at_end['0.55']:.2f}, "
        f"{at_end['0.85']:.2f} and {at_end['0.99']:.2f} at p = 0.55, 0.85 and 0.99: it grows."
    )
    return by_truth(at_end["0.99"] < at_end["0.55"], said)


def _limit(evidence: Evidence) -> Verdict:
    rows = [row for row in evidence.rows(_CURVE) if row.difference is not None]
    good = sum(abs(row.difference or 0.0) < 1e-3 for row in rows)
    first = rows[0]
    said = f"At p = {first.labels['p₁']} printed {first.printed:.3f}"
    if first.ours is not None:
        said += f", by the rule itself {first.ours.value:.3f}"
    return by_truth(good == len(rows), said + ".")


def _maps(evidence: Evidence, classes: str, number: str, fair: bool = False) -> float:
    found = evidence.fair if fair else evidence.ours
    return found(_MAPS, classes=classes, number=number).value


def _corners(evidence: Evidence, fair: bool) -> Verdict:
    low = [
        _maps(evidence, "separable", f"regret, {at}", fair) for at in ("top left", "bottom right")
    ]
    high = [
        _maps(evidence, "separable", f"regret, {at}", fair) for at in ("top right", "bottom left")
    ]
    said = (
        f"Top left and bottom right at most {max(low):.2g}, top right and bottom left at least "
        f"{min(high):.2g}."
    )
    return by_truth(max(low) < min(high), said)


def _never_sure(evidence: Evidence) -> Verdict:
    largest = _maps(evidence, "inseparable", "largest probability of a class")
    return by_truth(largest < 0.7, f"The largest probability is {largest:.2f}.")


def _low_inside(evidence: Evidence, fair: bool) -> Verdict:
    corners = ("top left", "bottom right", "top right", "bottom left")
    edges = [_maps(evidence, "inseparable", f"regret, {at}", fair) for at in corners]
    middle = _maps(evidence, "inseparable", "regret, middle of the training rows", fair)
    said = f"{middle:.2g} in the middle of the rows, {min(edges):.2g} or more in the corners."
    return by_truth(middle < min(edges), said)


def _spread(evidence: Evidence, name: str) -> float | None:
    number = "first eigenvalue over the 50th"
    try:
        return evidence.value(_SPECTRA, embeddings=f"DenseNet-BC-100, {name}", number=number)
    except InputError:
        return None


def _even_spectra(evidence: Evidence) -> Verdict:
    found = {name: _spread(evidence, name) for name in ("CIFAR-100", "CIFAR-10", "SVHN")}
    known = {name: value for name, value in found.items() if value is not None}
    said = "First eigenvalue over the 50th: " + ", ".join(
        f"{name} {value:.0f}" for name, value in known.items()
    )
    ordered = list(known.values()) == sorted(known.values())
    if not ordered:
        return Verdict("does not hold", said + ".")
    if len(known) == len(found):
        return Verdict("holds", said + ".")
    return Verdict("holds in part", said + "; no network trained on SVHN was run.")


def _svhn_falls(evidence: Evidence) -> Verdict:
    found = _spread(evidence, "SVHN")
    if found is None:
        return open_question("Not run.", "The DenseNet-BC-100 trained on SVHN, and its images.")
    return by_truth(found >= 300, f"First eigenvalue over the 50th: {found:.0f}.")


def _wrong(evidence: Evidence, number: str, fair: bool) -> float:
    return (evidence.fair if fair else evidence.ours)(_TOLD, number=number).value


def _fewer_known_lost(fair: bool) -> Callable[[Evidence], Verdict]:
    def judge(evidence: Evidence) -> Verdict:
        plain = _wrong(evidence, "known images that Gram takes for outliers", fair)
        ours = _wrong(evidence, "known images that Gram + pNML takes for outliers", fair)
        return by_truth(ours < plain, f"{plain:.1f} % by Gram, {ours:.1f} % by Gram + pNML.")

    return judge


def _more_outliers_found(fair: bool) -> Callable[[Evidence], Verdict]:
    def judge(evidence: Evidence) -> Verdict:
        won = _wrong(evidence, "outliers that Gram + pNML finds and Gram does not", fair)
        lost = _wrong(evidence, "outliers that Gram finds and Gram + pNML does not", fair)
        return by_truth(won > lost, f"{won:.1f} % of the outliers won, {lost:.1f} % lost.")

    return judge


def _layers(evidence: Evidence, number: str) -> list[float]:
    return [evidence.value(_LAYERS, layers=count, number=number) for count in ("0", "2", "7")]


def _two_layers(evidence: Evidence) -> Verdict:
    loss, right = _layers(evidence, "log-loss, mean"), _layers(evidence, "accuracy")
    said = f"Log-loss {loss[0]:.3f} and {loss[1]:.3f}, accuracy {right[0]:.3f} and {right[1]:.3f}."
    return by_truth(loss[0] - loss[1] >= 0.025 and right[1] > right[0], said)


def _deviation(evidence: Evidence) -> Verdict:
    spread = _layers(evidence, "log-loss, std")
    said = f"Standard deviation of the log-loss {spread[0]:.2f} and {spread[1]:.2f}."
    return by_truth(abs(spread[0] - spread[1] - 0.57) < 0.01, said)


def _regret_grows(evidence: Evidence) -> Verdict:
    regret = _layers(evidence, "regret, mean")
    said = f"Mean regret with 0, 2 and 7 layers {regret[0]:.2f}, {regret[1]:.2f}, {regret[2]:.2f}."
    return by_truth(regret[0] < regret[1] < regret[2], said)


def _seven_layers(evidence: Evidence) -> Verdict:
    loss, right = _layers(evidence, "log-loss, mean"), _layers(evidence, "accuracy")
    said = f"Log-loss {loss[0]:.3f} and {loss[2]:.3f}, accuracy {right[0]:.3f} and {right[2]:.3f}."
    return by_truth(loss[2] > loss[0] and right[2] < right[0], said)


CLAIMS = (
    Claim(
        5,
        "For an ERM model that is certain on the prediction (p = 0.99 …), a slight variation of "
        "xᵀg causes a large response of the regret comparing to p that equals 0.55 and 0.85.",
        "The regret rises most for p = 0.99 on each of four intervals of xᵀg.",
        "regret-curve",
        _sure_models_respond_most,
    ),
    Claim(
        5,
        "If the test sample is far from the decision boundary, the ERM assigns to one of the "
        "labels probability 1. In this case, the regret is 0 no matter in which subspace the test "
        "vector lies.",
        "Outside the span the regret falls as the probability rises.",
        "regret-curve",
        _sure_models_have_none,
    ),
    Claim(
        5,
        "Test input that resides … in the subspace that corresponds to the small eigenvalues … a "
        "large regret is obtained [limit as printed].",
        "The printed limit at xᵀg = 1 is what the rule itself gives.",
        "regret-curve",
        _limit,
    ),
    Claim(
        5,
        "At the upper left and lower right, the regret is low … At the top right and bottom left, "
        "… the regret is relatively high.",
        "The two low corners are below the two high ones. Ours: exact refits.",
        "iris-maps",
        lambda evidence: _corners(evidence, fair=False),
        lambda evidence: _corners(evidence, fair=True),
    ),
    Claim(
        5,
        "[With overlapping classes] the ERM probability is lower than 0.7 for all test feature "
        "values.",
        "The largest probability on the map is below 0.7.",
        "iris-maps",
        _never_sure,
    ),
    Claim(
        5,
        "The pNML regret is small in the training data surroundings (including the mixed label "
        "area). The regret is large in areas where the training data is absent.",
        "The regret in the middle of the rows is below that in each corner. Ours: exact refits.",
        "iris-maps",
        lambda evidence: _low_inside(evidence, fair=False),
        lambda evidence: _low_inside(evidence, fair=True),
    ),
    Claim(
        5,
        "The values of the eigenvalues of CIFAR-100 seem to be spread more evenly compared to "
        "CIFAR-10, and the CIFAR-10 are more uniform than the SVHN.",
        "The first eigenvalue over the 50th grows in that order.",
        "embedding-spectrum",
        _even_spectra,
    ),
    Claim(
        5,
        "For the SVHN training set, most of the energy is located in the first 50 eigenvalues and "
        "then there is a significant decrease of approximately 10³.",
        "The first eigenvalue over the 50th is above 300.",
        "embedding-spectrum",
        _svhn_falls,
    ),
    Claim(
        5,
        "Gram and Gram+pNML do not succeed to classify 1205 and 891 out of a total 10,000 IND "
        "samples respectively.",
        "Gram + pNML takes fewer known images for outliers. Ours: scale chosen.",
        "gram-histogram",
        _fewer_known_lost(fair=False),
        _fewer_known_lost(fair=True),
    ),
    Claim(
        5,
        "There are 473 samples that the pNML classifies as OOD but the Gram fails, in contrast to "
        "76 samples classified as such by the Gram and not by the pNML regret.",
        "More outliers are won than lost. Ours: the scale chosen on training rows.",
        "gram-histogram",
        _more_outliers_found(fair=False),
        _more_outliers_found(fair=True),
    ),
    Claim(
        5,
        "We can see a 0.03 improvement in the average log-loss with a slightly better accuracy "
        "rate of the 2 Layers learner with respect to the basic DNN.",
        "The log-loss falls by 0.025 or more, and the accuracy rises.",
        "ablation-table",
        _two_layers,
    ),
    Claim(
        5,
        "More notable is the 0.57 improvement in the standard deviation of the log-loss.",
        "The standard deviation falls by 0.57, to 0.01.",
        "ablation-table",
        _deviation,
    ),
    Claim(
        5,
        "[When increasing the hypothesis class size] the regret increases as well.",
        "The mean regret grows from 0 to 2 to 7 layers.",
        "ablation-table",
        _regret_grows,
    ),
    Claim(
        5,
        "Increasing the hypothesis class too much, as shown … as the difference between 0 Layers "
        "and 7 Layers, reduces the learner accuracy rate and increases the average log-loss.",
        "Seven layers have a lower accuracy and a larger log-loss than none.",
        "ablation-table",
        _seven_layers,
    ),
)
