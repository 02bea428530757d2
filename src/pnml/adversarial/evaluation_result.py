"""The report of an evaluation: every attack, the worst case, and a verdict in words."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from torch import Tensor

from pnml.adversarial.abstention import AbstentionCurve
from pnml.adversarial.attack_sequence import AttackOutcome
from pnml.adversarial.detection import RegretDetection
from pnml.adversarial.robustness_intervals import BoolArray, paired_gain, share_held
from pnml.errors import InputError
from pnml.metrics.bootstrap import Estimate

# Numbers of queries in the recorded curves.
_QUERIES = (10, 100, 300, 1000, 3000, 5000, 10000)


@dataclass(frozen=True)
class SweepRow:
    """Accuracies of a defence at one of its strengths: held-out inputs, with and without attack.

    `transferred` inputs are attacked for the network alone.

    >>> SweepRow(strength=0.1, clean=0.99, transferred=0.95, worst=0.6).worst
    0.6
    """

    strength: float
    clean: float
    transferred: float
    worst: float  # under the end-to-end attack too


@dataclass(frozen=True)
class DefenceEvaluation:
    """Result of an evaluation: a defence and its network under the same attacks, by row.

    Made by `evaluate_defence`. In all names, static is the network alone.

    >>> import torch
    >>> from pnml.adversarial import AdversarialPNML, AttackBudget, evaluate_defence
    >>> network = torch.nn.Linear(2, 2, bias=False)
    >>> _ = network.weight.data.copy_(9 * torch.eye(2))
    >>> x = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.6, 0.5]])
    >>> report = evaluate_defence(
    ...     AdversarialPNML(network, strength=0.1),
    ...     x,
    ...     [0, 1, 0],
    ...     0.2,
    ...     budget=AttackBudget.small(),
    ...     progress=False,
    ... )
    >>> isinstance(report, DefenceEvaluation), round(report.clean_static.value, 2)
    (True, 1.0)
    >>> report.static_worst.tolist()
    [True, True, False]
    """

    radius: float
    strength: float
    static: tuple[AttackOutcome, ...]
    defended: tuple[AttackOutcome, ...]
    static_inputs: Tensor  # (n, ...)  the worst inputs
    defended_inputs: Tensor
    sweep: tuple[SweepRow, ...]
    abstention: AbstentionCurve | None
    detection: Mapping[str, RegretDetection]
    cost: float  # time of a defended pass over that of a plain one
    left_out: Mapping[str, str]  # attack → why it was not run
    confidence: float
    resamples: int
    seed: int

    @property
    def static_worst(self) -> BoolArray:
        """Whether the network alone classifies each row correctly under all attacks, (n,)."""
        return self.static[-1].held

    @property
    def defended_worst(self) -> BoolArray:
        """Whether the defence classifies each row correctly under all attacks, (n,)."""
        return self.defended[-1].held

    @cached_property
    def static_accuracy(self) -> Estimate:
        """Worst-case accuracy of the network alone, with its interval. Eqs. (E14), (E15)."""
        return self._share(self.static_worst)

    @cached_property
    def defended_accuracy(self) -> Estimate:
        """Worst-case accuracy of the defence, with its interval. Eqs. (E14), (E15)."""
        return self._share(self.defended_worst)

    @cached_property
    def clean_static(self) -> Estimate:
        """Accuracy of the network alone without attack, with its interval."""
        return self._share(self.static[0].held)

    @cached_property
    def clean_defended(self) -> Estimate:
        """Accuracy of the defence without attack, with its interval."""
        return self._share(self.defended[0].held)

    @cached_property
    def transferred_accuracy(self) -> Estimate:
        """Accuracy of the defence on attacks made for the network alone, with its interval."""
        return self._share(self.defended[1].held)

    @cached_property
    def gain(self) -> Estimate:
        """Worst-case accuracy of the defence minus the network's, with its interval. Eq. (E14).

        The interval is paired: both accuracies are resampled on the same rows.
        """
        return paired_gain(self.defended_worst, self.static_worst, **self._bootstrap)

    @property
    def verdict(self) -> str:
        """A few sentences on whether the defence helps, with accuracies, intervals and cost."""
        n, gain = len(self.static_worst), self.gain
        text = (
            f"End to end the defence (strength {self.strength:g}) holds "
            f"{_percent(self.defended_accuracy)} of {n} inputs at radius {self.radius:g}, against "
            f"{_percent(self.static_accuracy)} of the network alone"
        )
        points = f"{100 * abs(gain.value):.1f} points [{_ends(gain)}]"
        if gain.low > 0:
            text += f": a gain of {points}, so it helps against an attacker who knows it."
        elif gain.high < 0:
            text += f": a loss, {_signed(gain)} points, so it is no defence against an attacker "
            text += "who knows it."
        else:
            text += (
                f": {_signed(gain)} points, so no gain is shown against an attacker who knows it."
            )
        return (
            f"{text} Attacks made for the network alone leave the defence "
            f"{_percent(self.transferred_accuracy)}; without attack it is right on "
            f"{_percent(self.clean_defended)}, the network on {_percent(self.clean_static)}; it "
            f"costs {self.cost:.0f} plain passes."
        )

    def rows(self) -> list[dict[str, Any]]:
        """The evaluation as a list of dicts, one for each attack, in their order.

        Keys are model, attack, tried and fell (numbers of rows), accuracy, low and high (its
        interval), seconds and settings; curve for attacks that count queries.
        """
        records = []
        for outcome in (*self.static, *self.defended):
            share = self._share(outcome.held)
            record: dict[str, Any] = {
                "model": outcome.model,
                "attack": outcome.name,
                "tried": int(outcome.tried.sum()),
                "fell": int((outcome.tried & ~outcome.held).sum()),
                "accuracy": share.value,
                "low": share.low,
                "high": share.high,
                "seconds": round(outcome.seconds, 3),
                "settings": outcome.settings,
            }
            if outcome.queries is not None:
                shares = outcome.curve(_QUERIES)
                record["curve"] = dict(zip(map(str, _QUERIES), shares, strict=True))
            records.append(record)
        return records

    def table(self) -> str:
        """All attacks in Markdown; accuracies in per cent after each attack and all before it."""
        lines = [
            "| network | attack | tried on | fell | accuracy after it |",
            "|---|---|---|---|---|",
        ]
        for row in self.rows():
            share = _percent(Estimate(row["accuracy"], row["low"], row["high"]))
            cells = row["model"], row["attack"], row["tried"], row["fell"], share
            lines.append(f"| {' | '.join(map(str, cells))} |")
        return "\n".join(lines)

    def summary(self) -> str:
        """Verdict, table, choice of the strength, detection and skipped attacks, in Markdown."""
        parts = [self.verdict, self.table()]
        if self.sweep:
            parts.append(_sweep_table(self.sweep))
        if self.detection:
            auroc = (
                f"{name} {_decimals(kind.metrics.auroc)}" for name, kind in self.detection.items()
            )
            parts.append("AUROC of the regret, clean against attacked: " + "; ".join(auroc) + ".")
        if self.abstention is not None:
            parts.append(self.abstention.table())
        if self.left_out:
            reasons = "; ".join(f"{name} ({why})" for name, why in self.left_out.items())
            parts.append(f"Left out: {reasons}.")
        return "\n\n".join(parts)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the dicts of `rows` to a file as JSON lines, with the verdict as the last line."""
        last = {"verdict": self.verdict, "strength": self.strength, "radius": self.radius}
        last |= {"gain": list(self.gain), "cost": self.cost, "left_out": dict(self.left_out)}
        lines = [json.dumps(record, ensure_ascii=False) for record in (*self.rows(), last)]
        try:
            Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")
        except OSError as error:
            raise InputError(
                f"Cannot write {path}: {error.strerror}; pass another path."
            ) from error

    @property
    def _bootstrap(self) -> dict[str, Any]:
        return {"confidence": self.confidence, "resamples": self.resamples, "seed": self.seed}

    def _share(self, held: BoolArray) -> Estimate:
        return share_held(held, **self._bootstrap)


def _sweep_table(sweep: tuple[SweepRow, ...]) -> str:
    lines = [
        "| strength | clean, held out | transferred | end to end |",
        "|---|---|---|---|",
    ]
    for row in sweep:
        shares = (f"{100 * share:.1f}" for share in (row.clean, row.transferred, row.worst))
        lines.append(f"| {row.strength:g} | {' | '.join(shares)} |")
    return "\n".join(lines)


def _percent(share: Estimate) -> str:
    return f"{100 * share.value:.1f} % [{_ends(share)}]"


def _ends(share: Estimate) -> str:
    return f"{100 * share.low:.1f}, {100 * share.high:.1f}"


def _signed(share: Estimate) -> str:
    return f"{100 * share.value:+.1f} [{_ends(share)}]"


def _decimals(share: Estimate) -> str:
    return f"{share.value:.3f} [{share.low:.3f}, {share.high:.3f}]"
