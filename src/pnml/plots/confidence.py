"""Histograms of confidence: known rows beside rows of unknown classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, Unpack

import numpy as np

from pnml.errors import InputError, shorten
from pnml.plots.display import Display, OnAxes, door
from pnml.plots.legend import add_legend

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes
    from matplotlib.patches import StepPatch

    from pnml.core.arrays import FloatArray

# Bins cover finite scores between these quantiles; the first and the last hold the rest.
_COVERED = (0.005, 0.995)


@dataclass(kw_only=True, repr=False, eq=False)
class ConfidenceDisplay(Display):
    """Plot of confidence: histograms of one score, of known rows and of unknown ones.

    The filled histogram is that of known rows, each outline that of a set of unknown rows. The
    less they overlap, the better the score separates them.

    Parameters
    ----------
    edges : ndarray of shape (b + 1,)
        Ends of the bins, rising. The first and the last bin also hold what lies beyond them.
    known : ndarray of shape (b,)
        Share of the known rows in each bin.
    unknown : dict of name → ndarray of shape (b,)
        The same for each set of unknown rows.
    name : str, optional
        What the score is, for the axis.

    Attributes
    ----------
    ax_, figure_ : where it was drawn
    known_ : histogram of the known rows
    unknown_ : dict of those of the unknown rows

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> display = ConfidenceDisplay.from_scores(
    ...     [0.9, 0.8, 0.9], {"svhn": [0.1, 0.8, -np.inf]}, bins=2
    ... )
    >>> display.known.tolist(), display.unknown["svhn"].round(2).tolist()
    ([0.0, 1.0], [0.67, 0.33])
    >>> plt.close(display.figure_)
    """

    edges: FloatArray
    known: FloatArray
    unknown: Mapping[str, FloatArray]
    name: str | None = None

    @classmethod
    @door
    def from_scores(
        cls,
        known: npt.ArrayLike,
        unknown: Mapping[str, npt.ArrayLike],
        *,
        bins: int = 40,
        name: str | None = None,
        **drawing: Unpack[OnAxes],
    ) -> Self:
        """Draw the histograms of scores (n,) that are high for known rows.

        Parameters
        ----------
        known : array-like of shape (n,)
        unknown : dict of name → array-like of shape (m,)
        bins : int, default=40
        name : str, optional
            What the score is, for the axis.
        **drawing
            As in `plot`: ax.
        """
        return cls.counted(known, unknown, bins=bins, name=name)

    @classmethod
    def counted(
        cls,
        known: npt.ArrayLike,
        unknown: Mapping[str, npt.ArrayLike],
        *,
        bins: int = 40,
        name: str | None = None,
    ) -> Self:
        """The display of `from_scores`, not drawn, so that matplotlib is not needed."""
        known_scores = _scores(known, "known")
        unknown_scores = {key: _scores(values, key) for key, values in unknown.items()}
        edges = _edges(np.concatenate([known_scores, *unknown_scores.values()]), bins)
        return cls(
            edges=edges,
            known=_shares(known_scores, edges),
            unknown={key: _shares(values, edges) for key, values in unknown_scores.items()},
            name=name,
        )

    def plot(self, ax: Axes | None = None, *, name: str | None = None) -> Self:
        """Draw the histograms.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default those of a new figure.
        name : str, optional
            What the score is, instead of the display's own name.
        """
        ax, name = self._begin(ax, name)
        style: dict[str, Any] = {"fill": True, "color": "0.75", "label": "known"}
        self.known_ = ax.stairs(self.known, self.edges, **style)
        self.unknown_: dict[str, StepPatch] = {}
        for i, (key, shares) in enumerate(self.unknown.items()):
            self.unknown_[key] = ax.stairs(shares, self.edges, color=f"C{i}", label=key)
        ax.set(xlabel="Confidence score" if name is None else name, ylabel="Share of rows")
        add_legend(ax)
        return self


def _scores(values: npt.ArrayLike, name: str) -> FloatArray:
    scores = np.asarray(values, dtype=np.float64)
    if scores.ndim != 1 or not scores.size or np.isnan(scores).any():
        raise InputError(
            f"The scores {shorten(name)!r} have shape {scores.shape} or hold NaN; pass one number "
            "for each row, and at least one row."
        )
    return scores


def _edges(scores: FloatArray, bins: int) -> FloatArray:
    finite = scores[np.isfinite(scores)]
    low, high = np.quantile(finite, _COVERED) if len(finite) else (0.0, 1.0)
    # a score that hardly varies still needs bins of some width
    room = max(1e-12, 1e-9 * abs(low))
    return np.linspace(low, max(high, low + room), bins + 1)


def _shares(scores: FloatArray, edges: FloatArray) -> FloatArray:
    counts, _ = np.histogram(np.clip(scores, edges[0], edges[-1]), bins=edges)
    return np.asarray(counts / len(scores), dtype=np.float64)
