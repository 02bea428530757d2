"""Plain values: parameters and attributes of a model that hold numbers and text only."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from types import NoneType
from typing import Any

import numpy as np

from pnml.errors import InputError, shorten

_SCALARS = (NoneType, bool, int, float, str)
_GENERIC = (np.bool_, np.integer, np.floating, np.str_)
_DTYPES = tuple(map(np.dtype, (np.float64, np.float32, np.int64, np.int32, np.bool_, np.uint8)))
_MOST_BITS = 64
_ATTRIBUTE = re.compile(r"[A-Za-z][A-Za-z0-9_]*_")
# Parameters that say how many threads to start.
_THREADS = ("n_jobs", "nthread", "num_threads", "num_thread", "nthreads", "thread_count")
_MOST_THREADS = 1024


def is_plain(value: Any) -> bool:
    """Whether a value is made of numbers, text, and lists, dicts and arrays of them."""
    if type(value) is int:
        return value.bit_length() <= _MOST_BITS
    if type(value) in _SCALARS:
        return True
    if type(value) in (list, tuple):
        return all(map(is_plain, value))
    if type(value) is dict:
        return all(type(key) is str for key in value) and all(map(is_plain, value.values()))
    if type(value) is np.ndarray:
        return _is_plain_array(value)
    return isinstance(value, _GENERIC) and not isinstance(value, np.longdouble)


def _is_plain_array(array: Any) -> bool:
    if array.dtype in _DTYPES:
        return True
    texts = array.dtype == object and all(type(item) is str for item in array.flat)
    return array.ndim == 1 and (texts or (array.dtype.kind == "U" and array.dtype.isnative))


def is_estimator(value: Any) -> bool:
    """Whether a value is an estimator, which a file holds as an object of its own."""
    return hasattr(value, "get_params") and not isinstance(value, type)


def check_params(cls: type, params: Mapping[str, Any]) -> None:
    """Raise InputError for a parameter that `cls` does not take, or a value that no file holds."""
    taken = inspect.signature(cls).parameters
    open_ended = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in taken.values())
    for name, value in params.items():
        if name not in taken and not open_ended:
            raise InputError(f"a {cls.__name__} has no parameter {shorten(name)!r} here")
        if not is_plain(value) and not is_estimator(value):
            kind = shorten(type(value).__name__)
            raise InputError(
                f"{shorten(name)} of this {cls.__name__} holds a {kind}, which a model file "
                "cannot hold"
            )
        if name in _THREADS and isinstance(value, int) and abs(value) > _MOST_THREADS:
            raise InputError(f"{name} of a {cls.__name__} is {shorten(value)}")


def unfitted_copy(estimator: Any, classes: tuple[type, ...]) -> Any:
    """A new, unfitted estimator with the same parameters; raises for a class not in `classes`."""
    cls = type(estimator)
    if cls not in classes:
        raise InputError(f"it stores a {shorten(cls.__name__)} as if it were of another class")
    params = estimator.get_params(deep=False)
    check_params(cls, params)
    try:
        made = cls(**params)
        if cls.__module__.startswith("sklearn."):
            made._validate_params()
    except Exception as error:
        raise InputError(f"a {cls.__name__} does not take its parameters: {said(error)}") from error
    return made


def attributes_of(model: Any, *left_out: str) -> dict[str, Any]:
    """Plain fitted attributes of a scikit-learn model by name (``coef_`` …), except `left_out`."""
    return {
        name: value
        for name, value in vars(model).items()
        if _ATTRIBUTE.fullmatch(name) and name not in left_out and is_plain(value)
    }


def set_attributes(model: Any, attributes: Mapping[str, Any]) -> None:
    """Set fitted attributes from a file; raises for one that hides a method or is not plain."""
    cls = type(model)
    for name, value in attributes.items():
        if not _ATTRIBUTE.fullmatch(name) or hasattr(cls, name) or not is_plain(value):
            raise InputError(f"a {cls.__name__} has no attribute {shorten(name)!r} here")
    check_columns(attributes, cls.__name__)
    vars(model).update(attributes)


def check_columns(attributes: Mapping[str, Any], owner: str) -> int:
    """Number of features that stored attributes give; raises if the column names do not match it.

    `owner` is the name of the class, for messages.
    """
    features: Any = attributes.get("n_features_in_")
    names: Any = attributes.get("feature_names_in_")
    if type(features) is not int or features < 1:
        raise InputError(f"a {owner} does not say how many features it takes")
    if "feature_names_in_" in attributes:
        texts = type(names) is np.ndarray and names.dtype == object and names.ndim == 1
        if not texts or len(names) != features:
            raise InputError(f"the names in a {owner} are not those of its features")
    return features


def said(error: Exception) -> str:
    """The message of another library's error, shortened to fit inside one sentence."""
    return shorten(" ".join(str(error).split()).rstrip("."))
