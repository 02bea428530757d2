"""Which columns of a new table hold other values than in training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self, Unpack

import numpy as np

from pnml.columns.phrases import name_text
from pnml.errors import InputError
from pnml.plots import canvas
from pnml.plots.canvas import Style
from pnml.plots.display import Display, OnAxes, door
from pnml.plots.fitted_model import name_of
from pnml.plots.legend import add_key, make_room

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation

_CHANGE = 0.1  # index from which a change is called one, by the usual rule of thumb
_MOST = 20  # columns drawn by default


class ColumnDrift(Protocol):
    """Drift of one column to plot: a row of ``findings(new).drift``."""

    @property
    def column(self) -> str:
        """The name of the column."""
        ...

    @property
    def psi(self) -> float:
        """Population stability index of the column, in nats; 0 if nothing has changed."""
        ...

    @property
    def flagged(self) -> bool:
        """Whether the new rows differ from training in this column, by much and not by chance.

        They may hold other shares of values than training, or many more cells that are missing,
        outside the training range, unreadable or never seen; `remark` says which.
        """
        ...

    @property
    def remark(self) -> str:
        """What has changed, in words."""
        ...


class _Drawing(OnAxes, total=False):
    """Keyword arguments that the constructors of a DriftDisplay pass on to `plot`."""

    most: int
    bar_kw: Style
    threshold_kw: Style


@dataclass(kw_only=True, repr=False, eq=False)
class DriftDisplay(Display):
    """Plot of drift: how far each column of a new table is from what it held in training.

    A bar for each column: the population stability index of its shares, Σ (q − p) log(q/p) over
    bins or words, in nats; 0 where nothing has changed. Flagged columns stand on top and have the
    second colour and a hatch; the others follow by the length of their bars.

    Parameters
    ----------
    columns : sequence of str
        Names of the columns.
    psi : array-like of shape (k,)
        Population stability index of each column; NaN where it is not defined.
    flagged : array-like of shape (k,), optional
        Whether each column has changed.
    remarks : sequence of str, optional
        What has changed, in words.
    threshold : float or None, default=0.1
        Index from which a change is called one, by the usual rule of thumb; None for no line.
    name : str, optional
        Title of the axes.

    Attributes
    ----------
    ax_, figure_ : where it was drawn
    bars_ : the bars, from the top
    threshold_line_ : the threshold, or None
    remarks_ : list of the texts beside the bars

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> display = DriftDisplay(
    ...     columns=["age", "bp"], psi=[0.02, 1.3], flagged=[False, True], remarks=["", "in kPa"]
    ... ).plot()
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['bp', 'age']
    >>> plt.close(display.figure_)
    """

    columns: Sequence[str]
    psi: npt.ArrayLike
    flagged: npt.ArrayLike | None = None
    remarks: Sequence[str] | None = None
    threshold: float | None = _CHANGE
    name: str | None = None

    @classmethod
    @door
    def from_table(
        cls, model: Any, table: Any, *, name: str | None = None, **drawing: Unpack[_Drawing]
    ) -> Self:
        """Draw the drift of a new table's columns, compared with the training table of a model.

        Parameters
        ----------
        model : TableModel
            The result of `pnml.fit_table`.
        table : data frame, path, pattern or address
            New rows, as for ``model.findings``.
        name : str, optional
            Title of the axes; by default none.
        **drawing
            As in `plot`: ax, most, bar_kw, threshold_kw.
        """
        if not hasattr(model, "findings"):
            raise InputError(
                f"model is a {name_of(model)}, which has no findings about a table; pass what "
                "pnml.fit_table returns."
            )
        return cls._of(model.findings(table).drift, name)

    @classmethod
    @door
    def from_findings(
        cls, findings: Any, *, name: str | None = None, **drawing: Unpack[_Drawing]
    ) -> Self:
        """Draw the drift in given findings about a table.

        Parameters
        ----------
        findings : Findings
            As ``findings`` and ``report`` of a TableModel return them.
        name, **drawing
            As in `from_table`.
        """
        return cls._of(findings.drift, name)

    @classmethod
    def _of(cls, drift: Sequence[ColumnDrift], name: str | None) -> Self:
        return cls(
            columns=[row.column for row in drift],
            psi=np.array([row.psi for row in drift]),
            flagged=np.array([row.flagged for row in drift]),
            remarks=[row.remark for row in drift],
            name=name,
        )

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        most: int = _MOST,
        bar_kw: Style = None,
        threshold_kw: Style = None,
    ) -> Self:
        """Draw a bar for each column: flagged ones on top, then by length.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default those of a new figure.
        name : str, optional
            Title of the axes instead of the display's own name.
        most : int, default=20
            Draw at most this many columns, flagged ones first.
        bar_kw, threshold_kw : dict, optional
            How the bars and the threshold look, for matplotlib.
        """
        psi, flagged = self._checked()
        if isinstance(most, bool) or not isinstance(most, int | np.integer) or most < 1:
            raise InputError(f"most={most!r} is not a number of columns; pass 1 or more.")
        ax, name = self._begin(ax, name)
        length = np.nan_to_num(psi)
        order = np.lexsort((-length, ~flagged))[:most]
        style = {
            "color": ["C1" if flagged[j] else "C0" for j in order],
            "hatch": ["//" if flagged[j] else "" for j in order],
            "edgecolor": ax.get_facecolor(),
        }
        places = np.arange(len(order))
        self.bars_ = ax.barh(places, length[order], **{**style, **(bar_kw or {})})
        ax.set_yticks(places, [name_text(str(self.columns[j])) for j in order])
        ax.invert_yaxis()
        self.threshold_line_ = None
        if self.threshold is not None:
            line = canvas.dashed(
                "0.5", f"{self.threshold:g}: a larger index counts unless chance explains it"
            )
            self.threshold_line_ = ax.axvline(self.threshold, **canvas.styled(line, threshold_kw))
        self.remarks_ = [
            self._remark(ax, place, float(length[j]), self.remarks[j])
            for place, j in enumerate(order)
            if self.remarks is not None and self.remarks[j]
        ]
        ax.set(xlabel="Population stability index (nats)")
        make_room(ax, self.remarks_)
        if name is not None:
            ax.set_title(name, loc="left")
        key = {"C1": "changed"} if bool(flagged.any()) else {}
        add_key(ax, key, self.threshold_line_)
        return self

    @staticmethod
    def _remark(ax: Axes, place: int, length: float, text: str) -> Annotation:
        return ax.annotate(
            text.replace("; ", "\n"),
            (length, place),
            xytext=(4, 0),
            textcoords="offset points",
            verticalalignment="center",
            fontsize="small",
        )

    def _checked(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
        """Index of each column, and which have changed."""
        psi = np.asarray(self.psi, dtype=float)
        k = len(self.columns)
        given = {"flagged": self.flagged, "remarks": self.remarks}
        lengths = {key: np.size(value) for key, value in given.items() if value is not None}
        lengths["psi"] = psi.size if psi.ndim == 1 else -1
        for key, length in lengths.items():
            if length != k or not k:
                raise InputError(f"{key} does not have one entry for each of {k} columns.")
        if bool(np.any(np.isinf(psi) | (psi < 0))):
            raise InputError(
                "psi holds a number that is negative or infinite; pass stability indices of 0 or "
                "more, NaN where there is none."
            )
        flagged = np.zeros(k, dtype=bool)
        return psi, flagged if self.flagged is None else np.asarray(self.flagged, dtype=bool)
