"""Accuracy of a classifier against its confidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, Unpack

import numpy as np
from sklearn.utils.validation import check_is_fitted

from pnml import metrics
from pnml.errors import InputError, shorten
from pnml.plots import canvas
from pnml.plots.canvas import Style
from pnml.plots.display import Display, WithLine, door
from pnml.plots.fitted_model import name_of
from pnml.plots.legend import add_legend

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from pnml.core.arrays import FloatArray


class _Drawing(WithLine, total=False):
    """Keyword arguments that the constructors of a ReliabilityDisplay pass on to `plot`."""

    plot_diagonal: bool


@dataclass(kw_only=True, repr=False, eq=False)
class ReliabilityDisplay(Display):
    """Plot of reliability: accuracy against confidence, on the diagonal where honest.

    Points below the diagonal are overconfident, points above it underconfident. Eq. (O15).

    Parameters
    ----------
    confidence : ndarray of shape (k,)
        Mean probability of the class named, in each bin.
    accuracy : ndarray of shape (k,)
        Share of the rows of the bin where that class is right.
    rows : ndarray of shape (k,), optional
        Number of rows in each bin; points grow with it.
    ece : float, optional
        Expected calibration error of these bins.
    name : str, optional
        Leads the labels in the legend.

    Attributes
    ----------
    ax_, figure_ : where it was drawn
    line_ : the curve
    points_ : the bins, by their numbers of rows, or None
    diagonal_ : where accuracy is confidence, or None

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> probs = [[0.9, 0.1], [0.6, 0.4], [0.3, 0.7]]
    >>> display = ReliabilityDisplay.from_predictions(probs, [0, 1, 1], bins=3)
    >>> display.line_.get_ydata().tolist()
    [0.0, 1.0, 1.0]
    >>> plt.close(display.figure_)
    """

    confidence: FloatArray
    accuracy: FloatArray
    rows: npt.NDArray[np.intp] | None = None
    ece: float | None = None
    name: str | None = None

    @classmethod
    @door
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        bins: int = 15,
        binning: str = "mass",
        name: str | None = None,
        **drawing: Unpack[_Drawing],
    ) -> Self:
        """Draw the reliability of any fitted classifier with probabilities on rows X, y.

        Parameters
        ----------
        estimator : fitted classifier, or a Pipeline that ends in one
        X : array-like of shape (n, n_features)
        y : array-like of shape (n,)
        bins, binning
            As in `pnml.metrics.reliability_curve`.
        name : str, optional
            By default the name of the estimator's class.
        **drawing
            As in `plot`: ax, plot_diagonal, line_kw.
        """
        if not hasattr(estimator, "predict_proba"):
            raise InputError(
                f"estimator is a {name_of(estimator)}, which has no probabilities to draw; pass a "
                "fitted classifier with predict_proba, or probabilities to from_predictions."
            )
        check_is_fitted(estimator)
        classes = _positions(np.asarray(y), np.asarray(estimator.classes_))
        name = name_of(estimator) if name is None else name
        return cls._of(estimator.predict_proba(X), classes, bins, binning, name)

    @classmethod
    @door
    def from_predictions(
        cls,
        probs: npt.ArrayLike,
        labels: npt.ArrayLike,
        *,
        bins: int = 15,
        binning: str = "mass",
        name: str | None = None,
        **drawing: Unpack[_Drawing],
    ) -> Self:
        """Draw the reliability of probabilities (n, C) for labels (n,) counted from 0.

        Parameters
        ----------
        probs, labels, bins, binning
            As in `pnml.metrics.reliability_curve`.
        name : str, optional
            Leads the labels in the legend.
        **drawing
            As in `plot`: ax, plot_diagonal, line_kw.
        """
        return cls._of(probs, labels, bins, binning, name)

    @classmethod
    def _of(
        cls,
        probs: npt.ArrayLike,
        labels: npt.ArrayLike,
        bins: int,
        binning: str,
        name: str | None,
    ) -> Self:
        curve = metrics.reliability_curve(probs, labels, bins=bins, binning=binning)
        return cls(
            confidence=curve.confidence,
            accuracy=curve.accuracy,
            rows=curve.rows,
            ece=curve.error,
            name=name,
        )

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        plot_diagonal: bool = True,
        line_kw: Style = None,
    ) -> Self:
        """Draw the curve, its bins as points and the diagonal.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default those of a new figure.
        name : str, optional
            Leads the labels in the legend instead of the display's own name.
        plot_diagonal : bool, default=True
            Also draw where accuracy is confidence.
        line_kw : dict, optional
            How the curve looks, for matplotlib.
        """
        ax, name = self._begin(ax, name)
        k = len(self.confidence)
        text = f"{k} bins" if self.ece is None else f"ECE = {self.ece:.3g} ({k} bins)"
        style: dict[str, Any] = {"label": canvas.labelled(name, text)}
        if self.rows is None:
            style["marker"] = "o"
        (self.line_,) = ax.plot(self.confidence, self.accuracy, **canvas.styled(style, line_kw))
        self.points_ = None
        if self.rows is not None:
            area = 10 + 90 * self.rows / self.rows.max()
            color = self.line_.get_color()
            self.points_ = ax.scatter(self.confidence, self.accuracy, s=area, color=color)
        self.diagonal_: Line2D | None = None
        if plot_diagonal:
            ends = [0.0, 1.0]
            (self.diagonal_,) = ax.plot(ends, ends, **canvas.dashed("0.5", "honest"))
        ax.set(xlabel="Confidence (probability of the class named)", ylabel="Accuracy")
        ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
        add_legend(ax)
        return self


def _positions(y: npt.NDArray[Any], classes: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """Index of each label among the classes; raises for a label that is not one of them."""
    order = np.argsort(classes)
    index = order[np.searchsorted(classes, y, sorter=order).clip(max=len(classes) - 1)]
    if not np.array_equal(classes[index], y):
        unknown = np.asarray(y[classes[index] != y][0]).item()
        label = repr(shorten(unknown)) if isinstance(unknown, str) else repr(unknown)
        raise InputError(
            f"y holds the label {label}, which the classifier was not fitted to; drop those rows."
        )
    return np.asarray(index, dtype=np.intp)
