"""Trust in the predictions of a classifier that you already have."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.utils.validation import check_is_fitted

from pnml.core import softmax
from pnml.core.arrays import FloatArray
from pnml.core.softmax import Categorical
from pnml.core.trust import DEFAULT_LEVEL, Thresholds, check_level
from pnml.core.user_types import ArrayOrFrame, LabelArray
from pnml.errors import InputError
from pnml.estimators.cross_fitting import out_of_fold_log_probabilities
from pnml.estimators.fit_model import is_kind
from pnml.estimators.labels import check_labels, positions, refuse_one_class
from pnml.estimators.score_frame import score_frame
from pnml.estimators.trusted_base import TrustedBase
from pnml.estimators.validation import check_weights
from pnml.estimators.wrapped import check_table
from pnml.learners.cross_fitted import CrossFitted
from pnml.learners.last_step import log_probabilities, refuse_without_probabilities
from pnml.learners.trusted_classes import TrustedClasses
from pnml.learners.trusted_model import ReadRows
from pnml.learners.wrong_probability import WrongProbability


class TrustedClassifier(ClassifierMixin, TrustedBase):
    """Wrapper of your own classifier that says which of its predictions not to trust.

    The predictions and probabilities are the model's own. New are, for each row, ``trusted`` (yes
    or no), ``regret``, ``expected_error`` (the probability that the predicted class is wrong) and
    ``explain`` (how much each column makes the row unusual).

    The regret is that of a single softmax layer on features of the row. For trees these are its
    leaves, each cut to what its training rows cover, and its columns; for linear models the
    columns; for any other model the columns and random Fourier features of them. It is large where
    the row is unlike the training rows and the classes are not clear-cut.

    Parameters
    ----------
    estimator : classifier or Pipeline, optional
        It is cloned and fitted; it must have ``predict_proba``. By default scikit-learn's
        ``HistGradientBoostingClassifier``. Trees that cannot read the words of a data frame get
        codes of them. Columns that its first steps drop have no say in the verdict.
    prefit : bool, default=False
        Whether `estimator` is fitted already and is to be used as it is, as one in a
        ``FrozenEstimator`` always is. Pass its training rows to ``fit``. A model is over-confident
        on them, so ``trusted`` then uses the leverage and the ranges of the columns, not the
        regret; ``expected_error`` works only after ``calibrate`` with other rows.
    cv : int or cross-validation splitter, default=5
        Folds whose left-out probabilities give the usual regrets and calibrate ``expected_error``.
        A number means that many shuffled folds, with the classes dealt out evenly.
    random_state : int or None, default=None
        Seed of the default estimator and of the folds.

    Attributes
    ----------
    classes_ : the classes, sorted
    estimator_ : the fitted model
    learner_ : what was learnt from the training rows: leverages, verdicts, expected errors
    reference_ : left-out regrets and leverages of the training rows, and how far each is beyond
        the others
    cross_fitted_ : mistakes and log-losses of the training rows in folds; None for a prefit model
    explain_names_ : names of the columns of ``explain``
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(500, 3))
    >>> model = TrustedClassifier(random_state=0).fit(X, X[:, 0] + X[:, 1] > 1)
    >>> model.trusted([[0.5, 0.2, 0.5], [0.5, 0.2, 8.0]])
    array([ True, False])
    """

    learner_: TrustedClasses

    def fit(
        self,
        X: ArrayOrFrame,
        y: ArrayOrFrame,
        sample_weight: ArrayOrFrame | None = None,
        groups: ArrayOrFrame | None = None,
        **params: Any,
    ) -> Self:
        """Fit the model, clones of it on folds for the expected errors, and the leverage of rows.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
            Any input that the model takes; for a prefit model, the rows that it was trained on.
            Whether they are those cannot be known.
        y : array-like of shape (n,)
            One class per row, of at least two classes.
        sample_weight : array-like of shape (n,), optional
            How many copies of each row to count, where the model can count them. Where a training
            row is left out, it is one copy of it; of a weight below 1, all of it.
        groups : array-like of shape (n,), optional
            Passed to the splitter `cv`.
        **params : other parameters of the model's ``fit``
        """
        X = self._check_arguments(X)
        if is_kind("regressor", self.estimator):
            raise InputError(
                f"estimator is a regressor ({type(self.estimator).__name__}); pass a classifier, "
                "or use TrustedRegressor."
            )
        if self.estimator is not None and not hasattr(type(self.estimator), "predict_proba"):
            refuse_without_probabilities(self.estimator)
        y = check_labels(self, y)
        fit_params = self._params(X, y, sample_weight, groups, params)
        used = np.ones(len(y), dtype=bool)
        if fit_params.weights is not None:
            used = fit_params.weights > 0
        refuse_one_class(y[used])
        classes = np.unique(y[used])
        # rows of weight 0 may have a class of their own, which no model learns
        Y = (y[:, None] == classes).astype(float)
        kind = HistGradientBoostingClassifier
        model, base = self._fit_inside(kind, X, y, Y, fit_params)
        refuse_without_probabilities(self.estimator_)
        self.classes_ = np.asarray(self.estimator_.classes_)
        labels = positions(y[used], self.classes_)
        regrets = np.full(len(labels), np.log(len(self.classes_)))
        self.learner_ = TrustedClasses(base, regrets, None)
        if self._refits:
            log_p = out_of_fold_log_probabilities(
                model, X, y, fit_params, self.cv, self.random_state, self.classes_
            )[used]
            wrong = WrongProbability.of(log_p, log_p.argmax(axis=1) != labels, base.weights)
            regrets = softmax.regret(log_p, base.leverages)
            losses = -log_p[np.arange(len(labels)), labels]
            fitted = CrossFitted((log_p.argmax(axis=1) != labels) * 1.0, losses, base.weights)
            self.learner_ = TrustedClasses(base, regrets, wrong, fitted)
        return self

    def calibrate(
        self, X: ArrayOrFrame, y: ArrayOrFrame, sample_weight: ArrayOrFrame | None = None
    ) -> Self:
        """Calibrate ``expected_error`` with labelled rows that the model was not fitted to.

        For prefit models, which cannot be fitted again to folds; for others these rows replace
        what the folds gave.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
            Ordinary rows that the model was not trained on, some fifty at least.
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
        """
        check_is_fitted(self)
        check_table(self, X, reset=False)
        labels = positions(check_labels(self, y), self.classes_)
        weights = check_weights(sample_weight, labels.astype(float))
        counts = np.ones(len(labels)) if weights is None else weights
        base = self.learner_.base
        log_p = base.each(X, lambda rows: log_probabilities(base.model, rows.X))
        if len(log_p) != len(labels):
            raise InputError(
                f"X has {len(log_p)} rows but y has {len(labels)} values; pass exactly one label "
                "per row."
            )
        wrong = WrongProbability.of(log_p, log_p.argmax(axis=1) != labels, counts)
        self.learner_ = replace(self.learner_, wrong=wrong)
        return self

    def predict(self, X: ArrayOrFrame) -> LabelArray:
        """Class of each row, (n,), as the wrapped model predicts it."""
        check_is_fitted(self)
        check_table(self, X, reset=False)
        predicted: LabelArray = self.estimator_.predict(X)
        return predicted[:, 0] if np.ndim(predicted) == 2 else predicted  # CatBoost's are (n, 1)

    def predict_proba(self, X: ArrayOrFrame) -> FloatArray:
        """Probabilities (n, C) of the C classes, as the wrapped model predicts them."""
        check_is_fitted(self)
        check_table(self, X, reset=False)
        prob: FloatArray = self.estimator_.predict_proba(X)
        return prob

    def predict_log_proba(self, X: ArrayOrFrame) -> FloatArray:
        """Logarithms (n, C) of the wrapped model's probabilities of the C classes."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict_dist(self, X: ArrayOrFrame) -> Categorical:
        """The pNML probabilities (n, C) of the classes, and the regrets (n,), in one object.

        The probabilities are flatter than the model's own where the row is unlike training rows.
        """
        check_is_fitted(self)
        check_table(self, X, reset=False)
        parts = [self.learner_.predictive(rows) for rows in self.learner_.base.in_parts(X)]
        return Categorical(
            np.concatenate([part.log_prob for part in parts]),
            np.concatenate([part.regret for part in parts]),
        )

    def relative_regret(self, X: ArrayOrFrame) -> FloatArray:
        """Regret (n,) of rows divided by log C: comparable between models with C classes each."""
        return self.regret(X) / float(np.log(len(self.classes_)))

    def expected_error(self, X: ArrayOrFrame) -> FloatArray:
        """Probability (n,) that the predicted class of each row is wrong.

        1 − the model's largest probability, calibrated on rows that it has not seen. It ranks rows
        as that probability does; ``trusted`` says whether a row is like the training rows.
        """
        known = self._wrong("expected_error")
        wrong: FloatArray = self._each(X, lambda rows: self.learner_.expected_error(known, rows))
        return wrong

    def score_frame(self, X: ArrayOrFrame, *, level: float = DEFAULT_LEVEL) -> Any:
        """All answers as one data frame, of polars where X is, else of pandas.

        Columns: prediction, probability (of that class), expected_error, regret, trusted, because.
        A prefit model that is not calibrated leaves out expected_error.
        """
        limits = self.reference_.thresholds(check_level(level))
        check_table(self, X, reset=False)
        parts = [self._scored(rows, limits) for rows in self.learner_.base.in_parts(X)]
        return score_frame(
            X, {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        )

    def _scored(self, rows: ReadRows, limits: Thresholds) -> dict[str, Any]:
        wrong = self.learner_.wrong
        evidence = self.learner_.evidence(rows)
        probability = np.asarray(self.estimator_.predict_proba(rows.X)).max(axis=1)
        scored = {
            "prediction": np.asarray(self.estimator_.predict(rows.X)).ravel(),
            "probability": probability,
        }
        if wrong is not None:
            scored["expected_error"] = self.learner_.expected_error(wrong, rows)
        return scored | {
            "regret": evidence.regret,
            "trusted": limits.trusts(*evidence),
            "because": np.array(self._because(rows), dtype=object),
        }

    def _wrong(self, name: str) -> WrongProbability:
        check_is_fitted(self)
        if self.learner_.wrong is None:
            raise InputError(
                f"{name} needs mistakes on rows that the model was not trained on, which a prefit "
                "model does not give; pass such rows to calibrate(X, y), or prefit=False with a "
                "model that can be cloned."
            )
        return self.learner_.wrong
