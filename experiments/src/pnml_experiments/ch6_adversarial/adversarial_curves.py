"""How accuracy goes with the radius of an attack, with the strength and steps of the defence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from torch import nn

from pnml.adversarial import AdversarialPNML, AttackResult, pgd, targeted_apgd
from pnml_experiments.ch6_adversarial.adversarial_attacks import (
    INTERVAL,
    RADIUS,
    SEED,
    Held,
    held,
    kept_inputs,
    percent,
    pgd_to_the_end,
    printed_accuracy,
)
from pnml_experiments.ch6_adversarial.adversarial_subjects import Points, digits, robust_network
from pnml_experiments.framework.experiment import Experiment, Progress, Scale, counted
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.result import Figure, Result, Row, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure

EXPERIMENT = Experiment(
    id="adversarial-curves",
    chapter=6,
    title="The adversarial defence by radius, strength and steps",
    minutes=(0.8, 60.0),
    other="MNIST stands for CIFAR-10 and ImageNet; 200 digits.",
    extras=("plots", "torch"),
    needs=("mnist", "weights/mnist_cnn_pgd.pth"),
)

STRENGTH = 0.1
_NETWORK, _MOVED, _THROUGH = "network", "defence, transferred", "defence, end to end"
_ITERATIONS = (1, 2, 4)
# Steps, and step sizes that are the same shares of the radius as those of the thesis.
_STEPS = (20, 40, 60)
_SHARES = {0.05: "0.005", 0.1: "0.01", 0.2: "0.02"}


@dataclass(frozen=True)
class Sizes:
    """Points, and what is drawn."""

    points: int
    few: int  # points where a defended gradient costs the most
    radii: tuple[float, ...]
    strengths: tuple[float, ...]
    steps: int  # of the targeted attack
    starts: int  # of PGD


SIZES = {
    "small": Sizes(16, 8, (0.1, 0.3), (0.1, 0.3), 5, 1),
    "full": Sizes(
        200,
        100,
        (0.05, 0.1, 0.15, 0.2, 0.3),
        (0.01, 0.02, 0.05, 0.1, 0.2, 0.3),
        20,
        5,
    ),
}


@dataclass(frozen=True)
class Bench:
    """The robust network and points under attack."""

    network: nn.Module
    points: Points
    sizes: Sizes
    out: Output

    def curve(self, defence: AdversarialPNML, radius: float) -> dict[str, Held]:
        """What network and defence hold within a radius, and what they do if one is for the other.

        Transferred inputs are those of PGD with all its steps.
        """
        n, starts = len(self.points), self.sizes.starts
        size = radius / 20
        moved = kept_inputs(
            self.out,
            f"curve {n} {radius:g} {starts}",
            lambda: pgd_to_the_end(
                self.network, self.points, radius, step_size=size, starts=starts
            ),
        )
        key = f"{n} {radius:g} {defence.extra_repr()}"
        return {
            _NETWORK: self.targeted(f"network {n} {radius:g}", self.network, radius)
            & self.of(f"network moved {n} {radius:g}", self.network, moved),
            _MOVED: self.of(f"moved {key}", defence, moved),
            _THROUGH: self.targeted(f"through {key}", defence, radius)
            & self.of(f"moved {key}", defence, moved),
        }

    def of(self, key: str, model: nn.Module, x: object) -> Held:
        """What a model makes of inputs."""
        return held(self.out, key, lambda: AttackResult.of(model, x, self.points.y))  # type: ignore[arg-type]

    def targeted(self, key: str, model: nn.Module, radius: float) -> Held:
        """What targeted Auto-PGD leaves."""
        p, steps = self.points, self.sizes.steps
        return held(
            self.out, f"{key} {steps}", lambda: targeted_apgd(model, p.x, p.y, radius, steps=steps)
        )


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """Accuracy by radius, by strength and by refinement, and how stable an attack is."""
    sizes, network = SIZES[scale], robust_network()
    bench = Bench(network, digits(sizes.points), sizes, out)
    few = Bench(network, digits(sizes.few), sizes, out)
    tell = counted(progress, len(sizes.radii) + len(sizes.strengths) + len(_ITERATIONS) + 9)

    def defended(strength: float, steps: int = 1) -> AdversarialPNML:
        return AdversarialPNML(network, strength, steps, backward="identity")

    def told(found: dict[str, Held]) -> dict[str, Held]:
        tell(1)
        return found

    by_radius = {r: told(bench.curve(defended(STRENGTH), r)) for r in sizes.radii}
    by_strength = {s: told(bench.curve(defended(s), RADIUS)) for s in sizes.strengths}
    by_steps = {k: told(few.curve(defended(STRENGTH, k), RADIUS)) for k in _ITERATIONS}
    tables = (
        _curve_table("radius", by_radius, f"The strength is {STRENGTH:g}."),
        _curve_table("strength", by_strength, f"The radius is {RADIUS:g}."),
        _steps_table(by_steps),
        _stability_table(few, defended(STRENGTH), tell),
    )
    figures = (
        _figure("adversarial-curves-radius", "radius of the attack", by_radius),
        _figure("adversarial-curves-strength", "strength of the refinement", by_strength),
    )
    return Result(tables, figures, (SEED,), 1, INTERVAL, (_remark(sizes),))


def _remark(sizes: Sizes) -> str:
    return (
        f"{sizes.points} test digits, {sizes.few} in the last two tables, and the PGD-trained "
        f"network. The attack on the network is PGD with all of its 50 steps and {sizes.starts} "
        f"starts; the one through the defence is Auto-PGD of {sizes.steps} steps towards every "
        "other label with the identity gradient, so what it leaves is an upper bound. The thesis "
        "draws its curves on CIFAR-10 and ImageNet, under transferred attacks."
    )


def _curve_table(what: str, found: dict[float, dict[str, Held]], about: str) -> Table:
    rows = tuple(
        Row({what: f"{at:g}", "model": name}, ours=percent(standing))
        for at, each in found.items()
        for name, standing in each.items()
    )
    return Table(f"Accuracy by {what}, percent", rows, about)


def _steps_table(found: dict[int, dict[str, Held]]) -> Table:
    words = {1: "1 step", 2: "2 steps", 4: "4 steps"}
    rows = tuple(
        Row(
            {"refinement": words[count], "attack": name},
            printed_accuracy()["CIFAR-10", f"pNML {words[count]}", "PGD"]
            if name == _MOVED
            else None,
            percent(standing),
        )
        for count, each in found.items()
        for name, standing in each.items()
        if name != _NETWORK
    )
    about = (
        f"The steps of the refinement share the strength {STRENGTH:g}. Printed is CIFAR-10; there "
        "the last line has steps of 0.01, a third of its strength."
    )
    return Table("Accuracy by refinement steps, percent", rows, about)


def _stability_table(bench: Bench, defence: AdversarialPNML, tell: Callable[[int], None]) -> Table:
    """Cross-entropy through the defence, and PGD on the network shown to it."""
    points, known = bench.points, printed_accuracy()

    def rows() -> Iterator[Row]:
        for steps in _STEPS:
            for size, theirs in _SHARES.items():
                key = f"{len(points)} {steps} {size:g}"
                through = held(
                    bench.out,
                    f"adaptive {key}",
                    lambda s=steps, z=size: pgd(  # type: ignore[misc]
                        defence, points.x, points.y, RADIUS, steps=s, step_size=z, seed=SEED
                    ),
                )
                moved = kept_inputs(
                    bench.out,
                    f"stable {key}",
                    lambda s=steps, z=size: pgd_to_the_end(  # type: ignore[misc]
                        bench.network, points, steps=s, step_size=z, starts=1
                    ),
                )
                for attack, standing in (
                    ("adaptive", through),
                    ("PGD", bench.of(f"stable {key}", defence, moved)),
                ):
                    printed = known["CIFAR-10", "pNML", f"{attack} {steps} × {theirs}"]
                    labels = {"attack": attack, "steps": str(steps), "step size": f"{size:g}"}
                    yield Row(labels, printed, percent(standing))
                tell(1)

    about = (
        "Printed is CIFAR-10 within 0.031 with steps of 0.005, 0.01 and 0.02, the same shares of "
        "the radius; five starts there, one here. A table like this says that the loss was climbed "
        "to the end, not that the loss was the right one."
    )
    return Table("Accuracy by steps of the attack, percent", tuple(rows()), about)


def _figure(name: str, what: str, found: dict[float, dict[str, Held]]) -> Figure:
    caption = f"Accuracy against the {what}."
    return Figure(name, caption, lambda: _draw(what, found))


def _draw(what: str, found: dict[float, dict[str, Held]]) -> MatplotlibFigure:
    from matplotlib import pyplot as plt

    figure, ax = plt.subplots(figsize=(6, 4))
    for name in (_NETWORK, _MOVED, _THROUGH):
        line = [percent(each[name]) for each in found.values()]
        values, low, high = (np.array(part) for part in zip(*line, strict=True))
        ax.plot(list(found), values, marker="o", label=name)
        ax.fill_between(list(found), low, high, alpha=0.2)
    ax.set(xlabel=what, ylabel="accuracy, percent", ylim=(0, 101))
    ax.legend()
    return figure
