"""Models that were trained apart: networks, classifiers, or members of a forest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pnml.active.checks import check_positive, logs_of
from pnml.active.progress import Progress
from pnml.core.arrays import FloatArray
from pnml.errors import InputError

_BATCH = 1024


class Ensemble:
    """Log-probabilities by models that were trained apart. Eq. (I11).

    Parameters
    ----------
    models : sequence
        PyTorch modules that give logits (B, C), or fitted classifiers with ``predict_proba`` and
        the same classes. A network is run in eval mode, which is then put back.
    temperature : float, default=1.0
        Logits, or logs of probabilities, are divided by it.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(5, max_depth=2, random_state=0).fit(X, y)
    >>> Ensemble(forest.estimators_)(X[:7]).shape
    (5, 7, 3)
    """

    def __init__(self, models: Sequence[Any], temperature: float = 1.0) -> None:
        if not isinstance(models, Sequence) or len(models) == 0:
            raise InputError(
                "An ensemble needs at least one model in a list; pass networks, or classifiers "
                "with predict_proba."
            )
        self.models = list(models)
        self.temperature = check_positive("temperature", temperature)
        self._classifiers = all(hasattr(model, "predict_proba") for model in self.models)
        if self._classifiers:
            self._refuse_other_classes()

    def __call__(
        self, inputs: Any, *, batch_size: int = _BATCH, progress: Progress = False
    ) -> FloatArray:
        """Log-probabilities (M, N, C) of inputs."""
        if self._classifiers:
            logs = logs_of([model.predict_proba(inputs) for model in self.models])
            return logs if self.temperature == 1 else tempered(logs, self.temperature)
        from pnml.active.networks import ensemble_log_probs

        return ensemble_log_probs(self.models, inputs, self.temperature, batch_size, progress)

    def _refuse_other_classes(self) -> None:
        first = getattr(self.models[0], "classes_", ())
        for number, model in enumerate(self.models):
            classes = getattr(model, "classes_", ())
            if not np.array_equal(first, classes):
                raise InputError(
                    f"Model 0 knows the classes {first} but model {number} knows {classes}; fit "
                    "all of them to rows of the same classes."
                )


def tempered(logs: FloatArray, temperature: float) -> FloatArray:
    """Log-probabilities at another temperature; impossible classes stay so."""
    scaled = logs / temperature
    highest = scaled.max(axis=-1, keepdims=True)
    total = np.log(np.exp(scaled - highest).sum(axis=-1, keepdims=True))
    found: FloatArray = scaled - highest - total
    return found
