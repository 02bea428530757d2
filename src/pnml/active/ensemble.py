"""Log-probabilities by several models: an Ensemble, or the members of a forest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from pnml.active.checks import IntArray, logs_of
from pnml.core.arrays import FloatArray
from pnml.errors import InputError
from pnml.runtime.checks import check_positive
from pnml.runtime.progress import Progress

_BATCH = 1024


class Ensemble:
    """Function from inputs to log-probabilities by several separately trained models. Eq. (I11).

    Parameters
    ----------
    models : sequence
        PyTorch modules that give logits (B, C), or fitted classifiers with ``predict_proba`` and
        the same classes. A network runs in eval mode; its mode is restored afterwards.
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
            refuse_other_classes(self.models, "fit all of them to rows of the same classes")

    def __call__(
        self, inputs: Any, *, batch_size: int = _BATCH, progress: Progress = False
    ) -> FloatArray:
        """Log-probabilities (M, N, C) by M models of N inputs in C classes.

        `batch_size` and `progress` are for networks; other models take all inputs at once.
        """
        if self._classifiers:
            return as_logs([model.predict_proba(inputs) for model in self.models], self.temperature)
        from pnml.active.network_ensemble import ensemble_log_probs

        return ensemble_log_probs(self.models, inputs, self.temperature, batch_size, progress)


def refuse_other_classes(models: Sequence[Any], remedy: str) -> None:
    """Raise InputError, ending in `remedy`, unless all models have the same `classes_`, or none."""
    first = getattr(models[0], "classes_", ())
    for number, model in enumerate(models):
        classes = getattr(model, "classes_", ())
        if not np.array_equal(first, classes):
            raise InputError(
                f"Model 0 knows the classes {first} but model {number} knows {classes}; {remedy}."
            )


def tempered(logs: FloatArray, temperature: float) -> FloatArray:
    """Log-probabilities (..., C), divided by the temperature and normalised; −inf stays −inf."""
    scaled = logs / temperature
    highest = scaled.max(axis=-1, keepdims=True)
    total = np.log(np.exp(scaled - highest).sum(axis=-1, keepdims=True))
    normalised: FloatArray = scaled - highest - total
    return normalised


def as_logs(probabilities: Any, temperature: float = 1.0) -> FloatArray:
    """Log-probabilities (M, N, C) from probabilities of this shape, at a temperature. Eq. (I11).

    The axes are models, rows and classes. Logs are divided by the temperature and normalised again.

    >>> np.exp(as_logs([[[0.1, 0.9]]], temperature=2.0)).round(2)
    array([[[0.25, 0.75]]])
    """
    temperature = check_positive("temperature", temperature)
    logs = logs_of(probabilities)
    return logs if temperature == 1 else tempered(logs, temperature)


def model_log_probs(models: Iterable[Any], rows: Any, temperature: float = 1.0) -> FloatArray:
    """Log-probabilities (M, N, C) of N rows by M classifiers of the same C classes. Eq. (I11)."""
    return as_logs(np.stack([model.predict_proba(rows) for model in models]), temperature)


def member_log_probs(
    ensemble: Any, rows: Any, classes: Any = None, temperature: float = 1.0
) -> FloatArray:
    """Log-probabilities (M, N, C) of N rows by the M members of an ensemble. Eq. (I11).

    An ensemble is a fitted forest, bag or vote of scikit-learn, or a wrapper around one; `classes`
    (C,) are its own by default. A member gives probability 0 to classes it has never seen. An
    ensemble without members, for instance one that could not be fitted for lack of labels, counts
    as one model.

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(5, random_state=0).fit(X[50:], y[50:])
    >>> member_log_probs(forest, X[:7], classes=[0, 1, 2]).shape
    (5, 7, 3)
    """
    wrapped: Any = getattr(ensemble, "estimator_", None)
    inner: Any = wrapped if hasattr(wrapped, "estimators_") else ensemble
    classes = np.asarray(ensemble.classes_ if classes is None else classes)
    members = list(getattr(inner, "estimators_", []))
    if not members:
        return model_log_probs([ensemble], rows, temperature)
    known = np.asarray(inner.classes_)
    by_number = _classes_by_number(members, known)
    columns = getattr(inner, "estimators_features_", [slice(None)] * len(members))
    probabilities = np.zeros((len(members), rows.shape[0], len(classes)))
    for p, member, column in zip(probabilities, members, columns, strict=True):
        labels = known[member.classes_.astype(np.intp)] if by_number else member.classes_
        p[:, _places(labels, classes)] = member.predict_proba(rows[:, column])
    return as_logs(probabilities, temperature)


def _classes_by_number(members: list[Any], known: Any) -> bool:
    """Whether members store classes as numbers, as most ensembles do, and not as labels."""
    stored = np.unique(np.concatenate([np.asarray(member.classes_) for member in members]))
    return not np.isin(stored, known).all()


def _places(labels: Any, classes: Any) -> IntArray:
    """Columns of labels among all classes, which may be in any order."""
    order = np.argsort(classes)
    place = np.searchsorted(classes, labels, sorter=order)
    places: IntArray = order[np.minimum(place, len(classes) - 1)]
    if not np.array_equal(classes[places], labels):
        raise InputError(
            f"A member of the ensemble knows the classes {labels}, but those asked for are "
            f"{classes}; name all classes."
        )
    return places
