"""Points under attack: by the protocol of the thesis, and by all that goes through the defence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from torch import Tensor, nn

from pnml.adversarial import (
    AdversarialPNML,
    AttackBudget,
    AttackResult,
    evaluate_defence,
    pgd,
)
from pnml_experiments.ch6_adversarial.adversarial_attacks import (
    RADIUS,
    SEED,
    fgsm,
    held,
    kept_inputs,
    pgd_to_the_end,
)
from pnml_experiments.ch6_adversarial.adversarial_mnist_tables import THESIS, Defended, Plain
from pnml_experiments.ch6_adversarial.adversarial_subjects import Points
from pnml_experiments.framework.output import Output

_STEP = 0.01


@dataclass(frozen=True)
class Effort:
    """How hard points are attacked."""

    starts: int  # of PGD on the network
    adaptive: int  # steps through the defence; three times as many at the strength of the thesis
    budget: AttackBudget  # of the worst case
    chunk: int = 1_000  # points of one part of it, the most that an interruption costs


@dataclass(frozen=True)
class Bench:
    """Attacks on one set of points; results are stored, so that an interrupted run goes on."""

    points: Points
    effort: Effort
    out: Output
    tell: Callable[[int], None]

    def inputs(self, name: str, network: nn.Module) -> dict[str, Tensor]:
        """Points as they are, and attacked as in the thesis, all steps taken."""
        points, starts = self.points, self.effort.starts
        key = f"{name} {len(points)}"
        return {
            "none": points.x,
            "FGSM": kept_inputs(self.out, f"FGSM {key}", lambda: fgsm(network, points)),
            "PGD": kept_inputs(
                self.out,
                f"PGD {key} {starts} starts",
                lambda: pgd_to_the_end(network, points, starts=starts),
            ),
        }

    def defended(
        self, name: str, network: nn.Module, strength: float, inputs: Mapping[str, Tensor]
    ) -> Defended:
        """Points that stay correct with a defence of one strength, by attack."""
        defence = AdversarialPNML(network, strength, backward="identity")
        (x, y), key = (self.points.x, self.points.y), f"{name} {strength:g}"
        steps = self.effort.adaptive * (3 if strength == THESIS else 1)

        def climbed(steps: int, size: float, random: bool) -> AttackResult:
            asked = {"steps": steps, "step_size": size, "random_start": random}
            return pgd(defence, x, y, RADIUS, **asked, seed=SEED)  # type: ignore[arg-type]

        thesis = {
            attack: held(self.out, f"{attack} {key}", lambda at=at: AttackResult.of(defence, at, y))  # type: ignore[misc]
            for attack, at in inputs.items()
        }
        through = held(self.out, f"FGSM through {key}", lambda: climbed(1, RADIUS, False))
        self.tell(1)
        thesis["adaptive"] = held(self.out, f"adaptive {key}", lambda: climbed(steps, _STEP, True))
        self.tell(1)
        evaluation = evaluate_defence(
            defence,
            x,
            y,
            RADIUS,
            budget=self.effort.budget,
            path=self.out.folder / "attacks.jsonl",
            progress=False,
            seed=SEED,
            chunk=self.effort.chunk,
        )
        self.tell(2)
        return Defended(thesis, through, evaluation)

    def plain(self, network: nn.Module, inputs: Mapping[str, Tensor], each: Defended) -> Plain:
        """Points that stay correct without the defence; its evaluation attacked the network too."""
        standing = {
            attack: (~AttackResult.of(network, at, self.points.y).fooled).numpy()
            for attack, at in inputs.items()
        }
        return Plain(standing, each.evaluation.static_worst & standing["PGD"] & standing["FGSM"])
