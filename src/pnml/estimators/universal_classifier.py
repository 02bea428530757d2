"""Several model classes of labels at once, at a price of at most the log of their number."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils.metaestimators import _BaseComposition
from sklearn.utils.validation import check_is_fitted

from pnml.core import universality
from pnml.core.arrays import FloatArray
from pnml.core.softmax import Categorical
from pnml.core.softmax_leave_one_out import LabelsLeftOut
from pnml.errors import InputError
from pnml.estimators.base import TrustMixin
from pnml.estimators.classifier import PNMLClassifier
from pnml.estimators.genies import sampled_rows
from pnml.estimators.labels import check_labels, positions
from pnml.estimators.validation import check_weights
from pnml.estimators.wrapped import check_table

_STRENGTHS = (0.01, 0.1, 1.0, 10.0, 100.0)
# What is left of every refit adds up in the union; a tighter tolerance costs a step or two more.
_TOL = 1e-6


class UniversalClassifier(TrustMixin, ClassifierMixin, _BaseComposition):
    """One answer that follows whichever of several classifiers explains the label best.

    Its probability of a label is the largest that any of them gives it, normalised. Whatever the
    label turns out to be, its log-loss is at most that of the best of them plus the log of the
    normaliser, which is at most the log of their number. So neither the strength of a penalty nor
    the set of features has to be chosen.

    Parameters
    ----------
    estimators : list of (name, estimator), optional
        Classifiers of the class `PNMLClassifier`; sets of features are Pipelines inside of them
        that begin with a ``ColumnTransformer``. By default logistic regressions with ``C`` from
        0.01 to 100, refitted for every label; scale the features before.

    Attributes
    ----------
    estimators_ : list of fitted classifiers
    named_estimators_ : the same, by name
    classes_ : labels (C,), in the order of the columns of ``predict_proba``
    explain_names_ : names of the columns of ``explain``
    loo_ : leave-one-out leverages, regrets and log-losses of at most 200 training rows
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 3))
    >>> model = UniversalClassifier().fit(X, X[:, 0] + 0.5 * rng.normal(size=40) > 0)
    >>> new = [[1.0, 0.0, 0.0], [1.0, 9.0, 0.0]]
    >>> model.predict_proba(new).round(2)
    array([[0.39, 0.61],
           [0.53, 0.47]])
    >>> model.trusted(new)
    array([ True, False])
    """

    def __init__(self, estimators: list[tuple[str, Any]] | None = None) -> None:
        self.estimators = estimators

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of this estimator and, if deep, of its classes as ``name__parameter``."""
        params: dict[str, Any] = self._get_params("estimators", deep=deep)
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters as ``estimators=…``, ``name=…`` or ``name__parameter=…``."""
        self._set_params("estimators", **params)
        return self

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit every classifier.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        y : array-like of shape (n,)
            Labels of at least two classes: numbers, text or booleans.
        sample_weight : array-like of shape (n,), optional
            How many copies of each row to count.
        """
        members = self._members()
        labels = check_labels(self, y)
        check_table(self, X, reset=True)
        weights = check_weights(sample_weight, labels)
        fitted = [clone(member).fit(X, labels, sample_weight=weights) for _, member in members]
        _refuse_other_classes(members, fitted)
        self.estimators_ = fitted
        self.named_estimators_ = dict(zip((name for name, _ in members), fitted, strict=True))
        counts = np.ones(len(labels)) if weights is None else weights
        rows = sampled_rows(counts)
        self._labels = positions(labels[rows], self.classes_).astype(np.int64)
        self._weights = counts[rows]
        return self

    def predict(self, X: Any) -> Any:
        """Most probable class of each row."""
        best = np.argmax(self.predict_log_proba(X), axis=1)
        return self.classes_[best]

    def predict_proba(self, X: Any) -> Any:
        """Probabilities (n, C) of the classes, in the order of ``classes_``; float64. Eq. (U6)."""
        return self.predict_dist(X).prob

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms (n, C) of the probabilities."""
        return self.predict_dist(X).log_prob

    def predict_dist(self, X: Any) -> Categorical:
        """Probabilities and regrets of rows at once: ``prob``, ``log_prob`` and ``regret``."""
        log_q, regrets = self._parts(X)
        return _union(log_q, regrets, universality.label_shares(log_q))

    def regret(self, X: Any) -> Any:
        """Regret of each row in nats: how far hindsight could have beaten us there.

        The regret to be expected against the genie of the classifier that explains the label
        best: the mean of theirs, each weighted by the probability of the labels that it explains
        best, plus the log of the normaliser. Eqs. (U4) and (U7).
        """
        return _like(self.predict_dist(X).regret, X)

    def relative_regret(self, X: Any) -> Any:
        """Regret of each row as a fraction of log C, comparable between numbers of classes."""
        return self.regret(X) / float(np.log(len(self.classes_)))

    def explain(self, X: Any) -> Any:
        """Share of each feature in the leverage of each row: (n, features), ≥ 0.

        The mean of the classifiers' own explanations, each weighted by the probability of the
        labels that it explains best; columns of one name are one. Eq. (U7).
        """
        shares = universality.label_shares(self._parts(X)[0])
        names = self.explain_names_.tolist()
        total = np.zeros((len(shares), len(names)))
        for share, member in zip(shares.T, self.estimators_, strict=True):
            columns = [names.index(name) for name in member.explain_names_]
            part = np.asarray(member.explain(X), dtype=float)
            total[:, columns] += np.where(share[:, None] > 0, part, 0.0) * share[:, None]
        return _like(total, X)

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The labels, in the order of the columns of ``predict_proba``."""
        classes: npt.NDArray[Any] = self.estimators_[0].classes_
        return classes

    @property
    def explain_names_(self) -> npt.NDArray[Any]:
        """Names of the features that any of the classifiers sees."""
        check_is_fitted(self)
        names = [name for member in self.estimators_ for name in member.explain_names_]
        return np.array(list(dict.fromkeys(names)), dtype=object)

    @property
    def loo_(self) -> LabelsLeftOut:
        """Training rows judged by the same union of what each classifier says without them.

        At most 200 rows, drawn at random; the refits are made when they are first asked for.
        """
        check_is_fitted(self)
        return self._leave_one_out()

    def _leave_one_out(self) -> LabelsLeftOut:
        parts = [member._left_out_sample() for member in self.estimators_]
        log_q = np.stack([part.log_prob for part in parts])
        shares = universality.label_shares(log_q)
        dist = _union(log_q, np.column_stack([part.regrets for part in parts]), shares)
        leverages = _mixed(shares, np.column_stack([part.leverages for part in parts]))
        losses = -dist.log_prob[np.arange(len(self._labels)), self._labels]
        return LabelsLeftOut(leverages, dist.regret, losses, self._weights)

    def _judged(self, X: Any, level: float) -> FloatArray:
        """Regret of rows; infinite for rows far out, by the mean leverage. Eq. (F8)."""
        log_q, regrets = self._parts(X)
        shares = universality.label_shares(log_q)
        leverages = np.column_stack([member._leverages(X) for member in self.estimators_])
        usual = _mixed(shares, leverages) <= self._leave_one_out().leverage_threshold(level)
        return np.where(usual, _union(log_q, regrets, shares).regret, np.inf)

    def _parts(self, X: Any) -> tuple[FloatArray, FloatArray]:
        """Log-probabilities (m, n, C) and regrets (n, m) of the classifiers."""
        check_is_fitted(self)
        check_table(self, X, reset=False)
        parts = [member.predict_dist(X) for member in self.estimators_]
        return (
            np.stack([np.asarray(part.log_prob) for part in parts]),
            np.column_stack([np.asarray(part.regret) for part in parts]),
        )

    def _members(self) -> list[tuple[str, Any]]:
        if self.estimators is None:
            return [(f"C={C:g}", _refitted(C)) for C in _STRENGTHS]
        members = list(self.estimators)
        if not all(isinstance(pair, tuple) and len(pair) == 2 for pair in members):
            raise InputError(
                f"estimators is {self.estimators!r}, but each classifier needs a name; pass a list "
                'of (name, estimator) pairs such as [("refit", PNMLClassifier(method="refit"))].'
            )
        if not members:
            raise InputError(
                "estimators is an empty list, but there must be a classifier to follow; pass a "
                "list of (name, estimator) pairs, or None for the default."
            )
        self._validate_names([name for name, _ in members])
        for name, member in members:
            if not isinstance(member, PNMLClassifier):
                raise InputError(
                    f"estimator {name!r} is a {type(member).__name__}, but all must be of the "
                    "class PNMLClassifier; put the classifier inside of one."
                )
        return members


def _refitted(C: float) -> PNMLClassifier:
    return PNMLClassifier(LogisticRegression(C=C, max_iter=1000), method="refit", tol=_TOL)


def _union(log_q: FloatArray, regrets: FloatArray, shares: FloatArray) -> Categorical:
    """The union of classifiers, and its regret. Eqs. (U4) and (U6)."""
    union = universality.label_envelope(log_q)
    return Categorical(union.log_prob, _mixed(shares, regrets) + union.log_mass)


def _mixed(shares: FloatArray, values: FloatArray) -> FloatArray:
    """Mean of values (n, m) of the classifiers, one without a share having no say."""
    parts = np.multiply(shares, values, where=shares > 0, out=np.zeros_like(shares))
    mixed: FloatArray = parts.sum(axis=1)
    return mixed


def _like(result: FloatArray, X: Any) -> Any:
    """Results in the dtype of the rows: float32 rows get float32 answers."""
    return result.astype(np.float32) if getattr(X, "dtype", None) == np.float32 else result


def _refuse_other_classes(members: list[tuple[str, Any]], fitted: list[Any]) -> None:
    for (name, _), member in zip(members, fitted, strict=True):
        if not np.array_equal(member.classes_, fitted[0].classes_):
            raise InputError(
                f"estimator {name!r} knows the classes {member.classes_.tolist()}, but "
                f"{members[0][0]!r} knows {fitted[0].classes_.tolist()}; fit all of them to the "
                "same classes."
            )
