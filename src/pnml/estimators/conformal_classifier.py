"""Sets of classes with finite-sample coverage, larger where the regret is larger."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, check_is_fitted

from pnml.core import conformal_sets
from pnml.core.arrays import FloatArray
from pnml.core.conformal import GroupedScores
from pnml.core.distributions.normal import check_coverage
from pnml.core.softmax import Categorical
from pnml.core.softmax_leave_one_out import LabelsLeftOut
from pnml.core.trust import DEFAULT_LEVEL, Reference
from pnml.core.user_types import ArrayOrFrame, BoolArray, EstimatorLike, RandomSeed
from pnml.errors import InputError
from pnml.estimators.calibration_rows import (
    RowGroups,
    Rows,
    asked_groups,
    check_calibration_size,
    keep_groups,
    split_rows,
    warn_of_few,
)
from pnml.estimators.classifier import PNMLClassifier
from pnml.estimators.estimator import Estimator
from pnml.estimators.labels import check_labels, positions, refuse_one_class
from pnml.estimators.registry import register
from pnml.estimators.wrapped import check_table
from pnml.runtime.checks import check_choice, check_flag

# A probability of 0 counts as this, so that its score is a number.
_LEAST_LOG = float(np.log(np.finfo(np.float64).tiny))


class ConformalClassifier(MetaEstimatorMixin, ClassifierMixin, Estimator):
    """Conformal classifier: sets of classes that hold the true one at a stated rate.

    If rows are exchangeable, the set of a new row holds its class at least at the rate
    `coverage`, whatever the model inside.

    Parameters
    ----------
    estimator : a classifier of this library, default=PNMLClassifier()
        Your own classifier goes in a TrustedClassifier.
    conformity_score : "lac" or "aps", default="lac"
        ``"lac"``: −log p(y) − regret/2. Its sets are small on average, and normalised by the
        regret: rows that the model knows little about get more classes. ``"aps"``: probability of
        all classes that are more probable than y. Its sets are never empty.
    class_conditional : bool, default=False
        Cover each class at the stated rate, and not only all classes together. Rows of every class
        must then be held back.
    calibration_size : float, default=0.25
        Share of the rows that is held back for calibration.
    random_state : int, RandomState or None
        Which rows are held back.

    Attributes
    ----------
    estimator_ : the fitted classifier
    classes_ : the classes, in the order of the columns of ``predict_set``
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 2))
    >>> y = np.where(X[:, 0] + rng.normal(size=400) > 0, "yes", "no")
    >>> model = ConformalClassifier(random_state=0).fit(X, y)
    >>> model.predict_set([[3.0, 0.0], [0.0, 0.0]], coverage=0.9)
    array([[False,  True],
           [ True,  True]])
    """

    _groups: RowGroups | None = None  # where fit was given groups

    def __init__(
        self,
        estimator: EstimatorLike | None = None,
        *,
        conformity_score: Literal["lac", "aps"] = "lac",
        class_conditional: bool = False,
        calibration_size: float = 0.25,
        random_state: RandomSeed = None,
    ) -> None:
        self.estimator = estimator
        self.conformity_score = conformity_score
        self.class_conditional = class_conditional
        self.calibration_size = calibration_size
        self.random_state = random_state

    def fit(self, X: ArrayOrFrame, y: ArrayOrFrame, groups: ArrayOrFrame | None = None) -> Self:
        """Fit the classifier to some rows and calibrate it on the others.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
        y : array-like of shape (n,)
            One class per row, of at least two classes.
        groups : array-like of shape (n,), optional
            A group per row, text or whole numbers; each group is then covered at the stated
            rate. ``predict_set`` needs the groups of its rows too.
        """
        check_choice("conformity_score", self.conformity_score, ["lac", "aps"])
        by_class = check_flag("class_conditional", self.class_conditional)
        estimator = PNMLClassifier() if self.estimator is None else clone(self.estimator)
        _refuse_without_regret(estimator)
        labels = check_labels(self, y)
        check_table(self, X, reset=True)
        if hasattr(X, "tocsr"):
            X = X.tocsr()  # not all sparse kinds can be indexed
        elif not (hasattr(X, "shape") or isinstance(X, list)):
            X = np.asarray(X)
        rows = _num_samples(X)
        if rows != len(labels):
            raise InputError(
                f"X has {rows} rows but y has {len(labels)} values; pass exactly one label per row."
            )
        refuse_one_class(labels)
        share = check_calibration_size(self.calibration_size, rows)
        places = keep_groups(self, groups, rows)
        strata = _strata(labels if by_class else None, places)
        proper, held = split_rows(rows, share, strata, self.random_state)
        _refuse_unfitted_class(labels, proper)
        self.estimator_ = estimator.fit(_safe_indexing(X, proper), labels[proper])
        self.classes_: npt.NDArray[Any] = np.asarray(self.estimator_.classes_)
        within = positions(labels[held], self.classes_)
        scores = conformal_sets.of_labels(self._scores(_safe_indexing(X, held)), within)
        self._calibration = self._grouped(scores, within, None if places is None else places[held])
        return self

    def predict_set(
        self, X: ArrayOrFrame, coverage: float = 0.9, groups: ArrayOrFrame | None = None
    ) -> BoolArray:
        """Set of classes of each row, as booleans (n, C): True where a class is in the set.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
        coverage : float, default=0.9
            Rate at which the sets hold the true class.
        groups : array-like of shape (n,), optional
            The group of each row, needed where ``fit`` was given groups.
        """
        coverage = check_coverage(coverage)
        self._check(X)
        scores = self._scores(X)
        at = asked_groups(self._groups, groups, len(scores))
        shape = (-1, len(self.classes_) if self.class_conditional else 1)
        self._warn_of_few(coverage, self._calibration.sizes.reshape(shape), at)
        return scores <= self._calibration.thresholds(coverage).reshape(shape)[at]

    def predict(self, X: ArrayOrFrame) -> npt.NDArray[Any]:
        """Class of each row, by the fitted classifier."""
        self._check(X)
        predicted: npt.NDArray[Any] = self.estimator_.predict(X)
        return predicted

    def predict_proba(self, X: ArrayOrFrame) -> FloatArray:
        """Probabilities (n, C) of the classes, by the fitted classifier."""
        self._check(X)
        prob: FloatArray = self.estimator_.predict_proba(X)
        return prob

    def predict_log_proba(self, X: ArrayOrFrame) -> FloatArray:
        """Log of the class probabilities (n, C), by the fitted classifier."""
        self._check(X)
        log_prob: FloatArray = self.estimator_.predict_log_proba(X)
        return log_prob

    def predict_dist(self, X: ArrayOrFrame) -> Categorical:
        """Distribution of the class of each row: pNML probabilities (n, C) and regret (n,)."""
        self._check(X)
        dist: Categorical = self.estimator_.predict_dist(X)
        return dist

    def regret(self, X: ArrayOrFrame) -> FloatArray:
        """Regret of each row in nats, by the fitted classifier."""
        self._check(X)
        regret: FloatArray = self.estimator_.regret(X)
        return regret

    def relative_regret(self, X: ArrayOrFrame) -> FloatArray:
        """Regret (n,) of rows divided by log C: comparable between models with C classes each."""
        return self.regret(X) / float(np.log(len(self.classes_)))

    def trusted(self, X: ArrayOrFrame, level: float = DEFAULT_LEVEL) -> BoolArray:
        """Whether each row is like the training rows, by the fitted classifier's verdict."""
        self._check(X)
        verdicts: BoolArray = self.estimator_.trusted(X, level=level)
        return verdicts

    def explain(self, X: ArrayOrFrame) -> FloatArray:
        """Part of each row's leverage that each feature causes: (n, features), ≥ 0.

        It is that of the fitted classifier, whose features ``explain_names_`` names. The parts of
        a row sum not to 1 but to its leverage, less what no feature causes, such as the intercept's
        part.
        """
        self._check(X)
        shares: FloatArray = self.estimator_.explain(X)
        return shares

    @property
    def loo_(self) -> LabelsLeftOut:
        """Leave-one-out results of the rows that `estimator_` was fitted to: its own ``loo_``.

        Its fields ``leverages``, ``regrets`` and ``log_losses`` (n,), the last two in nats, are of
        training rows as if each were new, without the rows held back for calibration. A
        PNMLClassifier with ``method="refit"`` and a UniversalClassifier have at most 200 of them.
        Raises AttributeError if `estimator_` has no ``loo_``, as a TrustedClassifier.
        """
        check_is_fitted(self)
        loo: LabelsLeftOut = self.estimator_.loo_
        return loo

    @property
    def reference_(self) -> Reference:
        """Regrets of the classifier's training rows, each left out: what ``trusted`` takes."""
        check_is_fitted(self)
        reference: Reference = self.estimator_.reference_
        return reference

    @property
    def explain_names_(self) -> npt.NDArray[Any]:
        """Names of the columns of ``explain``."""
        check_is_fitted(self)
        names: npt.NDArray[Any] = self.estimator_.explain_names_
        return names

    def _check(self, X: ArrayOrFrame) -> None:
        check_is_fitted(self)
        check_table(self, X, reset=False)

    def _scores(self, X: ArrayOrFrame) -> FloatArray:
        """Conformal score (n, C) of every class of rows."""
        log_prob = np.asarray(self.estimator_.predict_log_proba(X), dtype=float)
        log_prob = np.maximum(log_prob, _LEAST_LOG)
        if self.conformity_score == "aps":
            return conformal_sets.cumulative(log_prob)
        regret = np.asarray(self.estimator_.regret(X), dtype=float)
        return conformal_sets.least_ambiguous(log_prob, regret)

    def _grouped(self, scores: FloatArray, labels: Rows, places: Rows | None) -> GroupedScores:
        """Scores apart for each group and, if class-conditional, each of C classes.

        Group g and class c have the number g·C + c.
        """
        C = len(self.classes_) if self.class_conditional else 1
        groups = 1 if self._groups is None else len(self._groups.names)
        cell = (labels if C > 1 else np.zeros_like(labels)) + (0 if places is None else C * places)
        return GroupedScores.of(scores, cell, groups * C)

    def _warn_of_few(self, coverage: float, sizes: npt.NDArray[np.int64], at: Rows) -> None:
        """Warn where too few rows were held back of a group or class that is asked about."""
        asked = np.unique(at)
        place, label = np.unravel_index(np.argmin(sizes[asked]), sizes[asked].shape)
        few = int(sizes[asked][place, label])
        where = "" if self._groups is None else f" in group {self._groups.name(asked[place])}"
        what = f"The sets{where} hold every class"
        if self.class_conditional:
            what = f"The sets{where} always hold class {self.classes_.tolist()[label]!r}"
        warn_of_few(what, coverage, few, self.calibration_size)


def _strata(labels: npt.NDArray[Any] | None, places: Rows | None) -> Rows | None:
    """Number (n,) of the stratum of each row: its class, its group or both; None for neither."""
    if labels is None:
        return places
    inside = np.unique(labels, return_inverse=True)[1]
    return inside if places is None else places * (int(inside.max()) + 1) + inside


def _refuse_without_regret(estimator: BaseEstimator) -> None:
    if not (hasattr(estimator, "regret") and hasattr(estimator, "predict_log_proba")):
        raise InputError(
            f"estimator is a {type(estimator).__name__}, which has no probabilities with a regret "
            "to scale its sets by; pass one of pnml's classifiers, for instance PNMLClassifier(), "
            "or the model in a TrustedClassifier."
        )


def _refuse_unfitted_class(labels: npt.NDArray[Any], proper: Rows) -> None:
    missing = np.setdiff1d(labels, labels[proper])
    if len(missing):
        raise InputError(
            f"All rows of class {missing.tolist()[0]!r} were held back for calibration, so that "
            "none is left to fit; add rows of it, or pass a smaller calibration_size."
        )


register(
    "conformal-classifier",
    lambda: ConformalClassifier(PNMLClassifier(LogisticRegression(max_iter=1000)), random_state=0),
    task="classification",
    about="sets of classes with guaranteed coverage",
)
