"""Numbers of one table: detection, ranking of errors, false distrust, intervals."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from sklearn.metrics import roc_auc_score

from pnml.core.arrays import FloatArray
from pnml.metrics import aurc, interval_coverage, interval_score, interval_width
from pnml_experiments.studies.trust_answers import TableAnswers
from pnml_experiments.studies.trust_files import ORDINARY
from pnml_experiments.studies.trust_scorers import COVERAGE

# Set, method and measure → value.
Numbers = dict[tuple[str, str, str], float]
ALL = "all"  # ordinary rows and all kinds of shift together
AUROC, AURC, REJECTED = "AUROC", "AURC", "rejected"
COVERED, WIDTH, SCORE = "coverage", "width", "interval score"


def told_apart(ordinary: FloatArray, shifted: FloatArray) -> float:
    """AUROC of a score for telling shifted rows from ordinary ones.

    >>> told_apart(np.array([0.0, 1.0]), np.array([1.0, np.inf]))
    0.875
    """
    largest = np.finfo(float).max  # an infinite regret is the largest score there is
    scores = np.clip(np.concatenate([ordinary, shifted]), -largest, largest)
    return float(roc_auc_score(np.arange(len(scores)) >= len(ordinary), scores))


def normalised_aurc(loss: npt.ArrayLike, score: npt.ArrayLike) -> float:
    """Area under the risk–coverage curve: 0 as by the losses themselves, 1 as by chance.

    >>> normalised_aurc([0.0, 1.0, 2.0], [5.0, 7.0, 9.0])
    0.0
    >>> normalised_aurc([0.0, 1.0, 2.0], [1.0, 1.0, 1.0])
    1.0
    """
    losses = np.asarray(loss, dtype=float)
    best, chance = aurc(losses, -losses), float(losses.mean())
    if chance <= best:  # all losses are equal: every order is best
        return 0.0
    return (aurc(losses, -np.asarray(score, dtype=float)) - best) / (chance - best)


def numbers(answers: TableAnswers) -> Numbers:
    """Every number of one file by set, method and measure."""
    return {**_scores(answers), **_verdicts(answers), **_intervals(answers)}


def _scores(answers: TableAnswers) -> Numbers:
    found = {}
    table = answers.table
    ordinary = answers.losses(ORDINARY)
    every = np.concatenate([answers.losses(kind) for kind in table.sets])
    for method, score in answers.scores.items():
        for kind in table.kinds:
            both = np.concatenate([score[ORDINARY], score[kind]])
            losses = np.concatenate([ordinary, answers.losses(kind)])
            found[kind, method, AUROC] = told_apart(score[ORDINARY], score[kind])
            found[kind, method, AURC] = normalised_aurc(losses, both)
        found[ORDINARY, method, AURC] = normalised_aurc(ordinary, score[ORDINARY])
        together = np.concatenate([score[kind] for kind in table.sets])
        found[ALL, method, AURC] = normalised_aurc(every, together)
    return found


def _verdicts(answers: TableAnswers) -> Numbers:
    return {
        (kind, method, REJECTED): float(np.mean(rejected[kind]))
        for method, rejected in answers.rejected.items()
        for kind in answers.table.sets
    }


def _intervals(answers: TableAnswers) -> Numbers:
    """Widths and interval scores are in standard deviations of the training labels."""
    found: Numbers = {}
    table = answers.table
    unit = float(table.train.y.std())
    for method, intervals in answers.intervals.items():
        for kind, rows in table.sets.items():
            ends: Mapping[str, float] = {
                COVERED: interval_coverage(rows.y, intervals[kind]),
                WIDTH: interval_width(intervals[kind]) / unit,
                SCORE: interval_score(rows.y, intervals[kind], coverage=COVERAGE) / unit,
            }
            found |= {(kind, method, measure): value for measure, value in ends.items()}
    return found
