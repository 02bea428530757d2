"""Methods that an estimator has only under a condition, with their types kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from sklearn.utils import metaestimators

Method = TypeVar("Method", bound=Callable[..., Any])


def available_if(check: Callable[..., bool]) -> Callable[[Method], Method]:
    """Decorator: an estimator has the method only if ``check(estimator)`` is True.

    It is scikit-learn's ``available_if`` with types: that one has none, so that a type checker
    would see ``Any`` in place of the method.
    """
    return cast(Callable[[Method], Method], metaestimators.available_if(check))
