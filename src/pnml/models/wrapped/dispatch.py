"""What a file holds for a model of another library, chosen by the class of the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_is_fitted

from pnml.models.codec import Codec
from pnml.models.wrapped.catboost import CATBOOST_CODECS, store_catboost
from pnml.models.wrapped.classes import name_of
from pnml.models.wrapped.fingerprint import FINGERPRINT_CODECS
from pnml.models.wrapped.hist_gradient_boosting import (
    HIST_BOOSTING,
    HIST_CODECS,
    store_hist_boosting,
)
from pnml.models.wrapped.lightgbm import LIGHTGBM_CODECS, store_lightgbm
from pnml.models.wrapped.linear_models import CONSTANT, LINEAR, LINEAR_CODECS, store_attributes
from pnml.models.wrapped.members import MEMBER_CODECS, MEMBERS, store_members
from pnml.models.wrapped.recipe import RECIPE_CODECS, store_unfitted
from pnml.models.wrapped.scikit_trees import (
    BOOSTING,
    FORESTS,
    SCIKIT_TREES,
    TREES,
    store_boosting,
    store_forest,
    store_tree,
)
from pnml.models.wrapped.xgboost import XGBOOST_CODECS, store_xgboost

Store = Callable[[Any], Any]

_OF_CLASS: dict[type, Store] = {
    **dict.fromkeys(TREES, store_tree),
    **dict.fromkeys(FORESTS, store_forest),
    **dict.fromkeys(BOOSTING, store_boosting),
    **dict.fromkeys(HIST_BOOSTING, store_hist_boosting),
    **dict.fromkeys(MEMBERS, store_members),
    **dict.fromkeys((*LINEAR, *CONSTANT), store_attributes),
}
_OF_LIBRARY: dict[str, Store] = {
    "lightgbm": store_lightgbm,
    "xgboost": store_xgboost,
    "catboost": store_catboost,
}
# Classes with a codec of their own, in `classifiers`, and in `trees` while they are not fitted.
_ELSEWHERE = (LogisticRegression,)
_ELSEWHERE_UNFITTED = (*TREES, *FORESTS)

WRAPPED_CODECS: list[Codec] = [
    *SCIKIT_TREES,
    *HIST_CODECS,
    *MEMBER_CODECS,
    *LINEAR_CODECS,
    *LIGHTGBM_CODECS,
    *XGBOOST_CODECS,
    *CATBOOST_CODECS,
    *RECIPE_CODECS,
    *FINGERPRINT_CODECS,
]


def stored_form(model: Any) -> Any:
    """The frozen value that a file holds in place of a model; None for a class not listed here.

    Raises InputError for a model of a listed class that a file cannot hold, for example with a
    function as objective. A subclass of a listed class is not listed: it may predict in another
    way.
    """
    cls = type(model)
    name = name_of(cls)
    if name is None or cls in _ELSEWHERE:
        return None
    if not _is_fitted(model):
        return None if cls in _ELSEWHERE_UNFITTED else store_unfitted(model)
    store = _OF_LIBRARY.get(name.partition(".")[0]) or _OF_CLASS[cls]
    return store(model)


def _is_fitted(model: Any) -> bool:
    if not hasattr(model, "get_params"):
        return True  # a Booster
    if hasattr(model, "is_fitted"):  # CatBoost
        return bool(model.is_fitted())
    try:
        check_is_fitted(model)
    except Exception:
        return False
    return True
