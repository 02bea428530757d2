"""DIAL as a query strategy of scikit-activeml."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from pnml.errors import how_to_install

try:
    from skactiveml.base import SingleAnnotatorPoolQueryStrategy, SkactivemlClassifier
    from skactiveml.utils import MISSING_LABEL, check_equal_missing_label, check_type
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "pnml.active.DIAL needs scikit-activeml, which is not installed; "
        f"{how_to_install('active')}.",
        name=error.name,
    ) from error
from sklearn.base import clone
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from pnml.active.adapters.picks import picks_of, worst_cases
from pnml.active.checks import log_probabilities
from pnml.active.ensemble import (
    as_logs,
    member_log_probs,
    model_log_probs,
    refuse_other_classes,
    tempered,
)
from pnml.core.arrays import FloatArray
from pnml.errors import InputError
from pnml.runtime.checks import check_positive


class DIAL(SingleAnnotatorPoolQueryStrategy):
    """DIAL for scikit-activeml: picks rows to label that lower the worst-case regret. Eq. (I3).

    Parameters
    ----------
    label_paths : int, optional
        None picks the best rows independently. A number picks each row given the earlier picks,
        and follows this many of their worst label sequences. Eq. (I5).
    temperature : float, default=1.0
        Logs of probabilities are divided by it. Eq. (I11).
    sample_predictions_method_name : str, optional
        A method of the classifier that gives probabilities (M, n, C) of M models for n rows.
    sample_predictions_dict : dict, optional
        Further arguments of that method.
    missing_label : scalar, str or None, default=nan
        The value of a missing label.
    random_state : int or RandomState, optional
        Unused: nothing is random, and ties go to the first.

    Examples
    --------
    >>> from skactiveml.classifier import SklearnClassifier
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, labels = load_iris(return_X_y=True)
    >>> y = np.full(len(X), np.nan)
    >>> y[::25] = labels[::25]
    >>> forest = SklearnClassifier(RandomForestClassifier(20, random_state=0), classes=range(3))
    >>> DIAL().query(X, y, ensemble=forest, X_eval=X[::2], batch_size=2).shape
    (2,)
    """

    def __init__(
        self,
        label_paths: int | None = None,
        temperature: float = 1.0,
        sample_predictions_method_name: str | None = None,
        sample_predictions_dict: dict[str, Any] | None = None,
        missing_label: Any = MISSING_LABEL,
        random_state: Any = None,
    ) -> None:
        super().__init__(missing_label=missing_label, random_state=random_state)
        self.label_paths = label_paths
        self.temperature = temperature
        self.sample_predictions_method_name = sample_predictions_method_name
        self.sample_predictions_dict = sample_predictions_dict

    def query(
        self,
        X: Any,
        y: Any,
        ensemble: Any,
        X_eval: Any = None,
        fit_ensemble: bool = True,
        sample_weight: Any = None,
        candidates: Any = None,
        batch_size: int = 1,
        return_utilities: bool = False,
    ) -> Any:
        """Indices (batch_size,) of the rows to label next, best first; with utilities if asked for.

        With `return_utilities` the result is a pair: the indices, and utilities with a row for each
        pick and a column for each row of X, or for each candidate if `candidates` holds features;
        NaN for rows that cannot be picked.

        Parameters
        ----------
        X, y, candidates, batch_size, return_utilities
            As in every strategy of scikit-activeml. The utility of a row is minus the sum of the
            targets' regrets after its worst label, in nats.
        ensemble : classifier, list of classifiers, or callable
            A classifier of scikit-activeml with members in ``estimators_`` or with the method
            ``sample_predictions_method_name``; a list of such classifiers; or a callable that
            gives log-probabilities (M, n, C) of rows, such as `MCDropout(network)`.
        X_eval : array (K, d), optional
            The rows to be predicted; the rows of X by default.
        fit_ensemble : bool, default=True
            Whether to fit clones of the classifiers to X and y first. A callable is not fitted.
        sample_weight : array (n,), optional
            Weights of the rows in that fit.
        """
        X, y, candidates, batch_size, return_utilities = self._validate_data(
            X, y, candidates, batch_size, return_utilities, reset=True
        )
        check_type(fit_ensemble, "fit_ensemble", bool)
        rows, mapping = self._transform_candidates(candidates, X, y)
        targets = X if X_eval is None else self._targets(X_eval, X)
        log_probs = self._log_prob_function(ensemble, X, y, fit_ensemble, sample_weight)
        # one call, so that dropout masks and other samples are the same for both
        logs = log_probs(np.concatenate([rows, targets]))
        a, b = logs[:, : len(rows)], logs[:, len(rows) :]
        place = np.arange(len(rows)) if mapping is None else np.asarray(mapping)
        if not return_utilities:
            return place[picks_of(a, b, batch_size, self.label_paths)]
        worst = worst_cases(a, b, batch_size, self.label_paths)
        utilities = np.full((batch_size, len(rows) if mapping is None else len(X)), np.nan)
        utilities[:, place] = np.where(np.isinf(worst), np.nan, -worst)
        return place[worst.argmin(axis=1)], utilities

    def _targets(self, X_eval: Any, X: Any) -> Any:
        targets = check_array(X_eval, allow_nd=True)
        if targets.shape[1:] != X.shape[1:]:
            raise InputError(
                f"X_eval has rows of shape {targets.shape[1:]} but X of {X.shape[1:]}; pass the "
                "same features, in the same order."
            )
        return targets

    def _log_prob_function(
        self, ensemble: Any, X: Any, y: Any, fit: bool, weight: Any
    ) -> Callable[[Any], FloatArray]:
        """Function from rows to log-probabilities (M, n, C) by the ensemble or fitted clones."""
        several = isinstance(ensemble, Sequence) and len(ensemble) > 0
        models = ensemble if several else [ensemble]
        for model in models:
            if not isinstance(model, SkactivemlClassifier):
                if callable(model) and not several:
                    return partial(self._callable_log_probs, model)
                raise TypeError(
                    f"The ensemble holds a {type(model).__name__}, but a classifier of "
                    "scikit-activeml, a list of them or a callable that gives log-probabilities is "
                    "needed; wrap classifiers of scikit-learn in SklearnClassifier."
                )
            check_equal_missing_label(model.missing_label, self.missing_label_)
            if not fit:
                check_is_fitted(model)
        if fit:
            weights = {} if weight is None else {"sample_weight": weight}
            models = [clone(model).fit(X, y, **weights) for model in models]
        if several:
            return partial(self._list_log_probs, models)
        return partial(self._member_log_probs, models[0])

    def _callable_log_probs(self, model: Callable[[Any], Any], rows: Any) -> FloatArray:
        logs = np.asarray(log_probabilities(model(rows), "log-probabilities"), np.float64)
        return tempered(logs, check_positive("temperature", self.temperature))

    def _list_log_probs(self, models: Sequence[Any], rows: Any) -> FloatArray:
        refuse_other_classes(models, "pass classes to all of them")
        return model_log_probs(models, rows, self.temperature)

    def _member_log_probs(self, model: Any, rows: Any) -> FloatArray:
        name, settings = self.sample_predictions_method_name, self.sample_predictions_dict
        if name is None:
            return member_log_probs(model, rows, temperature=self.temperature)
        check_type(name, "sample_predictions_method_name", str)
        if not hasattr(model, name):
            raise InputError(
                f"The ensemble, a {type(model).__name__}, has no method {name}; name one that "
                "gives probabilities (M, n, C)."
            )
        return as_logs(getattr(model, name)(rows, **(settings or {})), self.temperature)
