"""Numbers of every method with intervals: seeds and rows drawn again, the same for all methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.metrics import Estimate, calibration, fpr_at_tpr
from pnml.nn.feature_scale import separation
from pnml_experiments.framework.output import Arrays
from pnml_experiments.studies.network_genie_methods import doubt
from pnml_experiments.studies.network_genie_subjects import CLOTHES, DIGITS, LETTERS, Index, Rows

LOSS, ECE, RIGHT = "log-loss, nats", "ECE", "accuracy"
CONFIDENCE, OWN_SCORE = "1 − confidence", "own"
UNKNOWN = (CLOTHES, LETTERS)
BINS = 15


@dataclass(frozen=True)
class Draw:
    """Seeds and rows of each set, by their places."""

    seeds: Index
    rows: Mapping[str, Index]


@dataclass(frozen=True)
class Drawn:
    """A number of all seeds and rows, and of the same drawn again."""

    value: float
    again: FloatArray  # (draws,)

    def __sub__(self, other: Drawn) -> Drawn:
        return Drawn(self.value - other.value, self.again - other.again)

    def estimate(self, least: float = -np.inf, most: float = np.inf) -> Estimate:
        """With 1.96 standard deviations of the draws on either side.

        Quantiles would not do: the ECE of drawn rows is larger in the mean than that of the rows.
        """
        reach = 1.96 * float(self.again.std())
        ends = (min(max(self.value + side * reach, least), most) for side in (-1, 1))
        return Estimate(self.value, *ends)


def auroc(name: str) -> str:
    """Name of the area for a set of unknown rows."""
    return f"AUROC, {name}"


def fpr95(name: str) -> str:
    """Name of the share of unknown rows that pass with 95 % of the digits."""
    return f"FPR95, {name}"


def draws(rows: Rows, seeds: int, times: int) -> list[Draw]:
    """All seeds and rows first, then so many draws of them with replacement."""
    rng = np.random.default_rng(0)
    sizes = {name: place.stop - place.start for name, place in rows.places.items()}
    everything = Draw(np.arange(seeds), {name: np.arange(n) for name, n in sizes.items()})
    again = [
        Draw(
            rng.integers(seeds, size=seeds),
            {name: rng.integers(n, size=n) for name, n in sizes.items()},
        )
        for _ in range(times)
    ]
    return [everything, *again]


def on_digits(found: Sequence[Arrays], rows: Rows, drawn: Sequence[Draw]) -> dict[str, Drawn]:
    """Log-loss, ECE and accuracy of one method, found for each seed."""

    def numbers(seed: int, draw: Draw) -> list[float]:
        at = draw.rows[DIGITS]
        told = calibration(
            found[seed]["probs"][rows.places[DIGITS]][at], rows.labels[at], bins=BINS
        )
        return [told.nll, told.ece, told.accuracy]

    return _over(drawn, numbers, (LOSS, ECE, RIGHT))


def on_unknown(
    found: Sequence[Arrays], rows: Rows, drawn: Sequence[Draw], score: str
) -> dict[str, Drawn]:
    """AUROC and FPR95 of one score of a method against each set of unknown rows."""
    scores = [doubt(one["probs"]) if score == CONFIDENCE else one["score"] for one in found]

    def numbers(seed: int, draw: Draw) -> list[float]:
        of = {k: scores[seed][place][draw.rows[k]] for k, place in rows.places.items()}
        areas = [separation(of[name], of[DIGITS]) for name in UNKNOWN]
        return [*areas, *(fpr_at_tpr(-of[DIGITS], -of[name]) for name in UNKNOWN)]

    return _over(drawn, numbers, (*map(auroc, UNKNOWN), *map(fpr95, UNKNOWN)))


def plain_numbers(one: Arrays, rows: Rows) -> dict[str, float]:
    """Log-loss and areas of answers to rows, without intervals."""
    every = draws(rows, 1, 0)
    sure, areas = (on_unknown([one], rows, every, score) for score in (CONFIDENCE, OWN_SCORE))
    return {
        LOSS: on_digits([one], rows, every)[LOSS].value,
        **{auroc(name): areas[auroc(name)].value for name in UNKNOWN},
        **{f"{auroc(name)}, {CONFIDENCE}": sure[auroc(name)].value for name in UNKNOWN},
    }


def _over(drawn: Sequence[Draw], numbers: Any, names: Sequence[str]) -> dict[str, Drawn]:
    """Each number, averaged over the seeds of every draw."""
    table = np.array([np.mean([numbers(s, d) for s in d.seeds], axis=0) for d in drawn])
    return {
        name: Drawn(float(column[0]), column[1:])
        for name, column in zip(names, table.T, strict=True)
    }
