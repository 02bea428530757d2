"""The base of all estimators here: tensors in and out under array API dispatch, and a docs link."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import Any

import array_api_compat as compat
import numpy as np
from sklearn import config_context, get_config
from sklearn.base import BaseEstimator

DOCS = "https://pnml-dev.github.io/pnml/"

# Methods that take rows and give numbers for each row.
_METHODS = frozenset(
    (
        "calibrate",
        "expected_error",
        "explain",
        "fit",
        "partial_fit",
        "predict",
        "predict_dist",
        "predict_interval",
        "predict_log_proba",
        "predict_proba",
        "predict_set",
        "regret",
        "score_frame",
        "trusted",
    )
)


class DocsLink:
    """Mixin that links the HTML view of an estimator in a notebook to our documentation."""

    _doc_link_module = "pnml"
    _doc_link_template = DOCS + "api/pnml.html#pnml.{estimator_name}"

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        return {"estimator_name": type(self).__name__}


class Estimator(DocsLink, BaseEstimator):
    """Base of estimators: answers to tensors are tensors under array API dispatch.

    With ``sklearn.config_context(array_api_dispatch=True)`` the numbers that a method returns for a
    tensor are a tensor of the same library on the same device; numpy computes them. Distributions
    (`predict_dist`) and data frames (`score_frame`) stay what they are.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in _METHODS.intersection(vars(cls)):
            method = vars(cls)[name]
            if isinstance(method, FunctionType):
                setattr(cls, name, _with_tensors(method))


def _with_tensors(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method, which under array API dispatch takes and returns arrays of any library."""

    @wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not get_config().get("array_api_dispatch"):
            return method(self, *args, **kwargs)
        tensors = [value for value in (*args, *kwargs.values()) if _is_tensor(value)]
        if not tensors:
            return method(self, *args, **kwargs)
        with config_context(array_api_dispatch=False):  # all below sees numpy only
            named = {name: _to_numpy(value) for name, value in kwargs.items()}
            result = method(self, *map(_to_numpy, args), **named)
        return _like(result, tensors[0])

    return call


def _is_tensor(value: Any) -> bool:
    """Whether a value is an array of another library than numpy; Dask's are refused later."""
    return (
        compat.is_array_api_obj(value)
        and not compat.is_numpy_array(value)
        and not compat.is_dask_array(value)
    )


def _to_numpy(value: Any) -> Any:
    if not _is_tensor(value):
        return value
    detached = value.detach() if hasattr(value, "detach") else value
    return np.asarray(compat.to_device(detached, "cpu"))


def _like(result: Any, tensor: Any) -> Any:
    """Numbers as an array of the tensor's library, on its device; anything else as it is."""
    if type(result) is tuple:
        return tuple(_like(part, tensor) for part in result)
    if isinstance(result, np.ndarray) and result.dtype.kind in "biuf":
        return compat.array_namespace(tensor).asarray(result, device=compat.device(tensor))
    return result
