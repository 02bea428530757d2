"""Weights, groups and other parameters of ``fit``, sent where scikit-learn's routing says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.validation import _check_method_params, _num_samples

from pnml.core.arrays import FloatArray
from pnml.core.user_types import ArrayOrFrame
from pnml.errors import InputError
from pnml.estimators.word_codes import WordCodes
from pnml.estimators.wrapped import fit_wrapped


def check_groups(groups: ArrayOrFrame | None, rows: int) -> None:
    """Raise InputError if `groups` is not None and does not have one entry for each row."""
    if groups is not None and _num_samples(groups) != rows:
        raise InputError(
            f"X has {rows} rows but groups has {_num_samples(groups)} values; pass exactly one "
            "group per row."
        )


@dataclass(frozen=True)
class FitParams:
    """Arguments of ``fit``: weights and others for the model inside, groups for the splitter."""

    weights: FloatArray | None  # (n,) copies of each row, for our own statistics too
    to_model: Mapping[str, Any]  # other parameters of the model's ``fit``
    weighs_model: bool  # whether the model is given the weights
    to_splitter: Mapping[str, Any]

    @classmethod
    def routed(
        cls,
        owner: BaseEstimator,
        weights: FloatArray | None,
        groups: ArrayOrFrame | None,
        params: dict[str, Any],
    ) -> FitParams:
        """FitParams from the arguments that ``fit`` of the estimator `owner` was given.

        Weights and `params` go to the model and groups to the splitter, unless scikit-learn's
        metadata routing is enabled and says otherwise.
        """
        if not get_config()["enable_metadata_routing"]:
            return replace(cls.plain(weights, groups), to_model=params)
        given = params | {
            name: value
            for name, value in {"sample_weight": weights, "groups": groups}.items()
            if value is not None
        }
        routed = process_routing(owner, "fit", **given)
        to_model = dict(routed["estimator"].fit) if "estimator" in routed else {}
        weighs = to_model.pop("sample_weight", None) is not None or owner.estimator is None
        return cls(weights, to_model, weighs, dict(routed["splitter"].split))

    @classmethod
    def plain(
        cls, weights: FloatArray | None = None, groups: ArrayOrFrame | None = None
    ) -> FitParams:
        """FitParams with weights for the model, groups for the splitter, and nothing else."""
        return cls(weights, {}, True, {} if groups is None else {"groups": groups})

    def counts(self, rows: int) -> npt.NDArray[np.bool_]:
        """Whether each row (n,) has a positive weight."""
        return np.ones(rows, dtype=bool) if self.weights is None else self.weights > 0

    def counted(self, X: ArrayOrFrame) -> Any:
        """The rows of X that have a positive weight."""
        if self.weights is None or bool(np.all(self.weights > 0)):
            return X
        return _safe_indexing(X, np.flatnonzero(self.weights > 0))

    def fit(self, model: BaseEstimator, X: ArrayOrFrame, y: npt.NDArray[Any]) -> Any:
        """The model, fitted to all rows of X and y with these parameters.

        In a Pipeline that begins with `WordCodes` they go to the last step.
        """
        if isinstance(model, Pipeline) and isinstance(model.steps[0][1], WordCodes):
            codes = model.steps[0][1].fit(X)
            self.fit(model.steps[-1][1], codes.transform(X), y)
            return model
        weights = self.weights if self.weighs_model else None
        if not self.to_model and not get_config()["enable_metadata_routing"]:
            return fit_wrapped(model, X, y, weights)
        params = _check_method_params(X, dict(self.to_model))
        if weights is not None:
            params["sample_weight"] = weights
        return model.fit(X, y, **params)

    def at(self, X: ArrayOrFrame, rows: npt.NDArray[np.intp]) -> FitParams:
        """These parameters for the rows of X at the positions `rows`; raises if all weigh 0."""
        weights = None if self.weights is None else self.weights[rows]
        if weights is not None and not np.any(weights):
            raise InputError(
                "All rows outside one fold have weight zero; pass another splitter as cv."
            )
        model = _check_method_params(X, dict(self.to_model), indices=rows)
        return replace(self, weights=weights, to_model=model)

    def fit_at(
        self, model: BaseEstimator, X: ArrayOrFrame, y: npt.NDArray[Any], rows: npt.NDArray[np.intp]
    ) -> Any:
        """The model, fitted to the rows of X and y at the positions `rows`."""
        return self.at(X, rows).fit(model, _safe_indexing(X, rows), y[rows])
