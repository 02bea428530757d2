"""Pipelines of scikit-learn that pass the questions about trust on to their last step."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn import get_config
from sklearn import pipeline as scikit_learn
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.validation import check_is_fitted

from pnml.core.arrays import FloatArray
from pnml.core.distributions.normal import Predictive
from pnml.core.softmax import Categorical
from pnml.core.trust import DEFAULT_LEVEL, Reference
from pnml.core.user_types import ArrayOrFrame, BoolArray
from pnml.errors import InputError
from pnml.estimators.available import available_if
from pnml.estimators.estimator import DocsLink
from pnml.estimators.score_frame import with_names, with_rows_of


def _last_step_has(name: str) -> Callable[[Any], bool]:
    """A check for `available_if`: True if the last step has the attribute, else AttributeError."""

    def check(pipeline: Any) -> bool:
        getattr(pipeline._final_estimator, name)
        return True

    return check


class Pipeline(scikit_learn.Pipeline):
    """Steps that prepare rows, then a model; it also says which predictions to trust.

    It is scikit-learn's ``Pipeline``, in every respect, with the methods of the estimators of
    this library besides, where the last step has them: ``regret``, ``trusted``, ``explain``,
    ``predict_interval``, ``predict_dist``, ``expected_error``, ``relative_regret``, ``score_frame``
    and ``calibrate``. Rows go through the other steps first, as in ``predict``. So the regret is
    that of the last step, with the steps before it as they were fitted.

    Parameters
    ----------
    steps : list of (name, estimator)
        All but the last have ``transform``, or are ``"passthrough"``.
    transform_input : list of str, optional
        Metadata that the steps transform as they do the rows; needs metadata routing.
    memory : str or joblib.Memory, optional
        Where fitted steps are cached.
    verbose : bool, default=False
        Print the time that every step took.

    Attributes
    ----------
    named_steps : the steps by name
    explain_names_ : names of the columns of ``explain``
    reference_ : regrets of training rows, of the last step
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> from sklearn.preprocessing import PolynomialFeatures, StandardScaler
    >>> from pnml import PNMLRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(100, 2))
    >>> y = X[:, 0] ** 2 + 0.1 * rng.normal(size=100)
    >>> pipe = Pipeline(
    ...     [
    ...         ("squares", PolynomialFeatures(include_bias=False)),
    ...         ("scale", StandardScaler()),
    ...         ("model", PNMLRegressor()),
    ...     ]
    ... ).fit(X, y)
    >>> pipe.trusted([[0.5, 0.5], [0.5, 5.0]])
    array([ True, False])
    >>> pipe.explain_names_[pipe.explain([[0.5, 5.0]]).argmax()]
    'x1^2'
    """

    _doc_link_module = DocsLink._doc_link_module
    _doc_link_template = DocsLink._doc_link_template
    _doc_link_url_param_generator = DocsLink._doc_link_url_param_generator

    @available_if(_last_step_has("calibrate"))
    def calibrate(
        self, X: ArrayOrFrame, y: ArrayOrFrame, sample_weight: ArrayOrFrame | None = None
    ) -> Self:
        """Calibrate the expected errors of a prefit last step on rows that it was not fitted to."""
        self._ask("calibrate", X, {}, y=y, sample_weight=sample_weight)
        return self

    @available_if(_last_step_has("regret"))
    def regret(self, X: ArrayOrFrame, **params: object) -> FloatArray:
        """Regret (n,) of the rows in nats, ≥ 0, by the last step.

        `params` is metadata for the ``transform`` of the other steps, routed as in ``predict``,
        here and in all other methods.
        """
        answer: FloatArray = self._ask("regret", X, params)
        return answer

    @available_if(_last_step_has("relative_regret"))
    def relative_regret(self, X: ArrayOrFrame, **params: object) -> FloatArray:
        """Regret (n,) of rows divided by log C, if the last step is a classifier of C classes."""
        answer: FloatArray = self._ask("relative_regret", X, params)
        return answer

    @available_if(_last_step_has("trusted"))
    def trusted(self, X: ArrayOrFrame, level: float = DEFAULT_LEVEL, **params: object) -> BoolArray:
        """Whether each row is like the training rows, (n,), by the verdict of the last step.

        `level` is the share of ordinary rows that is trusted.
        """
        verdicts: BoolArray = self._ask("trusted", X, params, level=level)
        return verdicts

    @available_if(_last_step_has("explain"))
    def explain(self, X: ArrayOrFrame, **params: object) -> FloatArray:
        """Part of each row's leverage that each column of the last step causes: (n, columns), ≥ 0.

        The columns are those that the last step sees; ``explain_names_`` has their names.
        """
        answer: FloatArray = self._ask("explain", X, params)
        return answer

    @available_if(_last_step_has("predict_interval"))
    def predict_interval(
        self, X: ArrayOrFrame, coverage: float = 0.9, **params: object
    ) -> FloatArray:
        """Lower and upper end (n, 2) of the last step's interval for each label, at `coverage`."""
        interval: FloatArray = self._ask("predict_interval", X, params, coverage=coverage)
        return interval

    @available_if(_last_step_has("predict_dist"))
    def predict_dist(self, X: ArrayOrFrame, **params: object) -> Predictive | Categorical:
        """Predictive distribution of the label of each row, by the last step."""
        dist: Predictive | Categorical = self._ask("predict_dist", X, params)
        return dist

    @available_if(_last_step_has("expected_error"))
    def expected_error(self, X: ArrayOrFrame, **params: object) -> FloatArray:
        """Error (n,) to expect on each row, by the last step.

        For numbers the absolute error in units of y, for classes the probability of a wrong class.
        """
        answer: FloatArray = self._ask("expected_error", X, params)
        return answer

    @available_if(_last_step_has("score_frame"))
    def score_frame(self, X: ArrayOrFrame, **options: object) -> Any:
        """All answers of the last step as one data frame, of the kind and with the index of X.

        `options` go to the last step, for instance ``coverage`` and ``level``. The reasons name
        the columns that the last step sees, as ``explain_names_`` does.
        """
        check_is_fitted(self)
        name, last = self.steps[-1]
        named = copy(self)
        named.steps = [*self.steps[:-1], (name, with_names(last, self.explain_names_))]
        return with_rows_of(X, named._ask("score_frame", X, {}, **options))

    @property
    def reference_(self) -> Reference:
        """Regrets of training rows, each as if left out: ``reference_`` of the fitted last step.

        Its field ``regrets`` (n,) is in nats. ``reference_.thresholds(level).regret`` is the
        largest regret that ``trusted`` accepts, a quantile of these regrets. Raises AttributeError
        if the last step has no ``reference_``.
        """
        reference: Reference = self._final_estimator.reference_
        return reference

    @property
    def explain_names_(self) -> npt.NDArray[Any]:
        """Names of the columns of ``explain``: those of the steps, or x0, x1 … without any."""
        _last_step_has("explain")(self)
        check_is_fitted(self)
        return _explained(self, getattr(self, "feature_names_in_", None))

    def _ask(self, method: str, X: ArrayOrFrame, params: dict[str, Any], **options: object) -> Any:
        """Answer of the last step about rows that went through the others."""
        check_is_fitted(self)
        routed = self._routed(method, params)
        for _, name, step in self._iter(with_final=False):
            X = step.transform(X, **routed[name].transform) if routed else step.transform(X)
        name, last = self.steps[-1]
        inner = routed[name].predict if routed and isinstance(last, Pipeline) else {}
        return getattr(last, method)(X, **options, **inner)

    def _routed(self, method: str, params: dict[str, Any]) -> Any:
        """Metadata by step, routed as for ``predict``; None where routing is not enabled."""
        if get_config()["enable_metadata_routing"]:
            return process_routing(self, "predict", **params) if params else None
        if params:
            raise InputError(
                f"{method} got {', '.join(sorted(params))}, but metadata reaches the steps of a "
                "Pipeline only by routing; call sklearn.set_config(enable_metadata_routing=True), "
                "or leave it out."
            )
        return None


def make_pipeline(
    *steps: Any, memory: Any = None, transform_input: Any = None, verbose: bool = False
) -> Pipeline:
    """A `Pipeline` of these steps, each named after its class in lower case.

    Parameters
    ----------
    *steps : estimators
        All but the last have ``transform``, or are ``"passthrough"``.
    memory : str or joblib.Memory, optional
        Where fitted steps are cached.
    transform_input : list of str, optional
        Metadata that the steps transform as they do the rows; needs metadata routing.
    verbose : bool, default=False
        Print the time that every step took.

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> from pnml import PNMLRegressor
    >>> make_pipeline(StandardScaler(), PNMLRegressor())
    Pipeline(steps=[('standardscaler', StandardScaler()),
                    ('pnmlregressor', PNMLRegressor())])
    """
    named = scikit_learn.make_pipeline(*steps).steps
    return Pipeline(named, transform_input=transform_input, memory=memory, verbose=verbose)


def _explained(step: Any, names: Any) -> npt.NDArray[Any]:
    """Names of the columns that a fitted step explains, given those of the rows it takes."""
    if isinstance(step, scikit_learn.Pipeline):
        if len(step) > 1:
            try:
                names = step[:-1].get_feature_names_out(names)
            except (AttributeError, ValueError):  # a step without names
                names = None
        return _explained(step.steps[-1][1], names)
    seen = getattr(step, "feature_names_in_", None)
    own = getattr(step, "explain_names_", seen)
    width = step.n_features_in_ if own is None else len(own)
    unnamed = [f"x{j}" for j in range(width)]
    if own is not None and (seen is not None or list(own) != unnamed):
        return np.asarray(own, dtype=object)
    known = names is not None and len(names) == width
    return np.asarray(names if known else unnamed, dtype=object)
