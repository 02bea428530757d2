"""Prediction intervals, with those of rows that are not trusted set apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, Unpack

import numpy as np
from sklearn.utils import check_random_state

from pnml.core.trust import DEFAULT_LEVEL, check_level
from pnml.errors import InputError
from pnml.plots import canvas
from pnml.plots.canvas import Style
from pnml.plots.display import Display, OnAxes, door
from pnml.plots.fitted_model import fitted_with_regret, name_of
from pnml.plots.interval_rows import IntervalRows, column_of, target_of

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D


from pnml.plots.legend import add_legend

_BEYOND = 100.0  # spans of the axis to where an infinite interval is drawn
_DEFAULT_SUBSAMPLE = 200


class _Drawing(OnAxes, total=False):
    """Keyword arguments that the constructors of a PredictionIntervalDisplay pass on to `plot`."""

    subsample: int | None
    random_state: Any
    trusted_kw: Style
    untrusted_kw: Style
    truth_kw: Style


@dataclass(kw_only=True, repr=False, eq=False)
class PredictionIntervalDisplay(Display):
    """Plot of prediction intervals: a bar for each row, in another colour if it is not trusted.

    A dot is the prediction, a cross that of a row that is not trusted, a dash the true value. The
    legend says which share of the true values is inside, for trusted rows and for the others.
    ``plot`` draws 200 rows at most unless it is told otherwise.

    Parameters
    ----------
    prediction : array-like of shape (n,)
    lower, upper : array-like of shape (n,)
        Ends of the intervals; they may be infinite.
    trusted : array-like of shape (n,), optional
        Verdicts, one by one; by default all rows are drawn alike.
    y_true : array-like of shape (n,), optional
        True values.
    x : array-like of shape (n,), optional
        Places on the horizontal axis; by default rows stand in the order of their predictions.
    x_name : str, optional
        What `x` is, with its unit.
    y_name : str, optional
        What is predicted, with its unit.
    coverage : float, optional
        Share of true values that the intervals were asked to hold, for the label of the axis.
    name : str, optional
        Leads the labels in the legend.

    Attributes
    ----------
    ax_, figure_ : where it was drawn
    trusted_line_ : bars and dots of trusted rows, or None
    untrusted_line_ : bars and crosses of the other rows, or None
    truth_line_ : the true values, or None

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from pnml import PNMLRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 3))
    >>> model = PNMLRegressor().fit(X, X[:, 0] + rng.normal(size=100))
    >>> new = np.vstack([X[:20], 9 * X[:3]])
    >>> display = PredictionIntervalDisplay.from_estimator(model, new)
    >>> display.untrusted_line_.get_label()
    'PNMLRegressor: not trusted (n = 3)'
    >>> plt.close(display.figure_)
    """

    prediction: npt.ArrayLike
    lower: npt.ArrayLike
    upper: npt.ArrayLike
    trusted: npt.ArrayLike | None = None
    y_true: npt.ArrayLike | None = None
    x: npt.ArrayLike | None = None
    x_name: str | None = None
    y_name: str | None = None
    coverage: float | None = None
    name: str | None = None

    @classmethod
    @door
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        coverage: float = 0.9,
        level: float = DEFAULT_LEVEL,
        feature: str | int | None = None,
        name: str | None = None,
        **drawing: Unpack[_Drawing],
    ) -> Self:
        """Draw the intervals of a fitted regressor for rows X, and whether it trusts each.

        Parameters
        ----------
        estimator : fitted regressor of pnml with intervals, or a Pipeline that ends in one
        X : array-like of shape (n, n_features)
        y : array-like of shape (n,), optional
            True values.
        coverage : float, default=0.9
            Share of true values that an interval is asked to hold.
        level : float, default=0.99
            Share of ordinary rows that is trusted, as in ``trusted``.
        feature : str or int, optional
            Column of X for the horizontal axis, by name or by place; by default rows stand in the
            order of their predictions.
        name : str, optional
            By default the name of the estimator's class.
        **drawing
            As in `plot`: ax, subsample, random_state, trusted_kw, untrusted_kw, truth_kw.
        """
        model, rows = fitted_with_regret(estimator, X)
        if not hasattr(model, "predict_interval"):
            raise InputError(
                f"estimator is a {name_of(estimator)}, which has no intervals to draw; pass a "
                "fitted regressor of pnml."
            )
        ends = np.asarray(model.predict_interval(rows, coverage=coverage), dtype=float)
        return cls(
            prediction=np.asarray(model.predict(rows), dtype=float),
            lower=ends[:, 0],
            upper=ends[:, 1],
            trusted=np.asarray(model.trusted(rows, check_level(level))),
            y_true=target_of(y),
            x=None if feature is None else column_of(X, feature),
            x_name=None if feature is None else str(feature),
            coverage=coverage,
            name=name_of(estimator) if name is None else name,
        )

    @classmethod
    @door
    def from_predictions(
        cls,
        y_true: npt.ArrayLike | None,
        y_pred: npt.ArrayLike,
        interval: npt.ArrayLike,
        *,
        trusted: npt.ArrayLike | None = None,
        x: npt.ArrayLike | None = None,
        x_name: str | None = None,
        y_name: str | None = None,
        coverage: float | None = None,
        name: str | None = None,
        **drawing: Unpack[_Drawing],
    ) -> Self:
        """Draw intervals (n, 2) of any model; y_true may be None, other arguments as in the class.

        Examples
        --------
        >>> import matplotlib.pyplot as plt
        >>> display = PredictionIntervalDisplay.from_predictions(
        ...     [1.0, 2.0], [1.1, 3.5], [[0.5, 1.5], [3.0, 4.0]], trusted=[True, False]
        ... )
        >>> display.untrusted_line_.get_label()
        'not trusted (n = 1, 0 % inside)'
        >>> plt.close(display.figure_)
        """
        ends = np.asarray(interval, dtype=float)
        if ends.ndim != 2 or ends.shape[1] != 2:
            raise InputError(
                f"interval has shape {ends.shape}, but it holds a lower and an upper end for each "
                "row; pass an array of shape (n, 2), as predict_interval(X) returns it."
            )
        return cls(
            prediction=y_pred,
            lower=ends[:, 0],
            upper=ends[:, 1],
            trusted=trusted,
            y_true=y_true,
            x=x,
            x_name=x_name,
            y_name=y_name,
            coverage=coverage,
            name=name,
        )

    @classmethod
    @door
    def from_table(
        cls,
        scored: Any,
        y_true: str | npt.ArrayLike | None = None,
        *,
        x: str | None = None,
        prefix: str = "",
        name: str | None = None,
        **drawing: Unpack[_Drawing],
    ) -> Self:
        """Draw the intervals of a scored table, as ``score`` and ``score_frame`` return it.

        Parameters
        ----------
        scored : data frame of pandas or polars, or pyarrow table
            With the columns prediction, lower, upper and trusted.
        y_true : str or array-like, optional
            Column of true values, or the values.
        x : str, optional
            Column for the horizontal axis.
        prefix : str, default=""
            What stands before the names of the scored columns.
        name, **drawing
            As in the class, and as in `plot`.
        """
        known = column_of(scored, y_true) if isinstance(y_true, str) else y_true
        return cls(
            prediction=column_of(scored, f"{prefix}prediction"),
            lower=column_of(scored, f"{prefix}lower"),
            upper=column_of(scored, f"{prefix}upper"),
            trusted=column_of(scored, f"{prefix}trusted"),
            y_true=known,
            x=None if x is None else column_of(scored, x),
            x_name=x,
            y_name=y_true if isinstance(y_true, str) else None,
            name=name,
        )

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        subsample: int | None = _DEFAULT_SUBSAMPLE,
        random_state: Any = 0,
        trusted_kw: Style = None,
        untrusted_kw: Style = None,
        truth_kw: Style = None,
    ) -> Self:
        """Draw a bar for each row; the legend counts all rows.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default those of a new figure.
        name : str, optional
            Leads the labels in the legend instead of the display's own name.
        subsample : int or None, default=200
            Draw this many rows, chosen at random; None for all.
        random_state : int, RandomState instance or None, default=0
            Which rows are drawn.
        trusted_kw, untrusted_kw, truth_kw : dict, optional
            How bars of trusted rows, bars of the others and true values look, for matplotlib.
        """
        rows = IntervalRows.of(
            self.prediction, self.lower, self.upper, self.trusted, self.y_true, self.x
        )
        ax, name = self._begin(ax, name)
        chosen = _chosen(len(rows.prediction), subsample, random_state)
        self.trusted_line_ = self._bars(name, rows, chosen, True, trusted_kw)
        self.untrusted_line_ = self._bars(name, rows, chosen, False, untrusted_kw)
        self.truth_line_: Line2D | None = None
        if rows.truth is not None:
            import matplotlib.pyplot as plt

            ink = plt.rcParams["text.color"]
            style = {"linestyle": "", "marker": "_", "color": ink, "markersize": 6.0}
            style |= {"markeredgewidth": 1.6, "label": canvas.labelled(name, "true value")}
            at, truth = rows.x[chosen], rows.truth[chosen]
            (self.truth_line_,) = ax.plot(at, truth, **canvas.styled(style, truth_kw))
        rows.limit(ax)
        by_rank = "Rows, in the order of their prediction"
        asked = "" if self.coverage is None else f", {100 * self.coverage:g} % interval"
        ax.set(xlabel=by_rank if self.x is None else self.x_name or "x")
        ax.set(ylabel=(self.y_name or "Prediction") + asked)
        add_legend(ax)
        return self

    def _bars(
        self, name: str | None, rows: IntervalRows, chosen: Any, trusted: bool, given: Style
    ) -> Line2D | None:
        """Bars of the trusted rows or of the others; None where there are none."""
        alike = rows.trusted == trusted
        if not alike.any():
            return None
        shown = chosen[alike[chosen]]
        n = len(shown)
        corners = np.full((n, 4), np.nan)
        corners[:, 0], corners[:, 1], corners[:, 2] = rows.drawn_ends(shown, _BEYOND).T
        places = np.repeat(rows.x[shown], 4)
        words = "trusted" if trusted else "not trusted"
        label = canvas.labelled(name, words if self.trusted is not None else "rows")
        style = {
            "color": "C0" if trusted else "C1",
            "linewidth": 1.2,
            "marker": "o" if trusted else "X",
            "markersize": 3.5 if trusted else 5.5,
            "markevery": (1, 4),
            "label": f"{label} ({rows.count(alike)})",
        }
        (line,) = self.ax_.plot(places, corners.ravel(), **canvas.styled(style, given))
        return line


def _chosen(n: int, subsample: int | None, random_state: Any) -> npt.NDArray[np.intp]:
    """Places of the rows to draw, rising."""
    if subsample is None or subsample >= n:
        return np.arange(n)
    if isinstance(subsample, bool) or not isinstance(subsample, int | np.integer) or subsample < 1:
        raise InputError(
            f"subsample={subsample!r} is not a number of rows; pass 1 or more, or None."
        )
    picked = check_random_state(random_state).choice(n, subsample, replace=False)
    return np.sort(picked)
