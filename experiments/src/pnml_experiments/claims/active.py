"""Claims of chapter 7: active learning with DIAL."""

from __future__ import annotations

from collections.abc import Callable

from pnml.errors import InputError
from pnml.metrics import Estimate
from pnml_experiments.framework.evidence import (
    Claim,
    Evidence,
    Verdict,
    against_rivals,
    by_truth,
    interval_text,
    open_question,
)
from pnml_experiments.framework.result import Row

_MEAN, _LABELS = "Accuracy in percent, on average over all rounds", "Labels to reach an accuracy"
_PICKS = "Picks out of distribution"
_RIVALS = ("BALD", "core-set", "random")  # those of the thesis
_ACCURACY = "accuracy, %"
_MORE = "A run at the largest scale: six seeds, the published network, one pick a round."
_CIFAR = "A ResNet-18 trained from scratch each round on CIFAR-10, which takes a GPU."


def _leads(evidence: Evidence, rivals: tuple[str, ...]) -> dict[str, Estimate]:
    """Rival → accuracy of DIAL less that of the rival, over the same seeds."""
    return {name: evidence.ours(_MEAN, number="DIAL less this", strategy=name) for name in rivals}


def _ahead(rivals: tuple[str, ...], settle: str = _MORE) -> Callable[[Evidence], Verdict]:
    def judge(evidence: Evidence) -> Verdict:
        try:
            leads = _leads(evidence, rivals)
        except InputError:
            return open_question("Not run.", settle)
        said = "Mean accuracy of DIAL less that of " + "; ".join(
            f"{name}: {interval_text(lead)}" for name, lead in leads.items()
        )
        return against_rivals(leads, said + " points.", settle)

    return judge


def _on_a_clean_pool(evidence: Evidence) -> Verdict:
    titles = [part.title for part in evidence.result.tables]
    if not any("clean pool" in title for title in titles):
        return open_question("Not run: the experiment has a polluted pool only.", _CIFAR)
    return _ahead(("BALD", "core-set"), _CIFAR)(evidence)


def _labels(evidence: Evidence, accuracy: str) -> dict[str, Row]:
    return {
        row.labels["strategy"]: row
        for row in evidence.rows(_LABELS)
        if row.labels[_ACCURACY] == accuracy
    }


def _fewest_labels(evidence: Evidence) -> Verdict:
    """Fewest labels at each accuracy; open where intervals overlap or nothing was reached."""
    clear, behind, said = 0, 0, []
    accuracies = ("65", "75", "85")
    for accuracy in accuracies:
        rows = _labels(evidence, accuracy)
        found = {
            name: row.ours for name, row in rows.items() if name in ("DIAL", *_RIVALS) and row.ours
        }
        if "DIAL" not in found:
            said.append(f"{accuracy} % not reached")
            continue
        dial = found.pop("DIAL")
        clear += all(dial.high < other.low for other in found.values())
        behind += any(dial.low > other.high for other in found.values())
        numbers = ", ".join(f"{name} {value.value:.0f}" for name, value in found.items())
        said.append(f"{accuracy} %: DIAL {dial.value:.0f}, {numbers}")
    text = "; ".join(said) + "; intervals overlap." if not clear else "; ".join(said) + "."
    if clear == len(accuracies):
        return Verdict("holds", text)
    if behind:
        return Verdict("holds in part" if clear else "does not hold", text)
    return open_question(text, _MORE)


def _at_accuracy(accuracy: str) -> Callable[[Evidence], Verdict]:
    def judge(evidence: Evidence) -> Verdict:
        rows = _labels(evidence, accuracy)
        found = {name: row.ours for name, row in rows.items() if row.ours is not None}
        if "DIAL" not in found or "BALD" not in found:
            return open_question(f"An accuracy of {accuracy} % was not reached.", _MORE)
        dial, bald = found["DIAL"], found["BALD"]
        said = f"DIAL {interval_text(dial, 0)}, BALD {interval_text(bald, 0)} labels."
        if dial.low <= bald.high and bald.low <= dial.high:
            return open_question(said, "More seeds.")
        return by_truth(dial.value < bald.value, said)

    return judge


def _strange_picks(rivals: tuple[str, ...]) -> Callable[[Evidence], Verdict]:
    def judge(evidence: Evidence) -> Verdict:
        try:
            shares = {name: evidence.ours(_PICKS, strategy=name) for name in ("DIAL", *rivals)}
        except InputError:
            return open_question("Not run.", _CIFAR)
        said = "Share of strange picks: " + ", ".join(
            f"{name} {interval_text(share)} %" for name, share in shares.items()
        )
        dial = shares.pop("DIAL")
        clear = sum(dial.high < share.low for share in shares.values())
        if clear == len(shares):
            return Verdict("holds", said + ".")
        if not clear and all(dial.low <= share.high for share in shares.values()):
            return open_question(said + ".", _MORE)
        return Verdict("holds in part" if clear else "does not hold", said + ".")

    return judge


def _printed_share(claimed: float, cases: tuple[tuple[str, str], ...]) -> Callable[..., Verdict]:
    """Whether a headline share of labels is in the printed table, at some accuracy and rival."""

    def judge(evidence: Evidence) -> Verdict:
        shares = {}
        for accuracy, rival in cases:
            rows = _labels(evidence, accuracy)
            dial, other = rows["DIAL"].printed, rows[rival].printed
            if dial is not None and other is not None:
                shares[f"{accuracy} %, {rival}"] = 100 * dial / other
        said = "From the printed numbers of labels: " + ", ".join(
            f"{share:.1f} % ({name})" for name, share in shares.items()
        )
        near = any(abs(share - claimed) < 0.1 for share in shares.values())
        return by_truth(near, said + ".")

    return judge


_OOD_HEADLINE = (
    "In the existence of out-of-distribution (OOD) samples, for the same accuracy level our "
    "criterion needs [{}] of labeled samples compared to recent leading methods for [{}]."
)
_HEADLINE_RULE = "The share is that of some rival and accuracy of the printed table or text."

CLAIMS = (
    Claim(
        7,
        "DIAL is the top preforming method and have a better test set accuracy than BALD, "
        "Core-set, and Random. [MNIST]",
        "Its mean accuracy over the rounds is clearly above that of each rival. Ours: EPIG too.",
        "dial-mnist",
        _ahead(_RIVALS),
        _ahead(("EPIG",)),
    ),
    Claim(
        7,
        "The largest efficiency is at accuracy rate of 0.95 where DIAL uses 169 samples while BALD "
        "attains this accuracy level with 209 samples.",
        "DIAL reaches 95 % with clearly fewer labels than BALD.",
        "dial-mnist",
        _at_accuracy("95"),
    ),
    Claim(
        7,
        "In this setting [MNIST with Fashion MNIST], DIAL outperforms all other baselines.",
        "Its mean accuracy over the rounds is clearly above that of each rival. Ours: EPIG too.",
        "dial-mnist-ood",
        _ahead(_RIVALS),
        _ahead(("EPIG",)),
    ),
    Claim(
        7,
        "[MNIST with OOD: DIAL needs 73, 48 and 30 labels for 85, 75 and 65 %, fewest of all.]",
        "DIAL needs clearly the fewest labels at each of the three accuracies.",
        "dial-mnist-ood",
        _fewest_labels,
    ),
    Claim(
        7,
        "The largest improvement of DIAL over BALD is for accuracy level of 0.96 where DIAL "
        "requires 240 samples while BALD uses 307 samples.",
        "DIAL reaches 96 % with clearly fewer labels than BALD.",
        "dial-mnist-ood",
        _at_accuracy("96"),
    ),
    Claim(
        7,
        "For all OOD scenarios, DIAL was able to better select in-distribution samples.",
        "Clearly fewer strange picks than each rival of the thesis, on MNIST. Ours: EPIG too.",
        "dial-mnist-ood",
        _strange_picks(_RIVALS),
        _strange_picks(("EPIG",)),
    ),
    Claim(
        7,
        "DIAL is the top-performing method: For an accuracy rate of 0.56, it requires 8.3% less "
        "training samples when compared to the second best method. [EMNIST]",
        "Its mean accuracy over the rounds is clearly above that of each rival. Ours: EPIG too.",
        "dial-emnist",
        _ahead(_RIVALS),
        _ahead(("EPIG",)),
    ),
    Claim(
        7,
        "In the presence of OOD samples, the DIAL method outperforms all other baselines. [EMNIST]",
        "Its mean accuracy over the rounds is clearly above that of each rival. Ours: EPIG too.",
        "dial-emnist-ood",
        _ahead(_RIVALS),
        _ahead(("EPIG",)),
    ),
    Claim(
        7,
        "For the same accuracy rate of 0.53, DIAL needs 288 training samples, while BALD requires "
        "309. [EMNIST with OOD]",
        "DIAL reaches 53 % with clearly fewer labels than BALD.",
        "dial-emnist-ood",
        _at_accuracy("53"),
    ),
    Claim(
        7,
        "When the presence of OOD samples in the unlabeled pool is considered … DIAL outperforms "
        "all other baselines. [CIFAR10]",
        "Its mean accuracy over the rounds is clearly above that of each rival.",
        "dial-cifar10",
        _ahead(_RIVALS, _CIFAR),
    ),
    Claim(
        7,
        "The figure indicates that DIAL selects fewer OOD samples, which explains its good "
        "performance. [CIFAR10]",
        "Clearly fewer strange picks than each rival of the thesis.",
        "dial-cifar10",
        _strange_picks(_RIVALS),
    ),
    Claim(
        7,
        "Overall, DIAL and Random preform the same and have a better test set accuracy than BALD "
        "and Core-set for all training set sizes greater than 2,100. [CIFAR10, clean pool]",
        "Its mean accuracy is clearly above that of both, on a clean pool.",
        "dial-cifar10",
        _on_a_clean_pool,
    ),
    Claim(
        7,
        _OOD_HEADLINE.format("77.2%", "MNIST"),
        _HEADLINE_RULE,
        "dial-mnist-ood",
        _printed_share(
            77.2, (("96", "BALD"), ("85", "BALD"), ("85", "core-set"), ("85", "random"))
        ),
    ),
    Claim(
        7,
        _OOD_HEADLINE.format("91.9%", "EMNIST"),
        _HEADLINE_RULE,
        "dial-emnist-ood",
        _printed_share(91.9, (("53", "BALD"), ("40", "BALD"), ("30", "BALD"), ("25", "BALD"))),
    ),
    Claim(
        7,
        _OOD_HEADLINE.format("66.2%", "CIFAR10"),
        _HEADLINE_RULE,
        "dial-cifar10",
        _printed_share(66.2, (("65", "BALD"), ("65", "core-set"), ("65", "random"))),
    ),
)
