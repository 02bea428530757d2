"""Attack after attack on one network, each on the rows that still hold."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from pnml.adversarial.attack_result import Attacked
from pnml.adversarial.intervals import BoolArray
from pnml.adversarial.ledger import Ledger, restored, stored
from pnml.core.arrays import FloatArray
from pnml.runtime.fingerprint import refit_fingerprint as fingerprint

# rows (k,) → what an attack makes of them
Attack = Callable[[Tensor], Attacked]


@dataclass(frozen=True)
class AttackOutcome:
    """What one attack left of one network, after all attacks before it.

    >>> import numpy as np
    >>> tried, held = np.array([True, True, False]), np.array([True, False, False])
    >>> taken = np.array([np.inf, 40.0, 0.0])
    >>> outcome = AttackOutcome("square", "static", {}, tried, held, 0.1, taken)
    >>> round(outcome.accuracy, 2), [round(share, 2) for share in outcome.curve([10, 100])]
    (0.33, [0.67, 0.33])
    """

    name: str
    model: str  # "static" or "defence"
    settings: dict[str, Any]
    tried: BoolArray  # (n,)  rows that this attack was tried on
    held: BoolArray  # (n,)  rows that held against this attack and all before
    seconds: float
    queries: FloatArray | None = None  # (n,)  that a row took to fall; inf where it did not

    @property
    def accuracy(self) -> float:
        """Share of all rows that hold after this attack."""
        return float(self.held.mean())

    def curve(self, at: Sequence[float]) -> list[float]:
        """Share of all rows that hold after so many queries; those that fell before count too."""
        if self.queries is None:
            return [self.accuracy for _ in at]
        stood = self.held | self.tried
        return [float((stood & (self.queries > many)).mean()) for many in at]


@dataclass
class Campaign:
    """Rows of one network under attack: which still hold, and the worst inputs so far. Eq. (E15).

    An attack is tried on rows that hold only, which leaves the worst case as it is.
    """

    model: Any
    kind: str  # "static" or "defence"
    x: Tensor
    labels: Tensor
    stamp: str  # what all outcomes depend on beside rows, attack and settings
    ledger: Ledger
    chunk: int
    seed: int
    advance: Callable[[int], None]
    outcomes: list[AttackOutcome] = field(default_factory=list)

    def __post_init__(self) -> None:
        n = len(self.x)
        self.inputs = self.x.clone()
        self.held = torch.ones(n, dtype=torch.bool, device=self.x.device)
        self.margin = torch.full((n,), torch.inf, dtype=torch.float64, device=self.x.device)

    def run(self, name: str, settings: dict[str, Any], attack: Attack, most: int = 0) -> None:
        """Try an attack on rows that hold, or on so many of them at most."""
        rows = self.held.nonzero()[:, 0]
        rows = rows[:most] if most else rows
        taken = torch.full_like(self.margin, torch.inf)
        seconds, counts = 0.0, False
        for part in torch.split(rows, self.chunk) if len(rows) else ():
            found, spent = self.piece(name, settings, attack, part)
            self._note(part, found)
            seconds += spent
            if found.queries is not None:
                taken[part], counts = found.queries.to(taken), True
            self.advance(len(part))
        self.advance(len(self.x) - len(rows))
        self._record(name, settings, rows, seconds, taken if counts else None)

    def judge(self, name: str, inputs: Tensor, width: int) -> None:
        """Feed the network inputs (n, ...) that were made for another, or changed by nobody."""
        begun, rows = time.perf_counter(), self.held.nonzero()[:, 0]
        if len(rows):
            self._note(rows, Attacked.of(self.model, inputs[rows], self.labels[rows], width))
        self.advance(len(self.x))
        self._record(name, {}, rows, time.perf_counter() - begun, None)

    def piece(
        self, name: str, settings: dict[str, Any], attack: Attack, rows: Tensor
    ) -> tuple[Attacked, float]:
        """What an attack makes of some rows, now or in an earlier run, and the seconds it took."""
        words = [self.stamp, self.kind, name, json.dumps(settings, sort_keys=True), str(self.seed)]
        key = fingerprint(words, [values[rows].cpu().numpy() for values in (self.x, self.labels)])
        about = {"model": self.kind, "attack": name, "settings": settings, "rows": rows.tolist()}

        def compute() -> dict[str, Any]:
            begun = time.perf_counter()
            if hasattr(self.model, "reseed"):  # chance begins anew, so that parts do not depend
                self.model.reseed(self.seed)  # on which of them were computed before
            found = stored(attack(rows))
            return {**found, "seconds": time.perf_counter() - begun}

        value = self.ledger.piece(key, about, compute)
        return restored(value, self.x.device), float(value["seconds"])

    def _record(
        self,
        name: str,
        settings: dict[str, Any],
        rows: Tensor,
        seconds: float,
        taken: Tensor | None,
    ) -> None:
        tried = torch.zeros_like(self.held)
        tried[rows] = True
        flags = (tried.cpu().numpy(), self.held.cpu().numpy().copy())
        queries = None if taken is None else taken.cpu().numpy()
        self.outcomes.append(
            AttackOutcome(name, self.kind, settings, *flags, seconds=seconds, queries=queries)
        )

    def _note(self, rows: Tensor, found: Attacked) -> None:
        worse = found.fooled | (found.margin < self.margin[rows])
        self.inputs[rows[worse]] = found.inputs[worse].to(self.inputs)
        self.margin[rows[worse]] = found.margin[worse].double()
        self.held[rows[found.fooled]] = False


def weights_of(model: nn.Module) -> str:
    """Fingerprint of all weights and of how a network is built."""
    state = model.state_dict()
    words = [repr(model), *(f"{name} {value.dtype}" for name, value in state.items())]
    flat = (value.detach().cpu().flatten().contiguous() for value in state.values())
    return fingerprint(words, [value.view(torch.uint8).numpy() for value in flat])
