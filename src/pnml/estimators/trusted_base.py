"""What TrustedRegressor and TrustedClassifier share: fitting the model, regret, trust, reasons."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, Self

import numpy as np
from sklearn.base import MetaEstimatorMixin, _clone_parametrized
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Tags, _safe_indexing
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import _num_samples, check_is_fitted

from pnml.columns.encoder import ColumnEncoder
from pnml.core.arrays import FloatArray
from pnml.core.trust import DEFAULT_LEVEL, Reference, check_level
from pnml.core.user_types import (
    ArrayOrFrame,
    BoolArray,
    EstimatorLike,
    Folds,
    LabelArray,
    RandomSeed,
)
from pnml.errors import InputError
from pnml.estimators.estimator import Estimator
from pnml.estimators.fit_model import as_model, check_prefit, default_model, fit_model
from pnml.estimators.fit_params import FitParams, check_groups
from pnml.estimators.score_frame import reasons
from pnml.estimators.validation import check_flag, check_weights
from pnml.estimators.wrapped import check_table
from pnml.learners.categorical_columns import categorical_columns
from pnml.learners.cross_fitted import CrossFitted
from pnml.learners.last_step import is_frozen
from pnml.learners.trusted_model import ReadRows, TrustedModel
from pnml.learners.unread_columns import unread_columns

# Training rows that tell the model apart where a model file cannot hold it.
_PROBE_ROWS = 8


class TrustedBase(MetaEstimatorMixin, Estimator):
    """Base of TrustedRegressor and TrustedClassifier: a wrapped model, and trust in it."""

    learner_: Any  # has `base`, a TrustedModel
    estimator_: Any

    def __init__(
        self,
        estimator: EstimatorLike | None = None,
        *,
        prefit: bool = False,
        cv: Folds = 5,
        random_state: RandomSeed = None,
    ) -> None:
        self.estimator = estimator
        self.prefit = prefit
        self.cv = cv
        self.random_state = random_state

    def __sklearn_clone__(self) -> Self:
        """A copy without the fit; a prefit model stays as it is, as in a FrozenEstimator."""
        if not self.prefit:
            plain: Self = _clone_parametrized(self)
            return plain
        frozen = copy(self)
        frozen.estimator = FrozenEstimator(self.estimator)
        made: Self = _clone_parametrized(frozen)
        made.estimator = self.estimator
        return made

    def regret(self, X: ArrayOrFrame) -> FloatArray:
        """Regret (n,) of the rows in nats, 0 or more; it grows with the leverage of the row.

        For a regressor it is log(1 + leverage). For a classifier of C classes it also depends on
        the predicted probabilities, and is at most log((C + 1)/2).
        """
        regrets: FloatArray = self._each(X, lambda rows: self.learner_.regret(rows))
        return regrets

    def trusted(self, X: ArrayOrFrame, level: float = DEFAULT_LEVEL) -> BoolArray:
        """Whether to trust each row, (n,): False if stranger than a share `level` of training rows.

        The regret and the largest distance beyond the training range of a column (and, for classes,
        the leverage) must be as small as those of left-out training rows; all tests together raise
        a share 1 − `level` of false alarms. A row with a word, a gap or a value of a constant
        column unseen in training is never trusted, nor is one that breaks a linear relation of the
        columns. Eq. (X1).
        """
        limits = self.reference_.thresholds(check_level(level))
        verdicts: BoolArray = self._each(
            X, lambda rows: limits.trusts(*self.learner_.evidence(rows))
        )
        return verdicts

    def explain(self, X: ArrayOrFrame) -> FloatArray:
        """Part of each row's leverage that each column causes: (n, n_features), ≥ 0.

        The parts of a row sum to its leverage, less ``1/n`` for the intercept with n training
        rows.
        """
        shares: FloatArray = self._each(X, lambda rows: self.learner_.base.explain(rows))
        return shares

    @property
    def reference_(self) -> Reference:
        """Regrets of left-out training rows, and how far each is beyond the range of the others."""
        check_is_fitted(self)
        reference: Reference = self.learner_.reference
        return reference

    @property
    def cross_fitted_(self) -> CrossFitted | None:
        """Errors and log-losses of the training rows by fits without their folds, or None.

        None for a prefit model, which is not fitted again.
        """
        check_is_fitted(self)
        fitted: CrossFitted | None = self.learner_.cross_fitted
        return fitted

    @property
    def explain_names_(self) -> LabelArray:
        """Names of the columns of ``explain``."""
        check_is_fitted(self)
        return np.array(self.learner_.base.encoder.names, dtype=object)

    def _fit_inside(
        self, kind: type, X: ArrayOrFrame, y: LabelArray, Y: FloatArray, params: FitParams
    ) -> tuple[Any, TrustedModel]:
        """The unfitted model that the folds clone, and the fitted one with its training rows.

        `kind` is the class of the default model; Y (n, k) are k targets as numbers, one for each
        class of a classifier. Sets ``estimator_``.
        """
        encoder = ColumnEncoder.of(X, params.weights)
        columns = len(encoder.kinds)
        if self._prefit:
            model = self.estimator_ = as_model(self.estimator, prefit=True)
            check_prefit(model, columns, X)
        else:
            inside = self.estimator
            if inside is None:
                inside = default_model(kind, encoder, self.random_state)
            model, self.estimator_ = fit_model(inside, encoder, X, lambda m: params.fit(m, X, y))
        words = categorical_columns(self.estimator_)
        unread = unread_columns(self.estimator_, columns)
        if words or unread:
            encoder = ColumnEncoder.of(X, params.weights, words, unread)
        self._probe = _safe_indexing(X, np.arange(min(len(Y), _PROBE_ROWS)))
        counts = np.ones(len(Y)) if params.weights is None else params.weights
        return model, TrustedModel.of(self.estimator_, encoder, X, Y, counts)

    @property
    def _prefit(self) -> bool:
        """Whether the model is taken as it is: it is said to be fitted, or frozen."""
        return bool(self.prefit) or isinstance(self.estimator, FrozenEstimator)

    @property
    def _refits(self) -> bool:
        """Whether clones of the model learn from the rows that they are fitted to."""
        return not (self._prefit or is_frozen(self.estimator))

    def _check_arguments(self, X: ArrayOrFrame) -> Any:
        """Check parameters and columns; the rows in a form that folds can index."""
        check_flag("prefit", self.prefit)
        as_model(self.estimator, prefit=self._prefit)
        check_table(self, X, reset=True)
        return X if hasattr(X, "shape") or isinstance(X, list) else np.asarray(X)

    def _params(
        self,
        X: ArrayOrFrame,
        y: LabelArray,
        sample_weight: ArrayOrFrame | None,
        groups: ArrayOrFrame | None,
        params: dict[str, Any],
    ) -> FitParams:
        if _num_samples(X) != len(y):
            raise InputError(
                f"X has {_num_samples(X)} rows but y has {len(y)} values; pass exactly one target "
                "per row."
            )
        weights = check_weights(sample_weight, y)
        check_groups(groups, len(y))
        return FitParams.routed(self, weights, groups, params)

    def _each(self, X: ArrayOrFrame, ask: Callable[[ReadRows], Any]) -> Any:
        check_is_fitted(self)
        check_table(self, X, reset=False)
        return self.learner_.base.each(X, ask)

    def _because(self, rows: ReadRows) -> list[str]:
        base: TrustedModel = self.learner_.base
        unrelated = base.unrelated(rows, 1 - DEFAULT_LEVEL)
        outside, left_out = base.outside(rows), base.leverages
        return reasons(base.explain(rows), rows.encoded, outside, unrelated, left_out)

    def get_metadata_routing(self) -> MetadataRouter:
        """scikit-learn's router of ``fit`` arguments: to the model, the splitter, and itself."""
        fit = MethodMapping().add(caller="fit", callee="fit")
        split = MethodMapping().add(caller="fit", callee="split")
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        if self.estimator is not None:
            router = router.add(estimator=self.estimator, method_mapping=fit)
        return router.add(splitter=self.cv, method_mapping=split)

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags
