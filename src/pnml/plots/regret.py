"""Regrets of new rows beside those of the training rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, Unpack

import numpy as np

from pnml.core.trust import DEFAULT_LEVEL, check_level
from pnml.errors import InputError
from pnml.plots import canvas
from pnml.plots.canvas import Style
from pnml.plots.display import Display, WithLine, door
from pnml.plots.fitted_model import name_of, score_rows
from pnml.plots.legend import add_legend

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from matplotlib.text import Annotation

    from pnml.core.arrays import FloatArray

# Regrets below this many nats are round-off of 0; the axis shows no decade below it.
_NOTHING = 1e-9


class _Drawing(WithLine, total=False):
    """Keyword arguments that the constructors of a RegretDisplay pass on to `plot`."""

    plot_training: bool
    training_kw: Style
    threshold_kw: Style


@dataclass(kw_only=True, repr=False, eq=False)
class RegretDisplay(Display):
    """Plot of regrets: share of rows up to each, of new rows and of training rows left out.

    A curve to the right of that of the training rows means rows that the model knows less about.
    The height at the threshold is the share of rows whose regret is small enough to be trusted;
    most models test more than the regret, so ``trusted`` may pass fewer rows. A curve with
    infinite regrets ends below 1 by their share, and points to ∞.

    Parameters
    ----------
    training : array-like of shape (n,)
        Leave-one-out regrets of the training rows, in nats; of trees grown on these rows, the
        regrets that ``trusted`` compares with.
    new : array-like of shape (m,)
        Regrets of new rows, in nats.
    threshold : float, optional
        Largest regret that is trusted; None or −inf for no line.
    level : float, optional
        The quantile that the threshold is, for the legend.
    training_weights : array-like of shape (n,), optional
        How many copies of each training row to count.
    name : str, optional
        Leads the labels in the legend.
    trusted : array-like of shape (m,), optional
        Verdicts on the new rows, one by one; kept as an attribute, not drawn.

    Attributes
    ----------
    ax_, figure_ : where it was drawn
    line_ : curve of the new rows
    training_line_ : curve of the training rows, or None
    threshold_line_ : the threshold, or None
    infinity_ : list of the marks of curves that end at ∞

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from pnml import PNMLRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 3))
    >>> model = PNMLRegressor().fit(X, X[:, 0] + rng.normal(size=100))
    >>> display = RegretDisplay.from_estimator(model, 5 * X)
    >>> bool(np.median(display.new) > display.threshold)
    True
    >>> plt.close(display.figure_)
    """

    training: npt.ArrayLike
    new: npt.ArrayLike
    threshold: float | None = None
    level: float | None = None
    training_weights: npt.ArrayLike | None = None
    name: str | None = None
    trusted: npt.ArrayLike | None = None

    @classmethod
    @door
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        level: float = DEFAULT_LEVEL,
        name: str | None = None,
        **drawing: Unpack[_Drawing],
    ) -> Self:
        """Draw the regrets of rows X beside those of the rows that the estimator was fitted to.

        Parameters
        ----------
        estimator : fitted estimator of pnml, a Pipeline that ends in one, or a LastLayerPNML
            Of a LastLayerPNML the training rows are those in its sample.
        X : array-like of shape (m, n_features)
            For a LastLayerPNML a batch of inputs, or a loader of them as in its ``fit``.
        y : ignored
            Regrets need no targets.
        level : float, default=0.99
            The threshold is this quantile of the finite training regrets, as in ``trusted``.
        name : str, optional
            By default the name of the estimator's class.
        **drawing
            As in `plot`: ax, plot_training, line_kw, training_kw, threshold_kw.
        """
        level = check_level(level)
        regrets = score_rows(estimator, X, level)
        return cls(
            training=regrets.training,
            new=regrets.new,
            threshold=regrets.threshold,
            level=level,
            training_weights=regrets.weights,
            name=name_of(estimator) if name is None else name,
            trusted=regrets.trusted,
        )

    @classmethod
    @door
    def from_regrets(
        cls,
        training: npt.ArrayLike,
        new: npt.ArrayLike,
        threshold: float | None = None,
        *,
        name: str | None = None,
        **drawing: Unpack[_Drawing],
    ) -> Self:
        """Draw given regrets; arguments as in the class and in `plot`.

        Examples
        --------
        >>> import matplotlib.pyplot as plt
        >>> display = RegretDisplay.from_regrets([0.1, 0.2], [0.2, 0.4, np.inf], 0.2)
        >>> display.line_.get_ydata().round(2).tolist()
        [0.0, 0.33, 0.67]
        >>> plt.close(display.figure_)
        """
        return cls(training=training, new=new, threshold=threshold, name=name)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        plot_training: bool = True,
        line_kw: Style = None,
        training_kw: Style = None,
        threshold_kw: Style = None,
    ) -> Self:
        """Draw the curves on a log axis of nats, which begins at 0 where some regret is 0.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default those of a new figure.
        name : str, optional
            Leads the labels in the legend instead of the display's own name.
        plot_training : bool, default=True
            Also draw the training rows; once is enough where several displays share axes.
        line_kw, training_kw, threshold_kw : dict, optional
            How the lines of new rows, training rows and threshold look, for matplotlib.
        """
        new = _regrets(self.new, "new")
        training, weights = self._training()
        threshold = _threshold(self.threshold)
        ax, name = self._begin(ax, name)
        self.infinity_: list[Annotation] = []
        ones = np.ones(len(new))
        self.line_ = self._draw(canvas.labelled(name, "new rows"), new, ones, {}, line_kw)
        color = self.line_.get_color()
        self.training_line_: Line2D | None = None
        if plot_training:
            style = {"color": color, "linestyle": "--"}
            label = canvas.labelled(name, "training rows, left out")
            self.training_line_ = self._draw(label, training, weights, style, training_kw)
        self.threshold_line_ = self._draw_threshold(threshold, name, color, threshold_kw)
        _scale(ax)
        ax.set(xlabel="Regret (nats)", ylabel="Share of rows up to this regret")
        ax.set_ylim(-0.02, 1.02)
        add_legend(ax)
        return self

    def _draw_threshold(
        self, threshold: float, name: str | None, color: Any, given: Style
    ) -> Line2D | None:
        """Draw the threshold; the same one of two displays is drawn once, for both."""
        if not np.isfinite(threshold):
            return None
        level = "" if self.level is None else f" (level {self.level:g})"
        label = f"threshold {threshold:.3g}{level}"
        for line in self.ax_.lines if given is None else ():
            if line.get_gid() == label and np.all(np.equal(line.get_xdata(), threshold)):
                line.set(label=label, color=self.ax_.xaxis.label.get_color())
                return line
        style = {
            "color": color,
            "linestyle": ":",
            "label": canvas.labelled(name, label),
            "gid": label,
        }
        return self.ax_.axvline(threshold, **canvas.styled(style, given))

    def _training(self) -> tuple[FloatArray, FloatArray]:
        """Regrets and weights of the training rows that count."""
        regrets = _regrets(self.training, "training")
        if self.training_weights is None:
            return regrets, np.ones(len(regrets))
        weights = np.asarray(self.training_weights, dtype=float)
        if weights.shape != regrets.shape or not bool(np.all(weights >= 0)):
            raise InputError(
                f"training_weights has shape {weights.shape} for {len(regrets)} training regrets; "
                "pass one number of 0 or more for each."
            )
        return regrets[weights > 0], weights[weights > 0]

    def _draw(
        self, label: str, regrets: FloatArray, weights: FloatArray, style: Style, given: Style
    ) -> Line2D:
        """Draw one curve, and the way to ∞ where it ends below 1."""
        x, share = _cumulative(regrets, weights)
        infinite = int(np.isinf(regrets).sum())
        count = f"n = {len(regrets)}" + (f", {infinite} infinite" if infinite else "")
        defaults = {"label": f"{label} ({count})", "drawstyle": "steps-post", **(style or {})}
        (line,) = self.ax_.plot(x, share, **canvas.styled(defaults, given))
        if infinite:
            last = (float(x[-1]), float(share[-1])) if len(x) else None
            self.infinity_.append(_mark_infinity(self.ax_, last, line.get_color()))
        return line


def _cumulative(regrets: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Distinct finite regrets, and the share of all rows up to each; it starts from 0."""
    finite = np.isfinite(regrets)
    x, group = np.unique(regrets[finite], return_inverse=True)
    if not len(x):
        return x, np.zeros(0)
    mass = np.bincount(group, weights=weights[finite])
    share = np.cumsum(mass) / weights.sum()
    return np.append(x[0], x), np.append(0.0, share)


def _mark_infinity(ax: Axes, last: tuple[float, float] | None, color: Any) -> Annotation:
    """Draw a line from the last finite regret to ∞ at the edge of the axes."""
    edge: Any = ax.get_yaxis_transform()  # x of the axes, y of the data
    height = 0.0 if last is None else last[1]
    return ax.annotate(
        "∞",
        xy=(0.0, height) if last is None else last,
        xycoords=edge if last is None else "data",
        xytext=(1.01, height),
        textcoords=edge,
        color=color,
        verticalalignment="center",
        annotation_clip=False,
        arrowprops={"arrowstyle": "-", "linestyle": ":", "color": color, "shrinkB": 0},
    )


def _scale(ax: Axes) -> None:
    """Set a log axis, which is linear below the smallest positive regret where some is 0."""
    if ax.dataLim.x0 >= _NOTHING:
        ax.set_xscale("log")
        return
    smallest = float(ax.dataLim.minposx)
    decade = 10.0 ** np.floor(np.log10(max(smallest, _NOTHING))) if np.isfinite(smallest) else 1.0
    ax.set_xscale("symlog", linthresh=decade)
    ax.set_xlim(left=0.0, auto=True)  # a later display may still widen them


def _threshold(threshold: Any) -> float:
    """The threshold as a number, −inf for none."""
    value = -np.inf if threshold is None else float(threshold)
    if np.isnan(value):
        raise InputError("threshold is NaN, which no regret can pass; pass a number or None.")
    return value


def _regrets(values: npt.ArrayLike, name: str) -> FloatArray:
    regrets = np.asarray(values, dtype=float)
    if regrets.ndim != 1 or (name == "new" and not regrets.size):
        raise InputError(
            f"{name} has shape {regrets.shape}, but it holds one regret for each row; "
            "pass an array of shape (n,), as regret(X) returns it."
        )
    bad = ~(regrets >= 0)
    if bool(np.any(bad)):
        raise InputError(
            f"{name} holds {regrets[bad][0]:g}, but a regret is a number of nats of at least 0; "
            "pass what regret(X) returns, infinite values included."
        )
    return regrets
