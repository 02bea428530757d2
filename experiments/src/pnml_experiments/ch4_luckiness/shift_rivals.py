"""Rivals that see a test row while they fit, in closed form; one test row at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from warnings import catch_warnings, simplefilter

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LassoCV

from pnml.core.arrays import FloatArray

_CHUNK = 64  # test rows at once
_TINY = np.finfo(float).tiny
_MOMENT_PARTS, _PARTS = 10, 5


@dataclass(frozen=True)
class Search:
    """Values that the rivals choose from. Penalties end at 10, as in the code of the authors."""

    penalties: FloatArray
    widths: FloatArray  # of the kernel that labels a test row by its neighbours
    weights: FloatArray  # of a row so labelled
    holds: FloatArray  # that keep a test label near its ridge fit

    @classmethod
    def of(cls, penalties: int, widths: int) -> Search:
        """As many values over the ranges of the authors.

        >>> Search.of(8, 3).penalties[-1].round(6), Search.of(8, 3).widths
        (np.float64(10.0), array([1.e-02, 1.e+00, 1.e+02]))
        """
        steps = np.geomspace(1e-6, 10, penalties), np.geomspace(1e-2, 1e2, widths)
        return cls(*steps, np.append(np.geomspace(1e-2, 1e2, 30), 1), np.geomspace(1e-6, 1e3, 30))


@dataclass(frozen=True)
class Part:
    """Rows to fit and rows held out, along the directions of the rows to fit."""

    h2: FloatArray  # (d,) eigenvalues of XᵀX
    V: FloatArray  # (d, d)
    X: FloatArray  # (n, d) rows to fit, times V
    y: FloatArray  # (n,)
    held: FloatArray  # (m, d) rows held out, times V
    truth: FloatArray  # (m,)

    @classmethod
    def of(cls, X: FloatArray, y: FloatArray, held: FloatArray, truth: FloatArray) -> Part:
        """Of centred rows and labels."""
        h2, V = np.linalg.eigh(X.T @ X)
        return cls(np.maximum(h2, 0.0), V, X @ V, y, held @ V, truth)

    def ridge(self, penalty: float) -> FloatArray:
        """Ridge coefficients along V, (d,)."""
        found: FloatArray = (self.X.T @ self.y) / (self.h2 + penalty)
        return found

    def left_out(self, penalty: float) -> tuple[FloatArray, FloatArray]:
        """Residuals of the rows to fit, and 1 − h of each."""
        kept = 1 - self.X**2 @ (1 / (self.h2 + penalty))
        return self.y - self.X @ self.ridge(penalty), kept


def split(X: FloatArray, y: FloatArray, parts: int) -> list[Part]:
    """Each block of rows held out once, in the order of the rows."""
    blocks = np.array_split(np.arange(len(y)), min(parts, len(y)))
    return [Part.of(np.delete(X, b, 0), np.delete(y, b), X[b], y[b]) for b in blocks]


def least_left_out(part: Part, penalties: FloatArray) -> float:
    """Penalty of the least squared leave-one-out error."""
    errors = [np.sum((e / kept) ** 2) for e, kept in map(part.left_out, penalties)]
    return float(penalties[int(np.argmin(errors))])


@dataclass(frozen=True)
class Moments:
    """Labels of test rows by four moment equations, and how often g = 0 would be chosen."""

    q: FloatArray  # with g = 0
    q_ridge: FloatArray
    f: FloatArray  # with g = 0
    f_ridge: FloatArray
    zero: FloatArray  # whether g = 0 has the least asymptotic variance, for the q moments


def moments(parts: list[Part], new: FloatArray, penalties: FloatArray) -> Moments:
    """Single-point predictions of Tripuraneni and Mackey, cross-fitted, with ridge inside.

    With t = x_*ᵀx / ‖x_*‖² and z the rest of a row x, on the scale of t, the label of x_* is the
    slope θ of y = θ t + fᵀz + noise. Rows to fit give ridge fits q of y on z, g of t on z and f
    of y on (t, z); rows held out give θ, with u = t − gᵀz, from

        Σ u (y − qᵀz − θ u) = 0  (q moments)  or  Σ u (y − fᵀz − θ t) = 0  (f moments).
    """
    bases = [part.ridge(least_left_out(part, penalties)) for part in parts]
    found = [
        _solved(parts, bases, new[at : at + _CHUNK], penalties) for at in range(0, len(new), _CHUNK)
    ]
    return Moments(*np.concatenate(found, axis=1))


def _solved(
    parts: list[Part], bases: list[FloatArray], new: FloatArray, penalties: FloatArray
) -> FloatArray:
    size = np.maximum(np.sum(new**2, axis=1), _TINY)
    sums = np.zeros((9, len(new)))
    for part, base in zip(parts, bases, strict=True):
        x = new @ part.V
        q, v = nuisances(part, x, penalties)
        t, u = part.held @ x.T / size, part.held @ v.T
        left = part.truth[:, None] - part.held @ q.T
        slope = (part.truth - part.held @ base)[:, None] + t * (x @ base)
        terms = (t * left, u * left, t * slope, u * slope, t * t, u * u, t * u, t, u)
        sums += [np.sum(term, axis=0) for term in terms]
    tq, uq, tf, uf, tt, uu, tu, t_sum, u_sum = sums
    rows = sum(len(part.truth) for part in parts)
    plain, ridge = (tt - t_sum**2 / rows) * uu**2, (uu - u_sum**2 / rows) * tt**2
    return np.stack(
        [_ratio(tq, tt), _ratio(uq, uu), _ratio(tf, tt), _ratio(uf, tu), plain <= ridge]
    )


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    """A test row at the mean of the training rows has the mean label."""
    return np.divide(above, below, out=np.zeros_like(above), where=below != 0)


def nuisances(part: Part, x: FloatArray, penalties: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Ridge fits on the complement of each test row, penalties by leave-one-out.

    With A = XᵀX + λ‖x_*‖² I and β = A⁻¹Xᵀy, the fit of y on z is a ridge fit that is orthogonal
    to x_*, and what ridge leaves of t is a row times v:

        β − A⁻¹x_* (x_*ᵀβ) / (x_*ᵀA⁻¹x_*),    v = A⁻¹x_* / (x_*ᵀA⁻¹x_*).

    Both have hat values x_iᵀA⁻¹x_i − (x_iᵀA⁻¹x_*)² / (x_*ᵀA⁻¹x_*).
    """
    size = np.sum(x**2, axis=1, keepdims=True)
    best = np.full((2, len(x)), np.inf)
    kept = np.zeros((2, *x.shape))
    xy, squares = part.X.T @ part.y, part.X**2
    for penalty in penalties:
        w = 1 / np.maximum(part.h2 + penalty * size, _TINY)  # (k, d)
        along = w * x
        s = np.maximum(np.sum(along * x, axis=1, keepdims=True), _TINY)
        v = along / s
        q = w * xy - v * np.sum(w * xy * x, axis=1, keepdims=True)
        left = part.X @ v.T  # (n, k)
        free = 1 - squares @ w.T + left**2 * s.T
        label = (part.y[:, None] - part.X @ q.T) / free
        for place, (fit, error) in enumerate(((q, label), (v, left / free))):
            total = np.einsum("nk,nk->k", error, error)
            less = total < best[place]
            best[place, less], kept[place, less] = total[less], fit[less]
    return kept[0], kept[1]


def neighbour_labelled(X: FloatArray, y: FloatArray, new: FloatArray, search: Search) -> FloatArray:
    """Cortes and Mohri: ridge with the test row, labelled by its neighbours, as one more row.

    With the label ỹ and the weight C the fit at x is (xᵀβ + C h ỹ) / (1 + C h), h = xᵀA⁻¹x. Width
    and weight are those of the least absolute error of rows held out.
    """
    penalty = least_left_out(Part.of(X, y, new, y), search.penalties)
    weights = search.weights
    errors = np.zeros((len(search.widths), len(weights)))
    for b in np.array_split(np.arange(len(y)), min(_PARTS, len(y))):
        rows = np.delete(X, b, 0), np.delete(y, b), X[b]
        for at, place, label, fit, h in _labelled(*rows, penalty, search.widths):
            told = (fit + label * h * weights[:, None]) / (1 + h * weights[:, None])
            errors[place] += np.sum(np.abs(told - y[b][at]), axis=1)
    width, weight = np.unravel_index(int(np.argmin(errors)), errors.shape)
    widths, C = search.widths[width : width + 1], weights[weight]
    found = _labelled(X, y, new, penalty, widths)
    return np.concatenate([(fit + C * h * label) / (1 + C * h) for _, _, label, fit, h in found])


def _labelled(
    X: FloatArray, y: FloatArray, new: FloatArray, penalty: float, widths: FloatArray
) -> Iterator[tuple[slice, int, FloatArray, FloatArray, FloatArray]]:
    """Per chunk of rows and width: labels by the neighbours, ridge fits, and xᵀA⁻¹x."""
    part = Part.of(X, y, new, y)
    for start in range(0, len(new), 4 * _CHUNK):
        at = slice(start, start + 4 * _CHUNK)
        x, square = part.held[at], cdist(new[at], X, "sqeuclidean")
        fit, h = x @ part.ridge(penalty), x**2 @ (1 / (part.h2 + penalty))
        for place, width in enumerate(widths):
            near = np.exp(-square / (2 * width**2))
            yield at, place, near @ y / (near.sum(axis=1) + 1e-9), fit, h


def label_of_least_left_out(
    X: FloatArray, y: FloatArray, new: FloatArray, search: Search
) -> FloatArray:
    """Chapelle et al.: the test label for which the leave-one-out error of all rows is least.

    With δ the label less its ridge fit, c_i = x_iᵀA⁻¹x_* and h = x_*ᵀA⁻¹x_*, row i left out has
    the error (e_i − c_i δ / (1 + h)) / (1 − h_i + c_i² / (1 + h)), the test row has δ; a penalty
    ρ δ² holds the label near its fit, and the least absolute error of rows held out chooses ρ.
    """
    whole = Part.of(X, y, new, y)
    penalty = least_left_out(whole, search.penalties)
    holds = search.holds[:, None]
    errors = np.zeros(len(holds))
    for part in split(X, y, _PARTS):
        fit, up, down = _pulled(part, penalty)
        errors += np.sum(np.abs(fit + up / (down + holds) - part.truth), axis=1)
    fit, up, down = _pulled(whole, penalty)
    told: FloatArray = fit + up / (down + holds[int(np.argmin(errors))])
    return told


def _pulled(part: Part, penalty: float) -> FloatArray:
    """Fits of the rows held out, and above and below the line of their δ, (3, m)."""
    w = 1 / (part.h2 + penalty)
    e, kept = part.left_out(penalty)
    found = []
    for start in range(0, len(part.held), _CHUNK):
        x = part.held[start : start + _CHUNK]
        above = 1 + x**2 @ w  # 1 + h
        c = part.X @ (w * x).T  # (n, k)
        free = kept[:, None] + c**2 / above
        pull = c / above / free
        up, down = np.sum(pull * e[:, None] / free, axis=0), 1 + np.sum(pull**2, axis=0)
        found.append([x @ part.ridge(penalty), up, down])
    return np.concatenate(found, axis=1)


def cross_fitted(X: FloatArray, y: FloatArray, new: FloatArray, search: Search) -> Moments:
    """The moments over ten parts of the rows, as in the code of the authors."""
    return moments(split(X, y, _MOMENT_PARTS), new, search.penalties)


def lasso(X: FloatArray, y: FloatArray, new: FloatArray) -> FloatArray:
    """Alquier and Hebiri with a test row labelled by the lasso itself: the lasso.

    A row more on the fit adds no residual, so the minimum stays where it is.
    """
    alphas = np.geomspace(1e-6, 10, 100)[29:]
    model = LassoCV(alphas=alphas, cv=_PARTS, fit_intercept=False, max_iter=5000)
    with catch_warnings():
        # Of nearly equal columns, the least penalties take more steps; they are not chosen.
        simplefilter("ignore", ConvergenceWarning)
        told: FloatArray = model.fit(X, y).predict(new)
    return told


CHAPELLE, CORTES = "Chapelle et al. 2000", "Cortes and Mohri 2007"
ALQUIER, TRIPURANENI = "Alquier and Hebiri 2012", "Tripuraneni and Mackey 2020"


@dataclass(frozen=True)
class Told:
    """Labels of test rows by method, those of other moments, and rows whose g would be 0."""

    methods: dict[str, FloatArray]
    moments: dict[str, FloatArray]
    zero: float


def told(X: FloatArray, y: FloatArray, new: FloatArray, search: Search) -> Told:
    """What all rivals say of test rows; the mean of the training labels is taken off first."""
    mean, centre = float(y.mean()), X.mean(axis=0)
    rows = X - centre, y - mean, new - centre
    found = cross_fitted(*rows, search)
    methods = {
        CHAPELLE: label_of_least_left_out(*rows, search),
        CORTES: neighbour_labelled(*rows, search),
        ALQUIER: lasso(*rows),
        TRIPURANENI: found.q,
    }
    others = {
        "q, g = 0": found.q,
        "q, g by ridge": found.q_ridge,
        "f, g = 0": found.f,
        "f, g by ridge": found.f_ridge,
    }
    return Told(
        {name: mean + value for name, value in methods.items()},
        {name: mean + value for name, value in others.items()},
        float(found.zero.mean()),
    )
