"""Any classifier that knows probabilities, with a regret for every row."""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _num_samples, check_is_fitted

from pnml.core.arrays import FloatArray
from pnml.core.find_relations import relations_of
from pnml.core.geometry.spectrum import Spectrum
from pnml.core.statistic.factor import Factor
from pnml.core.statistic.gram import Gram
from pnml.core.user_types import ArrayOrFrame, EstimatorLike, Folds, RandomSeed
from pnml.errors import ConditionWarning, InputError
from pnml.estimators.base import ClassifierBase
from pnml.estimators.cross_fitting import out_of_fold_log_probabilities
from pnml.estimators.fit_params import FitParams, check_groups
from pnml.estimators.gram_classifier import fitted_inside, sampled_step, without_targets
from pnml.estimators.labels import check_labels, positions, refuse_one_class
from pnml.estimators.registry import register
from pnml.estimators.validation import (
    check_flag,
    check_training_rows,
    check_weights,
    is_number,
)
from pnml.estimators.wrapped import check_table, feature_names, fit_wrapped
from pnml.learners.feature_geometry import FeatureGeometry, to_unit_norm
from pnml.learners.last_step import LastStep, is_frozen, unfrozen
from pnml.learners.logistic_refit import LogisticRefit
from pnml.learners.one_step import OneStep, Training
from pnml.runtime.caller import stacklevel_of_caller
from pnml.runtime.checks import is_whole

# Penalty if the classifier has none: a millionth of the squared column norms. Eq. (F7).
_SMALL = 1e-6


class PNMLClassifier(MetaEstimatorMixin, ClassifierBase):
    """pNML around a classifier: class probabilities, and a regret and verdict for each row.

    Adding a row with a label to the training rows would change the probabilities of the classifier.
    The change is computed from the leverage of the row, or by training again with each label. Rows
    unlike those in training get probabilities nearer to each other and a larger regret.

    Parameters
    ----------
    estimator : classifier or Pipeline, default=LogisticRegression()
        It is cloned and fitted; one that is fitted already goes in a
        ``sklearn.frozen.FrozenEstimator``. It must have ``predict_proba``. Of a Pipeline, the
        leverage is that of the rows as the last step sees them; of others, that of the rows.
    method : "analytic" or "refit", default="analytic"
        How the genie, the model that is told a label of the row, is found. With ``"analytic"`` by
        one step of the single-layer network; the most probable class stays that of the classifier
        inside. With ``"refit"`` the classifier is trained to the end with the row and its label,
        once for each label, which takes milliseconds to tenths of a second a row; the most
        probable class may be another one. Only a LogisticRegression with an ℓ2
        penalty or none can be trained again, or a Pipeline that ends in one; steps before it stay
        as they were fitted. The regret goes up to ``log((C+1)/2)``, which only infinite leverage
        reaches, and with ``"refit"`` up to ``log C``.
    alpha : "auto" or float, default="auto"
        Ridge penalty of the leverage, 0 or more. ``"auto"`` is the classifier's own ``1/C`` where
        it is a LogisticRegression with an ℓ2 penalty; else a millionth of the squared norm of each
        column. At 0 a direction never seen in training has infinite leverage.
    normalize : bool, default=False
        Scale rows to unit norm for the leverage, without centring them or adding a bias, as is
        custom for the features of networks.
    tol : float, default=1e-4
        Largest error of a regret in nats that ``method="refit"`` may leave. Rows where it cannot
        be reached are counted in a warning.
    cv : int, cross-validation splitter or "prefit", default=5
        Folds by which ``method="analytic"`` learns how sure the classifier is of rows that it has
        not seen, for the threshold of ``trusted``: five more fits. A number means that many
        shuffled folds, with a share of each class. Linear classifiers (with a ``coef_``) and naive
        Bayes are as sure of training rows as of others and are fitted once, whatever `cv`. A frozen
        classifier cannot be fitted again: unless it is one of these, rows are trusted by their
        leverage alone, with a warning; ``"prefit"`` says that it was *not* trained on the rows of
        ``fit``, so that its probabilities of them may be used as they are.
    random_state : int, RandomState or None, default=0
        Seed of the folds.

    Attributes
    ----------
    estimator_ : the fitted classifier
    classes_ : labels (C,), in the order of the columns of ``predict_proba``
    alpha_ : ridge penalty of the leverage, as given or by "auto", in the units of ``spectrum_``
    spectrum_ : singular value decomposition of the training rows, as the last step sees them
    loo_
        Left-out leverages, regrets and log-losses of the training rows, the last two by the
        probabilities of the folds, where there are any; with ``method="refit"`` a `LogisticPNML` of
        at most 200 rows, computed on first use. Where a frozen classifier may recall the rows, the
        regrets are ``log C``, which no regret passes
    explain_names_ : names of the columns of ``explain``, the features that the last step sees
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn

    Examples
    --------
    >>> rows = [[0.0, 0.0], [1.0, 0.0], [4.0, 0.0], [5.0, 0.0], [2.0, 0.0], [3.0, 0.0]]
    >>> model = PNMLClassifier().fit(rows, ["low", "low", "high", "high", "low", "high"])
    >>> model.predict([[0.5, 0.0], [0.5, 9.0]])
    array(['low', 'low'], dtype='<U4')
    >>> model.regret([[0.5, 0.0], [0.5, 9.0]]).round(2)
    array([0.07, 0.36])
    >>> model.trusted([[0.5, 0.0], [0.5, 9.0]])
    array([ True, False])
    >>> exact = PNMLClassifier(method="refit").fit(rows, list("aabbab"))
    >>> exact.regret([[0.5, 0.0], [0.5, 9.0]]).round(2)
    array([0.21, 0.65])
    """

    _kinds: ClassVar[dict[str, type[OneStep] | type[LogisticRefit]]] = {
        "analytic": OneStep,
        "refit": LogisticRefit,
    }
    learner_: OneStep | LogisticRefit

    def __init__(
        self,
        estimator: EstimatorLike | None = None,
        *,
        method: Literal["analytic", "refit"] = "analytic",
        alpha: float | Literal["auto"] = "auto",
        normalize: bool = False,
        tol: float = 1e-4,
        cv: Folds = 5,
        random_state: RandomSeed = 0,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.alpha = alpha
        self.normalize = normalize
        self.tol = tol
        self.cv = cv
        self.random_state = random_state

    def fit(
        self,
        X: ArrayOrFrame,
        y: ArrayOrFrame,
        sample_weight: ArrayOrFrame | None = None,
        groups: ArrayOrFrame | None = None,
    ) -> Self:
        """Fit the classifier inside, and the geometry of the rows that gives their leverage.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        y : array-like of shape (n,)
            Labels of at least two classes: numbers, text or booleans.
        sample_weight : array-like of shape (n,), optional
            How many copies of each row to count, where the classifier can count them.
        groups : array-like of shape (n,), optional
            Passed to the splitter `cv`.
        """
        kind = self._check_settings()
        estimator = LogisticRegression() if self.estimator is None else clone(self.estimator)
        kind.check(estimator)
        labels = check_labels(self, y)
        given, rows = self._training_rows(estimator, X, labels)
        weights = check_weights(sample_weight, labels)
        refuse_one_class(labels if weights is None else labels[weights > 0])
        self.estimator_ = fit_wrapped(estimator, given, labels, weights)
        step = LastStep.of(self.estimator_, given, rows)
        geometry = self._geometry(step, weights)
        counts = np.ones(len(labels)) if weights is None else weights
        at = positions(labels, self.classes_)
        training = Training(self.estimator_, geometry, step, at, counts, float(self.tol))
        if is_frozen(self.estimator_):
            training = self._frozen(training)
        elif self.method == "analytic" and not step.is_rigid:
            check_groups(groups, len(labels))
            params = FitParams.plain(weights, groups)
            folds = (params, self.cv, self.random_state, self.classes_)
            log_prob = out_of_fold_log_probabilities(self.estimator, given, labels, *folds)
            training = replace(training, log_prob=log_prob)
        self.learner_ = kind.of(training)
        return self

    def fit_gram(self, gram: Gram) -> Self:
        """Fit the leverage from a `Gram` (sums over training rows), around a fitted classifier.

        ``estimator`` must be a ``sklearn.frozen.FrozenEstimator``: the leverage adds up over rows,
        the training of a classifier does not. Rows left out are those of the Gram's sample.

        Parameters
        ----------
        gram : pnml.core.statistic.gram.Gram
            Of rows as the last step of the classifier sees them. Its one target is the place of
            each row's label among the classes, counted from 0.
        """
        kind = self._check_settings()
        inside = fitted_inside(self)
        self.estimator_ = inside
        self.n_features_in_ = int(getattr(inside, "n_features_in_", len(gram.x_mean)))
        step = sampled_step(inside, gram)
        places, counts = gram.sample.rows[:, -2].astype(np.intp), gram.sample.rows[:, -1]
        alpha, unit_columns = self._penalty(step)
        spectrum = Spectrum.of_gram(
            without_targets(gram), intercept=True, unit_columns=unit_columns
        )
        spectrum.warn_if_lossy(alpha, step.values)
        relations = relations_of(step.values, counts, gram)
        geometry = FeatureGeometry(spectrum, alpha, False, relations)
        training = Training(inside, geometry, step, places, counts, float(self.tol))
        self.learner_ = kind.of(self._frozen(training))
        return self

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The labels (C,), in the order of the columns of ``predict_proba``."""
        classes: npt.NDArray[Any] = self.estimator_.classes_
        return classes

    @property
    def spectrum_(self) -> Spectrum:
        """Singular value decomposition of the training rows, as the last step sees them."""
        check_is_fitted(self)
        return self.learner_.geometry.spectrum

    @property
    def alpha_(self) -> float:
        """The ridge penalty of the leverage: `alpha` as given, or as "auto" chose it."""
        check_is_fitted(self)
        return self.learner_.geometry.alpha

    @property
    def explain_names_(self) -> npt.NDArray[Any]:
        """Names of the columns of ``explain``: the features that the last step sees."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        return feature_names(self.estimator_, len(self.spectrum_.center), names)

    def _training_rows(
        self, estimator: BaseEstimator, X: ArrayOrFrame, labels: npt.NDArray[Any]
    ) -> tuple[Any, FloatArray | None]:
        """Rows as the classifier takes them, and as numbers (n, d), or None for a Pipeline."""
        if not isinstance(unfrozen(estimator), Pipeline):
            rows, _ = check_training_rows(self, X, np.zeros(len(labels)))
            return X if hasattr(X, "columns") else rows, rows
        check_table(self, X, reset=True)
        if _num_samples(X) != len(labels):
            raise InputError(
                f"X has {_num_samples(X)} rows but y has {len(labels)} values; pass exactly one "
                "label per row."
            )
        return X, None

    def _geometry(self, step: LastStep, weights: FloatArray | None) -> FeatureGeometry:
        features = to_unit_norm(step.values) if self.normalize else step.values
        alpha, unit_columns = self._penalty(step)
        factor = Factor.of(features, np.zeros((len(features), 0)), weights)
        spectrum = Spectrum.of_factor(
            factor, intercept=not self.normalize, unit_columns=unit_columns
        )
        plain = None if self.normalize else factor
        relations = relations_of(step.values, weights, plain)
        return FeatureGeometry(spectrum, alpha, bool(self.normalize), relations)

    def _frozen(self, training: Training) -> Training:
        """`training`, marked and warned of if the frozen classifier may have learnt it by heart."""
        if self.cv == "prefit" or self.method == "refit" or training.step.is_rigid:
            return training
        warnings.warn(
            f"The frozen {type(training.step.classifier).__name__} may recall the rows of fit, so "
            "their regrets are no measure for others and rows are trusted by their leverage alone; "
            'pass rows that it was not trained on and cv="prefit", or the classifier unfrozen.',
            ConditionWarning,
            stacklevel=stacklevel_of_caller(),
        )
        return replace(training, recalled=True)

    def _penalty(self, step: LastStep) -> tuple[float, bool]:
        """The penalty, and whether it applies to columns scaled to unit norm. Eq. (F7)."""
        own = None if self.normalize else step.ridge()
        if self.alpha != "auto":
            alpha = float(self.alpha)
        elif own is not None:
            alpha = own
        else:
            return _SMALL, not self.normalize
        return alpha, alpha == 0  # without a penalty the units of a column mean nothing

    def _check_settings(self) -> type[OneStep] | type[LogisticRefit]:
        kind = self._kinds.get(self.method) if isinstance(self.method, str) else None
        if kind is None:
            raise InputError(
                f'method is {self.method!r}, which is not known here; pass method="analytic" or '
                'method="refit".'
            )
        if not is_number(self.tol) or self.tol <= 0:
            raise InputError(
                f"tol is {self.tol!r}, but it is the largest error of a regret; pass a number "
                "above 0, for instance tol=1e-4."
            )
        check_flag("normalize", self.normalize)
        self._check_folds()
        automatic = isinstance(self.alpha, str) and self.alpha == "auto"
        if not automatic and not is_number(self.alpha, 0.0):
            raise InputError(
                f"alpha is {self.alpha!r}, but it must be a finite number of at least 0 or "
                '"auto"; pass alpha="auto" to have it follow the classifier.'
            )
        return kind

    def _check_folds(self) -> None:
        number = isinstance(self.cv, Real) and not is_whole(self.cv, 2)
        if number or (isinstance(self.cv, str) and self.cv != "prefit"):
            raise InputError(
                f"cv is {self.cv!r}, but it must be a number of folds from 2 on, a splitter of "
                'scikit-learn or "prefit"; pass one of them.'
            )
        if isinstance(self.cv, str) and not is_frozen(self.estimator):
            kind = LogisticRegression if self.estimator is None else type(self.estimator)
            raise InputError(
                'cv="prefit" says that the classifier was trained on other rows, but '
                f"{kind.__name__} will be trained on these; put the fitted one in "
                "a sklearn.frozen.FrozenEstimator, or pass a number of folds."
            )


register(
    "logistic",
    lambda: PNMLClassifier(LogisticRegression(max_iter=1000)),
    task="classification",
    about="logistic regression",
    weighs=True,
    place=8,
)
register(
    "refit",
    lambda: PNMLClassifier(LogisticRegression(max_iter=1000), method="refit"),
    task="classification",
    about="logistic regression, trained again for every label",
    rows=2_000,
    weighs=True,
    place=9,
)
