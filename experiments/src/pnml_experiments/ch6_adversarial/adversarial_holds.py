"""Is there a version of the defence that holds? Each against the same network without it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from torch import nn

from pnml.adversarial import (
    AdversarialPNML,
    AttackBudget,
    AveragedPNML,
    DefenceEvaluation,
    abstention_curve,
    evaluate_defence,
)
from pnml.metrics import Estimate
from pnml_experiments.ch6_adversarial.adversarial_attacks import (
    INTERVAL,
    PGD_BUDGET,
    RADIUS,
    SEED,
    gain,
    in_words,
)
from pnml_experiments.ch6_adversarial.adversarial_subjects import (
    PGD_TRAINED,
    digits,
    held_out_digits,
    robust_network,
    training_digits,
)
from pnml_experiments.ch6_adversarial.adversarial_training import Recipe, tuned
from pnml_experiments.framework.data import data_path
from pnml_experiments.framework.experiment import Experiment, Progress, Scale, counted
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.result import Result, Row, Table, exactly, in_percent
from pnml_experiments.framework.stored_files import MNIST

EXPERIMENT = Experiment(
    id="adversarial-holds",
    chapter=6,
    title="Versions of the adversarial defence in the worst case",
    minutes=(0.2, 120.0),
    less="300 of 10,000 test digits; 8,000 images and 5 epochs of training through the defence.",
    extras=("plots", "torch"),
    needs=("mnist", "weights/mnist_cnn_pgd.pth"),
    beyond=True,
)

STRENGTH, SMALL = 0.1, 0.02
_PRINTED, _TUNED, _CONTROL = "as printed", "trained through the defence", "tuned without it"
_ABOUT = (
    "Worst case of every point: the network alone, and with the defence under attacks that go "
    "through it. The gain is paired. The network that was tuned without the defence had the same "
    "images, epochs, steps and rate; it is the one that training through must beat."
)


@dataclass(frozen=True)
class Sizes:
    """Points, how hard they are attacked, and how long networks are tuned."""

    points: int
    held_out: int
    draws: int
    budget: AttackBudget
    refusing: tuple[float, ...]
    joint_steps: int
    joint_targets: int | None
    images: int
    epochs: int
    inner: tuple[int, float]  # steps of the attack in training, and their size


SIZES = {
    "small": Sizes(
        points=8,
        held_out=20,
        draws=2,
        budget=replace(PGD_BUDGET, steps=5, targets=2, backwards=("identity",)),
        refusing=(0.0, 0.1),
        joint_steps=5,
        joint_targets=2,
        images=300,
        epochs=1,
        inner=(2, 0.2),
    ),
    "full": Sizes(
        points=300,
        held_out=200,
        draws=4,
        budget=replace(PGD_BUDGET, steps=20, fab_steps=20, square_queries=300),
        refusing=(0.0, 0.01, 0.05, 0.1, 0.2),
        joint_steps=15,
        joint_targets=3,
        images=8_000,
        epochs=5,
        inner=(7, 0.08),
    ),
}


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """Gains of all versions in the worst case, and accuracy against abstention."""
    sizes = SIZES[scale]
    tell = counted(progress, 2 * sizes.epochs + 6 + 2)
    robust = robust_network()
    through = tuned_network(STRENGTH, sizes, out, tell)
    control = tuned_network(0.0, sizes, out, tell)
    found = {
        name: _evaluated(defence, sizes, out, tell)
        for name, defence in _versions(robust, through, control, sizes.draws)
    }
    curves = {}
    for name, network in ((_PRINTED, robust), (_TUNED, through)):
        curves[name] = _refused(network, found[name], sizes, out, name)
        tell(1)
    tables = (_gain_table(found), _abstention_table(curves, sizes))
    return Result(tables, (), (SEED,), 1, INTERVAL, (_remark(sizes), *verdicts(found)))


def tuned_network(
    strength: float, sizes: Sizes, out: Output, tell: Callable[[int], None]
) -> nn.Module:
    """The robust network after more epochs through a defence; strength 0 is without one."""
    steps, size = sizes.inner
    recipe = Recipe(strength, sizes.images, sizes.epochs, steps=steps, step_size=size)
    seen = training_digits(sizes.images)
    files = (PGD_TRAINED, MNIST["train"], MNIST["train labels"])
    depends = tuple(data_path(name) for name in files)
    return tuned(robust_network(), seen.x, seen.y, recipe, out, depends, tell)


def _versions(
    robust: nn.Module, through: nn.Module, control: nn.Module, draws: int
) -> Iterator[tuple[str, AdversarialPNML | AveragedPNML]]:
    yield _PRINTED, AdversarialPNML(robust, STRENGTH)
    yield _TUNED, AdversarialPNML(through, STRENGTH)
    yield _CONTROL, AdversarialPNML(control, STRENGTH)
    yield f"small strength, {SMALL:g}", AdversarialPNML(robust, SMALL)
    yield "genie of the class", AdversarialPNML(robust, STRENGTH, genie="class")
    yield f"average of {draws} random refinements", AveragedPNML(robust, STRENGTH, draws=draws)


def _evaluated(
    defence: AdversarialPNML | AveragedPNML,
    sizes: Sizes,
    out: Output,
    tell: Callable[[int], None],
) -> DefenceEvaluation:
    points = digits(sizes.points)
    found = evaluate_defence(
        defence,
        points.x,
        points.y,
        RADIUS,
        budget=sizes.budget,
        path=out.folder / "attacks.jsonl",
        progress=False,
        seed=SEED,
        chunk=sizes.points,
    )
    tell(1)
    return found


@dataclass(frozen=True)
class Refusing:
    """What becomes of points where so large a share of clean ones is refused."""

    share: float
    right: float  # clean, named rightly and not refused
    standing: Estimate


def _refused(
    network: nn.Module, found: DefenceEvaluation, sizes: Sizes, out: Output, key: str
) -> tuple[Refusing, ...]:
    points, apart = digits(sizes.points), held_out_digits(sizes.held_out)

    def compute() -> Any:
        curve = abstention_curve(
            AdversarialPNML(network, STRENGTH, backward="identity"),
            points.x,
            points.y,
            RADIUS,
            abstain=sizes.refusing,
            reference=apart.x,
            already=(found.defended_inputs,),
            steps=sizes.joint_steps,
            targets=sizes.joint_targets,
            seed=SEED,
        )
        right = map(float, np.asarray(curve.clean_accuracy))
        return list(zip(map(float, curve.abstain), right, curve.robust, strict=True))

    kept = out.piece(f"refusing, {key}", compute)
    return tuple(Refusing(share, right, Estimate(*robust)) for share, right, robust in kept)


def _gain_table(found: Mapping[str, DefenceEvaluation]) -> Table:
    rows = []
    for name, each in found.items():
        numbers = {
            "clean, network": each.clean_static,
            "clean, defence": each.clean_defended,
            "worst case, network": each.static_accuracy,
            "transferred, defence": each.transferred_accuracy,
            "worst case, defence": each.defended_accuracy,
            "gain over its own network": each.gain,
        }
        rows += [
            Row({"version": name, "number": what}, fair=in_percent(value))
            for what, value in numbers.items()
        ]
    rival = {"version": _TUNED, "number": "gain over the network tuned without it"}
    rows.append(Row(rival, fair=_over_control(found)))
    return Table("Worst-case gain of each version, percent", tuple(rows), _ABOUT)


def _over_control(found: Mapping[str, DefenceEvaluation]) -> Estimate:
    return gain(found[_TUNED].defended_worst, found[_CONTROL].static_worst)


def refusing(sizes: Sizes) -> str:
    """What the numbers with a threshold on the regret are, and how strong the attack on it is."""

    def towards(labels: int | None) -> str:
        return "every label" if labels is None else f"the {labels} likeliest other labels"

    return (
        "Points with a regret above a threshold are refused, clean or attacked. The share of "
        f"{sizes.held_out} clean held-out points above it is given. At 0 % the threshold is their "
        "largest regret, and points above that are still refused: more may stand than in the worst "
        "case of the table above. Both numbers are shares of all points. Right: named rightly and "
        "not refused when clean. Standing: right, and no attack makes them wrong without being "
        "refused. The joint attack on label and regret has "
        f"{sizes.joint_steps} steps towards {towards(sizes.joint_targets)}, with one gradient; "
        f"those of the table above have {sizes.budget.steps} towards "
        f"{towards(sizes.budget.targets)}, with every gradient, and their results count here too."
    )


def _abstention_table(curves: Mapping[str, tuple[Refusing, ...]], sizes: Sizes) -> Table:
    rows = []
    for name, curve in curves.items():
        for one in curve:
            labels = {"version": name, "refused": f"{100 * one.share:g} %"}
            right = exactly(100 * one.right)
            rows.append(Row(labels | {"number": "right"}, fair=right))
            rows.append(Row(labels | {"number": "standing"}, fair=in_percent(one.standing)))
    return Table("Accuracy against abstention, percent", tuple(rows), refusing(sizes))


def verdicts(found: Mapping[str, DefenceEvaluation]) -> tuple[str, ...]:
    """One sentence for each version, and one for all."""
    gains = {name: in_percent(each.gain) for name, each in found.items() if name != _CONTROL}
    gains |= {f"{_TUNED}, over the network tuned without it": _over_control(found)}
    lines = [f"{name.capitalize()}: {in_words(value)}" for name, value in gains.items()]
    against_rivals = {name: value for name, value in gains.items() if name != _TUNED}
    holding = [name for name, value in against_rivals.items() if value.low > 0]
    last = (
        f"A worst-case gain was shown for: {'; '.join(holding)}."
        if holding
        else "No version was shown to gain anything in the worst case over a network without it."
    )
    return (*lines, last)


def _remark(sizes: Sizes) -> str:
    steps, size = sizes.inner
    return (
        f"{sizes.points} test digits within {RADIUS:g}; λ = {STRENGTH:g} where nothing else is "
        f"said. Both tuned networks start from the PGD-trained one and see {sizes.images:,} images "
        f"for {sizes.epochs} epochs, attacked by {steps} steps of {size:g} down the lead of the "
        f"label; Adam. Attacks have {sizes.budget.steps} steps for every label and gradient, so "
        "accuracies are upper bounds, of defence and network alike."
    )
