"""Claims of chapter 7 on active learning with DIAL: accuracy, labels and strange picks."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

from pnml.errors import InputError
from pnml.metrics import Estimate
from pnml_experiments.framework.evidence import (
    Claim,
    Evidence,
    Rule,
    Verdict,
    against_rivals,
    interval_text,
    open_question,
)
from pnml_experiments.framework.result import Row

_MEAN, _LABELS = "Accuracy in percent, on average over all rounds", "Labels to reach an accuracy"
_PICKS, _CURVE = "Picks out of distribution", "Accuracy in percent, by labels paid for"
_DIAL = "DIAL"
RIVALS = ("BALD", "core-set", "random")  # those of the thesis
_ACCURACY = "accuracy, %"
MORE = (
    "A run at the scale printed: six seeds of the published network, one pick a round up to 320 "
    "labels."
)
EMNIST = (
    "A run at the scale stored: the published network, one pick a round up to 347 labels; three "
    "seeds there, six in the thesis. The official split of EMNIST, too."
)
CIFAR = "A GPU that trains a ResNet-18 from scratch in each round."


def _ahead(rivals: tuple[str, ...], settle: str) -> Rule:
    """Mean accuracy over the rounds, paired by seeds."""

    def judge(evidence: Evidence) -> Verdict:
        try:
            leads = {
                name: evidence.ours(_MEAN, number="DIAL less this", strategy=name)
                for name in rivals
            }
        except InputError:
            return open_question("Not run.", settle)
        said = "Mean accuracy of DIAL less that of " + "; ".join(
            f"{name}: {interval_text(lead)}" for name, lead in leads.items()
        )
        return against_rivals(leads, said + " points.", settle)

    return judge


def labels_of(evidence: Evidence, accuracy: str) -> dict[str, Row]:
    """Strategy → row with the labels that it needs for an accuracy."""
    return {
        row.labels["strategy"]: row
        for row in evidence.rows(_LABELS)
        if row.labels[_ACCURACY] == accuracy
    }


def _last(evidence: Evidence) -> int:
    """Labels at which the run stops."""
    return max(int(row.labels["labels"]) for row in evidence.rows(_CURVE))


def _needed(row: Row | None, last: int) -> Estimate:
    """Labels with an interval; its upper end is open where the rows do not show it."""
    if row is None or row.ours is None:
        return Estimate(float(last), float(last), inf)
    if "upper end is open" in row.note:
        return Estimate(row.ours.value, row.ours.low, inf)
    return row.ours


def _less(mine: Estimate, other: Estimate) -> Estimate:
    """Other less mine, as far apart as the two intervals allow."""
    return Estimate(other.value - mine.value, other.low - mine.high, other.high - mine.low)


def _fewest_labels(accuracies: tuple[str, ...], rivals: tuple[str, ...], settle: str) -> Rule:
    """Labels of DIAL clearly below those of each rival at each accuracy."""

    def judge(evidence: Evidence) -> Verdict:
        last = _last(evidence)
        leads, said = {}, []
        for accuracy in accuracies:
            rows = labels_of(evidence, accuracy)
            dial = _needed(rows.get(_DIAL), last)
            for name in rivals:
                leads[f"{accuracy} {name}"] = _less(dial, _needed(rows.get(name), last))
            said.append(f"{accuracy} %: {_reached(rows, rivals)}")
        text = f"{'; '.join(said)}. The rows end at {last} labels."
        return against_rivals(leads, text, settle)

    return judge


def _reached(rows: Mapping[str, Row], rivals: tuple[str, ...]) -> str:
    """Labels of each strategy, or that none has got there and where print has DIAL."""
    found = {name: rows[name].ours if name in rows else None for name in (_DIAL, *rivals)}
    if not any(found.values()):
        printed = rows[_DIAL].printed if _DIAL in rows else None
        return "not reached" + ("" if printed is None else f", DIAL printed at {printed:.0f}")
    return ", ".join(
        f"{name} {'not reached' if value is None else interval_text(value, 0)}"
        for name, value in found.items()
    )


def _both(one: Rule, other: Rule) -> Rule:
    """A claim of two parts: one that fails decides; otherwise one that is open leaves it open."""

    def judge(evidence: Evidence) -> Verdict:
        parts = [rule(evidence) for rule in (one, other)]
        words = [part.word for part in parts]
        said = " ".join(part.evidence for part in parts)
        if words == ["holds", "holds"]:
            return Verdict("holds", said)
        if "does not hold" in words or "holds in part" in words:
            some = "holds" in words or "holds in part" in words
            return Verdict("holds in part" if some else "does not hold", said)
        return open_question(said, next(part.settle for part in parts if part.settle))

    return judge


def _strange_picks(rivals: tuple[str, ...], settle: str) -> Rule:
    """Share of the picks that are out of distribution, below that of each rival."""

    def judge(evidence: Evidence) -> Verdict:
        try:
            shares = {name: evidence.ours(_PICKS, strategy=name) for name in (_DIAL, *rivals)}
        except InputError:
            return open_question("Not run.", settle)
        said = "Share of strange picks: " + ", ".join(
            f"{name} {interval_text(share)} %" for name, share in shares.items()
        )
        fewest = min(shares, key=lambda name: shares[name].value)
        dial = shares.pop(_DIAL)
        leads = {name: _less(dial, share) for name, share in shares.items()}
        return against_rivals(leads, f"{said}; fewest by {fewest}.", settle)

    return judge


def _at_labels(labels: int, settle: str) -> Rule:
    """Accuracy of DIAL clearly above that of each rival at a number of labels."""

    def judge(evidence: Evidence) -> Verdict:
        last = _last(evidence)
        printed = labels_of(evidence, "53")[_DIAL].printed
        had = "" if printed is None else f" Print has DIAL at 53 % with {printed:.0f} labels."
        if last < labels:
            said = f"A round with {labels} labels was not run: the run stops at {last}.{had}"
            return open_question(said, settle)
        shown = {row.labels["labels"] for row in evidence.rows(_CURVE)}
        near = min(shown, key=lambda each: abs(int(each) - labels))
        found = {
            name: evidence.ours(_CURVE, labels=near, strategy=name) for name in (_DIAL, *RIVALS)
        }
        said = ", ".join(f"{name} {interval_text(value)} %" for name, value in found.items())
        dial = found.pop(_DIAL)
        leads = {name: _less(value, dial) for name, value in found.items()}
        return against_rivals(leads, f"At {near} labels: {said}.{had}", settle)

    return judge


def _clean_cifar(evidence: Evidence) -> Verdict:
    return open_question(
        "Not run: the experiment has a polluted pool only.",
        f"An experiment with a clean pool. {CIFAR}",
    )


_AHEAD = "Its mean accuracy over the rounds is clearly above that of each rival."
_PICKED = "Clearly fewer strange picks than each rival of the thesis"
_SELECTS = "[F]or all OOD scenarios, DIAL was able to better select in-distribution samples. [{}]"

CLAIMS = (
    Claim(
        7,
        "DIAL is the top preforming method and have a better test set accuracy than BALD, "
        "Core-set, and Random. [MNIST]",
        f"{_AHEAD} Ours: EPIG too.",
        "dial-mnist",
        _ahead(RIVALS, MORE),
        _ahead(("EPIG",), MORE),
        so_far=True,
    ),
    Claim(
        7,
        "The largest efficiency is at accuracy rate of 0.95 where DIAL uses 169 samples while BALD "
        "attains this accuracy level with 209 samples.",
        "DIAL reaches 95 % with clearly fewer labels than BALD.",
        "dial-mnist",
        _fewest_labels(("95",), ("BALD",), MORE),
    ),
    Claim(
        7,
        "In this setting [MNIST with Fashion MNIST], DIAL outperforms all other baselines.",
        f"{_AHEAD} Ours: EPIG too.",
        "dial-mnist-ood",
        _ahead(RIVALS, MORE),
        _ahead(("EPIG",), MORE),
        so_far=True,
    ),
    Claim(
        7,
        "[MNIST with OOD: DIAL needs 73, 48 and 30 labels for 85, 75 and 65 %, fewest of all.]",
        "DIAL needs clearly the fewest labels at each of the three accuracies.",
        "dial-mnist-ood",
        _fewest_labels(("65", "75", "85"), RIVALS, MORE),
        so_far=True,
    ),
    Claim(
        7,
        "The largest improvement of DIAL over BALD is for accuracy level of 0.96 where DIAL "
        "requires 240 samples while BALD uses 307 samples.",
        "DIAL reaches 96 % with clearly fewer labels than BALD.",
        "dial-mnist-ood",
        _fewest_labels(("96",), ("BALD",), MORE),
    ),
    Claim(
        7,
        _SELECTS.format("MNIST"),
        f"{_PICKED}. Ours: EPIG too.",
        "dial-mnist-ood",
        _strange_picks(RIVALS, MORE),
        _strange_picks(("EPIG",), MORE),
        so_far=True,
    ),
    Claim(
        7,
        _SELECTS.format("EMNIST"),
        f"{_PICKED}. Ours: EPIG too.",
        "dial-emnist-ood",
        _strange_picks(RIVALS, EMNIST),
        _strange_picks(("EPIG",), EMNIST),
    ),
    Claim(
        7,
        "DIAL is the top-performing method: For an accuracy rate of 0.56, it requires 8.3% less "
        "training samples when compared to the second best method. [EMNIST]",
        "Its mean accuracy over the rounds is clearly above that of each rival, and it reaches "
        "56 % with clearly fewer labels than each. Ours: EPIG, by accuracy.",
        "dial-emnist",
        _both(_ahead(RIVALS, EMNIST), _fewest_labels(("56",), RIVALS, EMNIST)),
        _ahead(("EPIG",), EMNIST),
    ),
    Claim(
        7,
        "In the presence of OOD samples, the DIAL method outperforms all other baselines. [EMNIST]",
        f"{_AHEAD} Ours: EPIG too.",
        "dial-emnist-ood",
        _ahead(RIVALS, EMNIST),
        _ahead(("EPIG",), EMNIST),
    ),
    Claim(
        7,
        "For 300 samples, DIAL achieves a test set accuracy rate of 0.52, while BALD, Core-set, "
        "and Random attain 0.51, 0.42, and 0.40 respectively. [EMNIST with OOD]",
        "At 300 labels, or the nearest number shown, its accuracy is clearly above that of each "
        "rival.",
        "dial-emnist-ood",
        _at_labels(300, EMNIST),
    ),
    Claim(
        7,
        "For the same accuracy rate of 0.53, DIAL needs 288 training samples, while BALD requires "
        "309. [EMNIST with OOD]",
        "DIAL reaches 53 % with clearly fewer labels than BALD.",
        "dial-emnist-ood",
        _fewest_labels(("53",), ("BALD",), EMNIST),
    ),
    Claim(
        7,
        "When the presence of OOD samples in the unlabeled pool is considered … DIAL outperforms "
        "all other baselines. [CIFAR10]",
        _AHEAD,
        "dial-cifar10",
        _ahead(RIVALS, CIFAR),
    ),
    Claim(
        7,
        "The figure indicates that DIAL selects fewer OOD samples, which explains its good "
        "performance. [CIFAR10]",
        f"{_PICKED}.",
        "dial-cifar10",
        _strange_picks(RIVALS, CIFAR),
    ),
    Claim(
        7,
        "Overall, DIAL and Random preform the same and have a better test set accuracy than BALD "
        "and Core-set for all training set sizes greater than 2,100. [CIFAR10, clean pool]",
        "Its mean accuracy is clearly above that of both, on a clean pool.",
        "dial-cifar10",
        _clean_cifar,
    ),
)
