"""Evaluation of scores on sets of unknown classes, and its table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.errors import InputError
from pnml.metrics.checks import numbers
from pnml.metrics.open_set import FPR, OpenSetMetrics, open_set_metrics
from pnml.ood.network_logits import as_numpy, is_tensor
from pnml.ood.ood_evaluation import is_detector, ranked_scores, rereadable
from pnml.ood.table_text import (
    aligned_table,
    bold_if,
    markdown_table,
    rich_table,
    with_intervals,
)

if TYPE_CHECKING:
    import numpy.typing as npt


@dataclass(frozen=True)
class OpenSetRow:
    """One row of an open-set evaluation: metrics of one score on one set of unknown classes.

    >>> from pnml.metrics import open_set_metrics
    >>> metrics = open_set_metrics([3.0, 2.0, 1.0], [True, False, True], [0.5, 0.0])
    >>> round(OpenSetRow("regret", "letters", 3, 2, metrics).metrics.area.value, 3)
    0.667
    """

    score: str
    unknown: str
    rows_known: int
    rows_unknown: int
    metrics: OpenSetMetrics


@dataclass(frozen=True)
class OpenSetTable:
    """Table of an open-set evaluation: all scores on all sets of unknown classes.

    ``print(table)`` and ``table.to_markdown()`` show the area under the OSCR curve with its
    interval and the CCR at each FPR; ``table.to_pandas()`` has the other intervals too. CCR is the
    share of known rows that are accepted and classified correctly, FPR the share of unknown rows
    that are accepted, and OSCR the curve of CCR against FPR.

    >>> from pnml.metrics import open_set_metrics
    >>> metrics = open_set_metrics([3.0, 2.0, 1.0, 0.8], [True, False, True, True], [0.5, 0.0])
    >>> table = OpenSetTable((OpenSetRow("regret", "letters", 4, 2, metrics),), confidence=0.95)
    >>> table["regret", "letters"].area.value, table.mean()
    (0.75, {'regret': 0.75})
    """

    rows: tuple[OpenSetRow, ...]
    confidence: float

    @property
    def scores(self) -> tuple[str, ...]:
        """Names of the scores, in the order given."""
        return tuple(dict.fromkeys(row.score for row in self.rows))

    @property
    def unknowns(self) -> tuple[str, ...]:
        """Names of the sets of unknown classes, in the order given."""
        return tuple(dict.fromkeys(row.unknown for row in self.rows))

    def __getitem__(self, pair: tuple[str, str]) -> OpenSetMetrics:
        """Metrics and curve of a pair of names, (score, set of unknown classes), or a KeyError."""
        for row in self.rows:
            if (row.score, row.unknown) == pair:
                return row.metrics
        raise KeyError(pair)

    def mean(self) -> Mapping[str, float]:
        """Dict of score → mean area under its OSCR curve, over the sets of unknown classes."""
        return {
            name: float(np.mean([self[name, unknown].area.value for unknown in self.unknowns]))
            for name in self.scores
        }

    def to_markdown(self) -> str:
        """The table in percent, in Markdown; the best of each set is bold."""
        return markdown_table(self._cells(), left=2)

    def to_pandas(self) -> Any:
        """All metrics as a pandas DataFrame, a line for each score and set; between 0 and 1."""
        return import_module("pandas").DataFrame(self.to_records())

    def to_records(self) -> list[dict[str, Any]]:
        """All metrics but the curves as a list of dicts, one for each score and set."""
        out = []
        for row in self.rows:
            rates = zip(row.metrics.fpr, row.metrics.ccr, strict=True)
            estimates = {f"ccr_at_{level:g}": estimate for level, estimate in rates}
            record = {k: v for k, v in vars(row).items() if k != "metrics"}
            out.append(record | with_intervals({"area": row.metrics.area} | estimates))
        return out

    def __str__(self) -> str:
        return aligned_table(self._cells(), left=2) + "\n" + self._note

    def _repr_markdown_(self) -> str:
        return self.to_markdown()

    def __rich__(self) -> Any:
        return rich_table(self._cells(), left=2, title=self._note)

    @property
    def _note(self) -> str:
        return f"In percent, {100 * self.confidence:g} % interval in brackets"

    def _cells(self) -> list[list[str]]:
        levels = self.rows[0].metrics.fpr
        out = [["unknown", "score", "OSCR area", *(f"CCR at FPR {level:g}" for level in levels)]]
        for unknown in self.unknowns:
            block = [row for row in self.rows if row.unknown == unknown]
            numbers = np.array(
                [[row.metrics.area.value, *(e.value for e in row.metrics.ccr)] for row in block]
            )
            best = numbers.max(axis=0)
            for row, values in zip(block, numbers, strict=True):
                area = row.metrics.area
                texts = [f"{100 * value:.2f}" for value in values]
                texts[0] += f" [{100 * area.low:.1f}, {100 * area.high:.1f}]"
                bold = (values == best) & (len(block) > 1)
                out.append([unknown, row.score, *map(bold_if, texts, bold)])
        return out


# Scores of known rows, and of each set of unknown ones; high means known.
_Scores = tuple[FloatArray, dict[str, FloatArray]]


def evaluate_open_set(
    scores: Mapping[str, Any],
    predicted: Any,
    labels: Any,
    *,
    known: Any = None,
    unknown: Mapping[str, Any] | None = None,
    fpr: tuple[float, ...] = FPR,
    confidence: float = 0.95,
    resamples: int = 200,
    seed: int = 0,
) -> OpenSetTable:
    """Table of how well scores reject unknown classes while known ones are classified.

    For each score and set of unknown rows: the area under the OSCR curve (CCR against FPR), and the
    share of known rows that are accepted and right (CCR) at each rate of `fpr`, with intervals.

    Parameters
    ----------
    scores : dict of name → detector, or of name → (scores of known rows, dict of set → scores)
        Detectors as for `evaluate_ood`, or given scores, which are high for known rows.
    predicted : array-like of shape (n,), or dict of name → array-like
        The predicted class of each known row; a dict if each score has a classifier of its own.
    labels : array-like of shape (n,)
        The true classes of the known rows.
    known : loader, array or tensor, optional
        Inputs of the known rows, in the order of the labels; only detectors need them.
    unknown : dict of name → loader, array or tensor, optional
        Inputs of rows of unknown classes; only detectors need them.
    fpr : tuple of float in [0, 1]
        The rates of unknown rows let in at which the rate of correct answers is wanted.
    confidence, resamples, seed
        Of the intervals, as in `pnml.metrics.detection_metrics`.

    Examples
    --------
    >>> import numpy as np
    >>> from pnml.ood import Energy, MSP
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.integers(3, size=200)
    >>> known, flat = 3 * np.eye(3)[labels] + rng.normal(size=(200, 3)), rng.normal(size=(100, 3))
    >>> head = lambda rows: rows  # these rows are logits already
    >>> table = evaluate_open_set(
    ...     {"Max-prob": MSP(head), "Energy": Energy(head)},
    ...     known.argmax(axis=1),
    ...     labels,
    ...     known=known,
    ...     unknown={"flat": flat},
    ... )
    >>> accuracy = float(np.mean(known.argmax(axis=1) == labels))
    >>> table["Max-prob", "flat"].ccr[-1].value == accuracy
    True
    """
    if not isinstance(scores, Mapping) or not scores:
        raise InputError(
            "scores must be a dict that names at least one detector or pair of scores; pass for "
            'instance scores={"regret": detector}.'
        )
    known = rereadable(known)
    if isinstance(unknown, Mapping):
        unknown = {key: rereadable(inputs) for key, inputs in unknown.items()}
    sets = None
    rows = []
    for name, given in scores.items():
        of_known, of_unknown = _scores(name, given, known, unknown)
        sets = tuple(of_unknown) if sets is None else sets
        if set(of_unknown) != set(sets) or not sets:
            raise InputError(
                f"{name!r} has scores of the unknown sets {sorted(of_unknown)}, the first score of "
                f"{sorted(sets)}; pass scores of the same sets, and of one at least."
            )
        correct = _correct(name, predicted, labels, len(of_known))
        for key in sets:
            metrics = open_set_metrics(
                of_known,
                correct,
                of_unknown[key],
                fpr=fpr,
                confidence=confidence,
                resamples=resamples,
                seed=seed,
            )
            rows.append(OpenSetRow(name, key, len(of_known), len(of_unknown[key]), metrics))
    return OpenSetTable(tuple(rows), confidence)


def _scores(name: str, given: Any, known: Any, unknown: Mapping[str, Any] | None) -> _Scores:
    """Scores of known and unknown rows, as given or from a detector."""
    if isinstance(given, tuple):
        if len(given) != 2 or not isinstance(given[1], Mapping):
            raise InputError(
                f"The scores {name!r} are a tuple that is no pair of scores of known rows and a "
                'dict of scores by unknown set; pass for instance (known, {"svhn": unknown}).'
            )
        of_known = numbers(as_numpy(given[0]), f"the scores {name!r} of known rows")
        return of_known, {
            key: numbers(as_numpy(values), f"the scores {name!r} of unknown rows {key!r}")
            for key, values in given[1].items()
        }
    if not is_detector(given):
        raise InputError(
            f"The score {name!r} is a {type(given).__name__}, neither a detector with predict or "
            "score_samples nor a pair of scores; pass one of these."
        )
    if known is None or not isinstance(unknown, Mapping):
        raise InputError(
            f"The detector {name!r} needs inputs to score; pass known=inputs and "
            'unknown={"svhn": inputs}.'
        )
    of_known = ranked_scores(name, given, known, "known rows")
    return of_known, {
        key: ranked_scores(name, given, inputs, f"unknown rows {key!r}")
        for key, inputs in unknown.items()
    }


def _correct(name: str, predicted: Any, labels: Any, n: int) -> npt.NDArray[np.bool_]:
    """Whether the predicted class of each known row is its label."""
    if isinstance(predicted, Mapping):
        if name not in predicted:
            raise InputError(
                f"predicted is a dict without {name!r}; pass the classes named for every score."
            )
        predicted = predicted[name]
    named, true = (_values(part) for part in (predicted, labels))
    if named.shape != (n,) or true.shape != (n,):
        raise InputError(
            f"There are {n} scores of known rows by {name!r}, but the predicted classes have shape "
            f"{named.shape} and the labels {true.shape}; pass one of each for every row."
        )
    return np.asarray(named == true, dtype=bool)


def _values(labels: Any) -> npt.NDArray[Any]:
    return np.asarray(labels.detach().cpu() if is_tensor(labels) else labels)
