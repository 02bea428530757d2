"""Accuracy, or share of picks out of distribution, against the number of labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self, Unpack

import numpy as np

from pnml.plots import canvas
from pnml.plots.canvas import Style
from pnml.plots.display import Display, OnAxes, door
from pnml.plots.legend import add_legend

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes
    from matplotlib.collections import FillBetweenPolyCollection
    from matplotlib.lines import Line2D

    from pnml.core.arrays import FloatArray

_SHADE = 0.15  # opacity of an interval


class Means(NamedTuple):
    """Mean after each of R rounds, and the ends of its interval or NaN, each (R,), to plot."""

    mean: FloatArray
    low: FloatArray
    high: FloatArray


class Curves(Protocol):
    """Active-learning curves to plot: the result of `pnml.active.active_learning_curve`."""

    @property
    def labels(self) -> npt.NDArray[np.intp]:
        """Number of labels paid for after each of R rounds, (R,)."""
        ...

    @property
    def accuracy(self) -> Mapping[str, FloatArray]:
        """Accuracies (seeds, R) after each of R rounds, by name of the strategy."""
        ...

    def band(self, strategy: str) -> Any:
        """Mean accuracy of a strategy, and low and high end of its interval, each (R,)."""
        ...

    def strange_share(self, strategy: str) -> Any:
        """Mean share of a strategy's picks out of distribution, and its interval, as in `band`."""
        ...


class _Drawing(OnAxes, total=False):
    """Keyword arguments that the constructors of an ActiveLearningDisplay pass on to `plot`."""

    line_kw: Mapping[str, Style] | None


@dataclass(kw_only=True, repr=False, eq=False)
class ActiveLearningDisplay(Display):
    """Plot of active learning: a line for each strategy, with the interval over seeds.

    Parameters
    ----------
    labels : ndarray of shape (R,)
        Labels paid for after each round.
    means : dict of (mean, low, high), each of shape (R,)
        By strategy; an interval of NaN is not drawn.
    quantity : str, default="accuracy"
        Label of the vertical axis.

    Attributes
    ----------
    ax_, figure_ : where it was drawn
    lines_ : dict of lines, by strategy
    areas_ : dict of intervals, by strategy

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> rising = (np.array([0.4, 0.7]), np.array([0.3, 0.6]), np.array([0.5, 0.8]))
    >>> display = ActiveLearningDisplay(labels=np.array([10, 20]), means={"DIAL": rising}).plot()
    >>> display.lines_["DIAL"].get_ydata()
    array([0.4, 0.7])
    >>> plt.close(display.figure_)
    """

    labels: npt.NDArray[Any]
    means: Mapping[str, tuple[FloatArray, FloatArray, FloatArray]]
    quantity: str = "accuracy"

    _is_share = False

    @classmethod
    @door
    def from_curves(cls, curves: Curves, **drawing: Unpack[_Drawing]) -> Self:
        """Draw the accuracy of every strategy against the number of labels paid for.

        Parameters
        ----------
        curves : LearningCurves
            The result of `pnml.active.active_learning_curve`.
        **drawing
            As in `plot`: ax, line_kw.
        """
        return cls._of(curves, curves.band, "accuracy")

    @classmethod
    @door
    def of_strange_picks(cls, curves: Curves, **drawing: Unpack[_Drawing]) -> Self:
        """Draw the share of every strategy's picks so far that were out of distribution.

        Arguments as in `from_curves`.
        """
        return cls._of(curves, curves.strange_share, "share of picks out of distribution")

    @classmethod
    def _of(cls, curves: Curves, means: Callable[[str], Any], quantity: str) -> Self:
        bands = {name: Means(*means(name)) for name in curves.accuracy}
        display = cls(labels=curves.labels, means=bands, quantity=quantity)
        display._is_share = True
        return display

    def plot(self, ax: Axes | None = None, *, line_kw: Mapping[str, Style] | None = None) -> Self:
        """Draw all lines, each with its interval shaded.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new figure by default.
        line_kw : dict of dict, optional
            Matplotlib style of each line, by strategy.
        """
        ax, _ = self._begin(ax)
        self.lines_: dict[str, Line2D] = {}
        self.areas_: dict[str, FillBetweenPolyCollection] = {}
        for name, (mean, low, high) in self.means.items():
            style = canvas.styled({"label": name}, (line_kw or {}).get(name))
            (self.lines_[name],) = ax.plot(self.labels, mean, **style)
            if not np.isnan(low).all():
                self.areas_[name] = ax.fill_between(
                    self.labels,
                    low,
                    high,
                    color=self.lines_[name].get_color(),
                    alpha=_SHADE,
                    linewidth=0,
                )
        ax.set(xlabel="Labels paid for", ylabel=self.quantity[:1].upper() + self.quantity[1:])
        if self._is_share:
            # a share lies between 0 and 1, even if intervals of few seeds do not
            bottom, top = ax.get_ylim()
            ax.set_ylim(max(bottom, -0.02), min(top, 1.02))
        add_legend(ax)
        return self
