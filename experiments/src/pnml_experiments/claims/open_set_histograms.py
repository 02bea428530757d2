"""Claims of chapter 5 on what the confidence of open-set methods says of noise and digits."""

from __future__ import annotations

from collections.abc import Sequence

from pnml_experiments.claims.open_set import (
    AREA,
    CIFAR10,
    CLOSED,
    COSINE,
    REFIT,
    differs,
    estimate,
    with_score,
)
from pnml_experiments.framework.evidence import Claim, Evidence, Verdict, by_truth, open_question
from pnml_experiments.framework.result import Row

_CLEAR = 0.95  # share of the area of a perfect separation
_ALIKE = 0.02  # of two areas; printed are 0.94 and 0.95
_DENSENET = (
    "A run of the DenseNet-BC-100, whose weights are at hand, on all images and on noise with "
    "pixels of mean 0 and variance 1"
)


def _seen(rows: Sequence[Row], true: bool, said: str, settle: str) -> Verdict:
    """Verdict on the histograms, open where the rows are of another network or other noise."""
    if differs(rows):
        said = f"{CIFAR10.missing} was not run. With {CIFAR10.seen} and wider noise, {said}"
        return open_question(said, f"{_DENSENET}, with {settle}.")
    return by_truth(true, said[0].upper() + said[1:])


def _areas(rows: Sequence[Row]) -> str:
    return ", ".join(f"{row.labels['score']} {estimate(row).value:.2f}" for row in rows)


def _noise_is_trusted(evidence: Evidence) -> Verdict:
    size, found = with_score(evidence, AREA, "Max-prob")
    _, right = with_score(evidence, CLOSED, "Max-prob")
    rows = [found["Gaussian"][name] for name in ("Max-prob", "ODIN")]
    perfect = estimate(right["Gaussian"]["Max-prob"]).value
    said = f"OSCR area against noise, {size}: {_areas(rows)}, where {perfect:.2f} is perfect."
    trusted = max(estimate(row).value for row in rows) < perfect / 2
    return _seen(rows, trusted, said, "ODIN's steps on them")


def _noise_is_told(evidence: Evidence) -> Verdict:
    size, found = with_score(evidence, AREA, REFIT)
    _, right = with_score(evidence, CLOSED, REFIT)
    rows = [found["Gaussian"][name] for name in (COSINE, REFIT)]
    perfect = estimate(right["Gaussian"][REFIT]).value
    said = f"OSCR area against noise, {size}: {_areas(rows)}, where {perfect:.2f} is perfect."
    told = min(estimate(row).value for row in rows) >= _CLEAR * perfect
    return _seen(rows, told, said, "refits on its features, and a DenseNet trained with cosines")


def _digits_are_like_noise(evidence: Evidence) -> Verdict:
    size, found = with_score(evidence, AREA, REFIT)
    _, right = with_score(evidence, CLOSED, REFIT)
    rows = [found[name][REFIT] for name in ("SVHN", "Gaussian")]
    digits, noise = (estimate(row).value for row in rows)
    perfect = estimate(right["Gaussian"][REFIT]).value
    said = (
        f"OSCR area of the refitted layer, {size}: {digits:.2f} against SVHN and {noise:.2f} "
        f"against noise, where {perfect:.2f} is perfect."
    )
    told = min(digits, noise) >= _CLEAR * perfect
    alike = abs(digits - noise) <= _ALIKE
    return _seen(rows, told and alike, said, "refits on its features")


CLAIMS = (
    Claim(
        5,
        "For the Max-prob and ODIN methods, there is almost no separation and even higher "
        "confidence for noise images.",
        "Both have less than half of the area of a perfect separation.",
        "open-set-resnet20",
        _noise_is_trusted,
    ),
    Claim(
        5,
        "Both Cosine Similarity and our methods have a clear distinction between CIFAR10 "
        "confidence scores and the Noise dataset.",
        "Both have 95 % of the area of a perfect separation.",
        "open-set-resnet20",
        _noise_is_told,
    ),
    Claim(
        5,
        "… our regret based score … treats the SVHN and Noise dataset about the same and manages "
        "to separate both of them from CIFAR10 closed-set images.",
        "Both areas are 95 % of that of a perfect separation, and within 0.02 of each other.",
        "open-set-resnet20",
        _digits_are_like_noise,
    ),
)
