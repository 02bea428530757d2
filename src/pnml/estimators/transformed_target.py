"""Regression on a transformed label, with regrets, intervals and densities of the label itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn import compose, get_config
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from pnml.core.arrays import FloatArray
from pnml.core.distributions.transformed import Transformed, mapped_interval
from pnml.core.trust import DEFAULT_LEVEL, Reference
from pnml.core.user_types import ArrayOrFrame, BoolArray
from pnml.errors import InputError
from pnml.estimators.available import available_if
from pnml.estimators.estimator import DocsLink
from pnml.estimators.label_scale import LabelRange, LabelScale
from pnml.estimators.regressor import PNMLRegressor
from pnml.estimators.score_frame import score_frame
from pnml.estimators.validation import as_targets
from pnml.learners.finite import like_input


def _regressor_has(name: str) -> Callable[[Any], bool]:
    """A check for `available_if`: True if the regressor has the attribute, else AttributeError."""

    def check(model: BaseEstimator) -> bool:
        fitted = getattr(model, "regressor_", None)
        getattr(model._get_regressor() if fitted is None else fitted, name)
        return True

    return check


class TransformedTargetRegressor(compose.TransformedTargetRegressor):
    """A regressor of a transformed label, such as its logarithm, that says which rows to trust.

    It is scikit-learn's ``TransformedTargetRegressor``, with the methods of the estimators of
    this library besides, where the regressor has them. ``predict`` is unchanged: the prediction
    of the regressor, transformed back, which is the median of a symmetric distribution and not
    the mean of the label.

    The regret is that of the regressor. It is exact for the models of the label ``y`` that those
    of ``z = T(y)`` induce, with densities ``p(T(y)) |T′(y)|`` and the transform as it was fitted
    (the genie does not fit it again): log-normal labels, for a logarithm. Where ``T`` does not
    reach all of the line, as a square root does not, it is an upper bound. Eq. (C4).

    Parameters
    ----------
    regressor : regressor, default=PNMLRegressor()
        It is cloned. Also a `Pipeline`, or a `TrustedRegressor`.
    transformer : transformer, optional
        With ``transform`` and ``inverse_transform``, in place of the functions.
    func, inverse_func : functions, optional
        The transform of the label and its inverse; the identity by default.
    check_inverse : bool, default=True
        Warn where the inverse does not lead back to the labels.

    Attributes
    ----------
    regressor_ : the fitted regressor
    transformer_ : the fitted transformer
    explain_names_, reference_ : those of the regressor, where it has them
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 2))
    >>> y = np.exp(X[:, 0] + 0.1 * rng.normal(size=100))
    >>> model = TransformedTargetRegressor(func=np.log, inverse_func=np.exp).fit(X, y)
    >>> model.predict_interval([[1.0, 0.0]], coverage=0.9).round(1)
    array([[2.2, 3.2]])
    >>> model.trusted([[1.0, 0.0], [1.0, 9.0]])
    array([ True, False])
    """

    _doc_link_module = DocsLink._doc_link_module
    _doc_link_template = DocsLink._doc_link_template
    _doc_link_url_param_generator = DocsLink._doc_link_url_param_generator

    def fit(self, X: ArrayOrFrame, y: ArrayOrFrame, **fit_params: Any) -> Self:
        """Fit the transformer to y (n,) and the regressor to rows X and transformed labels."""
        _refuse_undefined(self.func, y)
        super().fit(X, y, **fit_params)
        labels = np.asarray(y, dtype=float)
        single = labels.ndim == 1 or labels.shape[1:] == (1,)
        self._labels = LabelRange.of(self.transformer_, labels) if single else None
        return self

    @available_if(_regressor_has("calibrate"))
    def calibrate(
        self, X: ArrayOrFrame, y: ArrayOrFrame, sample_weight: ArrayOrFrame | None = None
    ) -> Self:
        """Set expected errors and intervals from rows that the regressor was not trained on.

        For a prefit `TrustedRegressor` inside; y (n,) are labels as in ``fit``, transformed here.
        """
        regressor = self._fitted
        _refuse_undefined(self.func, y)
        labels = as_targets(self, y)
        regressor.calibrate(X, self.transformer_.transform(labels[:, None])[:, 0], sample_weight)
        return self

    @available_if(_regressor_has("regret"))
    def regret(self, X: ArrayOrFrame) -> FloatArray:
        """Regret (n,) of rows in nats, by the regressor; the label's scale does not change it."""
        regret: FloatArray = self._fitted.regret(X)
        return regret

    @available_if(_regressor_has("trusted"))
    def trusted(self, X: ArrayOrFrame, level: float = DEFAULT_LEVEL) -> BoolArray:
        """Whether each row is like the training rows, (n,), by the verdict of the regressor.

        `level` is the share of ordinary rows that is trusted.
        """
        verdicts: BoolArray = self._fitted.trusted(X, level=level)
        return verdicts

    @available_if(_regressor_has("explain"))
    def explain(self, X: ArrayOrFrame) -> FloatArray:
        """Part (n, columns) of each row's leverage that each column causes, by the regressor."""
        shares: FloatArray = self._fitted.explain(X)
        return shares

    @available_if(_regressor_has("predict_interval"))
    def predict_interval(self, X: ArrayOrFrame, coverage: float = 0.9) -> FloatArray:
        """Lower and upper end (n, 2) for each label: the regressor's interval, transformed back.

        Its coverage is that of the regressor's interval, and guaranteed where that one's is.
        """
        ends = self._fitted.predict_interval(X, coverage=coverage)
        _refuse_several("predict_interval", ends.shape[1:-1])
        return like_input(mapped_interval(ends, self._scale("predict_interval")), ends)

    @available_if(_regressor_has("predict_dist"))
    def predict_dist(self, X: ArrayOrFrame) -> Transformed:
        """Distribution of the label of each row, from that of the transformed label.

        Its ``log_prob`` contains the slope of the transform: a closed form for functions of
        numpy, scalers, ``PowerTransformer`` and ``QuantileTransformer``, else central differences.
        ``mean``, ``std`` and ``mode`` are found numerically; ``median`` is exact.
        """
        inner = self._fitted.predict_dist(X)
        _refuse_several("predict_dist", inner.mean.shape[1:])
        return Transformed(inner, self._scale("predict_dist"))

    @available_if(_regressor_has("expected_error"))
    def expected_error(self, X: ArrayOrFrame) -> FloatArray:
        """Absolute error (n,) to expect on each row, in units of y.

        Half the length of the regressor's prediction ± its expected error, transformed back: right
        to first order, not calibrated again on the scale of y.
        """
        model, scale = self._fitted, self._scale("expected_error")
        error, z = model.expected_error(X), np.asarray(model.predict(X), dtype=float)
        ends = mapped_interval(np.column_stack([z - error, z + error]), scale)
        half: FloatArray = (ends[:, 1] - ends[:, 0]) / 2
        return half

    @available_if(_regressor_has("score_frame"))
    def score_frame(
        self, X: ArrayOrFrame, *, coverage: float = 0.9, level: float = DEFAULT_LEVEL
    ) -> Any:
        """All answers as one data frame: those of the regressor, in units of y.

        Columns: prediction, lower, upper, expected_error, regret, trusted, because.
        """
        frame = self._fitted.score_frame(X, coverage=coverage, level=level)
        columns = {name: frame[name].to_list() for name in frame.columns}
        ends = mapped_interval(
            np.column_stack([columns["lower"], columns["upper"]]), self._scale("score_frame")
        )
        own = {
            "prediction": self.predict(X),
            "lower": ends[:, 0],
            "upper": ends[:, 1],
            "expected_error": self.expected_error(X),
        }
        return score_frame(X, columns | own)

    @property
    def reference_(self) -> Reference:
        """Regrets of training rows, each left out, in nats; the yardstick of ``trusted``."""
        reference: Reference = self._fitted.reference_
        return reference

    @property
    def explain_names_(self) -> npt.NDArray[Any]:
        """Names of the columns of ``explain``, by the regressor."""
        names: npt.NDArray[Any] = self._fitted.explain_names_
        return names

    @property
    def _fitted(self) -> BaseEstimator:
        check_is_fitted(self)
        return self.regressor_

    def _scale(self, asked: str) -> LabelScale:
        """The map of labels and back; raises if the transform is not monotone."""
        if self._labels is None:
            raise InputError(
                f"{asked} needs a transform of the label that only rises or only falls, with its "
                "inverse, but the training labels show none; pass such func and inverse_func, or "
                "a transformer, and labels of more than one value."
            )
        return LabelScale(self.transformer_, self._labels)

    def _get_regressor(self, get_clone: bool = False) -> BaseEstimator:
        if self.regressor is not None:
            return super()._get_regressor(get_clone)
        default = PNMLRegressor()
        routed = get_config()["enable_metadata_routing"]
        return default.set_fit_request(sample_weight=True) if routed else default


def _refuse_several(asked: str, targets: tuple[int, ...]) -> None:
    """Raise where the regressor answers for several labels of a row."""
    if targets:
        raise InputError(
            f"{asked} transforms one label back, but the model was fitted to {targets[0]} targets; "
            "fit one TransformedTargetRegressor for each target, or ask regressor_ for the answer "
            "on the transformed scale."
        )


def _refuse_undefined(func: Callable[..., Any] | None, y: ArrayOrFrame) -> None:
    """Raise where the transform of the label gives no finite number for a label."""
    if func is None:
        return
    try:
        labels = np.asarray(y, dtype=float).reshape(len(np.asarray(y)), -1)
        with np.errstate(all="ignore"):
            transformed = np.asarray(func(labels), dtype=float).reshape(len(labels), -1)
    except (TypeError, ValueError):  # labels or a function that scikit-learn has words for
        return
    lost = ~np.isfinite(transformed).all(axis=1) & np.isfinite(labels).all(axis=1)
    if lost.any():
        row = int(np.argmax(lost))
        raise InputError(
            f"func gives {transformed[row].min():g} for the label {labels[row].min():g} in row "
            f"{row} (counted from 0); pass a transform that is defined for every label, such as "
            "numpy.arcsinh instead of a logarithm, or leave such rows out."
        )
