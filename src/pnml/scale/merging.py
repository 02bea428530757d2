"""Merge models that were fitted to different rows into the model of all rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.base import clone
from sklearn.utils.validation import NotFittedError, check_is_fitted

from pnml.core.statistic.exact_sum import merged
from pnml.errors import InputError
from pnml.scale.from_gram import counts_targets, fitted

_KINDS = (
    'PNMLRegressor, LpNMLRegressor with penalty="l2", and models that pnml fit has made with the '
    "learners pnml, lpnml and ols"
)


def merge(models: Sequence[Any], names: Sequence[str] | None = None) -> Any:
    """Merge models that were fitted to different rows into one model of all rows, in any order.

    Returns a new model, of the class of the given ones, which do not change. Each model keeps sums
    over its rows; they are added, so that for a given penalty the coefficients are those of a fit
    to all rows, up to round-off. Each model also keeps a random sample of its rows, at most 4096.
    The merged sample, again at most 4096, sets the threshold of ``trusted`` and, where
    leave-one-out chose them, penalty and noise. If there are more rows in all, these are close to
    those of a fit to all rows, but not equal.

    Parameters
    ----------
    models : list of fitted models, all of one class, with equal settings and columns
        Estimators: PNMLRegressor, or LpNMLRegressor with penalty="l2". Or models of tables, from
        ``pnml fit`` or `pnml.fit_table` with the learners pnml, lpnml and ols: they must predict
        the same column, but columns of text may hold different words in each table.
    names : list of str, optional
        What error messages call each model; by default "model 0", "model 1" and so on.

    Examples
    --------
    >>> import numpy as np
    >>> from pnml import PNMLRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(90, 2))
    >>> y = X @ [1.0, 2.0] + rng.normal(size=90)
    >>> parts = [PNMLRegressor().fit(X[i::3], y[i::3]) for i in range(3)]
    >>> bool(np.allclose(merge(parts).coef_, PNMLRegressor().fit(X, y).coef_))
    True
    """
    models = list(models)
    names = [f"model {i}" for i in range(len(models))] if names is None else list(names)
    if not models:
        raise InputError("There are no models to put together; give at least one.")
    if _is_table(models[0]) and all(map(_is_table, models)):
        from pnml.tables.merging import merge_tables

        whole = merge_tables([getattr(model, "fitted", model) for model in models], names)
        return whole if type(models[0]) is type(whole) else type(models[0])(whole)
    for model, name in zip(models, names, strict=True):
        if _is_table(models[0]) != _is_table(model):
            raise InputError(
                f"{name} is a {type(model).__name__} but {names[0]} a {type(models[0]).__name__}; "
                "put together models of one kind."
            )
    for model, name in zip(models, names, strict=True):
        _refuse_unlike(models[0], model, names[0], name)
    total = merged(model._counted() for model in models)
    known = getattr(models[0], "feature_names_in_", None)
    return fitted(clone(models[0]), total, None if known is None else list(known))


def _is_table(model: Any) -> bool:
    """Whether a model is a table model, a FittedTable itself or the object of `pnml.fit_table`."""
    return type(getattr(model, "fitted", model)).__name__ == "FittedTable"


def _refuse_unlike(first: Any, other: Any, name: str, other_name: str) -> None:
    if not counts_targets(other):
        raise InputError(
            f"{other_name} is a {type(other).__name__}, whose rows do not add up or not with those "
            f"of {name}; what can be put together is {_KINDS}."
        )
    try:
        check_is_fitted(other)
    except NotFittedError as error:
        raise InputError(f"{other_name} is not fitted; fit it first.") from error
    if type(first) is not type(other) or repr(first.get_params()) != repr(other.get_params()):
        raise InputError(
            f"{other_name} is {other!r} but {name} is {first!r}; put together models with the same "
            "settings."
        )
    ours, theirs = (list(getattr(m, "feature_names_in_", ())) for m in (first, other))
    if first.n_features_in_ != other.n_features_in_ or (ours and theirs and ours != theirs):
        raise InputError(
            f"{other_name} and {name} were not fitted to the same columns in the same order; fit "
            "both to the same columns."
        )
