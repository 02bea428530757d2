"""Claims of chapter 6 on the adversarial defence: MNIST, and two labels in the plane."""

from __future__ import annotations

from pnml.metrics import Estimate
from pnml_experiments.framework.evidence import (
    Claim,
    Evidence,
    Rule,
    Verdict,
    by_count,
    by_truth,
    interval_text,
    open_question,
)
from pnml_experiments.framework.registry import find

_ACCURACY, _CHAIN = "Accuracy, percent", "One attack after the other, percent left"
_NETWORK, _DEFENCE, _STRENGTH = "robust network", "robust, λ = 0.1", "λ = 0.1"
_STRENGTHS = "robust, λ = "
_NAMES = {"PGD": "PGD made for the network", "worst": "the worst attack"}
_EPSILON = 0.3  # strength of the attack in training, printed
LOST = 0.2  # points of clean accuracy that count as no loss


def reduced(experiment: str) -> str:
    """What the rows lack, as the page of the experiment says it."""
    return f"Rows: {find(experiment).less}"


def _at(evidence: Evidence, model: str, attack: str) -> Estimate:
    return evidence.ours(_ACCURACY, model=model, attack=attack)


def worst_case(evidence: Evidence) -> Verdict:
    """Whether the defence raises the worst case on MNIST, each side under attacks made for it."""
    plain, ours = (
        evidence.fair(_ACCURACY, model=model, attack="worst") for model in (_NETWORK, _DEFENCE)
    )
    said = (
        f"MNIST, attacked end to end: {interval_text(plain)} % without, {interval_text(ours)} % "
        f"with it. {reduced('adversarial-mnist')}"
    )
    return by_truth(ours.low > plain.high, said)


def _black_box(evidence: Evidence) -> Verdict:
    queries = max(
        int(row.labels["queries"].replace(",", ""))
        for row in evidence.rows("Attacks that see labels or scores only", attack="hop-skip-jump")
    )
    tried = evidence.row(_CHAIN, model=_STRENGTH, attack="hop-skip-jump").labels["points tried"]
    said = (
        "On the network without the defence HopSkipJump was not run; with it only on the "
        f"{tried} points that survive all other attacks, with {queries:,} queries."
    )
    settle = "HopSkipJump with 26,000 queries on all points, on the network and on the defence."
    return open_question(said, settle)


def _half_to_whole(attack: str) -> Rule:
    """Strengths of the interval keep clean accuracy and clearly raise that under the attack."""

    def attacked(evidence: Evidence, model: str) -> Estimate:
        number = evidence.fair if attack == "worst" else evidence.ours
        return number(_ACCURACY, model=model, attack=attack)

    def judge(evidence: Evidence) -> Verdict:
        clean, plain = _at(evidence, _NETWORK, "none"), attacked(evidence, _NETWORK)
        models = dict.fromkeys(row.labels["model"] for row in evidence.rows(_ACCURACY))
        strengths = {
            model: float(model.removeprefix(_STRENGTHS))
            for model in models
            if model.startswith(_STRENGTHS)
        }
        inside = [m for m, value in strengths.items() if _EPSILON / 2 <= value <= _EPSILON]
        kept = [_at(evidence, model, "none") for model in inside]
        left = [attacked(evidence, model) for model in inside]
        good = sum(
            one.value >= clean.value - LOST and other.low > plain.high
            for one, other in zip(kept, left, strict=True)
        )
        said = "; ".join(
            f"λ = {strengths[model]:g} {one.value:.1f} and {interval_text(other)} %"
            for model, one, other in zip(inside, kept, left, strict=True)
        )
        return by_count(
            good,
            len(inside),
            f"One network of MNIST, clean and under {_NAMES[attack]}: alone {clean.value:.1f} and "
            f"{interval_text(plain)} %; {said}. The 0.1 printed for MNIST lies below the interval. "
            f"{reduced('adversarial-mnist')}",
        )

    return judge


def _only_viable(evidence: Evidence) -> Verdict:
    adaptive = _at(evidence, _DEFENCE, "adaptive")
    chain = {
        row.labels["attack"]: row.fair.value
        for row in evidence.rows(_CHAIN, model=_STRENGTH)
        if row.fair is not None and row.labels["attack"].startswith("apgd")
    }
    same = min(left for attack, left in chain.items() if "identity" in attack)
    others = min(left for attack, left in chain.items() if "identity" not in attack)
    said = (
        f"The attack of the thesis leaves {interval_text(adaptive)} %; Auto-PGD with the same "
        f"gradient, towards every label, {same:.1f} %; with gradients through the refinement too, "
        f"{others:.1f} %. {reduced('adversarial-mnist')}"
    )
    return by_truth(adaptive.value <= same and same <= others, said)


def _mechanisms(evidence: Evidence) -> Verdict:
    label = "of label 1"

    def share(of: str) -> Estimate:
        rows = evidence.rows("Mechanisms, percent")
        found = next(row.ours for row in rows if row.labels[label] == f"of these: {of}")
        return found or Estimate(0.0, 0.0, 0.0)

    peak, over, neither = (share(of) for of in ("local maximum", "overshoot", "neither"))
    said = (
        f"Of the points that the defence turns back in the plane: local maximum "
        f"{interval_text(peak)} %, overshoot {interval_text(over)} %, neither "
        f"{interval_text(neither)} %."
    )
    if neither.high < 5 and min(peak.low, over.low) > 0:
        return Verdict("holds", said)
    both = min(peak.low, over.low) > 0
    return Verdict("holds in part" if both and neither.value < 50 else "does not hold", said)


def _detects(evidence: Evidence) -> Verdict:
    values = {
        how: evidence.fair("Detection and cost", number=f"AUROC of the regret, {how}", λ="0.1")
        for how in ("transferred", "end to end")
    }
    said = "AUROC of the regret, attacked against clean points: " + ", ".join(
        f"{how} {interval_text(value)} %" for how, value in values.items()
    )
    good = min(value.low for value in values.values()) > 90
    return by_truth(
        good, f"{said}. These attacks do not know of it; in adversarial-holds one does."
    )


DETECTOR = "First, the pNML regret can form an adversarial attack detector."

CLAIMS = (
    Claim(
        6,
        "In addition, our scheme improves black-box accuracy by 1.5%.",
        "The accuracy under HopSkipJump is clearly higher with the defence.",
        "adversarial-mnist",
        _black_box,
    ),
    Claim(
        6,
        "[U]sually, a refinement strength in the interval [0.5ε, ε] would give a good balance "
        "between natural and adversarial accuracy.",
        "Each strength of the interval costs at most 0.2 points of clean accuracy and is clearly "
        "above the network under PGD made for the network. Ours: in the worst case.",
        "adversarial-mnist",
        _half_to_whole("PGD"),
        _half_to_whole("worst"),
    ),
    Claim(
        6,
        "This emphasizes that the only viable, gradient-based, adaptive attack is the one used in "
        "our paper.",
        "No other gradient-based attack through the defence leaves fewer points.",
        "adversarial-mnist",
        _only_viable,
    ),
    Claim(
        6,
        "There are two mechanisms that cause the refinement towards the true label to be stronger "
        "than the refinement towards the adversary target: the convergence to local maxima and "
        "refinement overshoot.",
        "Together they explain 95 % of the points turned back; in part if more than half.",
        "adversarial-toy",
        _mechanisms,
    ),
    Claim(
        6,
        DETECTOR,
        "The regret tells attacked from clean points with an AUROC above 90 %, by attackers who do "
        "not know of it.",
        "adversarial-mnist",
        _detects,
    ),
)
