"""A sequence of attacks on one network, each on the rows that are still classified correctly."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from pnml.adversarial.attack_problem import AttackProblem, is_random
from pnml.adversarial.attack_result import AttackResult
from pnml.adversarial.robustness_intervals import BoolArray
from pnml.core.arrays import FloatArray
from pnml.runtime.fingerprint import refit_fingerprint
from pnml.runtime.journal import Journal

# rows (k,) → the result of an attack on them
Attack = Callable[[Tensor], AttackResult]


@dataclass(frozen=True)
class AttackOutcome:
    """Outcome of one attack in an attack sequence: rows that withstood it and all before it.

    >>> import numpy as np
    >>> tried, held = np.array([True, True, False]), np.array([True, False, False])
    >>> queries = np.array([np.inf, 40.0, 0.0])
    >>> outcome = AttackOutcome("square", "static", {}, tried, held, 0.1, queries)
    >>> round(outcome.accuracy, 2), [round(share, 2) for share in outcome.curve([10, 100])]
    (0.33, [0.67, 0.33])
    """

    name: str
    model: str  # "static" or "defence"
    settings: dict[str, Any]
    tried: BoolArray  # (n,)  rows that were attacked
    held: BoolArray  # (n,)  rows still classified correctly after this attack and all before it
    seconds: float
    queries: FloatArray | None = None  # (n,)  until the row was misclassified; inf if it was not

    @property
    def accuracy(self) -> float:
        """Share of all rows that are still classified correctly."""
        return float(self.held.mean())

    def curve(self, at: Sequence[float]) -> list[float]:
        """Share of all rows still classified correctly after each number of queries in `at`.

        The accuracy for every number if the attack counts no queries.
        """
        if self.queries is None:
            return [self.accuracy for _ in at]
        before = self.held | self.tried
        return [float((before & (self.queries > many)).mean()) for many in at]


@dataclass
class AttackSequence:
    """Sequence of attacks on one network: rows still correct, and worst inputs so far. Eq. (E15).

    Only rows that are still correct are attacked, which does not change the worst case.
    """

    problem: AttackProblem
    kind: str  # "static" or "defence"
    stamp: str  # digest of what all outcomes depend on, besides rows, attack and settings
    journal: Journal
    chunk: int
    seed: int
    advance: Callable[[int], None]
    clean_regrets: FloatArray | None = None  # (n,)  of a defence
    outcomes: list[AttackOutcome] = field(default_factory=list)

    def __post_init__(self) -> None:
        x = self.problem.x
        self.inputs = x.clone()
        self.held = torch.ones(len(x), dtype=torch.bool, device=x.device)
        self.margin = torch.full((len(x),), torch.inf, dtype=torch.float64, device=x.device)
        rows = torch.arange(len(x), device=x.device)
        clean = AttackResult.of_scores(x, self.problem.scores, self.problem.labels)
        self._update(rows, clean)
        self.advance(len(x))
        self._record("clean", {}, rows, 0.0, None)

    def run(self, name: str, settings: dict[str, Any], attack: Attack, most: int = 0) -> None:
        """Attack the rows that are still correct, or the first `most` of them if it is above 0.

        `attack` gives the result for indices of rows. The outcome is added to `outcomes` with the
        name and the settings.
        """
        rows = self.held.nonzero()[:, 0]
        rows = rows[:most] if most else rows
        queries = torch.full_like(self.margin, torch.inf)
        seconds, counts_queries = 0.0, False
        for part in torch.split(rows, self.chunk) if len(rows) else ():
            result, spent = self.part(name, settings, attack, part)
            self._update(part, result)
            seconds += spent
            if result.queries is not None:
                queries[part], counts_queries = result.queries.to(queries), True
            self.advance(len(part))
        self.advance(len(self.held) - len(rows))
        self._record(name, settings, rows, seconds, queries if counts_queries else None)

    def transfer(self, name: str, inputs: Tensor) -> None:
        """Evaluate the network on inputs (n, ...) that were made for another network.

        The outcome is added to `outcomes` with the name.
        """
        start, rows = time.perf_counter(), self.held.nonzero()[:, 0]
        model, labels, size = self.problem.model, self.problem.labels, self.problem.batch_size
        if len(rows):
            self._update(rows, AttackResult.of(model, inputs[rows], labels[rows], size))
        self.advance(len(self.held))
        self._record(name, {}, rows, time.perf_counter() - start, None)

    def part(
        self, name: str, settings: dict[str, Any], attack: Attack, rows: Tensor
    ) -> tuple[AttackResult, float]:
        """Result of an attack on some rows and its seconds, from the journal if it is there.

        `rows` (k,) are indices. Name, settings and rows identify the result in the journal, a file
        of finished parts.
        """
        x, labels, model = self.problem.x, self.problem.labels, self.problem.model
        words = [self.stamp, self.kind, name, json.dumps(settings, sort_keys=True), str(self.seed)]
        key = refit_fingerprint(words, [values[rows].cpu().numpy() for values in (x, labels)])
        about = {"model": self.kind, "attack": name, "settings": settings, "rows": rows.tolist()}

        def compute() -> dict[str, Any]:
            start = time.perf_counter()
            if is_random(model):  # then a part does not depend on the parts before it
                model.reseed(self.seed)  # type: ignore[operator]
            result = attack(rows).to_json()
            return {**result, "seconds": time.perf_counter() - start}

        value = self.journal.piece(key, compute, about)
        return AttackResult.from_json(value, x.device), float(value["seconds"])

    def _record(
        self,
        name: str,
        settings: dict[str, Any],
        rows: Tensor,
        seconds: float,
        queries: Tensor | None,
    ) -> None:
        tried = torch.zeros_like(self.held)
        tried[rows] = True
        flags = (tried.cpu().numpy(), self.held.cpu().numpy().copy())
        counts = None if queries is None else queries.cpu().numpy()
        self.outcomes.append(
            AttackOutcome(name, self.kind, settings, *flags, seconds=seconds, queries=counts)
        )

    def _update(self, rows: Tensor, result: AttackResult) -> None:
        worse = result.fooled | (result.margin < self.margin[rows])
        self.inputs[rows[worse]] = result.inputs[worse].to(self.inputs)
        self.margin[rows[worse]] = result.margin[worse].double()
        self.held[rows[result.fooled]] = False


def weights_fingerprint(model: nn.Module) -> str:
    """Digest of a network's structure and weights, by which stored attacks on it are found."""
    state = model.state_dict()
    words = [repr(model), *(f"{name} {value.dtype}" for name, value in state.items())]
    flat = (value.detach().cpu().flatten().contiguous() for value in state.values())
    return refit_fingerprint(words, [value.view(torch.uint8).numpy() for value in flat])
