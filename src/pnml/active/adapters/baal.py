"""DIAL as a heuristic of baal."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

try:
    with warnings.catch_warnings():  # from the imports of baal
        warnings.simplefilter("ignore")
        from baal.active.heuristics import AbstractHeuristic
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "pnml.active.DIALHeuristic needs baal, which is not installed; run pip install baal.",
        name=error.name,
    ) from error
from scipy.special import log_softmax

from pnml.active.checks import as_array
from pnml.active.dial import dial_scores
from pnml.active.ensemble import as_logs
from pnml.core.arrays import FloatArray
from pnml.errors import InputError


class DIALHeuristic(AbstractHeuristic):
    """DIAL for baal: ranks rows by the regret of targets after their worst label. Eq. (I3).

    Predictions have baal's shape (N, C, M) for M models, as probabilities or logits. The models
    must be the same for candidates and targets: baal's own dropout draws new masks for every row,
    `MCDropout` does not.

    Parameters
    ----------
    targets : callable, optional
        Gives the predictions (K, C, M) of the targets if none are passed, as in baal's loop.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> pool, test = (rng.dirichlet(np.ones(3), size=(n, 8)).swapaxes(1, 2) for n in (5, 4))
    >>> DIALHeuristic()(pool, test).shape
    (5,)
    """

    def __init__(self, targets: Callable[[], Any] | None = None) -> None:
        super().__init__(reverse=False)
        self.targets = targets

    def compute_score(self, predictions: Any, target_predictions: Any = None) -> FloatArray:
        """Worst-case DIAL scores (N,) in nats from predictions (N, C, M); the smallest is the best.

        Predictions of the targets are (K, C, M), by default those of the function `targets`.
        """
        if target_predictions is None and self.targets is not None:
            target_predictions = self.targets()
        if target_predictions is None:
            raise InputError(
                "DIAL looks for rows that help targets, but there are none; pass "
                "target_predictions, or DIALHeuristic(targets=...)."
            )
        a, b = _logs(predictions), _logs(target_predictions)
        worst: FloatArray = dial_scores(a, b, progress=False).max(axis=1)
        return worst

    def reorder_indices(self, scores: Any) -> npt.NDArray[np.intp]:
        """Positions (N,) of rows by score, smallest first; ties go to the first.

        Scores are an array (N,), or a list of arrays, one for each batch.
        """
        joined = np.concatenate(scores) if isinstance(scores, Sequence) else np.asarray(scores)
        return np.argsort(joined, kind="stable")


def _logs(predictions: Any) -> FloatArray:
    """Log-probabilities (M, N, C) of predictions (N, C, M), probabilities or logits."""
    values = as_array(predictions, "predictions").astype(np.float64)
    if values.ndim != 3:
        raise InputError(
            f"The predictions have shape {values.shape}, but those of rows, classes and models "
            "are needed; pass an array (N, C, M)."
        )
    values = values.transpose(2, 0, 1)
    sums = values.sum(axis=-1)
    if values.size and values.min() >= 0 and np.allclose(sums, 1, atol=1e-4):
        return as_logs(values / sums[..., None])
    logs: FloatArray = log_softmax(values, axis=-1)
    return logs
