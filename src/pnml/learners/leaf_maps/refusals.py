"""Refusals of models whose leaves cannot be numbered."""

from __future__ import annotations

from typing import Any

from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from pnml.errors import InputError


def refuse_unfitted(model: Any) -> None:
    """Raise InputError if a scikit-learn model has not been fitted."""
    try:
        check_is_fitted(model)
    except NotFittedError:
        raise unfitted(model) from None


def unfitted(model: Any) -> InputError:
    """The InputError to raise for a model that is not fitted and so has no trees."""
    name = type(model).__name__
    return InputError(f"The {name} is not fitted and has no leaves yet; fit it first.")


def several_targets(model: Any) -> InputError:
    """The InputError to raise for a model that predicts several targets."""
    name = type(model).__name__
    return InputError(
        f"The {name} predicts several targets, but leaves are read for one; fit one model per "
        "target."
    )


def changed_layout(model: Any, library: str, version: str) -> InputError:
    """The InputError to raise if a version of a library stores its trees in an unknown way."""
    return InputError(
        f"The leaves of {type(model).__name__} cannot be read from {library} {version}, which "
        f"stores its trees in an unknown way; install another version of {library} or of pnml."
    )
