"""Correct classification rate against the rate of unknown rows let in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, Unpack

from pnml import metrics
from pnml.plots import canvas
from pnml.plots.canvas import Style
from pnml.plots.display import Display, WithLine, door
from pnml.plots.legend import add_legend

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from pnml.core.arrays import FloatArray


class _Drawing(WithLine, total=False):
    """Keyword arguments that the constructors of an OSCRDisplay pass on to `plot`."""

    plot_accuracy: bool


@dataclass(kw_only=True, repr=False, eq=False)
class OSCRDisplay(Display):
    """Plot of the OSCR curve: correct classification against unknown rows let in. Eq. (M4).

    The curve ends at the accuracy on known classes; a good score reaches it from the start.

    Parameters
    ----------
    fpr : ndarray of shape (k,)
        Share of the rows of unknown classes that are let in, rising to 1.
    ccr : ndarray of shape (k,)
        Share of the known rows that are let in and classified correctly.
    area : float, optional
        Area under the curve. Eq. (M6).
    name : str, optional
        Leads the labels in the legend.

    Attributes
    ----------
    ax_, figure_ : where it was drawn
    line_ : the curve
    accuracy_line_ : the accuracy on known classes, or None

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> display = OSCRDisplay.from_predictions([3.0, 2.0, 1.0], [True, False, True], [2.5, 0.0])
    >>> display.area, display.line_.get_ydata().max().round(3)
    (0.5, np.float64(0.667))
    >>> plt.close(display.figure_)
    """

    fpr: FloatArray
    ccr: FloatArray
    area: float | None = None
    name: str | None = None

    @classmethod
    @door
    def from_predictions(
        cls,
        scores_known: npt.ArrayLike,
        correct_known: npt.ArrayLike,
        scores_unknown: npt.ArrayLike,
        *,
        name: str | None = None,
        **drawing: Unpack[_Drawing],
    ) -> Self:
        """Draw the curve of any scores that are high for known rows.

        Parameters
        ----------
        scores_known, correct_known, scores_unknown
            As in `pnml.metrics.oscr_curve`.
        name : str, optional
            Leads the labels in the legend.
        **drawing
            As in `plot`: ax, plot_accuracy, line_kw.
        """
        rows = (scores_known, correct_known, scores_unknown)
        curve = metrics.oscr_curve(*rows)
        return cls(fpr=curve.fpr, ccr=curve.ccr, area=metrics.oscr_area(*rows), name=name)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        plot_accuracy: bool = True,
        line_kw: Style = None,
    ) -> Self:
        """Draw the curve, and the accuracy on known classes as a level line.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default those of a new figure.
        name : str, optional
            Leads the labels in the legend instead of the display's own name.
        plot_accuracy : bool, default=True
            Also draw the accuracy; once is enough where scores of one classifier share axes.
        line_kw : dict, optional
            How the curve looks, for matplotlib.
        """
        ax, name = self._begin(ax, name)
        text = "by score" if self.area is None else f"area = {self.area:.3f}"
        style: dict[str, Any] = {"label": canvas.labelled(name, text)}
        (self.line_,) = ax.plot(self.fpr, self.ccr, **canvas.styled(style, line_kw))
        self.accuracy_line_: Line2D | None = None
        if plot_accuracy:
            level = float(self.ccr[-1])
            style = canvas.dashed("0.5", f"accuracy on known classes = {level:.3f}")
            (self.accuracy_line_,) = ax.plot([0.0, 1.0], [level, level], **style)
        ax.set(xlabel="False positive rate (unknown rows let in)")
        ax.set(ylabel="Correct classification rate", xlim=(-0.01, 1.01))
        add_legend(ax)
        return self
