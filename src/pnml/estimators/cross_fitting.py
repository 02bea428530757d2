"""Out-of-fold errors and probabilities: of rows that the model was not fitted to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from numbers import Number
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, clone
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import KFold, PredefinedSplit, check_cv
from sklearn.utils import _safe_indexing, check_random_state

from pnml.core.arrays import FloatArray
from pnml.core.user_types import ArrayOrFrame, Folds, RandomSeed
from pnml.errors import InputError, shorten
from pnml.estimators.fit_params import FitParams
from pnml.estimators.labels import positions
from pnml.learners.last_step import last_of, log_probabilities
from pnml.runtime.checks import is_whole

Indices = npt.NDArray[np.intp]
Split = tuple[Indices, Indices]  # rows to fit, and rows to ask about


def out_of_fold_errors(
    model: BaseEstimator,
    X: ArrayOrFrame,
    y: FloatArray,
    params: FitParams,
    cv: Folds,
    random_state: RandomSeed,
) -> FloatArray:
    """Absolute errors (n,) of the rows, each by a clone of the model fitted without its fold.

    `params` are the other arguments of ``fit``; `cv` is a number of folds or a splitter.
    """
    if _is_number_of_folds(cv, len(y)):
        cv = KFold(int(cast(int, cv)), shuffle=True, random_state=random_state)
    predictions = np.full(len(y), np.nan)
    splits = check_cv(cv).split(X, y, **params.to_splitter)
    for train, test in _every_row_tested(splits, len(y)):
        with _told_of_fold(model):
            part = params.fit_at(clone(model), X, y, train)
            predicted = part.predict(_safe_indexing(X, test))
        predictions[test] = np.asarray(predicted, dtype=float).ravel()
    errors: FloatArray = np.abs(y - predictions)
    return errors


def out_of_fold_log_probabilities(
    model: BaseEstimator,
    X: ArrayOrFrame,
    labels: npt.NDArray[Any],
    params: FitParams,
    cv: Folds,
    random_state: RandomSeed,
    classes: npt.NDArray[Any],
) -> FloatArray:
    """Log-probabilities (n, C), each row's by a clone of the model fitted without the row's fold.

    The C columns are in the order of `classes`; `params` are the other arguments of ``fit``. If
    `cv` is a number of folds, the rows of each class are dealt out in turn, so that a class with
    fewer rows than folds has at most one in each; rows of weight 0 are dealt out by themselves and
    change nothing for the others. If a fit has no row of positive weight of a class, it gives that
    class probability 0.

    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, labels = np.array([[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]]), np.array(list("aaabbb"))
    >>> folds = FitParams.plain(), 3, 0, np.unique(labels)
    >>> out_of_fold_log_probabilities(GaussianNB(), X, labels, *folds).argmax(axis=1)
    array([0, 0, 0, 1, 1, 1])
    """
    out = np.full((len(labels), len(classes)), -np.inf)
    folds = _class_folds(X, labels, params, cv, random_state)
    for cells, log_p in _answers(model, X, labels, params, folds, classes):
        out[cells] = log_p
    return out


def _answers(
    model: BaseEstimator,
    X: ArrayOrFrame,
    labels: npt.NDArray[Any],
    params: FitParams,
    folds: Iterable[Split],
    classes: npt.NDArray[Any],
) -> Iterator[tuple[Any, FloatArray]]:
    """For each fold: indices of its rows and classes, and the log-probabilities to put there."""
    for train, test in folds:
        alone = len(np.unique(labels[train][params.counts(len(labels))[train]])) == 1
        inside = DummyClassifier() if alone else clone(model)  # which may want two classes
        with _told_of_fold(model):
            part = params.fit_at(inside, X, labels, train)
            answer = log_probabilities(part, _safe_indexing(X, test))
        yield np.ix_(test, positions(part.classes_, classes)), answer


def _class_folds(
    X: ArrayOrFrame,
    labels: npt.NDArray[Any],
    params: FitParams,
    cv: Folds,
    random_state: RandomSeed,
) -> Iterator[Split]:
    """Pairs of training and test rows; a number of folds gives each fold a share of every class."""
    counted = params.counts(len(labels))
    if _is_number_of_folds(cv, int(counted.sum())):
        cv = PredefinedSplit(_dealt_out(labels, counted, int(cast(int, cv)), random_state))
    splits = check_cv(cv, labels, classifier=True).split(X, labels, **params.to_splitter)
    return _every_row_tested(splits, len(labels))


def _dealt_out(
    labels: npt.NDArray[Any], counted: npt.NDArray[np.bool_], folds: int, random_state: RandomSeed
) -> Indices:
    """The fold of each row: shuffled, sorted by class, and dealt out one by one."""
    fold = np.empty(len(labels), dtype=np.intp)
    random = check_random_state(random_state)
    for rows in (np.flatnonzero(counted), np.flatnonzero(~counted)):
        order = random.permutation(rows)
        order = order[np.argsort(labels[order], kind="stable")]
        fold[order] = np.arange(len(order)) % folds
    return fold


@contextmanager
def _told_of_fold(model: BaseEstimator) -> Iterator[None]:
    """Turn a model's error on a fold into one sentence."""
    try:
        yield
    except InputError:
        raise
    except ValueError as error:
        text = str(error).split("\n")[0].rstrip(".")
        raise InputError(
            f"{type(last_of(model)).__name__} cannot be fitted without the rows of one fold and "
            f"then asked about them: {text}; pass another cv, steps that take values unseen in "
            "training, or the fitted model in a FrozenEstimator."
        ) from error


def _every_row_tested(splits: Iterable[Split], rows: int) -> Iterator[Split]:
    """The splits; raises after the last one if a row was in none of their test folds."""
    tested = np.zeros(rows, dtype=bool)
    for train, test in _told_of_splitter(splits):
        tested[test] = True
        yield train, test
    if not tested.all():
        raise InputError(
            "The splitter cv leaves some rows out of every test fold, so what the model says of "
            "them without having seen them is not known; pass one that tests every row, such as "
            "KFold."
        )


def _told_of_splitter(splits: Iterable[Split]) -> Iterator[Split]:
    """The splits; turns a splitter's error into one sentence."""
    every = iter(splits)
    while True:
        try:
            split = next(every)
        except StopIteration:
            return
        except ValueError as error:
            text = str(error).split("\n")[0].rstrip(".")
            raise InputError(
                f"The splitter cv cannot split these rows ({text}); pass another cv, or fit with "
                "the groups that it needs."
            ) from error
        yield split


def _is_number_of_folds(cv: Folds, rows: int) -> bool:
    """Whether `cv` is a number of folds, not a splitter; raises if it is neither or too large."""
    if not is_whole(cv, least=-(10**9)):
        splits = hasattr(cv, "split") and not isinstance(cv, type | str)
        if not splits and (isinstance(cv, str | Number) or not hasattr(cv, "__iter__")):
            raise InputError(
                f"cv is {shorten(repr(cv))}; pass a number of folds, a splitter such as "
                "sklearn.model_selection.KFold(5), or a list of pairs of training and test rows."
            )
        return False
    if not 2 <= int(cast(int, cv)) <= rows:
        raise InputError(
            f"cv is {cv}, but X has {rows} rows (n_samples={rows}); pass a number of folds from 2 "
            "to the number of rows."
        )
    return True
