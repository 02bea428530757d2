"""Claims of chapter 7 on active learning: headline savings against the printed numbers."""

from __future__ import annotations

from pnml_experiments.claims.active import CIFAR, EMNIST, MORE, RIVALS, labels_of
from pnml_experiments.framework.evidence import (
    Claim,
    Evidence,
    Rule,
    Verdict,
    open_question,
)

_NEAR = 0.1  # points of percent, for rounding
_CLEAN_EMNIST = 8.3  # percent less at 56 %, as the section on EMNIST prints it


def _printed_shares(evidence: Evidence) -> dict[tuple[str, str], float]:
    """Accuracy and rival → labels of DIAL in percent of the rival's, all as printed."""
    rows = evidence.rows("Labels to reach an accuracy")
    accuracies = dict.fromkeys(row.labels["accuracy, %"] for row in rows)
    shares = {}
    for accuracy in accuracies:
        found = labels_of(evidence, accuracy)
        dial = found["DIAL"].printed if "DIAL" in found else None
        for rival in RIVALS:
            other = found[rival].printed if rival in found else None
            if dial is not None and other is not None:
                shares[accuracy, rival] = 100 * dial / other
    return shares


def _in_print(claimed: float, settle: str) -> Rule:
    """A share that no printed pair gives does not hold; one that is in print is yet to be run."""

    def judge(evidence: Evidence) -> Verdict:
        shares = _printed_shares(evidence)
        near = sorted(shares, key=lambda case: abs(shares[case] - claimed))[:3]
        said = (
            f"From the printed numbers of labels (pairs: {len(shares)}), nearest to "
            f"{claimed:.1f} %: "
        )
        said += ", ".join(f"{shares[case]:.1f} % ({case[0]} %, {case[1]})" for case in near)
        if abs(shares[near[0]] - claimed) < _NEAR:
            return open_question(f"{said}. It follows from print; no run here gets so far.", settle)
        return Verdict("does not hold", said + ".")

    return judge


def _all_in_print(accuracy: str, claimed: tuple[float, ...], settle: str) -> Rule:
    """Savings over each rival at one accuracy, by the printed table."""

    def judge(evidence: Evidence) -> Verdict:
        shares = _printed_shares(evidence)
        saved = [100 - shares[accuracy, rival] for rival in RIVALS]
        said = "From the printed numbers of labels: " + ", ".join(
            f"{value:.1f} % ({rival})" for rival, value in zip(RIVALS, saved, strict=True)
        )
        pairs = zip(saved, claimed, strict=True)
        if all(abs(value - stated) < _NEAR for value, stated in pairs):
            return open_question(f"{said}. It follows from print; no run here gets so far.", settle)
        return Verdict("does not hold", said + ".")

    return judge


def _clean_emnist(evidence: Evidence) -> Verdict:
    said = (
        f"From the printed text on EMNIST, “{_CLEAN_EMNIST}% less”, the share is "
        f"{100 - _CLEAN_EMNIST:.1f} %; no other number is printed."
    )
    return Verdict("does not hold", said)


def _clean_cifar(evidence: Evidence) -> Verdict:
    return open_question(
        "From the printed numbers it cannot be told: none is of CIFAR-10 with a clean pool, where "
        "DIAL and random are said to perform the same.",
        f"An experiment with a clean pool. {CIFAR}",
    )


_POLLUTED = (
    "[I]n the existence of out-of-distribution (OOD) samples, for the same accuracy level our "
    "criterion needs [{}] of labeled samples compared to recent leading methods for [{}]."
)
_CLEAN = (
    "When we consider only in-distribution (IND) samples as labeling candidates, our approach "
    "needs [{}] labeled samples on [{}]."
)
_CONCLUSION = (
    "DIAL requires [{}] fewer samples to achieve a certain level of accuracy on the [{}] "
    "[dataset, in the presence of OOD samples]."
)
_RULE = (
    "Fails if no rival and accuracy of the printed tables and text give the share; if some do, a "
    "run decides."
)

# words, share, data, experiment, rule
_HEADLINES: tuple[tuple[str, str, str, str, Rule], ...] = (
    (_POLLUTED, "77.2%", "MNIST", "dial-mnist-ood", _in_print(77.2, MORE)),
    (_POLLUTED, "91.9%", "EMNIST", "dial-emnist-ood", _in_print(91.9, EMNIST)),
    (_POLLUTED, "66.2%", "CIFAR10", "dial-cifar10", _in_print(66.2, CIFAR)),
    (_CLEAN, "80.9%", "MNIST", "dial-mnist", _in_print(80.9, MORE)),
    (_CLEAN, "89.0%", "EMNIST", "dial-emnist", _clean_emnist),
    (_CLEAN, "74.3%", "CIFAR10", "dial-cifar10", _clean_cifar),
    (_CONCLUSION, "22.8%", "MNIST", "dial-mnist-ood", _in_print(77.2, MORE)),
    (_CONCLUSION, "11.0%", "EMNIST", "dial-emnist-ood", _in_print(89.0, EMNIST)),
    (_CONCLUSION, "33.8%", "CIFAR10", "dial-cifar10", _in_print(66.2, CIFAR)),
)
CLAIMS = (
    *(
        Claim(7, words.format(share, data), _RULE, experiment, judge, from_print=True)
        for words, share, data, experiment, judge in _HEADLINES
    ),
    Claim(
        7,
        "For the same accuracy rate of 0.65, DIAL needs 21.3%, 34.8%, and 31.1% less training "
        "samples than BLAD, Core-set, and Random strategies. [CIFAR10]",
        "Fails if the printed table gives other savings; if it gives these, a run decides.",
        "dial-cifar10",
        _all_in_print("65", (21.3, 34.8, 31.1), CIFAR),
        from_print=True,
    ),
)
