"""The attacks of an evaluation, in order: on the network alone, and through the defence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

from torch import Tensor, nn

from pnml.adversarial.attack_problem import Hunt
from pnml.adversarial.attack_result import Attacked
from pnml.adversarial.attack_sequence import Campaign, weights_of
from pnml.adversarial.attacks import targeted_apgd, untargeted_apgd
from pnml.adversarial.budget import AttackBudget
from pnml.adversarial.decisions import hop_skip_jump
from pnml.adversarial.external import fab, square
from pnml.adversarial.ledger import Ledger
from pnml.adversarial.report import SweepRow
from pnml.errors import InputError
from pnml.runtime.fingerprint import refit_fingerprint as fingerprint

# A function that attacks: (model, inputs, labels, radius, settings) → outcome.
AttackOf = Callable[..., Attacked]
# Settings that change how much is held in memory, or what an attacker sees, but no score.
_NO_SCORE = ("max_memory", "backward", "softness")


@dataclass(frozen=True)
class Trial:
    """Rows, a ball and a budget, on which networks are tried."""

    hunt: Hunt  # of the network alone
    budget: AttackBudget
    ledger: Ledger
    chunk: int
    seed: int
    advance: Callable[[int], None]
    left_out: dict[str, str] = field(default_factory=dict)

    def static(self) -> Campaign:
        """The network alone under Auto-PGD, FAB and Square."""
        b, model = self.budget, self.hunt.model
        campaign = self.campaign(model, "static", {})
        campaign.judge("clean", self.hunt.x, self.hunt.width)
        plain = {"steps": b.steps, "restarts": b.restarts}
        self.attack(campaign, "apgd-ce", untargeted_apgd, model, plain)
        aimed = {**plain, "targets": b.targets}
        self.attack(campaign, "apgd-dlr-targeted", targeted_apgd, model, aimed)
        if b.fab_steps:
            settings = {"steps": b.fab_steps, "targets": b.targets}
            self.offered(campaign, "fab", fab, model, settings)
        if b.square_queries:
            self.offered(campaign, "square", square, model, {"queries": b.square_queries})
        return campaign

    def defended(self, defence: Any, transferred: Tensor) -> Campaign:
        """The defence on inputs made for the network alone, and end to end."""
        b = self.budget
        campaign = self.campaign(defence, "defence", defence.settings)
        campaign.judge("clean", self.hunt.x, self.hunt.width)
        campaign.judge("transferred", transferred, self.hunt.width)
        plain = {"steps": b.steps, "restarts": b.restarts}
        aimed = {**plain, "targets": b.targets}
        if b.quick_steps:
            first = b.backwards[0]
            quick = {"steps": b.quick_steps, "targets": b.targets, "loss": "margin"}
            name = f"apgd-margin-targeted {first} quick"
            self.attack(campaign, name, targeted_apgd, defence, quick, first)
        for way in b.backwards:
            name = f"apgd-dlr-targeted {way}"
            self.attack(campaign, name, targeted_apgd, defence, aimed, way)
            self.attack(campaign, f"apgd-ce {way}", untargeted_apgd, defence, plain, way)
        if b.square_queries:
            self.offered(campaign, "square", square, defence, {"queries": b.square_queries})
        if b.hop_queries:
            settings = {"queries": b.hop_queries, "starts": self.hunt.x}
            self.offered(campaign, "hop-skip-jump", hop_skip_jump, defence, settings, b.hop_rows)
        return campaign

    def swept(self, defence: Any, strengths: Sequence[float]) -> tuple[SweepRow, ...]:
        """Accuracies with each strength under the attack by which one is chosen."""
        b, model = self.budget, self.hunt.model
        static = self.campaign(model, "static", {})
        static.judge("clean", self.hunt.x, self.hunt.width)
        aimed = {"steps": b.sweep_steps, "targets": b.targets}
        self.attack(static, "apgd-dlr-targeted", targeted_apgd, model, aimed)
        rows = []
        for strength in strengths:
            tried = defence.with_(strength=strength)
            campaign = self.campaign(tried, "defence", tried.settings)
            campaign.judge("clean", self.hunt.x, self.hunt.width)
            campaign.judge("transferred", static.inputs, self.hunt.width)
            name, margin = "apgd-margin-targeted identity", {**aimed, "loss": "margin"}
            self.attack(campaign, name, targeted_apgd, tried, margin, "identity")
            shares = (outcome.accuracy for outcome in campaign.outcomes)
            rows.append(SweepRow(float(strength), *shares))
        return tuple(rows)

    def campaign(self, model: Any, kind: str, settings: dict[str, Any]) -> Campaign:
        """Nothing has been tried yet."""
        scores = {name: value for name, value in settings.items() if name not in _NO_SCORE}
        ball = self.hunt.ball
        words = [
            version("pnml"),
            repr(ball),
            weights_of(self.hunt.model),
            repr(sorted(scores.items())),
        ]
        rest = (fingerprint(words, []), self.ledger, self.chunk, self.seed, self.advance)
        return Campaign(model, kind, self.hunt.x, self.hunt.labels, *rest)

    def attack(
        self,
        campaign: Campaign,
        name: str,
        function: AttackOf,
        model: Any,
        settings: dict[str, Any],
        way: str | None = None,
        most: int = 0,
    ) -> None:
        """Try an attack, through one derivative of the refinement where it has several."""
        ball, hunt = self.hunt.ball, self.hunt
        shared = {"bounds": (ball.low, ball.high), "rows_at_once": hunt.width, "seed": self.seed}

        def found(rows: Tensor) -> Attacked:
            # made anew for each part, so that chance begins anew too
            target: nn.Module = model if way is None else model.with_(backward=way)
            given = hunt.x[rows], hunt.labels[rows], ball.radius
            return function(target, *given, **shared, **settings)

        told = {key: value for key, value in settings.items() if not isinstance(value, Tensor)}
        if way == "soft":
            told["softness"] = model.settings["softness"]
        campaign.run(name, told, found, most)

    def offered(
        self,
        campaign: Campaign,
        name: str,
        function: AttackOf,
        model: Any,
        settings: dict[str, Any],
        most: int = 0,
    ) -> None:
        """Try an attack of another package, or say why it was left out."""
        try:
            self.attack(campaign, name, function, model, settings, most=most)
        except (ModuleNotFoundError, InputError) as error:
            self.left_out[f"{name} on the {campaign.kind}"] = str(error)
            self.advance(len(self.hunt.x))
