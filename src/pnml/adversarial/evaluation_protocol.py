"""The attacks of an evaluation, in order: on the network alone, and on the defence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import Any

import torch
from torch import Tensor

from pnml.adversarial.attack_budget import AttackBudget
from pnml.adversarial.attack_problem import AttackProblem
from pnml.adversarial.attack_result import AttackResult
from pnml.adversarial.attack_sequence import AttackSequence, weights_fingerprint
from pnml.adversarial.evaluation_result import SweepRow
from pnml.adversarial.external_attacks import run_fab, run_hop_skip_jump, run_square
from pnml.adversarial.gradient_attacks import run_targeted_apgd, run_untargeted_apgd
from pnml.errors import InputError
from pnml.nn.eval_mode import as_in_use
from pnml.runtime.fingerprint import refit_fingerprint
from pnml.runtime.journal import Journal

# (problem, seed, settings) → result
RunAttack = Callable[..., AttackResult]
# Settings that change the memory, or the gradient that an attacker sees, but no score.
_NO_SCORE = ("max_memory", "backward", "softness")


@dataclass(frozen=True)
class EvaluationProtocol:
    """Attacks of an evaluation on the same rows, with the same ball and budget."""

    problem: AttackProblem  # of the network alone
    budget: AttackBudget
    journal: Journal
    chunk: int
    seed: int
    advance: Callable[[int], None]
    left_out: dict[str, str] = field(default_factory=dict)  # attack → why it was not run

    def static(self) -> AttackSequence:
        """Attacks on the network alone, run here: Auto-PGD, FAB and Square, with their outcomes."""
        b, sequence = self.budget, self._sequence(self.problem, "static", {})
        untargeted = {"steps": b.steps, "restarts": b.restarts}
        self._attack(sequence, "apgd-ce", run_untargeted_apgd, untargeted)
        targeted = {**untargeted, "targets": b.targets}
        self._attack(sequence, "apgd-dlr-targeted", run_targeted_apgd, targeted)
        if b.fab_steps:
            settings = {"steps": b.fab_steps, "targets": b.targets}
            self._try_attack(sequence, "fab", run_fab, settings)
        if b.square_queries:
            self._try_attack(sequence, "square", run_square, {"queries": b.square_queries})
        return sequence

    def defended(self, defence: Any, transferred: Tensor) -> AttackSequence:
        """Attacks on the defence, run here, with their outcomes: transferred, then end to end.

        `transferred` (n, ...) are inputs that attacks on the network alone have made.
        """
        b, sequence = self.budget, self._defence_sequence(defence)
        sequence.transfer("transferred", transferred)
        untargeted = {"steps": b.steps, "restarts": b.restarts}
        targeted = {**untargeted, "targets": b.targets}
        if b.quick_steps:
            first = b.backwards[0]
            quick = {"steps": b.quick_steps, "targets": b.targets, "loss": "margin"}
            name = f"apgd-margin-targeted {first} quick"
            self._attack(sequence, name, run_targeted_apgd, quick, first)
        for backward in b.backwards:
            name = f"apgd-dlr-targeted {backward}"
            self._attack(sequence, name, run_targeted_apgd, targeted, backward)
            self._attack(sequence, f"apgd-ce {backward}", run_untargeted_apgd, untargeted, backward)
        if b.square_queries:
            self._try_attack(sequence, "square", run_square, {"queries": b.square_queries})
        if b.hop_queries:
            run, settings = _hop_from_all_rows(sequence.problem), {"queries": b.hop_queries}
            self._try_attack(sequence, "hop-skip-jump", run, settings, b.hop_rows)
        return sequence

    def sweep(self, defence: Any, strengths: Sequence[float]) -> tuple[SweepRow, ...]:
        """Accuracies of the defence at each strength: clean, transferred and end to end."""
        b, static = self.budget, self._sequence(self.problem, "static", {})
        targeted = {"steps": b.sweep_steps, "targets": b.targets}
        self._attack(static, "apgd-dlr-targeted", run_targeted_apgd, targeted)
        rows = []
        for strength in strengths:
            sequence = self._defence_sequence(defence.with_(strength=strength))
            sequence.transfer("transferred", static.inputs)
            name, margin = "apgd-margin-targeted identity", {**targeted, "loss": "margin"}
            self._attack(sequence, name, run_targeted_apgd, margin, "identity")
            shares = (outcome.accuracy for outcome in sequence.outcomes)
            rows.append(SweepRow(float(strength), *shares))
        return tuple(rows)

    def _defence_sequence(self, defence: Any) -> AttackSequence:
        """A sequence of attacks on a defence, whose outputs on the clean rows are computed once."""
        with as_in_use([defence]), torch.no_grad():
            batches = torch.split(self.problem.x, self.problem.batch_size)
            outputs = [defence.scores_and_regret(rows) for rows in batches]
        scores, regrets = (torch.cat(parts) for parts in zip(*outputs, strict=True))
        problem = replace(self.problem, model=defence, scores=scores)
        sequence = self._sequence(problem, "defence", defence.settings)
        sequence.clean_regrets = regrets.double().cpu().numpy()
        return sequence

    def _sequence(
        self, problem: AttackProblem, kind: str, settings: dict[str, Any]
    ) -> AttackSequence:
        with_score = {name: value for name, value in settings.items() if name not in _NO_SCORE}
        words = [
            version("pnml"),
            repr(problem.ball),
            weights_fingerprint(self.problem.model),
            repr(sorted(with_score.items())),
        ]
        rest = (refit_fingerprint(words, []), self.journal, self.chunk, self.seed, self.advance)
        return AttackSequence(problem, kind, *rest)

    def _attack(
        self,
        sequence: AttackSequence,
        name: str,
        run: RunAttack,
        settings: dict[str, Any],
        backward: str | None = None,
        most: int = 0,
    ) -> None:
        """Run an attack; `backward` names the derivative of the refinement for a defence."""
        model: Any = sequence.problem.model

        def attack(rows: Tensor) -> AttackResult:
            # a new copy for each part, whose random draws start at the seed
            target = model if backward is None else model.with_(backward=backward)
            return run(sequence.problem.part(rows, target), self.seed, **settings)

        recorded = settings
        if backward == "soft":
            recorded = {**settings, "softness": model.settings["softness"]}
        sequence.run(name, recorded, attack, most)

    def _try_attack(
        self,
        sequence: AttackSequence,
        name: str,
        run: RunAttack,
        settings: dict[str, Any],
        most: int = 0,
    ) -> None:
        """Run an attack of another package, or record why it was left out."""
        try:
            self._attack(sequence, name, run, settings, most=most)
        except (ModuleNotFoundError, InputError) as error:
            self.left_out[f"{name} on the {sequence.kind}"] = str(error)
            self.advance(len(self.problem.x))


def _hop_from_all_rows(problem: AttackProblem) -> RunAttack:
    """HopSkipJump on some rows, whose starting points may be any rows of the problem."""
    rows = torch.arange(len(problem.x), device=problem.x.device)

    def run(part: AttackProblem, seed: int, *, queries: int) -> AttackResult:
        start_labels = problem.part(rows, part.model).scores.argmax(dim=1)
        return run_hop_skip_jump(part, seed, queries=queries, starts=(problem.x, start_labels))

    return run
