"""Which columns make a row unusual: shares, with the value and what training had."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, Unpack

import numpy as np

from pnml.columns.encoder import ColumnEncoder
from pnml.columns.phrases import name_text
from pnml.core.geometry.attribution import fractions
from pnml.errors import InputError
from pnml.plots.canvas import Style
from pnml.plots.display import Display, OnAxes, door
from pnml.plots.fitted_model import fitted_with_regret, name_of
from pnml.plots.legend import add_key

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes

_MOST = 6  # columns drawn by default
_LEAST = 0.01  # share of a column that has a bar of its own


class _Drawing(OnAxes, total=False):
    """Keyword arguments that the constructors of an ExplanationDisplay pass on to `plot`."""

    most: int
    bar_kw: Style


@dataclass(kw_only=True, repr=False, eq=False)
class ExplanationDisplay(Display):
    """Plot of an explanation: the share of each column in the leverage of one row.

    A bar for each column, the largest on top, with the value of the row and what the training rows
    had. Columns outside of their training range have the second colour and a hatch.

    Parameters
    ----------
    shares : array-like of shape (k,)
        Share of each column, at least 0; they are drawn as parts of their sum.
    columns : sequence of str
        Names of the columns.
    values : sequence of str, optional
        What the row has in each column, in words.
    training : sequence of str, optional
        What the training rows had there, in words; "" where it is not known.
    outside : array-like of shape (k,), optional
        Whether each value is outside of what training had.
    name : str, optional
        Title of the axes.

    Attributes
    ----------
    ax_, figure_ : where it was drawn
    bars_ : the bars, the largest first

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_diabetes
    >>> from pnml import PNMLRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = PNMLRegressor().fit(X[:400], y[:400])
    >>> row = X[400:401].assign(bp=10.4)
    >>> display = ExplanationDisplay.from_estimator(model, row, training_rows=X[:400])
    >>> display.ax_.get_yticklabels()[0].get_text().splitlines()
    ['bp 10.4', 'training 62–133']
    >>> plt.close(display.figure_)
    """

    shares: npt.ArrayLike
    columns: Sequence[str]
    values: Sequence[str] | None = None
    training: Sequence[str] | None = None
    outside: npt.ArrayLike | None = None
    name: str | None = None

    @classmethod
    @door
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        row: int = 0,
        training_rows: Any = None,
        name: str | None = None,
        **drawing: Unpack[_Drawing],
    ) -> Self:
        """Draw what makes one row of X unusual to a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator of pnml with ``explain``, or a Pipeline that ends in one
        X : array-like of shape (n, n_features)
        row : int, default=0
            Place of the row in X, counted from 0.
        training_rows : array-like of shape (m, n_features), optional
            The rows that the estimator was fitted to, for their ranges; a TrustedRegressor and a
            TrustedClassifier remember them.
        name : str, optional
            Title of the axes; by default none.
        **drawing
            As in `plot`: ax, most, bar_kw.
        """
        one = _one_row(X, row)
        model, seen = fitted_with_regret(estimator, one)
        if not hasattr(model, "explain"):
            raise InputError(
                f"estimator is a {name_of(estimator)}, which explains no rows; pass a fitted "
                "estimator of pnml with explain."
            )
        shares = np.asarray(model.explain(seen), dtype=float)
        base = getattr(getattr(model, "learner_", None), "base", None)
        if isinstance(getattr(base, "encoder", None), ColumnEncoder):
            read = base.read(seen)  # type: ignore[union-attr]
            texts = [read.encoded.describe(0, j) for j in range(shares.shape[1])]
            outside = base.outside(read)[0]  # type: ignore[union-attr]
            return cls._told(shares, base.encoder.names, texts, outside, name)  # type: ignore[union-attr]
        return cls._compared(model, shares, one, training_rows, name)

    @classmethod
    @door
    def from_table(
        cls,
        model: Any,
        table: Any,
        *,
        row: int = 0,
        name: str | None = None,
        **drawing: Unpack[_Drawing],
    ) -> Self:
        """Draw the columns that drive the regret of one row of a table.

        Parameters
        ----------
        model : TableModel
            The result of `pnml.fit_table`.
        table : data frame of pandas or polars, or pyarrow table
        row : int, default=0
            Place of the row in the table, counted from 0.
        name : str, optional
            Title of the axes; by default none.
        **drawing
            As in `plot`: ax, most, bar_kw.
        """
        if not hasattr(model, "findings"):
            raise InputError(
                f"model is a {name_of(model)}, which has no findings about a table; pass what "
                "pnml.fit_table returns, or use from_estimator."
            )
        (found,) = model.findings(_one_row(table, row)).least_trusted
        cells = found.cells
        shares = [cell.share for cell in cells]
        rest = max(0.0, 1.0 - sum(shares))  # a table names its strongest columns only
        return cls(
            shares=[*shares, rest],
            columns=[*(cell.column for cell in cells), "all other columns"],
            values=[*(cell.value for cell in cells), ""],
            training=[*(cell.training for cell in cells), ""],
            outside=[*(cell.outside for cell in cells), False],
            name=name,
        )

    @classmethod
    def _compared(
        cls, model: Any, shares: Any, one: Any, training_rows: Any, name: str | None
    ) -> Self:
        """A row beside given training rows, or by the names of its columns alone."""
        names = getattr(model, "explain_names_", getattr(model, "feature_names_in_", None))
        k = shares.shape[1]
        if training_rows is None:
            plain = [f"x{j}" for j in range(k)] if names is None else [str(n) for n in names]
            return cls(shares=shares[0], columns=plain, name=name)
        encoder = ColumnEncoder.of(training_rows)
        if len(encoder.names) != k:
            raise InputError(
                f"training_rows has {len(encoder.names)} columns but {name_of(model)} explains "
                f"{k}; leave training_rows out."
            )
        encoded = encoder.encode(one)
        texts = [encoded.describe(0, j) for j in range(k)]
        outside = encoded.never_seen[0].copy()
        for j, slot in enumerate(encoder.slots):
            if encoder.kinds[j] != "word" and slot >= 0:
                low, high = encoder.numbers.low[slot], encoder.numbers.high[slot]
                value = encoded.table.numbers[0, slot]
                outside[j] |= bool(value < low) or bool(value > high)
        return cls._told(shares, encoder.names, texts, outside, name)

    @classmethod
    def _told(
        cls, shares: Any, names: Any, texts: Sequence[tuple[str, str]], outside: Any, title: Any
    ) -> Self:
        values = [
            cell.removeprefix(f"{name_text(name)} ")
            for name, (cell, _) in zip(names, texts, strict=True)
        ]
        training = [known for _, known in texts]
        return cls(
            shares=shares[0],
            columns=list(names),
            values=values,
            training=training,
            outside=outside,
            name=title,
        )

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        most: int = _MOST,
        bar_kw: Style = None,
    ) -> Self:
        """Draw a bar for each column, the largest on top.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default those of a new figure.
        name : str, optional
            Title of the axes instead of the display's own name.
        most : int, default=6
            Draw at most this many columns; those with less than 1 % and the rest are one more bar.
        bar_kw : dict, optional
            How the bars look, for matplotlib.
        """
        parts, outside = self._checked()
        if isinstance(most, bool) or not isinstance(most, int | np.integer) or most < 1:
            raise InputError(f"most={most!r} is not a number of columns; pass 1 or more.")
        ax, name = self._begin(ax, name)
        order = np.argsort(-parts, kind="stable")
        many = max(1, min(most, int((parts >= _LEAST).sum())))
        shown, rest = order[:many], order[many:]
        lengths = [*parts[shown], *([parts[rest].sum()] if len(rest) else [])]
        labels = [self._label(j) for j in shown]
        labels += [f"{len(rest)} other column{'s' * (len(rest) > 1)}"] if len(rest) else []
        beyond = [*outside[shown], *([False] if len(rest) else [])]
        style = {
            "color": ["C1" if far else "C0" for far in beyond],
            "hatch": ["//" if far else "" for far in beyond],
            "edgecolor": ax.get_facecolor(),
        }
        places = np.arange(len(lengths))
        self.bars_ = ax.barh(places, 100 * np.array(lengths), **{**style, **(bar_kw or {})})
        ax.set_yticks(places, labels)
        ax.invert_yaxis()
        ax.set(xlabel="Share of the leverage (%)", xlim=(0, 100))
        if name is not None:
            ax.set_title(name, loc="left")
        add_key(ax, {"C1": "outside of the training rows"} if any(beyond) else {})
        return self

    def _label(self, j: int) -> str:
        """Name of a column, its value and what training had, in at most two lines."""
        text = name_text(str(self.columns[j]))
        if self.values is not None:
            text = f"{text} {self.values[j]}".rstrip()
        known = "" if self.training is None else self.training[j]
        return f"{text}\ntraining {known}" if known else text

    def _checked(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
        """Shares as parts of their sum, and which columns are outside of training."""
        shares = np.asarray(self.shares, dtype=float)
        k = len(self.columns)
        given = {"values": self.values, "training": self.training, "outside": self.outside}
        lengths = {key: np.size(value) for key, value in given.items() if value is not None}
        lengths["shares"] = shares.size if shares.ndim == 1 else -1
        for key, length in lengths.items():
            if length != k or not k:
                raise InputError(f"{key} does not have one entry for each of {k} columns.")
        if not bool(np.all(shares >= 0)):
            raise InputError(
                "shares holds a number that is negative or NaN; pass one row of explain(X)."
            )
        outside = np.zeros(k, dtype=bool)
        if self.outside is not None:
            outside = np.asarray(self.outside, dtype=bool)
        return fractions(shares[None])[0], outside


def _one_row(X: Any, row: int) -> Any:
    """One row of an array or a data frame, as a table of one row."""
    n = len(X)
    if not -n <= row < n:
        raise InputError(f"row={row} is not one of the {n} rows; rows are counted from 0.")
    row %= n
    if hasattr(X, "iloc"):
        return X.iloc[row : row + 1]
    if hasattr(X, "slice"):
        return X.slice(row, 1)
    return X[row : row + 1]
