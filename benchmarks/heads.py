"""Large heads: what the regret of thousands of classes costs beside the head itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch

from benchmarks.report import Job, Row, Target, absolute_row, ratio_row
from benchmarks.timing import duel, extra_memory
from pnml.core import softmax
from pnml.nn import LastLayerPNML

_MEGABYTE = 1e6


@dataclass(frozen=True)
class Head:
    """A head, rows to count and rows to score. Targets hold at full size only."""

    classes: int
    width: int
    rows: int
    new: int
    full: bool

    def target(self, limit: float) -> Target | None:
        return Target(limit) if self.full else None

    def made_up(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Weight, training features and new ones, float32: rectified noise around the classes."""
        rng = np.random.default_rng(0)
        weight = rng.normal(size=(self.classes, self.width)) / np.sqrt(self.width)

        def features(count: int) -> torch.Tensor:
            noise = np.maximum(rng.normal(size=(count, self.width)), 0)
            near = weight[rng.integers(self.classes, size=count)]
            return torch.tensor(noise + 1.5 * np.sqrt(self.width) * near).float()

        return torch.tensor(weight).float(), features(self.rows), features(self.new)


FULL = (Head(1000, 768, 20_000, 10_000, full=True), Head(30_522, 768, 4096, 512, full=True))
QUICK = (Head(300, 24, 500, 100, full=False),)


def jobs(*, quick: bool) -> list[Job]:
    """All comparisons of this suite."""
    heads = QUICK if quick else FULL
    return [partial(job, head) for head in heads for job in (scoring, choosing)]


def scoring(head: Head, rounds: int) -> Iterator[Row]:
    """Regrets against one product in float64 and one log-softmax of the same shapes."""
    torch.set_num_threads(1)
    weight, train, new = head.made_up()
    double, own = (weight.double(), new.double()), new @ weight.T
    size = f"{head.new}x{head.width}, {head.classes} classes"

    def product() -> object:
        return torch.log_softmax(double[1] @ double[0].T, dim=1)

    for precision, limit in (("double", 1.5), ("single", 1.5)):
        m = LastLayerPNML.from_embeddings(weight, None, train, precision=precision)
        scorer, scale = m._scorer(), m.scale_
        m.thresholds()
        calls: dict[str, Callable[[], object]] = {
            "regret of features": partial(m.score_features, new),
            "regret beside own logits": partial(scorer.output, new, own, scale),
            "trusted": partial(m.trusted, new),
        }
        for name, call in calls.items():
            times = duel(call, product, rounds)
            target = head.target(limit) if name != "trusted" else None
            yield ratio_row(f"{name}, {size}, {precision}", "product, log-softmax", times, target)
    logits = own.double().numpy()
    leverage = np.full(len(logits), 0.01)
    times = duel(
        lambda: softmax.regret_of_logits(logits, leverage),
        lambda: torch.logsumexp(torch.from_numpy(logits), dim=1),
        rounds,
    )
    yield ratio_row(f"regret of logits, {size}", "logsumexp of torch", times)


def choosing(head: Head, rounds: int) -> Iterator[Row]:
    """The automatic scale, thresholds, and memory beside the features."""
    torch.set_num_threads(1)
    weight, train, _ = head.made_up()
    seconds: dict[str, list[float]] = {"automatic scale": [], "thresholds": []}
    for _ in range(max(1, rounds // 3)):
        m = LastLayerPNML.from_embeddings(weight, None, train)
        for name, asked in {"automatic scale": "scale_", "thresholds": "reference_"}.items():
            start = time.process_time()  # of one thread, whoever else uses the machine
            getattr(m, asked)
            seconds[name].append(time.process_time() - start)
    size = f"{head.classes} classes of {head.width} features"
    for name, taken in seconds.items():
        target = head.target(2.0) if name == "automatic scale" else None
        yield absolute_row(f"{name}, {size}", np.array(taken), "s", target, "seconds of processor")
    used = extra_memory(lambda: LastLayerPNML.from_embeddings(weight, None, train)) / _MEGABYTE
    yield absolute_row(f"extra memory of fitting {head.rows} rows, {size}", np.array([used]), "MB")
