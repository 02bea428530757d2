"""Twice universality: one distribution that follows whichever model class explains the label."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from pnml.core.arrays import FloatArray
from pnml.core.distributions.log_quadratics import Quadratics
from pnml.core.distributions.piecewise import PiecewiseLogQuadratic
from pnml.errors import InputError

_CHUNK = 4_000_000  # densities held at once
_SAME = 1e-12  # distance in stds below which two classes are one
_LOG_ROOT_2PI = 0.5 * np.log(2 * np.pi)


class LabelEnvelope(NamedTuple):
    """Universal probabilities of C labels of n rows, over several model classes at once."""

    log_prob: FloatArray  # (n, C)  of the largest probability by any class, normalised
    log_mass: FloatArray  # (n,)  log of the normaliser Z, in nats


def envelope(means: FloatArray, stds: FloatArray, regrets: FloatArray) -> PiecewiseLogQuadratic:
    """Universal distribution, proportional to the largest of m normal densities. Eq. (U1).

    Means, stds and regrets (nats) are (T, m), of T rows by m model classes. A class with infinite
    std has no density and takes no part. The regret of the result is the expected one to the genie
    of the class that explains the label best, Eq. (U4).

    >>> two = envelope(np.array([[0.0, 0.0]]), np.array([[1.0, 2.0]]), np.array([[0.1, 0.7]]))
    >>> two.log_mass.round(4), two.mean.round(4), two.regret.round(4)
    (array([0.2797]), array([0.]), array([0.6049]))
    """
    if regrets.shape != means.shape or not np.all(regrets >= 0):
        raise InputError(
            f"Regrets of shape {regrets.shape} must be at least 0 and match the means, of shape "
            f"{means.shape}: give one regret per row and class."
        )
    quadratics, owner = _pieces(means, stds)
    log_masses = quadratics.log_masses()
    shares = _shares(log_masses, owner, means, stds)
    log_mass = logsumexp(log_masses, axis=1)
    mixed = np.sum(
        np.multiply(shares, regrets, where=shares > 0, out=np.zeros_like(shares)), axis=1
    )
    # a row with no finite density has infinite mass: its label is unknown
    return PiecewiseLogQuadratic.of(quadratics, mixed + np.maximum(log_mass, 0.0))


def class_shares(means: FloatArray, stds: FloatArray) -> FloatArray:
    """Probability (T, m) of the labels that each model class explains best. Eq. (U5).

    Means and stds (T, m) are those of the normal predictions of T rows by m classes; probabilities
    are those of `envelope` and add up to 1 in each row. Equal classes have equal shares, and so
    have all classes in a row where all stds are infinite.

    >>> class_shares(np.array([[0.0, 0.0]]), np.array([[1.0, 2.0]])).round(4)
    array([[0.6245, 0.3755]])
    """
    quadratics, owner = _pieces(means, stds)
    return _shares(quadratics.log_masses(), owner, means, stds)


def label_envelope(log_q: FloatArray) -> LabelEnvelope:
    """Universal probabilities: the largest by any model class, normalised. Eq. (U6).

    `log_q` (m, n, C) are log-probabilities by m model classes, for n rows and C labels. `log_mass`,
    the price of not knowing the class, is between 0, where the classes agree, and log min(m, C).

    >>> sure, unsure = np.log([[0.9, 0.1]]), np.log([[0.5, 0.5]])
    >>> both = label_envelope(np.stack([sure, unsure]))
    >>> np.exp(both.log_prob).round(4), both.log_mass.round(4)
    (array([[0.6429, 0.3571]]), array([0.3365]))
    """
    best = _largest(log_q)
    log_mass = np.asarray(logsumexp(best, axis=-1))
    return LabelEnvelope(best - log_mass[:, None], np.maximum(log_mass, 0.0))


def label_shares(log_q: FloatArray) -> FloatArray:
    """Probability (n, m) of the labels that each model class explains best. Eq. (U7).

    `log_q` (m, n, C) are log-probabilities by m model classes, for n rows and C labels;
    probabilities are those of `label_envelope` and add up to 1 in each row. Classes that give a
    label the same probability have equal shares of it.

    >>> sure, unsure = np.log([[0.9, 0.1]]), np.log([[0.5, 0.5]])
    >>> label_shares(np.stack([sure, unsure])).round(4)
    array([[0.6429, 0.3571]])
    """
    best = _largest(log_q)
    owned = log_q >= best + np.log1p(-_SAME)
    q = np.exp(best - logsumexp(best, axis=-1, keepdims=True))
    shares: FloatArray = np.sum(owned * (q / owned.sum(axis=0)), axis=-1).T
    return shares


def _largest(log_q: FloatArray) -> FloatArray:
    """Largest log-probability of each label over the classes, (n, C)."""
    if log_q.ndim != 3 or 0 in (log_q.shape[0], log_q.shape[2]):
        raise InputError(
            f"Log-probabilities of shape {log_q.shape} are not (classes, rows, labels) with at "
            "least one class and one label: stack the classes along the first axis."
        )
    best: FloatArray = log_q.max(axis=0)
    if np.isnan(best).any() or not np.all(np.isfinite(best.max(axis=1))):
        raise InputError(
            "Every row needs log-probabilities, -inf for a label that cannot be, and some rows "
            "have none: leave such rows out."
        )
    return best


def _shares(
    log_masses: FloatArray, owner: npt.NDArray[np.intp], means: FloatArray, stds: FloatArray
) -> FloatArray:
    """Shares of the classes, (T, m), from the masses and owners of the pieces. Eq. (U5)."""
    known = np.isfinite(stds).any(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        pieces = np.exp(log_masses - logsumexp(log_masses, axis=1, keepdims=True))
    n_classes = means.shape[1]
    shares = np.stack([np.sum(pieces * (owner == k), axis=1) for k in range(n_classes)], axis=1)
    same = _close(means, stds) & _close(stds, stds)  # which of such classes is larger is round-off
    shares = np.einsum("tkl,tl->tk", same, shares / np.maximum(same.sum(axis=2), 1))
    return np.asarray(np.where(known, shares, 1 / n_classes))


def _close(values: FloatArray, stds: FloatArray) -> npt.NDArray[np.bool_]:
    """Whether two classes agree to round-off of their std, (T, m, m)."""
    with np.errstate(invalid="ignore"):
        gap = np.abs(values[:, :, None] - values[:, None])
    return np.asarray(gap <= _SAME * np.minimum(stds[:, :, None], stds[:, None]))


def crossings(means: FloatArray, stds: FloatArray) -> FloatArray:
    """Labels (T, m(m−1)) at which two of m normal densities are equal, two per pair. Eq. (U3).

    Means and stds are (T, m), of T rows by m model classes. NaN in place of a label where two
    densities cross only once, are the same, or one has an infinite std.
    """
    first, second = np.triu_indices(means.shape[1], 1)
    swap = stds[:, first] > stds[:, second]
    narrow, wide = np.where(swap, second, first), np.where(swap, first, second)
    mu, sd = np.take_along_axis(means, narrow, axis=1), np.take_along_axis(stds, narrow, axis=1)
    far, broad = np.take_along_axis(means, wide, axis=1), np.take_along_axis(stds, wide, axis=1)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        gap = (broad - sd) / broad  # 1 − r, exact where r is near 1
        r, delta = 1 - gap, (mu - far) / broad
        constant = delta**2 - 2 * np.log1p(-gap)
        curve = gap * (1 + r)
        root = np.sqrt((r * delta) ** 2 + curve * constant)
        like_signs = r * delta + np.copysign(root, delta)
        t = np.concatenate([like_signs / curve, -constant / like_signs], axis=1)
        y = np.tile(mu, 2) + np.tile(sd, 2) * t
    return np.where(np.isfinite(y), y, np.nan)


def _pieces(means: FloatArray, stds: FloatArray) -> tuple[Quadratics, npt.NDArray[np.intp]]:
    """The envelope as pieces, and the class that is largest on each, (T, P). Eq. (U3)."""
    _check(means, stds)
    edges, owner = _intervals(means, stds)
    mean, sd = (np.take_along_axis(table, owner, axis=1) for table in (means, stds))
    known = np.isfinite(sd)
    centre = np.where(known, mean, means.mean(axis=1, keepdims=True))
    q0 = -np.log(np.where(known, sd, 1.0)) - _LOG_ROOT_2PI
    return Quadratics(edges, centre, q0, np.zeros_like(sd), -0.5 / sd**2), owner


def _intervals(means: FloatArray, stds: FloatArray) -> tuple[FloatArray, npt.NDArray[np.intp]]:
    """Edges (T, P+1) between which one class is the largest, and that class (T, P)."""
    n_rows, n_classes = means.shape
    width = max(1, n_classes * (n_classes - 1)) + 1  # placeholder edge if there is none
    edges = np.empty((n_rows, width + 1))
    owner = np.empty((n_rows, width), dtype=np.intp)
    step = max(1, _CHUNK // (width * n_classes))
    for begin in range(0, n_rows, step):
        rows = slice(begin, begin + step)
        edges[rows], owner[rows] = _all_intervals(means[rows], stds[rows])
    opens = np.ones(owner.shape, dtype=bool)  # the intervals at which the owner changes
    opens[:, 1:] = owner[:, 1:] != owner[:, :-1]
    most = int(np.max(opens.sum(axis=1), initial=1))
    order = np.argsort(~opens, axis=1, kind="stable")[:, :most]
    kept = np.take_along_axis(opens, order, axis=1)
    starts = np.where(kept, np.take_along_axis(edges, order, axis=1), np.inf)
    ends = np.full((n_rows, 1), np.inf)
    return np.hstack([starts, ends]), np.take_along_axis(owner, order, axis=1)


def _all_intervals(means: FloatArray, stds: FloatArray) -> tuple[FloatArray, npt.NDArray[np.intp]]:
    """Edges at every crossing of any two classes, and the largest class in between."""
    cross = crossings(means, stds)
    missing = np.isnan(cross)
    last = np.max(np.where(missing, -np.inf, cross), axis=1, initial=-np.inf, keepdims=True)
    last = np.where(np.isfinite(last), last, means[:, :1])
    cross = np.sort(np.where(missing, last, cross), axis=1) if cross.shape[1] else last
    room = np.max(np.where(np.isfinite(stds), stds, 1.0), axis=1, keepdims=True)
    inner = cross[:, :-1] + 0.5 * (cross[:, 1:] - cross[:, :-1])
    points = np.hstack([cross[:, :1] - room, inner, cross[:, -1:] + room])
    with np.errstate(divide="ignore", invalid="ignore"):
        z = (points[:, :, None] - means[:, None]) / stds[:, None]
        density = -0.5 * z * z - np.log(stds)[:, None]
    outer = np.full((len(means), 1), np.inf)
    return np.hstack([-outer, cross, outer]), np.argmax(density, axis=2)


def _check(means: FloatArray, stds: FloatArray) -> None:
    if means.shape != stds.shape or means.ndim != 2 or means.shape[1] == 0:
        raise InputError(
            f"Means of shape {means.shape} and stds of shape {stds.shape} must share one shape "
            "(rows, classes) with at least one class: stack the classes along the last axis."
        )
    if not np.all(np.isfinite(means)) or not np.all(stds > 0):
        raise InputError(
            "Every class needs a finite mean and a std above 0 on every row, and some lack it: "
            "leave such a class out."
        )
