"""The compared methods: settings chosen on held-out training digits, then every row judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from time import process_time
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pnml.nn import LastLayerPNML, RefitLastLayerPNML
from pnml_experiments.framework.output import Arrays
from pnml_experiments.studies.calibration_heads import temperature
from pnml_experiments.studies.network_genie_rivals import (
    HeadPosterior,
    averaged,
    dropout,
    head_curvature,
)
from pnml_experiments.studies.network_genie_subjects import Subject
from pnml_experiments.studies.network_genies import (
    Genies,
    Posterior,
    acnml,
    fisher,
    influence,
    linearised,
)

SOFTMAX, TEMPERED, DROPOUT, ENSEMBLE = "softmax", "temperature", "MC dropout", "ensemble of 3"
LAPLACE, HEAD = "last-layer Laplace", "ACNML, last layer"
ACNML, INFLUENCE, LINEAR = "ACNML, all weights", "influence, all weights", "ACNML, linearised"
OWN, AUTO, REFIT = "LastLayerPNML, scale None", "LastLayerPNML, scale auto", "RefitLastLayerPNML"

PRECISIONS = (1e2, 3e2, 1e3, 3e3, 1e4)  # of the prior of all weights
HEAD_PRECISIONS = (1.0, 3.0, 10.0, 30.0, 1e2, 3e2, 1e3, 3e3)  # of that of the last layer
STEPS, RATE = 5, 1.0
OTHER_ASCENTS = ((5, 0.3), (15, 1.0))  # steps and first step size, tried at the chosen precision
_FISHER_ROWS = 1_000
_REFIT_TOL, _BATCH, _WARM = 1e-3, 100, 4

# Probabilities (n, C) of inputs and the method's own score (n,), None if that is the confidence.
Answer = tuple[Tensor, Tensor | None]
Judge = Callable[[Tensor], Answer]
# Settings that were tried → log-loss on the held-out digits.
Tried = dict[tuple[float, ...], float]


def answers(name: str, subject: Subject) -> Arrays:
    """Answers of a method to all rows, what it was chosen from, and processor time a row."""
    with torch.no_grad():
        judge, tried, chosen = METHODS[name](subject)
        judge(subject.rows[:_WARM])
        start = process_time()
        parts = [judge(x) for x in torch.split(subject.rows, _BATCH)]
        seconds = (process_time() - start) / len(subject.rows)
    probs = torch.cat([p for p, _ in parts]).double().numpy()
    scores = [s for _, s in parts if s is not None]
    score = torch.cat(scores).double().numpy() if scores else doubt(probs)
    return {
        "probs": probs,
        "score": score,
        "seconds": np.array(seconds),
        "chosen": np.array(chosen, dtype=float),
        "tried": np.array([[*setting, loss] for setting, loss in tried.items()], dtype=float),
    }


def every_precision(subject: Subject, rows: Tensor) -> Arrays:
    """Answers of ACNML with each precision to some rows (k, n, …): a look after the choice."""
    curvature = len(subject.train[0]) * fisher(subject.network, subject.train[0][:_FISHER_ROWS])
    found = []
    for precision in PRECISIONS:
        posterior = Posterior.of(subject.network, curvature + precision)
        found.append(acnml(posterior, rows, steps=STEPS, rate=RATE))
    return {
        "probs": torch.stack([one.log_prob.exp() for one in found]).numpy(),
        "score": torch.stack([one.excess for one in found]).numpy(),
        "informed": np.array([float((curvature > each).double().mean()) for each in PRECISIONS]),
    }


def doubt(probs: Any) -> Any:
    """1 − the largest probability (n,), summed from the others: sure rows differ there.

    >>> float(doubt(np.array([[1.0, 1e-20]]))[0])
    1e-20
    """
    return np.sort(probs, axis=1)[:, :-1].sum(axis=1)


def log_loss(probs: Tensor, labels: Tensor) -> float:
    """Mean log-loss in nats."""
    own = probs.double().gather(1, labels[:, None])
    return float(-own.clamp_min(1e-300).log().mean())


Built = tuple[Judge, Tried, Sequence[float]]


def _fixed(judge: Callable[[Subject], Judge]) -> Callable[[Subject], Built]:
    """A method without settings to choose."""
    return lambda subject: (judge(subject), {}, ())


def _best(judges: Mapping[tuple[float, ...], Judge], held: tuple[Tensor, Tensor]) -> Built:
    """The setting of least log-loss on held-out digits."""
    images, labels = held
    tried = {setting: log_loss(judge(images)[0], labels) for setting, judge in judges.items()}
    chosen = min(tried, key=tried.__getitem__)
    return judges[chosen], tried, chosen


def _softmax(subject: Subject) -> Judge:
    return lambda x: (subject.network(x).double().softmax(dim=-1), None)


def _tempered(subject: Subject) -> Built:
    images, labels = subject.held
    T = temperature(subject.network(images).double().numpy(), labels.numpy())
    return lambda x: ((subject.network(x).double() / T).softmax(dim=-1), None), {}, (T,)


def _dropout(subject: Subject) -> Judge:
    return lambda x: dropout(subject.network, x)


def _ensemble(subject: Subject) -> Judge:
    return lambda x: averaged(each(x) for each in (subject.network, *subject.others))


def _of_head(answer: Callable[[HeadPosterior, Tensor], Answer]) -> Callable[[Subject], Built]:
    def build(subject: Subject) -> Built:
        curvature = head_curvature(subject.network, subject.train[0])

        def judge(penalty: float) -> Judge:
            posterior = HeadPosterior.of(subject.network, curvature, penalty)
            return lambda x: answer(posterior, x)

        return _best({(each,): judge(each) for each in HEAD_PRECISIONS}, subject.held)

    return build


def _of_all(genies: Callable[[Posterior, Tensor], Genies]) -> Callable[[Subject], Built]:
    def build(subject: Subject) -> Built:
        network, images = subject.network, subject.train[0]
        curvature = len(images) * fisher(network, images[:_FISHER_ROWS])

        def judge(precision: float) -> Judge:
            posterior = Posterior.of(network, curvature + precision)
            return lambda x: _told(genies(posterior, x))

        return _best({(each,): judge(each) for each in PRECISIONS}, subject.held)

    return build


def _acnml(subject: Subject) -> Built:
    """The precision first, at the usual steps; then steps and their size at that precision."""
    network, images = subject.network, subject.train[0]
    curvature = len(images) * fisher(network, images[:_FISHER_ROWS])

    def judge(precision: float, steps: float, rate: float) -> Judge:
        posterior = Posterior.of(network, curvature + precision)
        return lambda x: _told(acnml(posterior, x, steps=int(steps), rate=rate))

    def best(settings: Iterable[tuple[float, ...]]) -> Built:
        return _best({setting: judge(*setting) for setting in settings}, subject.held)

    _, tried, (precision, *_) = best((each, STEPS, RATE) for each in PRECISIONS)
    _, more, _ = best((precision, *each) for each in OTHER_ASCENTS)
    tried = tried | more
    chosen = min(tried, key=tried.__getitem__)
    return judge(*chosen), tried, chosen


def _told(genies: Genies) -> Answer:
    return genies.log_prob.exp(), genies.excess


def _last_layer(scale: Any) -> Callable[[Subject], Judge]:
    def build(subject: Subject) -> Judge:
        module = LastLayerPNML(subject.network, scale=scale).fit(
            torch.split(subject.train[0], _BATCH)
        )

        def judge(x: Tensor) -> Answer:
            out = module(x)
            assert out.probs is not None  # noqa: S101  classes have them
            return out.probs, out.regret

        return judge

    return build


def _refit(subject: Subject) -> Judge:
    module = RefitLastLayerPNML(subject.network, tol=_REFIT_TOL).fit([subject.train])

    def judge(x: Tensor) -> Answer:
        out = module(x)
        return out.probs, out.regret

    return judge


METHODS: Mapping[str, Callable[[Subject], Built]] = {
    SOFTMAX: _fixed(_softmax),
    TEMPERED: _tempered,
    DROPOUT: _fixed(_dropout),
    ENSEMBLE: _fixed(_ensemble),
    LAPLACE: _of_head(lambda posterior, x: (posterior.laplace(x), None)),
    HEAD: _of_head(lambda posterior, x: _told(posterior.acnml(x))),
    OWN: _fixed(_last_layer(None)),
    AUTO: _fixed(_last_layer("auto")),
    REFIT: _fixed(_refit),
    INFLUENCE: _of_all(influence),
    LINEAR: _of_all(linearised),
    ACNML: _acnml,
}
