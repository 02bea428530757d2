"""DIAL as a query strategy of small-text."""

from __future__ import annotations

from typing import Any

import numpy as np

try:
    from small_text.query_strategies import QueryStrategy
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "pnml.active.DIALQueryStrategy needs small-text, which is not installed; run "
        "pip install small-text.",
        name=error.name,
    ) from error

from pnml.active.adapters.picks import picks_of
from pnml.active.checks import IntArray
from pnml.active.ensemble import as_logs, member_log_probs
from pnml.core.arrays import FloatArray
from pnml.errors import InputError


class DIALQueryStrategy(QueryStrategy):
    """DIAL for small-text: picks texts to label that lower the worst-case regret. Eq. (I3).

    The models are the members of the classifier's ensemble (a forest of scikit-learn), or dropout
    samples of its network, with the same units dropped for all texts. Eq. (I10).

    Parameters
    ----------
    targets : dataset of small-text, optional
        The texts to be classified; the unlabelled texts by default.
    dropout_samples : int, default=50
        Number of dropout samples.
    label_paths : int, optional
        None picks the best texts independently. A number picks each text given the earlier picks,
        and follows this many of their worst label sequences. Eq. (I5).
    temperature : float, default=1.0
        Logs of probabilities are divided by it. Eq. (I11).
    seed : int, default=0
        Seed of the dropout masks.

    Examples
    --------
    >>> print(DIALQueryStrategy(dropout_samples=20))
    DIALQueryStrategy(dropout_samples=20)
    """

    def __init__(
        self,
        targets: Any = None,
        dropout_samples: int = 50,
        label_paths: int | None = None,
        temperature: float = 1.0,
        seed: int = 0,
    ) -> None:
        self.targets = targets
        self.dropout_samples = dropout_samples
        self.label_paths = label_paths
        self.temperature = temperature
        self.seed = seed

    def query(
        self,
        clf: Any,
        dataset: Any,
        indices_unlabeled: Any,
        indices_labeled: Any,
        y: Any,
        n: int = 10,
    ) -> IntArray:
        """Indices (n,) in the dataset of the texts to label, best first.

        Arguments are those of all query strategies of small-text; `indices_labeled` and `y` are not
        used.
        """
        self._validate_query_input(indices_unlabeled, n)
        unlabelled = np.asarray(indices_unlabeled)
        a = self._log_probs(clf, dataset[unlabelled])
        b = a if self.targets is None else self._log_probs(clf, self.targets)
        return unlabelled[picks_of(a, b, n, self.label_paths)]

    def __str__(self) -> str:
        return f"DIALQueryStrategy(dropout_samples={self.dropout_samples})"

    def _log_probs(self, clf: Any, dataset: Any) -> FloatArray:
        model = clf.model
        if hasattr(model, "estimators_"):
            classes = np.arange(clf.num_classes)
            return member_log_probs(model, dataset.x, classes, self.temperature)
        if not hasattr(model, "register_forward_pre_hook"):
            raise InputError(
                f"The classifier's model is a {type(model).__name__}, but several models are "
                "needed; use an ensemble such as a random forest, or a network with dropout."
            )
        from pnml.active.dropout import dropout_samples

        count, seed = self.dropout_samples, self.seed
        samples = dropout_samples(model, lambda: clf.predict_proba(dataset), count, seed)
        return as_logs(samples, self.temperature)
