"""Claims of chapter 5 on the single layer: its regret, Iris, spectra, Gram scores."""

from __future__ import annotations

from math import log2

from pnml_experiments.framework.evidence import (
    Claim,
    Evidence,
    Rule,
    Verdict,
    by_count,
    by_truth,
    open_question,
)
from pnml_experiments.framework.result import Row

_CURVE, _MAPS, _SPECTRA = "Regret over log 2", "What the text says of the maps", "Spectra"
_TOLD = "Images told wrong"
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
    ends = {at: (_curve(evidence, "0.55", at), _curve(evidence, "0.99", at)) for at in _STEPS}
    falls = [at for at, (unsure, sure) in ends.items() if sure < unsure]
    each = [f"{unsure:.2f}, {sure:.2f} for xᵀg = {at}" for at, (unsure, sure) in ends.items()]
    said = (
        f"Regret over log 2 at p = 0.55 and 0.99: {'; '.join(each)}. As p goes to 1 the closed "
        f"form tends to 0 for xᵀg < 1, but to {log2(1.5):.2f} for xᵀg = 1, outside the span."
    )
    if len(falls) == len(ends):
        return Verdict("holds", said)
    return Verdict("holds in part" if falls else "does not hold", said)


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


def _spread(evidence: Evidence, name: str) -> Row:
    number = "first eigenvalue over the 50th"
    return evidence.row(_SPECTRA, embeddings=f"DenseNet-BC-100, {name}", number=number)


def _how_many(row: Row) -> str:
    """Words in brackets that a row has fewer training images than the thesis, or nothing."""
    note = row.note.partition(":")[0]
    return f" ({note[0].lower()}{note[1:]})" if note else ""


def _even_spectra(evidence: Evidence) -> Verdict:
    rows = {name: _spread(evidence, name) for name in ("CIFAR-100", "CIFAR-10", "SVHN")}
    known = {name: row.ours.value for name, row in rows.items() if row.ours is not None}
    absent = [f"DenseNet of {name}" for name in rows if name not in known]
    said = "First eigenvalue over the 50th of the DenseNet: " + ", ".join(
        f"{name} {value:.0f}{_how_many(rows[name])}" for name, value in known.items()
    )
    said += f". No ResNet{''.join(f' and no {name}' for name in absent)} has rows."
    if len(known) < 2:
        return open_question(said, "The networks, and all training images.")
    ordered = list(known.values()) == sorted(known.values())
    return Verdict("holds in part" if ordered else "does not hold", said)


def _svhn_falls(evidence: Evidence) -> Verdict:
    row = _spread(evidence, "SVHN")
    if row.ours is None:
        return open_question("It was not run.", "The weights of a DenseNet-BC-100 of SVHN.")
    found = row.ours.value
    return by_truth(found >= 300, f"First eigenvalue over the 50th: {found:.0f}.")


def _told(evidence: Evidence, first: str, second: str, said: str, fair: bool) -> Verdict:
    """Whether the first share of images is the larger one, on the images of the thesis."""
    find = evidence.fair if fair else evidence.ours
    larger, smaller = (find(_TOLD, number=number).value for number in (first, second))
    said = said.format(larger, smaller)
    note = evidence.row(_TOLD, number=first).note
    if note:
        images = "The same images." if fair else f"LSUN (C) was not run. {note}"
        return open_question(
            f"{said}, without an interval. {images}",
            "The images of LSUN (C), and all 10,000 test images.",
        )
    return by_truth(larger > smaller, f"{said}.")


def _fewer_known_lost(fair: bool) -> Rule:
    return lambda evidence: _told(
        evidence,
        "known images that Gram takes for outliers",
        "known images that Gram + pNML takes for outliers",
        "{:.1f} % by Gram, {:.1f} % by Gram + pNML",
        fair,
    )


def _more_outliers_found(fair: bool) -> Rule:
    return lambda evidence: _told(
        evidence,
        "outliers that Gram + pNML finds and Gram does not",
        "outliers that Gram finds and Gram + pNML does not",
        "{:.1f} % of the outliers won, {:.1f} % lost",
        fair,
    )


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
        "The regret falls as the probability rises, wherever the test vector lies; in part if only "
        "somewhere.",
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
        "For both DensNet and ResNet models, the values of the eigenvalues of CIFAR-100 seem to be "
        "spread more evenly compared to CIFAR-10, and the CIFAR-10 are more uniform than the SVHN.",
        "The first eigenvalue over the 50th grows in that order; in part for the DenseNet alone.",
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
)
