"""Intervals with finite-sample coverage, wider where the regret is larger."""

from __future__ import annotations

import warnings
from typing import Any, Self, cast

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.model_selection import train_test_split
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from pnml.core import conformal
from pnml.core.arrays import FloatArray
from pnml.core.distributions.normal import check_coverage
from pnml.core.leave_one_out import LeaveOneOut
from pnml.core.trust import DEFAULT_LEVEL, Reference
from pnml.errors import ConditionWarning, InputError
from pnml.estimators.registry import register
from pnml.estimators.regressor import PNMLRegressor
from pnml.estimators.validation import (
    check_number_or_loo,
    check_rows,
    check_training_rows,
    is_number,
    refuse_nonfinite,
)
from pnml.learners.finite import like_input
from pnml.learners.least_squares import ORDINARY
from pnml.runtime.checks import is_share


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
    return True


class ConformalRegressor(MetaEstimatorMixin, RegressorMixin, BaseEstimator):
    """Conformal regressor: intervals of stated coverage for any noise, if rows are exchangeable.

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

    def __init__(
        self,
        estimator: Any = None,
        *,
        method: str = "split",
        calibration_size: float = 0.25,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.calibration_size = calibration_size
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the estimator and calibrate it on rows X (n, n_features), y (n,)."""
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
            self._fit_split(estimator, *check_training_rows(self, X, y))
        else:
            _refuse_unfit_for_jackknife(estimator)
            self._fit_jackknife(estimator, *check_training_rows(self, X, y))
        return self

    def _fit_split(self, estimator: Any, X: FloatArray, y: FloatArray) -> None:
        if not is_number(self.calibration_size) or not 0 < self.calibration_size < 1:
            raise InputError(
                f"calibration_size is {self.calibration_size!r}, but it is a share of the rows; "
                "pass a number strictly between 0 and 1."
            )
        if len(X) < 4:
            raise InputError(
                f"X has {len(X)} rows (n_samples={len(X)}), too few to hold some back for "
                'calibration; pass at least 4, or use method="jackknife+".'
            )
        n_calibration = int(np.ceil(self.calibration_size * len(X)))
        if len(X) - n_calibration < 2:
            raise InputError(
                f"calibration_size is {self.calibration_size!r}, which leaves "
                f"{len(X) - n_calibration} of {len(X)} rows to fit; pass a smaller share."
            )
        parts = train_test_split(
            X, y, test_size=self.calibration_size, random_state=self.random_state
        )
        X_proper, X_calibration, y_proper, y_calibration = parts
        self.estimator_ = estimator.fit(X_proper, y_proper)
        dist = self.estimator_.predict_dist(X_calibration)
        self._calibration: FloatArray | conformal.RidgeFolds = conformal.split_scores(
            y_calibration - dist.mean, dist.regret
        )

    def _fit_jackknife(self, estimator: Any, X: FloatArray, y: FloatArray) -> None:
        self.estimator_ = estimator.fit(X, y)
        self._calibration = conformal.RidgeFolds.of(
            self.estimator_.spectrum_, X, y, self.estimator_.alpha_
        )

    @available_if(_has_distribution)  # type: ignore[untyped-decorator]
    def predict_dist(self, X: Any) -> Any:
        """Distribution of the label of each row whose intervals are the conformal ones.

        With ``method="split"`` only; it has the methods of every predictive distribution here.
        """
        dist = self.estimator_.predict_dist(self._checked(X))
        scores = cast(FloatArray, self._calibration)
        return conformal.split_distribution(dist.mean, dist.regret, scores)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predicted label of each row, by the fitted estimator.

        With `return_std` also the standard deviation: of the calibrated distribution where there
        is one, else the estimator's own.
        """
        X = self._checked(X)
        mean = self.estimator_.predict(X)
        if not return_std:
            return mean
        split = not isinstance(self._calibration, conformal.RidgeFolds)
        dist = self.predict_dist(X) if split else self.estimator_.predict_dist(X)
        return mean, like_input(dist.std, X)

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Any:
        """Interval (n, 2) for each label, valid at the rate `coverage` (see `method`)."""
        coverage = check_coverage(coverage)
        X = self._checked(X)
        self._warn_of_few(coverage)
        if isinstance(self._calibration, conformal.RidgeFolds):
            interval = self._calibration.interval(X, coverage)
        else:
            interval = self.predict_dist(X).interval(coverage)
        return like_input(interval, X)

    def _warn_of_few(self, coverage: float) -> None:
        """Warn where too few rows were held back for intervals of this coverage to end."""
        folds = isinstance(self._calibration, conformal.RidgeFolds)
        scores = self._calibration.residuals if folds else self._calibration  # type: ignore[union-attr]
        have, needed = len(cast(FloatArray, scores)), conformal.rows_needed(coverage)
        if have >= needed:
            return
        part = "" if folds else " held back for calibration"
        share = 1.0 if folds or not is_share(self.calibration_size) else self.calibration_size
        warnings.warn(
            f"The intervals are infinite, since {coverage:g} coverage needs at least {needed} rows"
            f"{part} and there are {have}; fit with {int(np.ceil(needed / share))} rows or more, "
            "or ask for less coverage.",
            ConditionWarning,
            stacklevel=3,
        )

    def regret(self, X: Any) -> Any:
        """Regret of each row in nats, by the fitted estimator."""
        X = self._checked(X)
        return self.estimator_.regret(X)

    def trusted(self, X: Any, level: float = DEFAULT_LEVEL) -> Any:
        """Whether each row's regret is as small as those of training rows."""
        X = self._checked(X)
        return self.estimator_.trusted(X, level=level)

    def explain(self, X: Any) -> Any:
        """Share of each feature in the leverage of each row, by the fitted estimator."""
        X = self._checked(X)
        return self.estimator_.explain(X)

    @property
    def loo_(self) -> LeaveOneOut:
        """Leave-one-out of the fitted estimator on the rows it was fitted to."""
        check_is_fitted(self)
        loo: LeaveOneOut = self.estimator_.loo_
        return loo

    @property
    def reference_(self) -> Reference:
        """Regrets of training rows of the fitted estimator, with which ``trusted`` compares."""
        check_is_fitted(self)
        reference: Reference = self.estimator_.reference_
        return reference

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self)
        X = check_rows(self, X)
        refuse_nonfinite(self, X)  # here the columns still have their names
        return X


def _refuse_unfit_for_jackknife(estimator: Any) -> None:
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
