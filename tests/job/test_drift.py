"""Columns that have changed are told, and those that have not are left alone."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chi2

from made_tables import mixed, one_batch, replaced
from pnml import fit_table
from pnml.tables.drift import Drift


def table(n, seed):
    """The mixed table with counts, many words, one word always, and nothing at all."""
    rng = np.random.default_rng(seed + 1000)
    words = [f"w{i}" for i in rng.integers(0, 300, n)]
    rows = mixed(n, seed)
    rows = rows.append_column("visits", pa.array(rng.poisson(1, n)))
    rows = rows.append_column("many", pa.array(words, mask=rng.random(n) < 0.1))
    rows = rows.append_column("always", pa.array(["x"] * n))
    return rows.append_column("empty", pa.nulls(n))


@pytest.fixture(scope="module")
def model():
    return fit_table(table(1000, 0), target="y", learner="pnml", categorical="many")


def drift(model, rows):
    return {row.column: row for row in model.findings(rows).drift}


def flagged(model, rows):
    return {name: row.remark for name, row in drift(model, rows).items() if row.flagged}


def test_the_same_rows_have_not_drifted(model):
    found = drift(model, table(1000, 0))
    assert list(found) == [n for n in table(1, 0).column_names if n != "y"]
    assert not any(row.flagged or row.remark for row in found.values())
    assert found["size"].psi == 0
    assert found["size"].p_value == 1
    assert found["empty"].missing_before == found["empty"].missing_now == 1
    assert found["always"].missing_before == found["always"].missing_now == 0
    share = table(1000, 0)["many"].null_count / 1000
    assert found["many"].missing_before == found["many"].missing_now == share


@pytest.mark.parametrize("size", [20, 100, 400])
def test_false_alarms_on_training_rows_drawn_again_are_rare(model, size, rng):
    rows = table(1000, 0)
    alarms = 0
    for _ in range(200):
        counts = Drift(model.encoder, model.profiles)
        counts.add(model.encoder.encode(one_batch(rows.take(rng.integers(0, 1000, size)))))
        alarms += any(row.flagged for row in counts.table())
    # two tests at 1 % over all columns; 200 draws of 2 % are above 10 with a chance of 0.3 %
    assert alarms <= 10


def changed(name, change):
    rows = table(200, 5)
    return replaced(rows, name, [change(i, cell) for i, cell in enumerate(rows[name].to_pylist())])


CHANGES = {
    "outside": ("size", lambda i, x: x + 5 if i % 4 == 0 else x, "outside the training range"),
    "moved": ("size", lambda i, x: 0.3 * x + 0.8, "other shares"),
    "gaps": ("age", lambda i, x: None if i % 2 else x, "missing,"),
    "new gaps": ("size", lambda i, x: None if i % 4 == 0 else x, "25% missing, 0% in training"),
    "new words": ("city", lambda i, x: "Paris" if i % 5 == 0 else x, "never seen in training"),
    "other shares of words": ("city", lambda i, x: "Rome", "other shares"),
    "new among many words": ("many", lambda i, x: f"v{i}" if i % 5 == 0 else x, "never seen"),
    "other constant": ("always", lambda i, x: "z", "100% never seen in training"),
    "gaps in a constant": ("always", lambda i, x: None, "100% missing, 0% in training"),
}


@pytest.mark.parametrize("case", CHANGES)
def test_a_column_that_has_changed_is_flagged_and_no_other(model, case):
    assert not flagged(model, table(200, 5)).keys() - {"many"}  # which has words never seen anyway
    name, change, words = CHANGES[case]
    found = flagged(model, changed(name, change))
    assert found.keys() - {"many"} == {name} - {"many"}
    assert words in found[name]


def test_an_empty_column_that_is_filled_is_flagged(model):
    rows = table(200, 5)
    filled = rows.set_column(rows.column_names.index("empty"), "empty", pa.array([1.5] * 200))
    assert flagged(model, filled)["empty"] == "100% never seen in training"


def test_index_and_p_value_are_those_of_the_definition(model):
    rows = table(1000, 0)
    new = changed("size", lambda i, x: x + 0.2)
    old, now = np.sort(rows["size"].to_numpy()), new["size"].to_numpy()
    # every tenth has 100 rows, and ends halfway to the next
    ends = [-np.inf, *(old[100 * k - 1 : 100 * k + 1].mean() for k in range(1, 10)), np.inf]
    counts = np.array(
        [
            [np.sum((a < cells) & (cells <= b)) for a, b in zip(ends, ends[1:], strict=False)]
            for cells in (old, now)
        ],
        dtype=float,
    )
    shares = (counts + 0.5) / (counts + 0.5).sum(axis=1, keepdims=True)
    psi = sum((q - p) * np.log(q / p) for p, q in shares.T)
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    p_value = chi2.sf(((counts - expected) ** 2 / expected).sum(), df=9)
    found = drift(model, new)["size"]
    # sums of twenty numbers; the p-value is multiplied by the number of columns
    assert found.psi == pytest.approx(psi, rel=1e-10)
    assert found.p_value == pytest.approx(min(1.0, p_value * 9), rel=1e-8)


def test_shares_are_counted(model):
    new = changed("size", lambda i, x: [90.0, None, x, x][i % 4])
    found = drift(model, new)["size"]
    high = max(table(1000, 0)["size"].to_pylist())
    outside = [x for x in new["size"].to_pylist() if x is not None and x > high]
    assert found.outside == len(outside) / 200
    assert (found.missing_before, found.missing_now) == (0, 0.25)
    words = drift(model, changed("city", lambda i, x: "Paris" if i < 30 else x))["city"]
    assert words.new_words == 30
