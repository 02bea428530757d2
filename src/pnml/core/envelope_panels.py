"""Integral of the largest of several densities, for twice universality.

The line of labels is cut into panels, intervals on which a polynomial stands for the density.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pnml.core.arrays import FloatArray
from pnml.core.distributions.normal import Predictive
from pnml.core.distributions.panels import NODES, Panels, coefficients, integrals
from pnml.core.distributions.piecewise import PiecewiseLogQuadratic

IntArray = npt.NDArray[np.intp]

# Largest estimated error of a normaliser, relative to it.
ERROR = 1e-8
# A panel is cut while its estimated error is above this share of the row's mass.
_PANEL_ERROR = 1e-11
# A panel in which the largest class changes is cut while it has more than this share of the mass.
_MIXED_MASS = 1e-9
_DEEPEST = 60  # cuts
_MOST_PANELS = 4_000  # a row, on average over a block
_NARROWEST = 1e-14  # of the range of a row
_DEPTH = 45.0  # nats below the peak where the tails are cut: 3e-20 of it
_FIRST = np.array([-4.0, -2.0, -1.0, 0.0, 1.0, 2.0, 4.0])  # edges about the mode, in stds
_LADDER = 1.5 ** np.arange(13)  # in stds, where the tails are looked for
_MOST_LADDERS = 16  # one after another: a std is 1e-30 of the last step
_SAME = 1e-11  # nats within which two classes are equally large


@dataclass(frozen=True)
class Members:
    """Distributions of the labels of the same T rows, one for each of m model classes."""

    parts: tuple[Predictive, ...]

    def log_prob(self, y: FloatArray) -> FloatArray:
        """Log-density (m, ...) that each class gives the labels y, which broadcast against (T,)."""
        with np.errstate(invalid="ignore"):
            return np.stack([part.log_prob(y) for part in self.parts])

    def rows(self, rows: IntArray) -> Members:
        """The same classes, for the rows at these positions, which may repeat."""
        parts: Sequence[Any] = self.parts
        return Members(tuple(part.rows(rows) for part in parts))

    @cached_property
    def edges(self) -> FloatArray:
        """Ends (T, E) of the first panels of each row, ascending, before `sweep` cuts panels.

        They are at and about the mode of every class, at the kinks of piecewise densities, and
        where no class has mass that counts beyond.
        """
        low, high = self._reach()
        found = [low[:, None], high[:, None]]
        for part in self.parts:
            known = np.isfinite(part.std)[:, None]
            about = part.mode[:, None] + np.where(known, part.std[:, None], 0.0) * _FIRST
            found.append(np.where(known, about, low[:, None]))
            if isinstance(part, PiecewiseLogQuadratic):
                found.append(part.pieces.start)
        edges = np.clip(np.concatenate(found, axis=1), low[:, None], high[:, None])
        return np.sort(edges, axis=1)

    def _reach(self) -> tuple[FloatArray, FloatArray]:
        """Ends (T,) of the range outside of which no class has mass that counts."""
        ends = []
        for side in (-1.0, 1.0):
            reach = []
            for part in self.parts:
                known = np.isfinite(part.std)
                step, floor = np.where(known, part.std, 0.0), part.log_prob(part.mode) - _DEPTH
                for _ in range(_MOST_LADDERS):
                    steps = _LADDER[:, None] * step
                    inside = known & (part.log_prob(part.mode + side * steps) > floor)
                    first = np.minimum(np.sum(inside, axis=0), len(_LADDER) - 1)
                    step = np.take_along_axis(steps, first[None], axis=0)[0]
                    if not np.any(inside[-1]):
                        break
                # a class without a density has no end of its own
                reach.append(np.where(known, part.mode + side * step, -side * np.inf))
            ends.append(np.max(reach, axis=0) if side > 0 else np.min(reach, axis=0))
        return ends[0], ends[1]


class _Cut(NamedTuple):
    """Panels of several rows, one after another, and what is known of them."""

    row: IntArray  # (P,)
    left: FloatArray  # (P,)
    right: FloatArray  # (P,)
    values: FloatArray  # (P, n)  densities, divided by the peak of the row
    owned: npt.NDArray[np.bool_]  # (P, n, m)  classes that are largest at a node

    def join(self, other: _Cut) -> _Cut:
        return _Cut(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))

    def take(self, which: npt.NDArray[Any]) -> _Cut:
        return _Cut(*(part[which] for part in self))

    @property
    def masses(self) -> FloatArray:
        return integrals(self.values, self.right - self.left)

    @property
    def errors(self) -> FloatArray:
        """Estimated errors of the integrals: the last coefficients, times the width."""
        last = np.abs(coefficients(self.values)[:, -3:]).sum(axis=1)
        return np.asarray((self.right - self.left) * last)

    @property
    def mixed(self) -> npt.NDArray[np.bool_]:
        """Whether no class is the largest at all nodes."""
        return np.asarray(~np.any(np.all(self.owned, axis=1), axis=1))


class Sweep(NamedTuple):
    """Envelope, the largest of m densities, of T rows: its panels, integral, shares and error."""

    panels: Panels  # of the normalised envelope
    log_mass: FloatArray  # (T,)  log of the integral of the largest density, nats
    shares: FloatArray  # (T, m)  probability of the labels that each class explains best
    error: FloatArray  # (T,)  estimated error of the integral, relative to it


def sweep(members: Members) -> Sweep:
    """Sweep of all rows: the largest density integrated, panels being cut until all are smooth."""
    edges = members.edges
    n = len(edges)
    peak = members.log_prob(np.stack([part.mode for part in members.parts])).max(axis=(0, 1))
    left, right = edges[:, :-1].ravel(), edges[:, 1:].ravel()
    row = np.repeat(np.arange(n), edges.shape[1] - 1)
    used = right > left
    range_of = edges[:, -1] - edges[:, 0]
    fresh = _evaluated(members, peak, row[used], left[used], right[used])
    done = fresh.take(np.zeros(len(fresh.row), dtype=bool))
    for _ in range(_DEEPEST):
        both = done.join(fresh)
        mass = np.bincount(both.row, both.masses, n)
        rough = fresh.errors > _PANEL_ERROR * mass[fresh.row]
        rough |= fresh.mixed & (fresh.masses > _MIXED_MASS * mass[fresh.row])
        rough &= fresh.right - fresh.left > _NARROWEST * range_of[fresh.row]
        done = done.join(fresh.take(~rough))
        if not rough.any() or len(done.row) > _MOST_PANELS * n:
            done = done.join(fresh.take(rough))
            break
        fresh = _evaluated(members, peak, *_halves(fresh.take(rough)))
    else:
        done = done.join(fresh)
    return _swept(done, n, peak)


def _evaluated(
    members: Members, peak: FloatArray, row: IntArray, left: FloatArray, right: FloatArray
) -> _Cut:
    """Panels with their densities and owners at the nodes."""
    half = 0.5 * (right - left)
    y = left + half * (1 + NODES[:, None])  # (n, P)
    y[-1] = right
    log_q = members.rows(row).log_prob(y)  # (m, n, P)
    best = log_q.max(axis=0)
    owned = np.moveaxis(log_q >= best - _SAME, (0, 1, 2), (2, 1, 0))
    return _Cut(row, left, right, np.exp(best - peak[row]).T, owned)


def _halves(rough: _Cut) -> tuple[IntArray, FloatArray, FloatArray]:
    """Each panel cut in two; one in which the largest class changes, about that place."""
    owner = rough.owned.argmax(axis=2)
    changes = owner[:, 1:] != owner[:, :-1]
    where = np.where(rough.mixed & changes.any(axis=1), changes.argmax(axis=1), -1)
    width = 0.5 * (rough.right - rough.left)
    middle = rough.left + width
    low = np.where(where >= 0, rough.left + width * (1 + NODES[where]), middle)
    high = np.where(where >= 0, rough.left + width * (1 + NODES[where + 1]), middle)
    high = np.minimum(high, rough.right)
    row = np.tile(rough.row, 3)
    left = np.concatenate([rough.left, low, high])
    right = np.concatenate([low, high, rough.right])
    used = right > left
    return row[used], left[used], right[used]


def _swept(done: _Cut, n: int, peak: FloatArray) -> Sweep:
    """Panels in their order, one line a row, normalised; shares of the classes. Eq. (U5)."""
    done = done.take(np.lexsort((done.left, done.row)))
    mass = np.bincount(done.row, done.masses, n)
    error = np.bincount(done.row, done.errors, n) / mass
    count = np.bincount(done.row, minlength=n)
    first = np.cumsum(count) - count
    place = np.arange(len(done.row)) - first[done.row]
    last = done.right[np.cumsum(count) - 1]
    edges = np.broadcast_to(last[:, None], (n, count.max() + 1)).copy()
    edges[done.row, place] = done.left
    values = np.zeros((n, count.max(), len(NODES)))
    values[done.row, place] = done.values / mass[done.row, None]
    whole = np.all(
        done.owned, axis=1, keepdims=True
    )  # classes that own all of a panel, if any does
    owned = np.where(np.any(whole, axis=2, keepdims=True), whole, done.owned)
    parts = (owned / owned.sum(axis=2, keepdims=True)).mean(axis=1)  # (P, m)
    shares = np.zeros((n, parts.shape[1]))
    np.add.at(shares, done.row, parts * (done.masses / mass[done.row])[:, None])
    return Sweep(Panels(edges, values), peak + np.log(mass), shares, error)
