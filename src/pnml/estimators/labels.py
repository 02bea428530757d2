"""Validation of class labels: one per row, of at least two classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from pnml.core.user_types import ArrayOrFrame
from pnml.errors import InputError
from pnml.estimators.validation import refuse_nonfinite


def check_labels(estimator: BaseEstimator, y: ArrayOrFrame) -> npt.NDArray[Any]:
    """Labels (n,) as an array; raises InputError if y is None or does not hold classes.

    The message names the `estimator` that the labels are for.
    """
    name = type(estimator).__name__
    if y is None:
        raise InputError(
            f"{name} requires y to be passed, but the target y is None; pass one label per row."
        )
    try:
        labels: npt.NDArray[Any] = column_or_1d(y, warn=True)
        if labels.dtype.kind == "f":
            refuse_nonfinite(estimator, labels, name="y")
        check_classification_targets(labels)
    except InputError:
        raise
    except ValueError as error:
        text = str(error).split("\n")[0].rstrip(".")
        raise InputError(
            f"{text}; {name} learns one class per row, so pass such labels."
        ) from error
    return labels


def refuse_one_class(labels: npt.NDArray[Any]) -> None:
    """Raise InputError if all labels are the same class."""
    classes = np.unique(labels)
    if len(classes) == 1:
        raise InputError(
            f"y holds one class only ({classes.tolist()[0]!r}), but there must be two to choose "
            "from; add rows of another class."
        )


def positions(labels: npt.NDArray[Any], classes: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """Index of each label in the array `classes`, (n,); raises InputError for any other label."""
    index = {label: i for i, label in enumerate(classes.tolist())}
    distinct, where = np.unique(labels, return_inverse=True)
    strange = [label for label in distinct.tolist() if label not in index]
    if strange:
        raise InputError(
            f"y holds {strange[0]!r}, which is not among the classes {classes.tolist()} of the "
            "fitted estimator; pass labels that it knows."
        )
    return np.array([index[label] for label in distinct.tolist()], dtype=np.intp)[where]
