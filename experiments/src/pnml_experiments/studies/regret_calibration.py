"""Whether pNML calibrates probabilities, and whether the regret says where they are too sure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import spearmanr

from pnml.core.arrays import FloatArray
from pnml.metrics import calibration, expected_calibration_error
from pnml.nn.feature_scale import separation
from pnml_experiments.framework.experiment import Experiment, Progress, Scale, counted
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.result import Result
from pnml_experiments.studies.calibration_findings import (
    BRIER,
    ECE,
    EXTRA,
    FOUND,
    GAP,
    LOSS,
    MIXED,
    RANK,
    RIGHT,
    findings,
)
from pnml_experiments.studies.calibration_heads import (
    FRESH,
    LEVERAGE,
    PNML,
    REGRET,
    SEED,
    SOFTMAX,
    TEMPERATURE,
    UNIT,
    Head,
    Judged,
    Labels,
    breast_cancer,
    clinc,
    digits,
    judged,
    resnet20,
)
from pnml_experiments.studies.calibration_tables import BINS, GROUPS, figure, tables

EXPERIMENT = Experiment(
    id="regret-calibration",
    chapter=8,
    title="Regret, and probabilities that keep what they promise",
    minutes=(0.4, 3.0),
    extras=("plots", "torch"),
    uses=("features/cifar10_resnet20.npz", "features/clinc150_minilm.npz"),
    beyond=True,
)

STRENGTHS = (0.0, 0.5, 1.0, 2.0)  # standard deviations of the training columns
PAIRS = ((PNML, SOFTMAX), (PNML, TEMPERATURE), (PNML, FRESH), (TEMPERATURE, SOFTMAX))
SHIFTED = (SOFTMAX, TEMPERATURE, FRESH, PNML, UNIT)
INTERVAL = (
    "95 %: 1.96 standard deviations of a mean, or over draws of the test rows for all methods"
)
Index = npt.NDArray[np.intp]
# What is kept of a set, as JSON: table → its keys → [value, low, high]
Found = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Sizes:
    """Training rows where there are many, test rows, and draws of them."""

    train: int | None
    test: int | None
    draws: int


SIZES = {"small": Sizes(3_000, 1_000, 100), "full": Sizes(None, None, 200)}
SETS: Mapping[str, Callable[[Sizes, Output], Head | None]] = {
    "breast cancer C=1": lambda sizes, _: breast_cancer(1.0, sizes.test),
    "breast cancer C=100": lambda sizes, _: breast_cancer(100.0, sizes.test),
    "digits C=1": lambda sizes, _: digits(1.0, sizes.test),
    "digits C=100": lambda sizes, _: digits(100.0, sizes.test),
    "CLINC150": lambda sizes, out: clinc(sizes.train, sizes.test, out),
    "CIFAR-10": lambda sizes, _: resnet20(sizes.train, sizes.test),
}


@dataclass(frozen=True)
class Drawn:
    """Numbers of all rows, and of the same rows drawn again."""

    value: FloatArray  # (k,)
    again: FloatArray  # (draws, k)

    @classmethod
    def of(cls, numbers: Callable[[Any], Any], draws: Iterable[Index]) -> Drawn:
        """Numbers (k,) of rows by their places."""
        again = np.array([np.atleast_1d(numbers(rows)) for rows in draws])
        return cls(np.atleast_1d(np.asarray(numbers(slice(None)), dtype=float)), again)

    def __sub__(self, other: Drawn) -> Drawn:
        return Drawn(self.value - other.value, self.again - other.again)

    def told(self, least: npt.ArrayLike = -np.inf, most: float = np.inf) -> list[list[float]]:
        """Value, lower and upper end of each number, which can be no less and no more than that.

        The ECE of drawn rows is larger in the mean than that of the rows, so quantiles of the
        draws would not lie around it; their spread does.
        """
        reach = 1.96 * self.again.std(axis=0)
        ends = (np.clip(self.value + side * reach, least, most) for side in (-1, 1))
        return [list(one) for one in zip(*(x.tolist() for x in (self.value, *ends)), strict=True)]


def gaps(score: FloatArray, confidence: FloatArray, right: FloatArray) -> FloatArray:
    """Mean confidence less accuracy in groups (10,) of rows, from the lowest score up.

    >>> score, sure = np.arange(20.0), np.full(20, 0.75)
    >>> gaps(score, sure, (score < 10).astype(float)).tolist()
    [-0.25, -0.25, -0.25, -0.25, -0.25, 0.75, 0.75, 0.75, 0.75, 0.75]
    """
    order = np.argsort(score, kind="stable")
    surer = (confidence - right)[order]
    return np.array([part.mean() for part in np.array_split(surer, GROUPS)])


def like_pairs(score: FloatArray, confidence: FloatArray, right: FloatArray) -> FloatArray:
    """By how much the row of higher score is the more overconfident of two of like confidence.

    Pairs (n // 2,) are of rows next to each other in order of confidence.

    >>> sure, score = np.repeat(np.linspace(0.5, 0.95, 3), 2), np.tile([0.0, 1.0], 3)
    >>> like_pairs(score, sure, 1 - score)
    array([1., 1., 1.])
    """
    pairs = np.argsort(confidence, kind="stable")[: len(score) // 2 * 2].reshape(-1, 2)
    surer, higher = (confidence - right)[pairs], score[pairs].argmax(axis=1)
    at = np.arange(len(pairs))
    difference: FloatArray = surer[at, higher] - surer[at, 1 - higher]
    return difference


def mean_told(values: FloatArray) -> list[float]:
    """The mean of values, lower and upper end of its interval.

    >>> mean_told(np.array([0.0, 0.0]))
    [0.0, 0.0, 0.0]
    """
    mean, reach = float(np.mean(values)), 1.96 * float(np.std(values)) / len(values) ** 0.5
    return [mean, mean - reach, mean + reach]


def measured(probs: FloatArray, labels: Labels) -> list[float]:
    """ECE, confidence less accuracy, log-loss, Brier score and accuracy."""
    found = calibration(probs, labels, bins=BINS)
    gap = float(probs.max(axis=1).mean()) - found.accuracy
    return [found.ece, gap, found.nll, found.brier, found.accuracy]


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """Calibration of all methods on known and noisy rows, and groups by regret."""
    sizes = SIZES[scale]
    tell = counted(progress, len(SETS))
    found: dict[str, Found] = {}
    for name in SETS:
        piece = out.piece(name, partial(_one, name, sizes, out))
        if piece is not None:
            found[name] = piece
        tell(1)
    interval = f"{INTERVAL}; {sizes.draws} draws"
    return Result(tables(found), (figure(found),), (SEED,), 1, interval, findings(found))


def _one(name: str, sizes: Sizes, out: Output) -> Found | None:
    head = SETS[name](sizes, out)
    if head is None:
        return None
    judge, m = judged(head), len(head.labels)
    draws = list(np.random.default_rng(SEED).integers(m, size=(sizes.draws, m)))
    clean = judge(head.test)
    shift: dict[str, Any] = {}
    flags: dict[str, Any] = {}
    for strength in STRENGTHS:
        rows = judge(head.noisy(strength))
        shift[f"{strength:g}"] = _errors(rows, head.labels, draws)
        if strength:
            flags[f"{strength:g}"] = _flags(clean, rows, head.labels, draws)
    return {
        "known": _known(clean, head.labels, draws),
        "order": _order(clean, head.labels, draws),
        "shift": shift,
        "flags": flags,
        "about": {
            "rows": m,
            "classes": len(head.bias),
            "seen": head.seen,
            "leverage": float(np.mean(clean.scores[LEVERAGE])),
        },
    }


def _known(clean: Judged, labels: Labels, draws: Sequence[Index]) -> dict[str, Any]:
    def of(p: FloatArray) -> Drawn:
        return Drawn.of(lambda rows: measured(p[rows], labels[rows]), draws)

    by_method = {method: of(p) for method, p in clean.probs.items()}
    names = (ECE, GAP, LOSS, BRIER, RIGHT)
    least = np.array([0, -1, 0, 0, 0])
    told = {k: dict(zip(names, one.told(least), strict=True)) for k, one in by_method.items()}
    pairs = {
        f"{a} less {b}": dict(zip(names, (by_method[a] - by_method[b]).told(), strict=True))
        for a, b in PAIRS
    }
    return {"methods": told, "pairs": pairs}


def _sure(said: Judged, labels: Labels) -> tuple[FloatArray, FloatArray]:
    """Confidence of softmax, and 1 where it is right, (m,) each."""
    p = said.probs[SOFTMAX]
    return p.max(axis=1), (p.argmax(axis=1) == labels).astype(float)


def _order(clean: Judged, labels: Labels, draws: Sequence[Index]) -> dict[str, Any]:
    confidence, right = _sure(clean, labels)
    least = np.array([-1.0, 0.0, *[-1.0] * GROUPS])

    def of(score: FloatArray) -> dict[str, Any]:
        def numbers(rows: Any) -> list[float]:
            s, c, r = score[rows], confidence[rows], right[rows]
            groups = gaps(s, c, r)
            rank = float(spearmanr(s, np.abs(r - c)).statistic)
            return [rank, float(np.abs(groups).mean()), *groups]

        rank, size, *groups = Drawn.of(numbers, draws).told(least, 1.0)
        extra = mean_told(like_pairs(score, confidence, right))
        return {RANK: rank, EXTRA: extra, FOUND: size, "groups": groups}

    return {name: of(score) for name, score in clean.scores.items()}


def _errors(rows: Judged, labels: Labels, draws: Sequence[Index]) -> dict[str, Any]:
    def error(p: FloatArray) -> Drawn:
        return Drawn.of(lambda at: expected_calibration_error(p[at], labels[at], bins=BINS), draws)

    errors = {method: error(rows.probs[method]) for method in SHIFTED}
    told = {method: one.told(0.0, 1.0)[0] for method, one in errors.items()}
    return told | {
        f"{PNML} less {rival}": (errors[PNML] - errors[rival]).told()[0]
        for rival in (SOFTMAX, FRESH)
    }


def _flags(clean: Judged, noisy: Judged, labels: Labels, draws: Sequence[Index]) -> dict[str, Any]:
    def area(name: str) -> list[float]:
        a, b = clean.scores[name], noisy.scores[name]
        return Drawn.of(lambda at: separation(b[at], a[at]), draws).told(0.0, 1.0)[0]

    both = [(one.scores[REGRET], *_sure(one, labels)) for one in (clean, noisy)]
    score, confidence, right = (np.concatenate(pair) for pair in zip(*both, strict=True))
    hits = both[1][2]
    return {name: area(name) for name in clean.scores} | {
        RIGHT: mean_told(hits),
        MIXED: mean_told(like_pairs(score, confidence, right)),
    }
