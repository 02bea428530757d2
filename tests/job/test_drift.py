"""Columns that have changed are told, and those that have not are left alone."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chi2

from made_tables import mixed, one_batch, replaced
from pnml import fit_table
from pnml.tables.drift import Drift
from pnml.tables.merging import merge_tables


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
        counts = Drift(model.encoder, model.profiles, model.rows)
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
    assert not flagged(model, table(200, 5))
    name, change, words = CHANGES[case]
    found = flagged(model, changed(name, change))
    assert found.keys() == {name}
    assert words in found[name]


def names(n, seed, rare):
    """A column of names, a share of which have hardly been there before, and a target."""
    rng = np.random.default_rng(seed)
    some = [f"w{i}" for i in rng.integers(0, 5, n)]
    word = [f"r{rng.integers(0, 3000)}" if rng.random() < rare else w for w in some]
    x = rng.normal(size=n)
    return pa.table({"name": word, "x": x, "y": x + rng.normal(size=n)})


@pytest.mark.parametrize("streamed", [False, True])
def test_as_many_new_words_as_training_rows_show_when_left_out_are_no_drift(streamed, monkeypatch):
    if streamed:
        monkeypatch.setattr("pnml.tables.fitting.MOST_ROWS", 300)
    train = names(800, 0, 0.3)
    model = fit_table(train, target="y", learner="pnml", categorical="name")
    words = train["name"].to_pylist()
    once = sum(words.count(word) == 1 for word in words) / 800
    alarms = 0
    for seed in range(1, 41):
        row = drift(model, names(400, seed, 0.3))["name"]
        assert row.new_words > 0.05 * 400  # by the share alone, each would be one
        alarms += row.flagged
    # each at a level of 1 % over two columns: more than 2 of 40 have a chance of 0.1 %
    assert alarms <= 2
    told = flagged(model, names(400, 1, 0.6))["name"]
    assert "never seen in training" in told
    assert f", {once:.0%} expected" in told


def test_merged_models_expect_the_new_words_that_one_model_of_all_rows_does():
    parts = [names(300, seed, 0.5) for seed in range(3)]
    asked = {"target": "y", "learner": "pnml", "categorical": "name"}
    models = [fit_table(part, **asked).fitted for part in parts]
    whole = fit_table(pa.concat_tables(parts), **asked).encoder.columns[0]
    merged = merge_tables(models, ["a", "b", "c"]).encoder.columns[0]
    assert (merged.known == whole.known).all()
    assert (merged.times == whole.times).all()
    parts = [names(60, 4, 0.2), names(80, 5, 0.2)]  # few words, with a place each
    both = pa.concat_tables(parts)["name"].to_pylist()
    models = [fit_table(part, **asked).fitted for part in parts]
    column = merge_tables(models, ["a", "b"]).encoder.columns[0]
    assert column.times == tuple(min(both.count(word), 3) for word in column.levels)


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
