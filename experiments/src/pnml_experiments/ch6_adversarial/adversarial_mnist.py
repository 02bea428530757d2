"""The defence on MNIST: attacked as in the thesis, and by all that goes through it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch import Tensor, nn

from pnml.adversarial import (
    AdversarialPNML,
    AttackResult,
    targeted_apgd,
)
from pnml_experiments.ch6_adversarial import adversarial_mnist_tables as shown
from pnml_experiments.ch6_adversarial.adversarial_attacks import (
    INTERVAL,
    PGD_BUDGET,
    RADIUS,
    SEED,
    held,
    kept_inputs,
    pgd_to_the_end,
)
from pnml_experiments.ch6_adversarial.adversarial_bench import Bench, Effort
from pnml_experiments.ch6_adversarial.adversarial_mnist_tables import THESIS, Swept
from pnml_experiments.ch6_adversarial.adversarial_subjects import (
    digits,
    held_out_digits,
    robust_network,
    standard_network,
)
from pnml_experiments.framework.experiment import Experiment, Progress, Scale, counted
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.result import Result

EXPERIMENT = Experiment(
    id="adversarial-mnist",
    chapter=6,
    title="The adversarial defence on MNIST, in both protocols",
    minutes=(0.5, 240.0),
    less="1,000 of 10,000 test digits, and a network of half the filters.",
    extras=("plots", "torch"),
    needs=("mnist", "weights/mnist_cnn_pgd.pth"),
)


@dataclass(frozen=True)
class Sizes:
    """How much is attacked, and how hard."""

    points: int
    held_out: int
    strengths: tuple[float, ...]
    effort: Effort
    sweep_steps: int
    standard: tuple[int, int]  # images and epochs of the network without defence


SIZES = {
    "small": Sizes(
        points=16,
        held_out=12,
        strengths=(0.1, 0.3),
        effort=Effort(
            starts=2,
            adaptive=10,
            budget=replace(
                PGD_BUDGET,
                steps=10,
                targets=3,
                backwards=("identity", "autograd"),
                fab_steps=10,
                square_queries=100,
                hop_queries=200,
                hop_rows=4,
            ),
        ),
        sweep_steps=10,
        standard=(4_000, 2),
    ),
    "full": Sizes(
        points=1_000,
        held_out=200,
        strengths=(0.05, 0.1, 0.15, 0.3),
        effort=Effort(
            starts=20,
            adaptive=100,
            budget=replace(
                PGD_BUDGET,
                steps=30,
                quick_steps=20,
                fab_steps=30,
                square_queries=1_000,
                hop_queries=5_000,
            ),
        ),
        sweep_steps=20,
        standard=(20_000, 3),
    ),
}


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """The table of the thesis in both protocols, gains, the choice of a strength, query curves."""
    sizes = SIZES[scale]
    tell = counted(progress, 6 + 4 * len(sizes.strengths))
    bench = Bench(digits(sizes.points), sizes.effort, out, tell)
    standard, robust = standard_network(out, *sizes.standard), robust_network()
    inputs = bench.inputs("robust", robust)
    tell(1)
    # where most points fall is done first, what takes long last
    found = {
        strength: bench.defended("robust", robust, strength, inputs)
        for strength in sorted(sizes.strengths, reverse=True)
    }
    found = {strength: found[strength] for strength in sizes.strengths}
    of_standard = bench.inputs("standard", standard)
    undefended = bench.defended("standard", standard, THESIS, of_standard)
    plain = bench.plain(robust, inputs, next(iter(found.values())))
    swept = _sweep(robust, sizes, out)
    tell(1)
    pair = (bench.plain(standard, of_standard, undefended), undefended)
    tables = (
        shown.main_table(plain, found, pair),
        shown.gain_table(plain, found),
        shown.sweep_table(swept),
        shown.order_table(found),
        shown.query_table(found),
        shown.other_table(found),
    )
    drawn = (shown.figure_of(plain, found),)
    remarks = (*_remarks(sizes), *shown.verdicts(plain, found))
    return Result(tables, drawn, (SEED,), 1, INTERVAL, remarks)


def _sweep(network: nn.Module, sizes: Sizes, out: Output) -> tuple[Swept, ...]:
    """Held-out points under the strong attack, one strength after the other."""
    apart = held_out_digits(sizes.held_out)
    moved = kept_inputs(
        out, f"PGD held out {len(apart)}", lambda: pgd_to_the_end(network, apart, starts=1)
    )
    found = []
    for strength in sizes.strengths:
        defence = AdversarialPNML(network, strength, backward="identity")

        def judged(x: Tensor, defence: nn.Module = defence) -> AttackResult:
            return AttackResult.of(defence, x, apart.y)

        def attacked(defence: nn.Module = defence) -> AttackResult:
            return targeted_apgd(defence, apart.x, apart.y, RADIUS, steps=sizes.sweep_steps)

        found.append(
            Swept(
                strength,
                held(out, f"held out, clean {strength:g}", lambda: judged(apart.x)),
                held(out, f"held out, transferred {strength:g}", lambda: judged(moved)),
                held(out, f"held out, through {strength:g}", attacked),
            )
        )
    return tuple(found)


def _remarks(sizes: Sizes) -> tuple[str, ...]:
    effort, budget = sizes.effort, sizes.effort.budget
    points = (
        f"{sizes.points:,} test digits, evenly spread, within {RADIUS:g}. The robust network is a "
        "published one, trained with PGD, with half the filters of the thesis's; it was not "
        "trained through the defence. The thesis's last 6 epochs were; for that see "
        "adversarial-holds."
    )
    thesis = (
        f"PGD on the network: 50 steps of 0.01, {effort.starts} starts, all steps taken. Adaptive: "
        f"{3 * effort.adaptive} steps of 0.01 at λ = {THESIS:g} and {effort.adaptive} elsewhere, "
        "one start (the thesis: 300 steps, 20 starts): a defended gradient costs as much as "
        "thirty plain ones, and targeted attacks find what further starts do not."
    )
    worst = (
        f"Worst case: {budget.steps} steps of targeted Auto-PGD for every other label and of "
        f"Auto-PGD on the cross-entropy, with the gradients {', '.join(budget.backwards)}; Square "
        f"with {budget.square_queries:,} queries; HopSkipJump with {budget.hop_queries:,} on at "
        f"most {budget.hop_rows} points that survive."
    )
    return (points, thesis, worst)
