"""Intervals with finite-sample coverage, wider where the regret is larger."""

from __future__ import annotations

from typing import Any, Literal, Self, overload

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted

from pnml.core import conformal
from pnml.core.arrays import FloatArray
from pnml.core.distributions.normal import check_coverage
from pnml.core.distributions.tabulated import Tabulated
from pnml.core.leave_one_out import LeaveOneOut
from pnml.core.trust import DEFAULT_LEVEL, Reference
from pnml.core.user_types import ArrayOrFrame, BoolArray, EstimatorLike, RandomSeed
from pnml.errors import InputError
from pnml.estimators.available import available_if
from pnml.estimators.calibration_rows import (
    RowGroups,
    Rows,
    asked_groups,
    check_calibration_size,
    keep_groups,
    split_rows,
    warn_of_few,
)
from pnml.estimators.estimator import Estimator
from pnml.estimators.registry import register
from pnml.estimators.regressor import PNMLRegressor
from pnml.estimators.validation import (
    check_number_or_loo,
    check_rows,
    check_training_rows,
    refuse_nonfinite,
)
from pnml.learners.finite import like_input
from pnml.learners.least_squares import ORDINARY


def _has_distribution(model: ConformalRegressor) -> bool:
    calibration = getattr(
        model, "_calibration", None
    )  # the fitted estimator first, then the parameter
    fitted = isinstance(calibration, conformal.RidgeFolds)
    if fitted or (calibration is None and model.method == "jackknife+"):
        raise AttributeError(
            'method="jackknife+" gives intervals and no distribution; use method="split", or '
            "estimator_.predict_dist for the estimator's own."
        )
    if isinstance(calibration, conformal.GroupedScores):
        raise AttributeError(
            "Calibration by groups gives intervals and no distribution; fit without groups, or use "
            "estimator_.predict_dist for the estimator's own."
        )
    return True


class ConformalRegressor(MetaEstimatorMixin, RegressorMixin, Estimator):
    """Conformal regressor: its intervals hold the target at the stated rate on exchangeable rows.

    Parameters
    ----------
    estimator : a regressor of this library, default=PNMLRegressor()
    method : "split" or "jackknife+", default="split"
        ``"split"`` holds rows back, scores them by ``|y − ŷ| / exp(regret/2)``, and covers at
        least at the stated rate. ``"jackknife+"`` uses every row for both jobs, with
        ``|y − ŷ| / exp(regret)``: guaranteed 1 − 2α where 1 − α is asked, in practice about 1 − α.
        It needs a PNMLRegressor with a fixed alpha, for which no refit is necessary.
    calibration_size : float, default=0.25
        Share of the rows that ``"split"`` holds back.
    random_state : int, RandomState or None
        Which rows are held back.

    Attributes
    ----------
    estimator_ : the fitted regressor

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> y = X[:, 0] + rng.standard_t(4, size=200)
    >>> model = ConformalRegressor(PNMLRegressor(), random_state=0).fit(X, y)
    >>> model.predict_interval(X[:5], coverage=0.9).shape
    (5, 2)
    """

    _groups: RowGroups | None = None  # where fit was given groups

    def __init__(
        self,
        estimator: EstimatorLike | None = None,
        *,
        method: Literal["split", "jackknife+"] = "split",
        calibration_size: float = 0.25,
        random_state: RandomSeed = None,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.calibration_size = calibration_size
        self.random_state = random_state

    def fit(self, X: ArrayOrFrame, y: ArrayOrFrame, groups: ArrayOrFrame | None = None) -> Self:
        """Fit the estimator, and calibrate its intervals on rows held back or left out.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        y : array-like of shape (n,)
        groups : array-like of shape (n,), optional
            A group per row, text or whole numbers; each group is then covered at the stated rate.
            For ``method="split"`` alone. ``predict_interval`` needs the groups of its rows too.
        """
        if self.method not in ("split", "jackknife+"):
            raise InputError(
                f"method is {self.method!r}, which is not known here; "
                'pass method="split" or method="jackknife+".'
            )
        estimator = PNMLRegressor() if self.estimator is None else clone(self.estimator, safe=False)
        if not hasattr(estimator, "regret"):
            raise InputError(
                f"estimator is a {type(estimator).__name__}, which has no regret to scale its "
                "intervals by; pass one of pnml's regressors, for instance PNMLRegressor(), or the "
                "model in a TrustedRegressor."
            )
        if self.method == "split":
            self._fit_split(estimator, *check_training_rows(self, X, y), groups)
        else:
            _refuse_unfit_for_jackknife(estimator, groups)
            self._fit_jackknife(estimator, *check_training_rows(self, X, y))
        return self

    def _fit_split(
        self, estimator: BaseEstimator, X: FloatArray, y: FloatArray, groups: ArrayOrFrame | None
    ) -> None:
        instead = ', or use method="jackknife+"'
        share = check_calibration_size(self.calibration_size, len(X), instead)
        places = keep_groups(self, groups, len(X))
        proper, held = split_rows(len(X), share, places, self.random_state)
        # The rows are a copy. A frozen model keeps its fit, and a subclass may have one of its own.
        fit = estimator._fit_own_rows if type(estimator) is PNMLRegressor else estimator.fit
        self.estimator_ = fit(X.take(proper, axis=0), y[proper])
        dist = self.estimator_.predict_dist(X.take(held, axis=0))
        self._calibration: FloatArray | conformal.GroupedScores | conformal.RidgeFolds
        self._calibration = conformal.split_scores(y[held] - dist.mean, dist.regret)
        if self._groups is not None and places is not None:
            scores = conformal.unsorted_scores(y[held] - dist.mean, dist.regret)
            n_groups = len(self._groups.names)
            self._calibration = conformal.GroupedScores.of(scores, places[held], n_groups)

    def _fit_jackknife(self, estimator: BaseEstimator, X: FloatArray, y: FloatArray) -> None:
        keep_groups(self, None, len(X))
        self.estimator_ = estimator.fit(X, y)
        self._calibration = conformal.RidgeFolds.of(
            self.estimator_.spectrum_, X, y, self.estimator_.alpha_
        )

    @available_if(_has_distribution)
    def predict_dist(self, X: ArrayOrFrame) -> Tabulated:
        """Distribution of the label of each row; its central intervals are the conformal ones.

        With ``method="split"`` and without groups only. It has ``mean``, ``std``, ``regret``,
        ``log_prob(y)``, ``cdf(y)``, ``ppf(q)``, ``interval(coverage)`` and ``sample``.
        """
        return self._distribution(self._checked(X), self._calibration)

    def _distribution(self, X: ArrayOrFrame, scores: Any) -> Tabulated:
        """Distribution of the target of each row X, which is checked, by conformal scores."""
        dist = self.estimator_.predict_dist(X)
        return conformal.split_distribution(dist.mean, dist.regret, scores)

    @overload
    def predict(self, X: ArrayOrFrame, return_std: Literal[False] = False) -> FloatArray: ...
    @overload
    def predict(
        self, X: ArrayOrFrame, return_std: Literal[True]
    ) -> tuple[FloatArray, FloatArray]: ...
    def predict(
        self, X: ArrayOrFrame, return_std: bool = False
    ) -> FloatArray | tuple[FloatArray, FloatArray]:
        """Predicted label (n,) of the rows, by the fitted estimator.

        With `return_std` a pair: the predictions, and standard deviations (n,) of the calibrated
        distribution where there is one, else the estimator's own.
        """
        X = self._checked(X)
        mean: FloatArray = self.estimator_.predict(X)
        if not return_std:
            return mean
        has_own = isinstance(self._calibration, np.ndarray)
        dist = self.predict_dist(X) if has_own else self.estimator_.predict_dist(X)
        return mean, like_input(dist.std, X)

    def predict_interval(
        self, X: ArrayOrFrame, coverage: float = 0.9, groups: ArrayOrFrame | None = None
    ) -> FloatArray:
        """Lower and upper end (n, 2) of an interval that holds each label at the rate `coverage`.

        How the rate is guaranteed depends on `method`. `groups` (n,) are the groups of the rows,
        needed where ``fit`` was given groups.
        """
        coverage = check_coverage(coverage)
        rows = self._checked(X)
        at = asked_groups(self._groups, groups, len(rows))
        self._warn_of_few(coverage, at)
        if isinstance(self._calibration, conformal.RidgeFolds):
            interval = self._calibration.interval(rows, coverage)
        else:
            scores = self._calibration
            if isinstance(scores, np.ndarray):  # all rows are one group
                scores = conformal.GroupedScores(scores, np.array([len(scores)]))
            dist = self.estimator_.predict_dist(rows)
            limits = scores.thresholds(coverage)[at]
            interval = conformal.split_interval(dist.mean, dist.regret, limits)
        return like_input(interval, rows)

    def _warn_of_few(self, coverage: float, at: Rows) -> None:
        """Warn where too few rows were held back for intervals of this coverage to end."""
        held = self._calibration
        what, share, part = "The intervals", self.calibration_size, " held back for calibration"
        if isinstance(held, conformal.RidgeFolds):
            have, share, part = len(held.residuals), 1.0, ""
        elif isinstance(held, conformal.GroupedScores):
            place = min(np.unique(at), key=lambda place: held.sizes[place])
            have = int(held.sizes[place])
            what += f" in group {self._groups.name(place)}" if self._groups else ""
        else:
            have = len(held)
        warn_of_few(f"{what} are infinite", coverage, have, share, part)

    def regret(self, X: ArrayOrFrame) -> FloatArray:
        """Regret of each row in nats, by the fitted estimator."""
        rows = self._checked(X)
        regret: FloatArray = self.estimator_.regret(rows)
        return regret

    def trusted(self, X: ArrayOrFrame, level: float = DEFAULT_LEVEL) -> BoolArray:
        """Whether to trust each row: True if its regret is as small as those of training rows."""
        rows = self._checked(X)
        verdicts: BoolArray = self.estimator_.trusted(rows, level=level)
        return verdicts

    def explain(self, X: ArrayOrFrame) -> FloatArray:
        """Part (n, n_features) of each row's leverage that each feature causes."""
        rows = self._checked(X)
        shares: FloatArray = self.estimator_.explain(rows)
        return shares

    @property
    def loo_(self) -> LeaveOneOut:
        """Leave-one-out residuals, regrets and log-losses of the fitted estimator's rows."""
        check_is_fitted(self)
        loo: LeaveOneOut = self.estimator_.loo_
        return loo

    @property
    def reference_(self) -> Reference:
        """Regrets of the estimator's training rows, each left out: what ``trusted`` takes."""
        check_is_fitted(self)
        reference: Reference = self.estimator_.reference_
        return reference

    def _checked(self, X: ArrayOrFrame) -> FloatArray:
        check_is_fitted(self)
        rows = check_rows(self, X)
        refuse_nonfinite(self, rows)  # here the columns still have their names
        return rows


def _refuse_unfit_for_jackknife(estimator: BaseEstimator, groups: ArrayOrFrame | None) -> None:
    if groups is not None:
        raise InputError(
            'groups was passed, but method="jackknife+" covers all rows together; use '
            'method="split" to cover each group.'
        )
    if getattr(estimator, "_method", None) is not ORDINARY:
        raise InputError(
            f'method="jackknife+" works with PNMLRegressor, but estimator is a '
            f'{type(estimator).__name__}; use method="split" for it.'
        )
    if check_number_or_loo("alpha", estimator.alpha, positive=False) is None:
        raise InputError(
            'method="jackknife+" needs a penalty fixed beforehand, but the estimator has '
            'alpha="loo", which would void the guarantee; pass a number or use method="split".'
        )


register(
    "conformal",
    lambda: ConformalRegressor(PNMLRegressor(alpha="loo"), random_state=0),
    task="regression",
    about="guaranteed coverage",
    place=7,
)
