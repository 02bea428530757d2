"""Log-probabilities by the members of ensembles as other libraries have them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from pnml.active.candidates import IntArray
from pnml.active.checks import check_positive, logs_of
from pnml.active.ensemble import tempered
from pnml.core.arrays import FloatArray
from pnml.errors import InputError


def member_log_probs(
    ensemble: Any, rows: Any, classes: Any = None, temperature: float = 1.0
) -> FloatArray:
    """Log-probabilities (M, N, C) by the members of a fitted forest, bag or vote. Eq. (I11).

    Members that never saw a class give it probability 0. An ensemble without members, such as one
    that could not be fitted for want of labels, counts as one model.

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
    counted = _counts_classes(members, known)
    columns = getattr(inner, "estimators_features_", [slice(None)] * len(members))
    found = np.zeros((len(members), rows.shape[0], len(classes)))
    for p, member, column in zip(found, members, columns, strict=True):
        labels = known[member.classes_.astype(np.intp)] if counted else member.classes_
        p[:, _places(labels, classes)] = member.predict_proba(rows[:, column])
    return as_logs(found, temperature)


def model_log_probs(models: Iterable[Any], rows: Any, temperature: float = 1.0) -> FloatArray:
    """Log-probabilities (M, N, C) by classifiers of the same classes. Eq. (I11)."""
    return as_logs(np.stack([model.predict_proba(rows) for model in models]), temperature)


def as_logs(probabilities: Any, temperature: float = 1.0) -> FloatArray:
    """Log-probabilities from probabilities (M, N, C), at a temperature. Eq. (I11).

    >>> np.exp(as_logs([[[0.1, 0.9]]], temperature=2.0)).round(2)
    array([[[0.25, 0.75]]])
    """
    temperature = check_positive("temperature", temperature)
    logs = logs_of(probabilities)
    return logs if temperature == 1 else tempered(logs, temperature)


def _counts_classes(members: list[Any], known: Any) -> bool:
    """Whether members know classes by their numbers, as in most ensembles, not by their names."""
    seen = np.unique(np.concatenate([np.asarray(member.classes_) for member in members]))
    return not np.isin(seen, known).all()


def _places(labels: Any, classes: Any) -> IntArray:
    """Columns of labels among all classes, in whatever order these are."""
    order = np.argsort(classes)
    place = np.searchsorted(classes, labels, sorter=order)
    found: IntArray = order[np.minimum(place, len(classes) - 1)]
    if not np.array_equal(classes[found], labels):
        raise InputError(
            f"A member of the ensemble knows the classes {labels}, but those asked for are "
            f"{classes}; name all classes."
        )
    return found
