"""Risk against coverage: rows of largest regret are left unanswered first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, Unpack

import numpy as np
from sklearn.base import is_classifier

from pnml import metrics
from pnml.errors import InputError
from pnml.plots import canvas
from pnml.plots.canvas import Style
from pnml.plots.display import Display, WithLine, door
from pnml.plots.fitted_model import fitted_with_regret, name_of
from pnml.plots.legend import add_legend

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from pnml.core.arrays import FloatArray


class _Drawing(WithLine, total=False):
    """Keyword arguments that the constructors of a RiskCoverageDisplay pass on to `plot`."""

    plot_random: bool
    random_kw: Style


@dataclass(kw_only=True, repr=False, eq=False)
class RiskCoverageDisplay(Display):
    """Plot of risk against coverage: mean loss of the rows answered, familiar ones first.

    A curve that rises to the right means that regret separates hard rows from easy ones; rows
    answered in random order have the same risk at every coverage. Eq. (M7).

    Parameters
    ----------
    coverage : ndarray of shape (k,)
        Share of the rows answered, rising to 1.
    risk : ndarray of shape (k,)
        Their mean loss; the last, that of all rows, is the risk of a random order.
    aurc : float, optional
        Area under the curve. Eq. (M8).
    loss_name : str, optional
        What the loss is, for the axis.
    name : str, optional
        Leads the labels in the legend.

    Attributes
    ----------
    ax_, figure_ : where it was drawn
    line_ : the curve
    random_line_ : the risk of a random order, or None

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from pnml import PNMLRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> y = X[:, 0] ** 3 + 0.1 * rng.normal(size=200)
    >>> model = PNMLRegressor().fit(X[:100], y[:100])
    >>> display = RiskCoverageDisplay.from_estimator(model, X[100:], y[100:])
    >>> bool(display.aurc < display.risk[-1])
    True
    >>> plt.close(display.figure_)
    """

    coverage: FloatArray
    risk: FloatArray
    aurc: float | None = None
    loss_name: str | None = None
    name: str | None = None

    @classmethod
    @door
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        name: str | None = None,
        **drawing: Unpack[_Drawing],
    ) -> Self:
        """Draw the risk of an estimator on rows X, y, answered from the smallest regret up.

        The loss is the squared error of a regressor, and of a classifier 1 for a wrong class.

        Parameters
        ----------
        estimator : fitted estimator of pnml, or a Pipeline that ends in one
        X : array-like of shape (n, n_features)
        y : array-like of shape (n,)
        name : str, optional
            By default the name of the estimator's class.
        **drawing
            As in `plot`: ax, plot_random, line_kw, random_kw.
        """
        model, rows = fitted_with_regret(estimator, X)
        regret = np.asarray(model.regret(rows), dtype=float)
        wrong = is_classifier(model)
        return cls._of(
            _losses(model.predict(rows), y, name_of(estimator), numbers=not wrong),
            -regret,
            loss_name="error rate" if wrong else "mean squared error",
            name=name_of(estimator) if name is None else name,
        )

    @classmethod
    @door
    def from_predictions(
        cls,
        loss: npt.ArrayLike,
        score: npt.ArrayLike,
        *,
        loss_name: str | None = None,
        name: str | None = None,
        **drawing: Unpack[_Drawing],
    ) -> Self:
        """Draw the risk of any losses, answered from the highest score down.

        Parameters
        ----------
        loss : array-like of shape (n,)
            Loss of each row; finite.
        score : array-like of shape (n,)
            High where the answer is reliable: pass the negative regret.
        loss_name, name
            As in the class.
        **drawing
            As in `plot`: ax, plot_random, line_kw, random_kw.

        Examples
        --------
        >>> import matplotlib.pyplot as plt
        >>> display = RiskCoverageDisplay.from_predictions([0.0, 1.0, 0.0], [-0.1, -0.9, -0.3])
        >>> display.line_.get_ydata().round(2).tolist()
        [0.0, 0.0, 0.33]
        >>> plt.close(display.figure_)
        """
        return cls._of(loss, score, loss_name, name)

    @classmethod
    def _of(
        cls,
        loss: npt.ArrayLike,
        score: npt.ArrayLike,
        loss_name: str | None,
        name: str | None,
    ) -> Self:
        curve = metrics.risk_coverage_curve(loss, score)
        return cls(
            coverage=curve.coverage,
            risk=curve.risk,
            aurc=metrics.aurc(loss, score),
            loss_name=loss_name,
            name=name,
        )

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        plot_random: bool = True,
        line_kw: Style = None,
        random_kw: Style = None,
    ) -> Self:
        """Draw the curve, and the risk of a random order as a level line.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default those of a new figure.
        name : str, optional
            Leads the labels in the legend instead of the display's own name.
        plot_random : bool, default=True
            Also draw the risk of a random order.
        line_kw, random_kw : dict, optional
            How the curve and the level line look, for matplotlib.
        """
        ax, name = self._begin(ax, name)
        text = "by score" if self.aurc is None else f"AURC = {self.aurc:.3g}"
        style: dict[str, Any] = {"label": canvas.labelled(name, text)}
        if len(self.coverage) == 1:
            style["marker"] = "o"  # all rows tie, and a single point is no line
        (self.line_,) = ax.plot(self.coverage, self.risk, **canvas.styled(style, line_kw))
        self.random_line_: Line2D | None = None
        if plot_random:
            level = float(self.risk[-1])
            label = canvas.labelled(name, f"random order (AURC = {level:.3g})")
            style = canvas.dashed(self.line_.get_color(), label)
            (self.random_line_,) = ax.plot(
                [0.0, 1.0], [level, level], **canvas.styled(style, random_kw)
            )
        what = "mean loss" if self.loss_name is None else self.loss_name
        ax.set(xlabel="Coverage (share of rows answered)", ylabel=f"Risk ({what})")
        ax.set_xlim(-0.01, 1.01)
        add_legend(ax)
        return self


def _losses(predicted: Any, y: Any, estimator: str, *, numbers: bool) -> FloatArray:
    """Loss of each row: squared error where labels are numbers, else 1 for a wrong label."""
    predicted, target = np.asarray(predicted), np.asarray(y)
    if target.ndim == 2 and target.shape[1] == 1:
        target = target[:, 0]
    if target.shape != predicted.shape:
        raise InputError(
            f"y has shape {target.shape} but X has {len(predicted)} rows; "
            "pass exactly one target per row."
        )
    if not numbers:
        return np.asarray(target != predicted, dtype=float)
    try:
        error = target.astype(float) - predicted
    except (TypeError, ValueError) as failure:
        raise InputError(
            f"y holds values that are not numbers, but {estimator} predicts numbers; "
            "pass the target column that it was fitted to."
        ) from failure
    return np.asarray(error**2, dtype=float)
