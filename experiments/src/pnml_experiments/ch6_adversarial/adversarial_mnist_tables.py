"""What the defence on MNIST withstands, as tables beside the printed ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pnml.adversarial import DefenceEvaluation
from pnml.metrics import Estimate
from pnml_experiments.ch6_adversarial.adversarial_attacks import (
    Held,
    gain,
    in_words,
    percent,
    printed_accuracy,
)
from pnml_experiments.framework.result import Figure, Row, Table, exactly, in_percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure

THESIS = 0.1  # strength that the thesis prints
QUERIES = (50, 100, 300, 1_000, 3_000, 5_000)
# Attacks of the thesis in their order; the last is the worst of those before.
_COLUMNS = ("none", "FGSM", "PGD", "adaptive", "HopSkipJump", "worst")
ABOUT = (
    "Ours is the protocol of the thesis: FGSM and PGD are made for the network and shown to the "
    "defence, the adaptive attack climbs the cross-entropy through it. Fair is the attack made for "
    "the model of the row; worst is then the worst case of every point over all attacks."
)
_HOP = "In the fair worst case only, on points that survive all else."


@dataclass(frozen=True)
class Defended:
    """Which points a defence of one strength holds."""

    thesis: Mapping[str, Held]  # attack → points, by the protocol of the thesis
    fgsm_through: Held
    evaluation: DefenceEvaluation

    @property
    def thesis_worst(self) -> Held:
        """Points that stay correct under every attack of the thesis."""
        found: Held = np.logical_and.reduce(list(self.thesis.values()))
        return found

    @property
    def worst(self) -> Held:
        """Points that stay correct under every attack."""
        found: Held = self.evaluation.defended_worst & self.thesis_worst & self.fgsm_through
        return found


@dataclass(frozen=True)
class Plain:
    """Which points a network without the defence still labels correctly, by attack."""

    thesis: Mapping[str, Held]
    worst: Held


@dataclass(frozen=True)
class Swept:
    """Held-out points that a strength holds."""

    strength: float
    clean: Held
    transferred: Held
    through: Held


def main_table(
    robust: Plain, found: Mapping[float, Defended], standard: tuple[Plain, Defended]
) -> Table:
    """Accuracy of every model under every attack."""
    rows = plain_rows("standard network", "standard", standard[0])
    rows += defended_rows(f"standard, λ = {THESIS:g}", None, standard[1])
    rows += plain_rows("robust network", "robust", robust)
    for strength, each in found.items():
        known = "pNML" if strength == THESIS else None
        rows += defended_rows(f"robust, λ = {strength:g}", known, each)
    return Table("Accuracy, percent", tuple(rows), ABOUT)


def plain_rows(name: str, known: str, plain: Plain) -> list[Row]:
    """Accuracy of a network without the defence, by attack; `known` is its name in print."""
    rows = []
    for attack in _COLUMNS:
        ours = None if attack not in plain.thesis else percent(plain.thesis[attack])
        printed = printed_accuracy().get(("MNIST", known, attack))
        fair = None
        if attack == "worst":
            everything = np.logical_and.reduce(list(plain.thesis.values()))
            ours, fair = percent(everything), percent(plain.worst)
        if ours is not None or printed is not None:
            rows.append(Row({"model": name, "attack": attack}, printed, ours, fair))
    return rows


def defended_rows(name: str, known: str | None, each: Defended) -> list[Row]:
    """Accuracy with the defence, by attack; `known` is its name in print."""
    rows = []
    for attack in _COLUMNS:
        ours = None if attack not in each.thesis else percent(each.thesis[attack])
        printed = printed_accuracy().get(("MNIST", known, attack)) if known else None
        fair, note = None, ""
        if attack == "FGSM":
            fair = percent(each.fgsm_through)
        if attack == "worst":
            ours, fair = percent(each.thesis_worst), percent(each.worst)
        if attack == "HopSkipJump" and any(
            one.name == "hop-skip-jump" for one in each.evaluation.defended
        ):
            note = _HOP
        if ours is not None or printed is not None:
            rows.append(Row({"model": name, "attack": attack}, printed, ours, fair, note))
    return rows


def gain_table(robust: Plain, found: Mapping[float, Defended]) -> Table:
    """What the defence adds to the network in either protocol."""
    static = np.logical_and.reduce(list(robust.thesis.values()))
    rows = tuple(
        Row(
            {"λ": f"{strength:g}"},
            0.8 if strength == THESIS else None,
            gain(each.thesis_worst, static),
            gain(each.worst, robust.worst),
        )
        for strength, each in found.items()
    )
    about = (
        "Ours compares the worst of the thesis's attacks on either side, transferred ones among "
        "them; fair compares the worst cases, each under attacks made for it."
    )
    return Table("Gain over the robust network, points of percent", rows, about)


def gain_by_attack(network: Plain, each: Defended) -> Table:
    """Paired gain of a network trained through the defence over one that was not, by attack."""
    rows = [
        _gain_row(attack, gain(each.thesis[attack], standing))
        for attack, standing in network.thesis.items()
    ]
    static = np.logical_and.reduce(list(network.thesis.values()))
    worst = gain(each.thesis_worst, static), gain(each.worst, network.worst)
    about = (
        "FGSM and PGD are made for the network inside. Worst is in ours the worst of the attacks "
        "of the thesis, which has one through the defence, and in fair that of all attacks."
    )
    title = "Gain over the robust network by attack, points of percent"
    return Table(title, (*rows, _gain_row("worst", *worst)), about)


def _gain_row(attack: str, ours: Estimate, fair: Estimate | None = None) -> Row:
    robust, defended = (printed_accuracy()["MNIST", who, attack] for who in ("robust", "pNML"))
    return Row({"attack": attack}, round(defended - robust, 1), ours, fair)


def order_table(found: Mapping[float, Defended], network: str = "robust network") -> Table:
    """Accuracy after one attack after the other, of the defence and of its network alone."""
    rows = [
        Row(
            {"model": name, "attack": outcome.name, "points tried": str(int(outcome.tried.sum()))},
            fair=percent(outcome.held),
        )
        for strength, each in found.items()
        for name, outcome in (
            *((f"λ = {strength:g}", one) for one in each.evaluation.defended),
            *((network, one) for one in each.evaluation.static if strength == next(iter(found))),
        )
    ]
    about = "Every attack tries the points that those above it left; the last line is worst."
    return Table("One attack after the other, percent left", tuple(rows), about)


def query_table(found: Mapping[float, Defended]) -> Table:
    """What black boxes leave after so many queries."""
    rows = [
        Row({"λ": f"{strength:g}", "attack": one.name, "queries": f"{count:,}"}, fair=left)
        for strength, each in found.items()
        for one in each.evaluation.defended
        if one.queries is not None and one.tried.any()
        for count in QUERIES
        if count <= one.settings["queries"]
        for left in [percent(one.queries[one.tried] > count)]
    ]
    about = "Percent of the points tried, which earlier attacks had left, that stand."
    return Table("Attacks that see labels or scores only", tuple(rows), about)


def sweep_table(swept: tuple[Swept, ...]) -> Table:
    """On other points than those of the other tables."""
    rows = []
    for one in swept:
        parts = {"none": one.clean, "transferred": one.transferred, "through": one.through}
        for attack, standing in parts.items():
            rows.append(Row({"λ": f"{one.strength:g}", "attack": attack}, fair=percent(standing)))
    best = max(swept, key=lambda one: one.through.mean())
    about = (
        "Transferred is PGD on the network, through is targeted Auto-PGD with the identity "
        f"gradient. By the latter λ = {best.strength:g} is chosen."
    )
    return Table("Choice of the strength on held-out points, percent", tuple(rows), about)


def other_table(found: Mapping[float, Defended]) -> Table:
    """The regret as a detector, and what the defence costs."""
    rows = []
    for strength, each in found.items():
        for kind, detection in each.evaluation.detection.items():
            auroc = in_percent(detection.metrics.auroc)
            number = f"AUROC of the regret, {kind}"
            rows.append(Row({"λ": f"{strength:g}", "number": number}, fair=auroc))
        cost = exactly(each.evaluation.cost)
        rows.append(Row({"λ": f"{strength:g}", "number": "time of plain forwards"}, fair=cost))
    about = (
        "Clean inputs against attacked ones, percent: those made for the network, and those made "
        "for the defence. These attacks do not know of the detector; in adversarial-holds one "
        "does. The time is that of one defended forward."
    )
    return Table("Detection and cost", tuple(rows), about)


def draw_gains(robust: Plain, found: Mapping[float, Defended]) -> MatplotlibFigure:
    """Accuracies against the strength, by protocol."""
    from matplotlib import pyplot as plt

    figure, ax = plt.subplots(figsize=(6, 4))
    lines = {
        "clean": [percent(each.thesis["none"]) for each in found.values()],
        "PGD transferred": [percent(each.thesis["PGD"]) for each in found.values()],
        "adaptive": [percent(each.thesis["adaptive"]) for each in found.values()],
        "worst case": [percent(each.worst) for each in found.values()],
    }
    for name, line in lines.items():
        values, low, high = (np.array(part) for part in zip(*line, strict=True))
        around = [np.maximum(values - low, 0), np.maximum(high - values, 0)]
        ax.errorbar(list(found), values, around, marker="o", capsize=3, label=name)
    ax.axhline(percent(robust.worst).value, color="black", linestyle="--")
    ax.text(max(found), percent(robust.worst).value, "network, worst case", ha="right", va="bottom")
    ax.set(xlabel="strength λ", ylabel="accuracy, percent", ylim=(0, 101))
    ax.legend(loc="center right")
    return figure


def verdicts(robust: Plain, found: Mapping[float, Defended]) -> tuple[str, ...]:
    """One sentence for each strength."""
    return tuple(
        f"λ = {strength:g}: {percent(each.thesis['PGD']).value:.1f} % under PGD made for the "
        f"network, {percent(each.worst).value:.1f} % in the worst case, where the network alone "
        f"has {percent(robust.worst).value:.1f} %: {in_words(gain(each.worst, robust.worst))}"
        for strength, each in found.items()
    )


def figure_of(robust: Plain, found: Mapping[float, Defended]) -> Figure:
    """Figure of the accuracy by the strength of the refinement."""
    caption = (
        "Accuracy within 0.3 against the strength of the refinement; dashed is the worst case of "
        "the network without it."
    )
    return Figure("adversarial-mnist", caption, lambda: draw_gains(robust, found))
