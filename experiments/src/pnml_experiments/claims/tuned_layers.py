"""Claims of chapter 5 on how many layers are trained for every label."""

from __future__ import annotations

from itertools import pairwise

from pnml_experiments.framework.evidence import Claim, Evidence, Verdict, by_count, by_truth

_LAYERS = "By the number of tuned layers, log base 10"


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


def _worst_case(evidence: Evidence) -> Verdict:
    spread = _layers(evidence, "log-loss, std")
    falls = [high > low for high, low in pairwise(spread)]
    said = "Standard deviation of the log-loss with 0, 2 and 7 layers " + ", ".join(
        f"{value:.2f}" for value in spread
    )
    return by_count(sum(falls), len(falls), said + ".")


def _seven_layers(evidence: Evidence) -> Verdict:
    loss, right = _layers(evidence, "log-loss, mean"), _layers(evidence, "accuracy")
    said = f"Log-loss {loss[0]:.3f} and {loss[2]:.3f}, accuracy {right[0]:.3f} and {right[2]:.3f}."
    return by_truth(loss[2] > loss[0] and right[2] < right[0], said)


CLAIMS = (
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
        "When increasing the hypothesis class size, the worst-case loss is indeed reduced.",
        "The standard deviation of the log-loss, by which the thesis judges the worst case, falls "
        "from 0 to 2 to 7 layers.",
        "ablation-table",
        _worst_case,
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
