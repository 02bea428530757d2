"""The network of the thesis for MNIST, trained here: with its last epochs through the defence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace

from torch import nn

from pnml.runtime.fingerprint import fingerprint
from pnml_experiments.ch6_adversarial import adversarial_mnist_tables as shown
from pnml_experiments.ch6_adversarial.adversarial_attacks import INTERVAL, PGD_BUDGET, RADIUS, SEED
from pnml_experiments.ch6_adversarial.adversarial_bench import Bench, Effort
from pnml_experiments.ch6_adversarial.adversarial_mnist_tables import THESIS
from pnml_experiments.ch6_adversarial.adversarial_subjects import (
    digits,
    printed_network,
    training_digits,
)
from pnml_experiments.ch6_adversarial.adversarial_training import Recipe, tuned
from pnml_experiments.framework.data import data_path
from pnml_experiments.framework.experiment import Experiment, Progress, Scale, counted
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.result import Result, Table
from pnml_experiments.framework.stored_files import MNIST

EXPERIMENT = Experiment(
    id="adversarial-printed",
    chapter=6,
    title="The adversarial defence on the thesis's network of MNIST, trained through it",
    minutes=(0.5, 210.0),
    less=(
        "1,000 of 10,000 test digits; 8 epochs of training, four of them with ten-step attacks, "
        "where the thesis has 100 with 40 steps; then 4 epochs of 10,000 of 60,000 digits each "
        "through the defence, with ten-step attacks, where it has 6."
    ),
    extras=("plots", "torch"),
    needs=("mnist", "weights/mnist_cnn_pgd.pth"),
)
_CONTROL, _THROUGH = "robust network", f"trained through the defence, λ = {THESIS:g}"


@dataclass(frozen=True)
class Sizes:
    """Points under attack, and how networks are trained."""

    points: int
    robust: tuple[Recipe, ...]  # one after the other
    last: Recipe  # through the defence, and for the other network without it
    effort: Effort


def _recipe(images: int, epochs: int, steps: int, size: float, drawn: int | None = None) -> Recipe:
    return Recipe(0.0, images, epochs, steps=steps, step_size=size, drawn=drawn)


SIZES = {
    "small": Sizes(
        points=8,
        robust=(_recipe(300, 1, 0, 0.0), _recipe(300, 1, 2, 0.2)),
        last=_recipe(300, 1, 2, 0.2, 100),
        effort=Effort(1, 2, replace(PGD_BUDGET, steps=3, targets=2, backwards=("identity",))),
    ),
    "full": Sizes(
        points=1_000,
        # noise alone, then few and large steps, then ten: attacks on an untrained network stall it
        robust=(
            _recipe(60_000, 1, 0, 0.0),
            _recipe(60_000, 3, 2, 0.2),
            _recipe(60_000, 4, 10, 0.05),
        ),
        last=replace(_recipe(60_000, 4, 10, 0.05, 10_000), rate=3e-4),
        effort=Effort(
            starts=5,
            adaptive=20,
            # no soft gradient: in adversarial-mnist it fells 3 of 1,000 points after the other two
            budget=replace(
                PGD_BUDGET,
                steps=20,
                targets=3,
                backwards=("identity", "autograd"),
                square_queries=100,
            ),
            chunk=100,
        ),
    ),
}


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """The table of the thesis for MNIST, and what training through the defence gains."""
    sizes = SIZES[scale]
    epochs = sum(recipe.epochs for recipe in sizes.robust) + 2 * sizes.last.epochs
    tell = counted(progress, epochs + 2 + 2 * 4)
    base = _trained(printed_network(), sizes.robust, (), out, tell)
    bench = Bench(digits(sizes.points), sizes.effort, out, tell)
    trained = {
        strength: _trained(
            deepcopy(base), (replace(sizes.last, strength=strength),), sizes.robust, out, tell
        )
        for strength in (0.0, THESIS)
    }
    found = {}
    for strength, network in trained.items():
        name = f"printed {fingerprint(str(sizes))[:8]} {strength:g}"
        inputs = bench.inputs(name, network)
        tell(1)
        found[strength] = inputs, bench.defended(name, network, THESIS, inputs)
    (inputs, without), (_, through) = found[0.0], found[THESIS]
    control = bench.plain(trained[0.0], inputs, without)
    rows = shown.plain_rows(_CONTROL, "robust", control)
    rows += shown.defended_rows(_THROUGH, "pNML", through)
    rows += shown.defended_rows(f"{_CONTROL} with the defence, λ = {THESIS:g}", None, without)
    tables = (
        Table("Accuracy, percent", tuple(rows), shown.ABOUT),
        shown.gain_by_attack(control, through),
        shown.order_table({THESIS: through}, f"{_THROUGH}, without it"),
        shown.other_table({THESIS: through}),
    )
    return Result(tables, (), (SEED,), 1, INTERVAL, _remarks(sizes))


def _trained(
    network: nn.Module,
    recipes: Sequence[Recipe],
    before: Sequence[Recipe],
    out: Output,
    tell: Callable[[int], None],
) -> nn.Module:
    """The network after several recipes in turn; the cache key names earlier ones, `before`."""
    files = tuple(data_path(MNIST[name]) for name in ("train", "train labels"))
    for at, recipe in enumerate(recipes):
        seen = training_digits(recipe.images)
        history = f"printed network {(*before, *recipes[:at])}"
        network = tuned(network, seen.x, seen.y, recipe, out, (*files, history), tell)
    return network


def _remarks(sizes: Sizes) -> tuple[str, ...]:
    last, effort = sizes.last, sizes.effort
    training = (
        "Both networks are one until the last epochs. In these each sees "
        f"{last.drawn:,} of {last.images:,} digits for {last.epochs} epochs, attacked by "
        f"{last.steps} steps of {last.step_size:g} down the lead of the label: one through the "
        "defence, the other, robust network, without it; Adam. The thesis trains with SGD."
    )
    attacks = (
        f"{sizes.points:,} test digits, evenly spread, within {RADIUS:g}. PGD on the network: 50 "
        f"steps of 0.01, {effort.starts} starts; adaptive: {3 * effort.adaptive} steps of 0.01, "
        "one start (the thesis: 20 starts, and 300 steps through the defence)."
    )
    worst = (
        f"Worst case: {effort.budget.steps} steps of Auto-PGD on the cross-entropy and towards "
        f"{effort.budget.targets} labels, with the gradients {', '.join(effort.budget.backwards)}, "
        f"and Square with {effort.budget.square_queries:,} queries: accuracies are upper bounds."
    )
    return (training, attacks, worst)
