"""Confidence scores on stored features, where some rows are of classes never trained on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from pnml.core.arrays import FloatArray
from pnml.metrics import ccr_at_fpr
from pnml.ood import MSP, ODIN, CosineSimilarity, Energy, RegretDetector, evaluate_open_set
from pnml.plots.confidence import ConfidenceDisplay
from pnml.runtime.fingerprint import fingerprint
from pnml_experiments.ch5_networks.ood_tables import SEED
from pnml_experiments.framework.experiment import Progress
from pnml_experiments.framework.output import Output

MAX_PROB, ODIN_NAME, COSINE = "Max-prob", "ODIN", "Cosine Similarity"
PNML, AUTO, REFIT = "pNML", "pNML, scale auto", "pNML refit"
TEMPERATURE = 1000.0
# Refits are made on so many training rows, and to this error of the regret.
_REFIT_ROWS, _REFIT_TOL = 10_000, 1e-3
PIECE = 8  # rows of a slow score that are kept together
# Rates of unknown rows let in at which curves are kept.
CURVE = np.linspace(0, 1, 201)

# What JSON keeps of a score on all sets: shares, curves and histograms.
Judged = dict[str, Any]


@dataclass(frozen=True)
class Scored:
    """What a score says of rows."""

    confidence: FloatArray  # (n,)  high for known classes
    named: npt.NDArray[np.intp]  # (n,)  the class it goes with


@dataclass(frozen=True)
class Rows:
    """Features of rows, as they are and after ODIN's step, and what other networks say of them."""

    features: FloatArray  # (n, d)
    moved: FloatArray  # (n, d)
    others: Mapping[str, Scored] = field(default_factory=dict)

    def taken(self, places: npt.NDArray[np.intp]) -> Rows:
        """Some of the rows."""
        others = {
            name: Scored(each.confidence[places], each.named[places])
            for name, each in self.others.items()
        }
        return Rows(self.features[places], self.moved[places], others)


@dataclass(frozen=True)
class OpenSet:
    """A linear head on features, its training rows, and test rows of known and unknown classes."""

    weight: FloatArray  # (C, d)
    bias: FloatArray  # (C,)
    train: FloatArray  # (n, d)
    train_labels: npt.NDArray[np.intp]  # (n,)
    known: Rows
    labels: npt.NDArray[np.intp]  # of the known rows, counted from 0
    unknown: Mapping[str, Rows]

    def logits(self, features: FloatArray) -> FloatArray:
        """Logits (n, C) of features (n, d)."""
        return np.asarray(features @ self.weight.T + self.bias)

    def sampled(self, size: int) -> OpenSet:
        """The same with so many known rows, and so many of each unknown set; always the same."""
        rng = np.random.default_rng(SEED)

        def some(rows: Rows) -> npt.NDArray[np.intp]:
            return np.sort(rng.permutation(len(rows.features))[:size])

        places = some(self.known)
        return replace(
            self,
            known=self.known.taken(places),
            labels=self.labels[places],
            unknown={name: rows.taken(some(rows)) for name, rows in self.unknown.items()},
        )


Scorer = Callable[[Rows], Scored]
Builder = Callable[[OpenSet], Scorer]


def moved_features(
    weight: FloatArray, bias: FloatArray, train: FloatArray, features: FloatArray
) -> FloatArray:
    """Features (n, d) after ODIN's step, taken on themselves where no images are at hand.

    The step is a share of the spread that each feature has among the training rows. Eq. (O17).
    """
    import torch

    from pnml.nn.head import linear_module

    head = linear_module(torch.as_tensor(weight).double(), torch.as_tensor(bias).double())
    spread = np.maximum(train.std(axis=0), np.finfo(float).tiny)
    step = ODIN(head, temperature=TEMPERATURE, std=tuple(1 / spread))
    return np.asarray(step.perturb(features))


def _by_head(outlier_score: Callable[[OpenSet], Callable[[Rows], FloatArray]]) -> Builder:
    """A score that goes with the class that the head names."""

    def build(data: OpenSet) -> Scorer:
        score = outlier_score(data)
        return lambda rows: Scored(-score(rows), data.logits(rows.features).argmax(axis=1))

    return build


def _cosine(data: OpenSet) -> Callable[[Rows], FloatArray]:
    detector = CosineSimilarity(data.weight)
    return lambda rows: np.asarray(detector.predict_features(rows.features))


def _cosine_to_means(data: OpenSet) -> Callable[[Rows], FloatArray]:
    detector = CosineSimilarity.of_class_means(data.train, data.train_labels)
    return lambda rows: np.asarray(detector.predict_features(rows.features))


def _regret(scale: Any) -> Callable[[OpenSet], Callable[[Rows], FloatArray]]:
    def build(data: OpenSet) -> Callable[[Rows], FloatArray]:
        detector = RegretDetector.from_embeddings(
            data.weight, data.bias, data.train, scale=scale, regions=scale == "auto"
        )
        return lambda rows: np.asarray(detector.predict_features(rows.features))

    return build


def _refit(data: OpenSet) -> Scorer:
    """The refitted last layer, on some training rows where there are many."""
    from pnml.nn import RefitLastLayerPNML

    chosen = np.random.default_rng(SEED).permutation(len(data.train))[:_REFIT_ROWS]
    module = RefitLastLayerPNML.from_embeddings(
        data.weight, data.bias, data.train[chosen], data.train_labels[chosen], tol=_REFIT_TOL
    )

    def score(rows: Rows) -> Scored:
        out = module.score_features(rows.features)
        return Scored(-out.regret.numpy(), out.log_genie.argmax(dim=1).numpy())

    return score


def _by_other(name: str) -> Builder:
    """The score of a network of its own."""
    return lambda data: lambda rows: rows.others[name]


# Scores that take no time: all rows are judged by them.
FAST: Mapping[str, Builder] = {
    MAX_PROB: _by_head(lambda data: lambda rows: MSP.score(data.logits(rows.features))),
    ODIN_NAME: _by_head(lambda data: lambda rows: MSP.score(data.logits(rows.moved) / TEMPERATURE)),
    "Energy": _by_head(lambda data: lambda rows: Energy.score(data.logits(rows.features))),
    COSINE: _by_head(_cosine),
    "Cosine to class means": _by_head(_cosine_to_means),
    PNML: _by_head(_regret(1.0)),
    AUTO: _by_head(_regret("auto")),
}
# Scores that train anew for every row: a sample is judged by these, and by the others again.
SLOW: Mapping[str, Builder] = {REFIT: _refit}


def all_judged(
    data: OpenSet, sample: int, out: Output, progress: Progress
) -> tuple[dict[str, Judged], dict[str, Judged]]:
    """What each score makes of all rows, and of a sample of them, if there is one, the slow too."""
    fast = {**FAST, **{name: _by_other(name) for name in data.known.others}}
    tasks = [("all", data, name, build) for name, build in fast.items()]
    if SLOW and sample:
        few = data.sampled(sample)
        tasks += [("sample", few, name, build) for name, build in fast.items()]
        tasks += [("sample", few, name, _in_pieces(name, few, out)) for name in SLOW]
    found: dict[str, dict[str, Judged]] = {"all": {}, "sample": {}}
    for i, (part, rows, name, build) in enumerate(tasks):
        key = f"{part}: {name}"
        found[part][name] = out.piece(key, lambda rows=rows, build=build: _judged(rows, build))  # type: ignore[misc]
        progress(i + 1, len(tasks))
    return found["all"], found["sample"]


def _in_pieces(name: str, data: OpenSet, out: Output) -> Builder:
    """A slow score that is kept after every few rows, so that it goes on where it stopped."""
    rows = (data.weight, data.bias, data.train, data.train_labels)
    log = out.journal(name.replace(" ", "-"), (*rows, f"{_REFIT_ROWS} {_REFIT_TOL} {SEED}"))

    def build(data: OpenSet) -> Scorer:
        score: Callable[[], Scorer] = cache(lambda: SLOW[name](data))

        def piece(rows: Rows) -> Any:
            found = score()(rows)
            return [found.confidence.tolist(), found.named.tolist()]

        def scored(rows: Rows) -> Scored:
            parts = []
            for start in range(0, len(rows.features), PIECE):
                few = rows.taken(np.arange(start, min(start + PIECE, len(rows.features))))
                parts.append(log.piece(fingerprint(few.features), partial(piece, few)))
            confidence, named = (np.concatenate(part) for part in zip(*parts, strict=True))
            return Scored(confidence, named)

        return scored

    return build


def _judged(data: OpenSet, build: Builder) -> Judged:
    """Metrics, curve and histogram of one score on each unknown set."""
    score = build(data)
    mine = score(data.known)
    strange = {name: score(rows).confidence for name, rows in data.unknown.items()}
    table = evaluate_open_set(
        {"one": (mine.confidence, strange)}, mine.named, data.labels, seed=SEED
    )
    right = mine.named == data.labels
    histogram = ConfidenceDisplay.counted(mine.confidence, strange)
    sets = {}
    for row in table.rows:
        curve = ccr_at_fpr(mine.confidence, right, strange[row.unknown], fpr=CURVE)
        sets[row.unknown] = {
            "area": list(row.metrics.area),
            "ccr": [list(estimate) for estimate in row.metrics.ccr],
            "curve": curve.tolist(),
            "histogram": histogram.unknown[row.unknown].tolist(),
        }
    return {"sets": sets, "edges": histogram.edges.tolist(), "known": histogram.known.tolist()}
