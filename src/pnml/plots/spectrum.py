"""Singular values of the training rows, and the energy of new rows along them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import singledispatch
from typing import TYPE_CHECKING, Any, Self, Unpack

import numpy as np
from sklearn.base import is_classifier

from pnml.core.geometry.spectrum import Spectrum
from pnml.core.norm_ball.ball import constrained_multiplier
from pnml.errors import InputError
from pnml.estimators.base import checked_rows
from pnml.estimators.validation import check_rows
from pnml.learners.finite import refuse_nonfinite
from pnml.learners.lasso import Lasso
from pnml.learners.last_step import LastStep
from pnml.learners.logistic_refit import LogisticRefit
from pnml.learners.norm_ball import NormBall
from pnml.learners.one_step import OneStep
from pnml.plots import canvas
from pnml.plots.canvas import Style
from pnml.plots.display import Display, WithLine, door
from pnml.plots.fitted_model import is_last_layer, last_step, name_of, rows_of, spectrum_of
from pnml.plots.legend import add_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from pnml.core.arrays import FloatArray


class _Drawing(WithLine, total=False):
    """Keyword arguments that the constructors of a SpectrumDisplay pass on to `plot`."""

    penalty_kw: Style
    energy_kw: Style


@dataclass(kw_only=True, repr=False, eq=False)
class SpectrumDisplay(Display):
    """Plot of a spectrum: singular values of training rows, the penalty, and new rows.

    New rows with much energy in directions of small singular values have a large regret, unless
    the penalty is above them; training has shown nothing of energy outside all directions.

    Parameters
    ----------
    singular_values : ndarray of shape (r,)
        Of the training rows as the model sees them: centred where there is an intercept, their
        columns scaled to unit norm where there is no penalty. Of a classifier, they are the rows
        that its last step sees; of a network, the features that its last layer sees.
    penalty : float, default=0
        Ridge penalty α, drawn at √α, where it halves a direction's share; 0 for none.
    degrees_of_freedom : float, optional
        Effective number of coefficients of the fit, for the legend.
    energy : ndarray of shape (r,), optional
        Mean squared coordinate of the new rows along each direction.
    outside : float, default=0
        Share of the new rows' energy that lies outside all directions.
    weight : float, default=1
        Number of training rows. Energies are drawn as √(weight · energy), the singular values that
        as many rows like the new ones would have had.
    name : str, optional
        Leads the labels in the legend.

    Attributes
    ----------
    ax_, figure_ : where it was drawn
    line_ : the singular values
    penalty_line_ : the penalty, or None
    energy_line_ : the new rows, or None

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from pnml import PNMLRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 3))
    >>> model = PNMLRegressor(alpha=1.0).fit(X, X[:, 0] + rng.normal(size=100))
    >>> display = SpectrumDisplay.from_estimator(model, X)
    >>> display.penalty_line_.get_label()
    'PNMLRegressor: √penalty = 1'
    >>> plt.close(display.figure_)
    """

    singular_values: FloatArray
    penalty: float = 0.0
    degrees_of_freedom: float | None = None
    energy: FloatArray | None = None
    outside: float = 0.0
    weight: float = 1.0
    name: str | None = None

    @classmethod
    @door
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        name: str | None = None,
        **drawing: Unpack[_Drawing],
    ) -> Self:
        """Draw the spectrum of the rows that an estimator was fitted to.

        Parameters
        ----------
        estimator : fitted estimator of pnml with a ``spectrum_``, a Pipeline that ends in one, or
            a LastLayerPNML
        X : array-like of shape (n, n_features), optional
            New rows, whose energy in each direction is drawn too. For a LastLayerPNML a batch of
            inputs, or a loader of them as in its ``fit``.
        y : ignored
            A spectrum needs no targets.
        name : str, optional
            By default the name of the estimator's class.
        **drawing
            As in `plot`: ax, line_kw, penalty_kw, energy_kw.
        """
        model, spectrum, rows = _geometry(estimator, X)
        penalty, degrees_of_freedom = _spent(model, spectrum)
        display = cls(
            singular_values=np.sqrt(spectrum.h2),
            penalty=penalty,
            degrees_of_freedom=degrees_of_freedom,
            weight=spectrum.weight,
            name=name_of(estimator) if name is None else name,
        )
        if rows is not None:
            display.energy, display.outside = _energy(spectrum, rows)
        return display

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        line_kw: Style = None,
        penalty_kw: Style = None,
        energy_kw: Style = None,
    ) -> Self:
        """Draw the singular values on a log axis, largest first.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default those of a new figure.
        name : str, optional
            Leads the labels in the legend instead of the display's own name.
        line_kw, penalty_kw, energy_kw : dict, optional
            How the singular values, the penalty and the new rows look, for matplotlib.
        """
        ax, name = self._begin(ax, name)
        from matplotlib.ticker import MaxNLocator

        index = np.arange(1, len(self.singular_values) + 1)
        spent = self.degrees_of_freedom
        text = "training rows" + ("" if spent is None else f" ({spent:.1f} degrees of freedom)")
        style: dict[str, Any] = {"marker": ".", "label": canvas.labelled(name, text)}
        (self.line_,) = ax.plot(index, self.singular_values, **canvas.styled(style, line_kw))
        color = self.line_.get_color()
        self.penalty_line_: Line2D | None = None
        if self.penalty > 0:
            root = float(np.sqrt(self.penalty))
            style = canvas.dashed(color, canvas.labelled(name, f"√penalty = {root:.3g}"))
            self.penalty_line_ = ax.axhline(root, **canvas.styled(style, penalty_kw))
        self.energy_line_: Line2D | None = None
        if self.energy is not None:
            beyond = f" ({100 * self.outside:.3g} % of energy outside)" if self.outside > 0 else ""
            style = {"color": color, "linestyle": ":", "marker": "x", "markersize": 4.0}
            style["label"] = canvas.labelled(name, f"new rows{beyond}")
            alike = np.sqrt(self.weight * self.energy)
            (self.energy_line_,) = ax.plot(index, alike, **canvas.styled(style, energy_kw))
        ax.set_yscale("log")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set(xlabel="Direction, largest first", ylabel="Singular value")
        add_legend(ax)
        return self


def _geometry(estimator: Any, X: Any) -> tuple[Any, Spectrum, Iterable[Any] | None]:
    """The model, the spectrum of its training rows, and batches of X in the same columns."""
    if is_last_layer(estimator):
        rows = None if X is None else rows_of(estimator, X)
        return estimator, spectrum_of(estimator), rows
    model, given = last_step(estimator, X)
    return model, _spectrum_of(model), None if X is None else [_rows(model, given)]


def _spectrum_of(model: Any) -> Spectrum:
    spectrum = getattr(model, "spectrum_", None)
    if not isinstance(spectrum, Spectrum):
        raise InputError(
            f"estimator is a {type(model).__name__}, which keeps no spectrum of its training rows; "
            "pass a fitted PNMLRegressor, LpNMLRegressor, NormBallRegressor, PNMLClassifier or "
            "LastLayerPNML."
        )
    return spectrum


def _rows(model: Any, X: Any) -> Any:
    """Rows in the columns of the spectrum, checked as the model itself would."""
    return _rows_seen(getattr(model, "learner_", None), model, X)


@singledispatch
def _rows_seen(learner: Any, model: Any, X: Any) -> Any:
    """Rows as the leverage of a fitted learner sees them; by default as they are."""
    if is_classifier(model):
        raise InputError(
            f"X was passed, but the spectrum of a {type(model).__name__} is that of its own "
            "features and not of X; leave X out."
        )
    rows = check_rows(model, X)
    refuse_nonfinite(model, rows)
    return rows


@_rows_seen.register(OneStep)
@_rows_seen.register(LogisticRefit)
def _(learner: OneStep | LogisticRefit, model: Any, X: Any) -> Any:
    step = LastStep.of(learner.classifier, checked_rows(model, X))
    return learner.geometry.rows(step.values)


def _spent(model: Any, spectrum: Spectrum) -> tuple[float, float]:
    """Ridge penalty α of the fit, 0 where it has none, and its degrees of freedom.

    The trace of the matrix that takes the training targets to their fit, Σ h²/(h² + α), and 1 for
    an intercept.
    """
    return _spent_by(getattr(model, "learner_", None), model, spectrum)


@singledispatch
def _spent_by(learner: Any, model: Any, spectrum: Spectrum) -> tuple[float, float]:
    """Penalty and degrees of freedom of a fitted learner; by default those of a ridge fit."""
    return _of_ridge(float(model.alpha_), spectrum)


@_spent_by.register
def _(learner: Lasso, model: Any, spectrum: Spectrum) -> tuple[float, float]:
    # the penalty of the lasso is none of these; its slopes that are not 0 count
    return 0.0, float(spectrum.intercept_share > 0) + np.count_nonzero(learner.slopes)


@_spent_by.register
def _(learner: NormBall, model: Any, spectrum: Spectrum) -> tuple[float, float]:
    t, radius = spectrum.z[:, 0] / np.sqrt(spectrum.h2), np.array([learner.ball.radius])
    return _of_ridge(float(constrained_multiplier(spectrum.h2, t, radius)[0]), spectrum)


def _of_ridge(alpha: float, spectrum: Spectrum) -> tuple[float, float]:
    intercept = float(spectrum.intercept_share > 0)
    return alpha, intercept + float(np.sum(spectrum.h2 / (spectrum.h2 + alpha)))


def _energy(spectrum: Spectrum, batches: Iterable[Any]) -> tuple[FloatArray, float]:
    """Mean squared coordinate of rows along each direction, and the share outside them all."""
    inside, outside, count = np.zeros(len(spectrum.h2)), 0.0, 0
    for X in batches:
        count += len(X)
        for part in spectrum.blocks(len(X)):
            a, beyond = spectrum.coordinates(X[part])
            inside += np.sum(a**2, axis=0)
            outside += float(np.sum(beyond**2))
    if not count:
        raise InputError("X has no rows to draw; pass one or more, or leave it out.")
    total = float(inside.sum()) + outside
    return inside / count, outside / total if total > 0 else 0.0
