"""Tables of words, dates and gaps as numbers for models of trees."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from pnml.columns.encoder import ColumnEncoder
from pnml.core.arrays import FloatArray
from pnml.core.user_types import ArrayOrFrame
from pnml.estimators.wrapped import check_table

# HistGradientBoosting splits by category up to this many words.
_MOST_CATEGORIES = 255


class WordCodes(TransformerMixin, BaseEstimator):
    """Transformer of tables: words become codes, dates days, truth values 0 and 1, gaps NaN.

    The codes are the places of the words among those of the training rows, in the order of the
    alphabet; a word unseen in training becomes NaN. Numbers stay as they are.

    Attributes
    ----------
    encoder_ : the kind of each column, and the words that training rows had in it
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn

    Examples
    --------
    >>> WordCodes().fit_transform([[1.5, "red"], [None, "blue"]])
    array([[1.5, 1. ],
           [nan, 0. ]])
    """

    def fit(self, X: ArrayOrFrame, y: ArrayOrFrame | None = None) -> Self:
        """Learn the words of each column of training rows X."""
        check_table(self, X, reset=True)
        self.encoder_ = ColumnEncoder.of(X)
        return self

    def transform(self, X: ArrayOrFrame) -> FloatArray:
        """The rows of X as numbers, (n, n_features)."""
        check_is_fitted(self)
        check_table(self, X, reset=False)
        return _numbers(self.encoder_, X)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the columns, which stay the same."""
        check_is_fitted(self)
        return np.array(self.encoder_.names, dtype=object)

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags


def has_words(encoder: ColumnEncoder) -> bool:
    """Whether some column holds anything but numbers and truth values."""
    return not set(encoder.kinds) <= {"number", "truth"}


def categories(encoder: ColumnEncoder) -> list[int]:
    """Positions of the columns with few enough words to be categories of a boosted model."""
    return [
        place
        for place, kind in enumerate(encoder.kinds)
        if kind == "word" and len(encoder.words[encoder.slots[place]]) <= _MOST_CATEGORIES
    ]


def _numbers(encoder: ColumnEncoder, X: ArrayOrFrame) -> FloatArray:
    columns = encoder.encode(X).columns
    out = np.empty((len(columns), columns.count))
    numbers = columns.numbers.shape[1]
    out[:, encoder.places[:numbers]] = columns.numbers
    out[:, np.array(encoder.kinds) == "gap"] = 0.0  # models of scikit-learn want some number
    start = 0
    for place, levels, code in zip(
        encoder.places[numbers:], encoder.words, columns.words.T, strict=True
    ):
        gap_or_unseen = (code < 0) | (code - start == len(levels.words))
        out[:, place] = np.where(gap_or_unseen, np.nan, code - start)
        start += len(levels)
    return out
