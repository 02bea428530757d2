"""Excess beyond the training range of a column."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from pnml.core.ranges import Ranges

cell = st.integers(-5, 5).map(float) | st.just(np.nan)
tables = npst.arrays(float, st.tuples(st.integers(2, 12), st.just(2)), elements=cell)


@given(tables)
def test_leaving_a_row_out_is_taking_the_range_of_the_others(X):
    found = Ranges.of(X).excess(X, left_out=True)
    for i in range(len(X)):
        others = Ranges.of(np.delete(X, i, axis=0))
        np.testing.assert_array_equal(found[i], others.excess(X[i : i + 1])[0])


@given(tables, tables)
def test_ranges_add(A, B):
    whole, parts = Ranges.of(np.vstack([A, B])), Ranges.of(A) + Ranges.of(B)
    np.testing.assert_array_equal(whole.lowest, parts.lowest)
    np.testing.assert_array_equal(whole.highest, parts.highest)


@given(tables, st.floats(0.1, 10), st.integers(-50, 50))
def test_units_and_offsets_change_nothing(X, unit, offset):
    new = X[::-1] * 1.5
    moved = Ranges.of(X * unit + offset).excess(new * unit + offset)
    np.testing.assert_allclose(moved, Ranges.of(X).excess(new), rtol=1e-6, atol=1e-6)


def test_a_constant_column_that_changes_is_infinitely_far_outside():
    ranges = Ranges.of(np.full((5, 1), 100.0))
    assert ranges.excess(np.array([[100.0], [100.5]])).ravel().tolist() == [0.0, np.inf]
    assert not ranges.excess(np.full((5, 1), 100.0), left_out=True).any()


def test_rows_inside_and_gaps_have_no_excess():
    ranges = Ranges.of(np.array([[0.0], [1.0], [2.0]]))
    assert not ranges.excess(np.array([[0.0], [1.5], [np.nan]])).any()


def test_rounding_is_no_excess_and_any_value_of_a_column_of_gaps_is():
    ranges = Ranges.of(np.array([[0.3, 0.0, np.nan], [0.3, 1.0, np.nan]]))
    assert not ranges.excess(np.array([[0.1 + 0.2, 1.0, np.nan]])).any()
    assert ranges.excess(np.array([[0.3 + 1e-9, 1 + 1e-9, 0.0]])).ravel() == pytest.approx(
        [np.inf, 1e-9, np.inf]
    )


def test_a_column_that_varies_little_beside_its_size_has_its_own_width():
    ranges = Ranges.of(np.array([[1e15], [1e15 + 1], [1e15 + 2]]))
    assert ranges.excess(np.array([[1e15 + 902]])).ravel().tolist() == [450.0]
