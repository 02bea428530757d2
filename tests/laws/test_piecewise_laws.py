"""Laws of every distribution with a log-quadratic density on each piece."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from examples import examples
from pnml.core.distributions.log_quadratics import Quadratics
from pnml.core.distributions.piecewise import PiecewiseLogQuadratic

UNIT = st.floats(-1, 1)


@st.composite
def values(draw, rows=2):
    """Rows of equally many pieces, some empty, of scales from 1e-8 to 1e8."""
    n = draw(st.integers(1, 5))
    scale = 10.0 ** draw(st.integers(-8, 8))
    inner = 3 * np.sort(draw(arrays(float, (rows, n - 1), elements=UNIT)), axis=1)
    q0 = 4 * draw(arrays(float, (rows, n), elements=UNIT))
    q1 = 5 * draw(arrays(float, (rows, n), elements=UNIT))
    q2 = -10 * draw(arrays(float, (rows, n), elements=st.sampled_from([0.0, 1e-9, 0.01, 1.0])))
    q2[:, [0, -1]] = np.minimum(q2[:, [0, -1]], -0.01)
    ends = np.full((rows, 1), np.inf)
    edges = np.hstack([-ends, inner, ends])
    origin = np.hstack([inner[:, :1] if n > 1 else np.zeros((rows, 1)), inner])
    return PiecewiseLogQuadratic.of(
        Quadratics(edges * scale, origin * scale, q0, q1 / scale, q2 / scale**2)
    )


LEVELS = arrays(float, (7, 1), elements=st.floats(1e-12, 1 - 1e-12))


@settings(max_examples=examples(40))
@given(values())
def test_the_mass_is_one(value):
    """∫ density dy = 1, by quadrature between many quantiles and the pieces' own edges."""
    nodes, weights = np.polynomial.legendre.leggauss(20)
    levels = np.concatenate([np.geomspace(1e-16, 0.5, 60), 1 - np.geomspace(1e-15, 0.4, 60)])
    quantiles = value.ppf(np.sort(levels)[:, None])
    for t in range(2):
        starts = value.pieces.start[t]
        inside = starts[(starts > quantiles[0, t]) & (starts < quantiles[-1, t])]
        even = np.linspace(quantiles[0, t], quantiles[-1, t], 600)
        ends = np.unique(np.concatenate([quantiles[:, t], inside, even]))
        half, middle = np.diff(ends) / 2, (ends[1:] + ends[:-1]) / 2
        y = np.zeros((half.size * nodes.size, 2))
        y[:, t] = (middle[:, None] + half[:, None] * nodes).ravel()
        density = np.exp(value.log_prob(y)[:, t]).reshape(half.size, -1)
        assert abs(np.sum(half[:, None] * weights * density) - 1) < 1e-10


@given(values(), LEVELS)
def test_the_cdf_undoes_the_quantile(value, q):
    y = value.ppf(q)
    blur = 8 * np.spacing(np.abs(y)) * np.exp(value.log_prob(y))
    assert np.all(np.abs(value.cdf(y) - q) <= 1e-12 + blur)


@given(values(), LEVELS)
def test_quantiles_and_probabilities_never_fall(value, q):
    y = value.ppf(np.sort(q, axis=0))
    assert np.all(np.diff(y, axis=0) >= -1e-13 * np.abs(y[1:]))
    assert np.all(np.diff(value.cdf(np.sort(y, axis=0)), axis=0) >= -1e-15)


@given(values(), st.floats(0.01, 0.98), st.floats(0.001, 0.01))
def test_wider_coverage_holds_the_narrower_interval(value, coverage, more):
    narrow, wide = value.interval(coverage), value.interval(coverage + more)
    assert np.all(wide[:, 0] <= narrow[:, 0])
    assert np.all(narrow[:, 1] <= wide[:, 1])


@given(values(), st.floats(0.05, 0.95))
def test_an_interval_leaves_the_same_on_both_sides(value, coverage):
    low, high = value.interval(coverage).T
    blur = 8 * np.spacing(np.maximum(np.abs(low), np.abs(high)))
    blur = blur * np.exp(np.maximum(value.log_prob(low), value.log_prob(high)))
    assert np.all(np.abs(value.cdf(low) - (1 - coverage) / 2) <= 1e-12 + blur)
    assert np.all(np.abs(value.cdf(high) - (1 + coverage) / 2) <= 1e-12 + blur)
