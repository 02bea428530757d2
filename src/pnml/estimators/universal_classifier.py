"""Several model classes of labels at once, at a price of at most the log of their number."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_is_fitted

from pnml.core.user_types import ArrayOrFrame
from pnml.errors import InputError
from pnml.estimators.base import ClassifierBase, checked_rows
from pnml.estimators.classifier import PNMLClassifier
from pnml.estimators.labels import check_labels, positions
from pnml.estimators.members import NamedMembers
from pnml.estimators.registry import register
from pnml.estimators.tree_classifier import PNMLTreeClassifier
from pnml.estimators.validation import check_weights
from pnml.estimators.wrapped import check_table
from pnml.learners.label_union import LabelMember, LabelUnion
from pnml.learners.one_step import sampled_rows
from pnml.learners.tree_member import TreeMember

_STRENGTHS = (0.01, 0.1, 1.0, 10.0, 100.0)
# What is left of every refit adds up in the union; a tighter tolerance costs a step or two more.
_TOL = 1e-6


class UniversalClassifier(ClassifierBase, NamedMembers):
    """Universal classifier: combines several by pNML, at most log k nats behind the best of k.

    Its probability of a label is the largest that any of them gives it, normalised. Whatever the
    label turns out to be, its log-loss is at most that of the best of them plus the log of the
    normaliser, which is at most the log of their number. So neither the strength of a penalty nor
    the set of features has to be chosen.

    Parameters
    ----------
    estimators : list of (name, estimator), optional
        Classifiers of the class `PNMLClassifier`, and trees or forests in a
        `PNMLTreeClassifier`; sets of features are Pipelines inside of a `PNMLClassifier` that begin
        with a ``ColumnTransformer``. By default logistic regressions with ``C`` from
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

    learner_: LabelUnion

    def fit(
        self, X: ArrayOrFrame, y: ArrayOrFrame, sample_weight: ArrayOrFrame | None = None
    ) -> Self:
        """Fit every classifier inside to rows X (n, n_features) and labels y (n,).

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
        at = positions(labels, self.classes_)
        self.learner_ = LabelUnion(
            tuple(_as_member(member, X, at) for member in fitted),
            at[rows].astype(np.int64),
            counts[rows],
            tuple(feature_names(member) for member in fitted),
        )
        return self

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The labels (C,), in the order of the columns of ``predict_proba``."""
        classes: npt.NDArray[Any] = self.estimators_[0].classes_
        return classes

    @property
    def explain_names_(self) -> npt.NDArray[Any]:
        """Names of the columns of ``explain``: all features that some classifier inside sees."""
        check_is_fitted(self)
        return np.array(self.learner_.feature_names, dtype=object)

    def _members(self) -> list[tuple[str, Any]]:
        default = [(f"C={C:g}", _refitted(C)) for C in _STRENGTHS]
        example = '[("refit", PNMLClassifier(method="refit"))]'
        members = self._named(default, "classifier", example)
        for name, member in members:
            if not hasattr(member, "_kinds") and not isinstance(member, PNMLTreeClassifier):
                raise InputError(
                    f"estimator {name!r} is a {type(member).__name__}, but all must be of the "
                    "class PNMLClassifier or PNMLTreeClassifier; put the classifier inside of one."
                )
        return members


def feature_names(member: Any) -> tuple[str, ...]:
    """Names of the columns of a fitted member's ``explain``: for trees, those of the rows."""
    if isinstance(member, PNMLTreeClassifier):
        n = member.n_features_in_
        given = getattr(member, "feature_names_in_", [f"x{i}" for i in range(n)])
        return tuple(str(name) for name in given)
    return tuple(member.explain_names_)


def _as_member(member: Any, X: Any, labels: npt.NDArray[np.intp]) -> LabelMember:
    """The learner of a fitted classifier; trees remember the left-out probabilities too."""
    if isinstance(member, PNMLTreeClassifier):
        return TreeMember.of(member.learner_, checked_rows(member, X), labels)
    learner: LabelMember = member.learner_
    return learner


def _refitted(C: float) -> PNMLClassifier:
    return PNMLClassifier(LogisticRegression(C=C, max_iter=1000), method="refit", tol=_TOL)


def _refuse_other_classes(members: list[tuple[str, Any]], fitted: list[Any]) -> None:
    for (name, _), member in zip(members, fitted, strict=True):
        if not np.array_equal(member.classes_, fitted[0].classes_):
            raise InputError(
                f"estimator {name!r} knows the classes {member.classes_.tolist()}, but "
                f"{members[0][0]!r} knows {fitted[0].classes_.tolist()}; fit all of them to the "
                "same classes."
            )


register(
    "universal-classifier",
    UniversalClassifier,
    task="classification",
    about="logistic regressions of several strengths combined",
    rows=2_000,
    weighs=True,
)
