"""DIAL as a query strategy of modAL."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from pnml.active.adapters.picks import picks_of
from pnml.active.checks import IntArray
from pnml.active.dial import dial_scores
from pnml.active.ensemble import as_logs, member_log_probs
from pnml.core.arrays import FloatArray


def dial_sampling(
    learner: Any,
    X: Any,
    n_instances: int = 1,
    X_eval: Any = None,
    *,
    label_paths: int | None = None,
    temperature: float = 1.0,
) -> tuple[IntArray, FloatArray]:
    """DIAL for modAL: rows of the pool to label, and the utility of each in nats. Eq. (I3).

    Returns positions (n_instances,) in X and utilities (n_instances,), minus the sum of the regrets
    of the rows to be predicted after the worst label. modAL has had no release since June 2023.
    This adapter is no longer tested with it, and warns if the learner is one of modAL; any object
    with `estimator` or `vote_proba` works as well.

    Parameters
    ----------
    learner : Committee or ActiveLearner of modAL, or an object like them
        The models are the learners of the committee, or the members of a learner's ensemble.
    X : array (N, d)
        The pool.
    n_instances : int, default=1
        Number of rows to pick.
    X_eval : array (K, d), optional
        The rows to be predicted; the pool by default.
    label_paths : int, optional
        None picks the best rows independently. A number picks each row given the earlier picks,
        and follows this many of their worst label sequences. Eq. (I5).
    temperature : float, default=1.0
        Logs of probabilities are divided by it. Eq. (I11).

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(20, random_state=0).fit(X[::9], y[::9])
    >>> learner = SimpleNamespace(estimator=forest)  # ActiveLearner(forest, dial_sampling)
    >>> index, utility = dial_sampling(learner, X, n_instances=3, X_eval=X[::2])
    >>> index.shape
    (3,)
    """
    if type(learner).__module__.partition(".")[0] == "modAL":
        warnings.warn(
            "dial_sampling is no longer tested with modAL, which has had no release since June "
            "2023; a loop around pnml.active.dial_select does the same.",
            stacklevel=2,
        )
    pool = np.asarray(X)
    rows = pool if X_eval is None else np.concatenate([pool, np.asarray(X_eval)])
    if hasattr(learner, "vote_proba"):
        logs = as_logs(learner.vote_proba(rows).transpose(1, 0, 2), temperature)
    else:
        logs = member_log_probs(learner.estimator, rows, temperature=temperature)
    a, b = logs[:, : len(pool)], logs if X_eval is None else logs[:, len(pool) :]
    index = picks_of(a, b, n_instances, label_paths)
    return index, -dial_scores(a[:, index], b, progress=False).max(axis=1)
