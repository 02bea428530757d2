"""Fingerprints of models that a file cannot hold: enough to recognise the model later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from sklearn.base import clone

from pnml.core.arrays import FloatArray
from pnml.core.conditions import ANY_NUMBER
from pnml.errors import InputError, shorten
from pnml.estimators.fit_model import as_model, is_kind
from pnml.learners.last_step import last_of
from pnml.models.codec import ANYTHING, value
from pnml.models.refusals import UnmetNeedError
from pnml.models.schema import ManyOf
from pnml.models.wrapped.plain import said
from pnml.models.wrapped.probe_rows import ProbeRows, probe_of, rows_again

# The same model on another processor, or in another batch, differs by far less; another by more.
_TOLERANCE = 1e-6


@dataclass(frozen=True)
class WrappedModel:
    """A fitted model to be saved: whole if a file can hold it, else by its fingerprint."""

    model: Any
    rows: Any  # some training rows, as the model takes them


@dataclass(frozen=True)
class RowsOf:
    """Placeholder while saving: the probe rows in a model's fingerprint, or None if it has none."""

    model: Any


@dataclass(frozen=True)
class CloneOf:
    """An unfitted model that is not stored itself, but cloned from the fitted model on loading."""

    estimator: Any  # fitted
    name: str  # class of the fitted model, or of its last step


@dataclass(frozen=True)
class UnfittedModel:
    """An unfitted model to be saved: itself if a file can hold it, else as `otherwise`."""

    estimator: Any
    otherwise: CloneOf


@dataclass(frozen=True)
class Fingerprint:
    """Fingerprint of a model that a file cannot hold: class, features, classes, and predictions."""

    name: str  # of the class, without its module, which differs in a script
    features: int | None
    classes: tuple[str, ...] | None
    rows: ProbeRows | None  # training rows; None where a file cannot hold those either
    answers: Annotated[FloatArray, "n o", ANY_NUMBER]  # predictions for these rows

    @classmethod
    def of(cls, model: Any, rows: Any) -> Fingerprint:
        """The fingerprint of a fitted model, with its predictions for the first few of `rows`."""
        probe, answers = probe_of(rows), np.zeros((0, 0))
        try:
            answers = answers if probe is None else _answers(model, rows_again(probe))
        except Exception:  # it does not take these rows: its class must do
            probe = None
        return cls(_name(model), _features(model), _classes(model), probe, answers)

    def claimed(self, model: Any) -> Any:
        """The `model` that a user passes to `load`, after checking that it has this fingerprint.

        Raises UnmetNeedError where it has another one, or where `model` is None.
        """
        if model is None:
            raise UnmetNeedError(
                f"it holds all but the {self._short}, of which it has a fingerprint only; pass "
                "that fitted model too, as in pnml.load(path, model=fitted)."
            )
        if callable(model) and not isinstance(model, type) and not hasattr(model, "predict"):
            model = as_model(model, prefit=True)
        told = self._difference(model)
        if told:
            raise UnmetNeedError(
                f"the model passed is not the {self._short} that it was saved with: {told}; pass "
                "that very model."
            )
        return model

    @property
    def _short(self) -> str:
        return shorten(self.name)

    def _difference(self, model: Any) -> str:
        """How a model differs from this fingerprint, in words; empty if it does not."""
        if _name(model) != self.name:
            return f"it is a {shorten(type(model).__name__)}"
        if _features(model) != self.features:
            return f"it takes {_features(model)} features and not {self.features}"
        if _classes(model) != self.classes:
            return "it has other classes"
        if self.rows is None:
            return ""
        try:
            answers = _answers(model, rows_again(self.rows))
        except UnmetNeedError:
            raise
        except Exception as error:
            return f"it cannot predict the rows kept in the file ({said(error)})"
        finite = np.abs(self.answers[np.isfinite(self.answers)])
        scale = float(np.max(finite, initial=0.0))
        same = answers.shape == self.answers.shape and np.allclose(
            answers, self.answers, rtol=_TOLERANCE, atol=_TOLERANCE * scale, equal_nan=True
        )
        return "" if same else "it predicts other values"


def _answers(model: Any, rows: Any) -> FloatArray:
    """Predictions (n, k) for rows, or for a classifier the probabilities of its classes."""
    if not is_kind("classifier", model):
        given = model.predict(rows)
    elif hasattr(model, "predict_proba"):
        given = model.predict_proba(rows)
    else:
        given = np.equal.outer(np.ravel(model.predict(rows)), np.ravel(model.classes_))
    answers: FloatArray = np.asarray(given, dtype=np.float64).reshape(len(rows), -1)
    return answers


def _name(model: Any) -> str:
    return type(model).__qualname__


def _features(model: Any) -> int | None:
    features = getattr(model, "n_features_in_", None)
    return None if features is None else int(features)


def _classes(model: Any) -> tuple[str, ...] | None:
    classes = getattr(model, "classes_", None)
    return None if classes is None else tuple(str(label) for label in np.ravel(classes))


def _check(values: Any) -> None:
    rows, answers = values["rows"], values["answers"]
    if rows is None and answers.size:
        raise InputError("its fingerprint of a model gives answers but no rows")


def _clone(estimator: Any, name: str) -> Any:
    """A model of that class with the parameters of a fitted model, or of its last step."""
    step = estimator if _name(estimator) == name else last_of(estimator)
    if _name(step) != name:
        raise InputError(f"its model is not a {shorten(name)}")
    try:
        return clone(step, safe=False)
    except Exception as error:
        raise InputError(f"a {shorten(name)} cannot be cloned: {said(error)}") from error


FINGERPRINT_CODECS = [
    value(CloneOf, build=_clone, estimator=ANYTHING),
    value(ProbeRows, columns=ManyOf(list, ANYTHING)),
    value(Fingerprint, check=_check),
]
