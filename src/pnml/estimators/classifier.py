"""Any classifier that knows probabilities, with a regret for every row."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _num_samples, check_is_fitted

from pnml.core.arrays import FloatArray
from pnml.core.geometry import attribution
from pnml.core.geometry.spectrum import Spectrum
from pnml.core.softmax import Categorical
from pnml.core.softmax_leave_one_out import LabelsLeftOut, left_out_leverages
from pnml.core.statistic.factor import Factor
from pnml.core.statistic.gram import Gram
from pnml.errors import InputError
from pnml.estimators.base import TrustMixin
from pnml.estimators.genies import Genie, LeftOutSample, OneStep, Training
from pnml.estimators.gram_classifier import fitted_inside, sampled_step, without_targets
from pnml.estimators.labels import check_labels, positions, refuse_one_class
from pnml.estimators.refitted import Refitted
from pnml.estimators.validation import (
    check_flag,
    check_rows,
    check_training_rows,
    check_weights,
    is_number,
    like_input,
    refuse_extreme,
    refuse_nonfinite,
)
from pnml.estimators.wrapped import (
    LastStep,
    check_table,
    feature_names,
    fit_wrapped,
    unfrozen,
)

_METHODS: dict[str, type[Genie]] = {"analytic": OneStep, "refit": Refitted}
# Penalty where the classifier has none of its own: a millionth of what the rows say. Eq. (F7).
_SMALL = 1e-6


class PNMLClassifier(TrustMixin, MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """A classifier that says, row by row, how far hindsight could beat it.

    A label told in hindsight would move the probabilities of the classifier inside. How far is
    found from the leverage of the row among the training rows, or by training again with each
    label. Rows unlike those in training get probabilities nearer to each other and a larger regret.

    Parameters
    ----------
    estimator : classifier or Pipeline, default=LogisticRegression()
        It is cloned and fitted; one that is fitted already goes in a
        ``sklearn.frozen.FrozenEstimator``. It must have ``predict_proba``. Of a Pipeline, the
        leverage is that of the rows as the last step sees them; of others, that of the rows.
    method : "analytic" or "refit", default="analytic"
        With ``"analytic"`` the genie takes one step of the single-layer network; the most probable
        class stays that of the classifier inside. With ``"refit"`` it is trained to the end with
        the row and its label, once for each label, which takes milliseconds to tenths of a second
        a row; the most probable class may be another one. Only a LogisticRegression with an ℓ2
        penalty or none can be trained again, or a Pipeline that ends in one; steps before it stay
        as they were fitted.
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

    Attributes
    ----------
    estimator_ : the fitted classifier
    classes_ : labels (C,), in the order of the columns of ``predict_proba``
    alpha_ : the penalty in use, in the units of ``spectrum_``
    spectrum_ : the geometry of the training rows
    loo_ : leave-one-out leverages, regrets and log-losses; with ``method="refit"`` a `LogisticPNML`
        of at most 200 rows, found when it is first asked for
    explain_names_ : names of the columns of ``explain``
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

    _genie: Genie

    def __init__(
        self,
        estimator: Any = None,
        *,
        method: str = "analytic",
        alpha: Any = "auto",
        normalize: bool = False,
        tol: float = 1e-4,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.alpha = alpha
        self.normalize = normalize
        self.tol = tol

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the classifier and learn the geometry of its rows.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        y : array-like of shape (n,)
            Labels of at least two classes: numbers, text or booleans.
        sample_weight : array-like of shape (n,), optional
            How many copies of each row to count, where the classifier can count them.
        """
        genie = self._check_settings()
        estimator = LogisticRegression() if self.estimator is None else clone(self.estimator)
        genie.check(estimator)
        labels = check_labels(self, y)
        given, rows = self._training_rows(estimator, X, labels)
        weights = check_weights(sample_weight, labels)
        refuse_one_class(labels if weights is None else labels[weights > 0])
        self.estimator_ = fit_wrapped(estimator, given, labels, weights)
        step = LastStep.of(self.estimator_, given, rows)
        rows = self._scaled(step.values)
        self.alpha_, unit_columns = self._penalty(step)
        factor = Factor.of(rows, np.zeros((len(rows), 0)), weights)
        self.spectrum_ = Spectrum.of_factor(
            factor, intercept=not self.normalize, unit_columns=unit_columns
        )
        counts = np.ones(len(rows)) if weights is None else weights
        leverages = left_out_leverages(self.spectrum_, rows, counts, self.alpha_)
        at = positions(labels, self.classes_)
        self._genie = genie.of(Training(step, at, counts, leverages, float(self.tol)))
        return self

    def fit_gram(self, gram: Gram) -> Self:
        """Learn the geometry of rows that a `Gram` has counted, around a classifier fitted before.

        ``estimator`` must be a ``sklearn.frozen.FrozenEstimator``: the leverage adds up over rows,
        the training of a classifier does not. Rows left out are those of the Gram's sample.

        Parameters
        ----------
        gram : pnml.core.statistic.gram.Gram
            Of rows as the last step of the classifier sees them. Its one target is the place of
            each row's label among the classes, counted from 0.
        """
        genie = self._check_settings()
        inside = fitted_inside(self)
        self.estimator_ = inside
        self.n_features_in_ = int(getattr(inside, "n_features_in_", len(gram.x_mean)))
        step = sampled_step(inside, gram)
        places, counts = gram.sample.rows[:, -2].astype(np.intp), gram.sample.rows[:, -1]
        self.alpha_, unit_columns = self._penalty(step)
        self.spectrum_ = Spectrum.of_gram(
            without_targets(gram), intercept=True, unit_columns=unit_columns
        )
        self.spectrum_.warn_if_lossy(self.alpha_, step.values)
        leverages = left_out_leverages(self.spectrum_, step.values, counts, self.alpha_)
        self._genie = genie.of(Training(step, places, counts, leverages, float(self.tol)))
        return self

    def predict(self, X: Any) -> Any:
        """Most probable class of each row by the pNML probabilities.

        With ``method="analytic"`` also the one most probable to the classifier inside.
        """
        best = np.argmax(self.predict_log_proba(X), axis=1)
        return self.classes_[best]

    def predict_proba(self, X: Any) -> Any:
        """The pNML probabilities (n, C) of the classes, in the order of ``classes_``.

        Always float64: what a probability near 1 leaves to the others is lost in float32.
        """
        return self.predict_dist(X).prob

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms (n, C) of the pNML probabilities; −inf where the classifier gives 0."""
        return self.predict_dist(X).log_prob

    def predict_dist(self, X: Any) -> Categorical:
        """Probabilities and regrets of rows at once: ``prob``, ``log_prob`` and ``regret``.

        Where every row costs refits, asking once is half the work; float64.
        """
        rows, step = self._seen(X)
        return self._genie.predictive(step, self._leverage(rows))

    def regret(self, X: Any) -> Any:
        """Regret of each row in nats: how far hindsight could have beaten us there.

        From 0 to ``log((C+1)/2)``, which only infinite leverage reaches; with ``method="refit"``
        up to ``log C``, where every label can be fitted.
        """
        rows, step = self._seen(X)
        return like_input(self._genie.regret(step, self._leverage(rows)), rows)

    def relative_regret(self, X: Any) -> Any:
        """Regret of each row as a fraction of log C, comparable between numbers of classes."""
        return self.regret(X) / float(np.log(len(self.classes_)))

    def explain(self, X: Any) -> Any:
        """Share of each feature in the leverage of each row: (n, n_features), ≥ 0.

        The features are those that the last step sees, named in ``explain_names_``. The rows sum
        to the leverage less the bias's ``1/n``. With ``method="refit"`` too it is the leverage that
        is shared out, though the regret is not made of it alone.
        """
        rows, _ = self._seen(X)
        return like_input(attribution.explain(self.spectrum_, rows, self.alpha_), rows)

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The labels, in the order of the columns of ``predict_proba``."""
        classes: npt.NDArray[Any] = self.estimator_.classes_
        return classes

    @property
    def explain_names_(self) -> npt.NDArray[Any]:
        """Names of the features that the last step sees."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        return feature_names(self.estimator_, len(self.spectrum_.center), names)

    @property
    def loo_(self) -> LabelsLeftOut:
        """Leave-one-out leverages, regrets and log-losses of the training rows. Eq. (F6).

        The leverage is that among the other rows; the probabilities are those of the fit to all.
        With ``method="refit"`` they are those of exact refits without the row, Eq. (H11), for
        which at most 200 rows, drawn at random, are taken when they are first asked for.
        """
        check_is_fitted(self)
        return self._leave_one_out()

    def _leave_one_out(self) -> LabelsLeftOut:
        return self._genie.loo

    def _left_out_sample(self) -> LeftOutSample:
        """All labels of some training rows, each judged by the other rows."""
        return self._genie.sample

    def _judged(self, X: Any, level: float) -> FloatArray:
        """Regret of rows; infinite for rows far out, where sure classifiers have none. Eq. (F8)."""
        rows, step = self._seen(X)
        leverage = self._leverage(rows)
        usual = leverage <= self._genie.loo.leverage_threshold(level)
        return np.where(usual, self._genie.regret(step, leverage), np.inf)

    def _seen(self, X: Any) -> tuple[FloatArray, LastStep]:
        """Rows as their leverage is taken, and as the last step takes them."""
        step = self._last_step(X)
        return self._scaled(step.values), step

    def _leverages(self, X: Any) -> FloatArray:
        """Leverage of rows as they were passed."""
        return self._leverage(self._seen(X)[0])

    def _leverage(self, rows: FloatArray) -> FloatArray:
        found: FloatArray = self.spectrum_.leverage(rows, self.alpha_)
        return found

    def _last_step(self, X: Any) -> LastStep:
        check_is_fitted(self)
        if isinstance(unfrozen(self.estimator_), Pipeline):
            check_table(self, X, reset=False)
            return LastStep.of(self.estimator_, X)
        rows = check_rows(self, X)
        refuse_nonfinite(self, rows)
        refuse_extreme("X", rows)
        return LastStep.of(self.estimator_, X if hasattr(X, "columns") else rows, rows)

    def _training_rows(
        self, estimator: Any, X: Any, labels: npt.NDArray[Any]
    ) -> tuple[Any, FloatArray | None]:
        """Rows as the classifier takes them, and as numbers; a pipeline may begin with anything."""
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

    def _scaled(self, rows: FloatArray) -> FloatArray:
        if not self.normalize:
            return rows
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        scaled: FloatArray = rows / np.where(norms > 0, norms, 1.0).astype(rows.dtype)
        return scaled

    def _penalty(self, step: LastStep) -> tuple[float, bool]:
        """The penalty, and whether it is one of columns scaled to unit norm. Eq. (F7)."""
        own = None if self.normalize else step.ridge()
        if self.alpha != "auto":
            alpha = float(self.alpha)
        elif own is not None:
            alpha = own
        else:
            return _SMALL, not self.normalize
        return alpha, alpha == 0  # without a penalty the units of a column mean nothing

    def _check_settings(self) -> type[Genie]:
        genie = _METHODS.get(self.method) if isinstance(self.method, str) else None
        if genie is None:
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
        automatic = isinstance(self.alpha, str) and self.alpha == "auto"
        if not automatic and (not is_number(self.alpha) or self.alpha < 0):
            raise InputError(
                f"alpha is {self.alpha!r}, but it must be a finite number of at least 0 or "
                '"auto"; pass alpha="auto" to have it follow the classifier.'
            )
        return genie
