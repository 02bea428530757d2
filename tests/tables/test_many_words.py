"""Columns of many words are hashed: the same rows by hand, in streams, merged, and in files."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
import pyarrow as pa
import pytest

from made_tables import in_batches, one_batch
from pnml import InputError, export_onnx
from pnml.models import load, save
from pnml.scale import merge
from pnml.tables.encoder import CategoryColumn, HashedColumn
from pnml.tables.fitting import fit_table
from pnml.tables.roles import MOST_LEVELS, Request

WORDS = [f"N{i:04d}" for i in range(600)]
REQUEST = Request(target="y")


def flights(n=1500, seed=0, words=WORDS, gaps=0.0):
    """Two numbers and a column of many words, each with an effect of its own."""
    rng = np.random.default_rng(seed)
    effect = dict(zip(WORDS, np.random.default_rng(99).normal(size=len(WORDS)), strict=True))
    tail = rng.choice(words, size=n)
    a, b = rng.normal(size=n), 5 + 2 * rng.normal(size=n)
    y = a - b + np.array([effect[word] for word in tail]) + 0.3 * rng.normal(size=n)
    missing = rng.random(n) < gaps
    return pa.table({"a": a, "tail": pa.array(tail.tolist(), mask=missing), "b": b, "y": y})


def fitted(table, learner="pnml", cuts=(), **asked):
    return fit_table(in_batches(table, cuts), Request(target="y", **asked), learner, "t.csv")


def by_hand(table):
    """Columns of the definition: place by the last six bits of the hash, sign by bit 32."""
    out = np.zeros((table.num_rows, 64))
    for row, word in enumerate(table["tail"].to_pylist()):
        if word is not None:
            h = int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "little")
            out[row, h % 64] = -1.0 if (h >> 32) & 1 else 1.0
    return out


@pytest.mark.parametrize("cuts", [(), (3, 700), (201, 202, 1400)])
@pytest.mark.parametrize("streamed", [False, True])
def test_the_prediction_is_least_squares_on_columns_made_by_hand(streamed, cuts, monkeypatch):
    if streamed:
        monkeypatch.setattr("pnml.tables.fitting.MOST_ROWS", 120)  # fewer words than are hashed
    table, new = flights(), flights(200, seed=1)
    model = fitted(table, "ols", cuts, categorical=("tail",))
    column = model.encoder.columns[1]
    assert isinstance(column, HashedColumn)
    assert len(column.known) == len(set(table["tail"].to_pylist()))

    def design(t):
        return np.column_stack([np.ones(t.num_rows), t["a"], t["b"], by_hand(t)])

    theta = np.linalg.lstsq(design(table), table["y"].to_numpy(), rcond=None)[0]
    scores = model.score(one_batch(new), 0.9, 0.99)
    known = ~scores.never_seen
    # one solution of a well-conditioned system of 67 unknowns; moments keep half the digits
    np.testing.assert_allclose(
        scores.answer.prediction[known], (design(new) @ theta)[known], rtol=1e-6, atol=1e-6
    )


def test_a_word_never_seen_is_never_trusted_and_its_column_is_named():
    table = flights(words=WORDS[:500])
    model = fitted(table)
    seen = set(table["tail"].to_pylist())
    new = flights(300, seed=2)
    scores = model.score(one_batch(new), 0.9, 1.0)
    strange = np.array([word not in seen for word in new["tail"].to_pylist()])
    assert strange.any()
    assert not strange.all()
    assert (scores.never_seen == strange).all()
    assert not scores.trusted[strange].any()
    for text, word in zip(scores.because.to_pylist(), new["tail"].to_pylist(), strict=True):
        assert (f"tail '{word}' never seen in training" in text) == (word not in seen)


def test_missing_words_have_a_place_of_their_own():
    model = fitted(flights(gaps=0.1))
    column = model.encoder.columns[1]
    encoded = model.encoder.encode(one_batch(flights(50, seed=3, gaps=0.5)))
    assert (encoded.X[:, column.missing] == encoded.missing[:, 1]).all()
    assert not encoded.strange_pattern.any()


@pytest.mark.parametrize("levels", [MOST_LEVELS, MOST_LEVELS + 1])
def test_words_are_hashed_once_there_are_too_many_for_a_place_each(levels):
    words = [WORDS[i % levels] for i in range(3 * levels)]
    rng = np.random.default_rng(0)
    table = pa.table(
        {"w": words, "x": rng.normal(size=len(words)), "y": rng.normal(size=len(words))}
    )
    column = fitted(table).encoder.columns[0]
    assert isinstance(column, CategoryColumn if levels == MOST_LEVELS else HashedColumn)


def test_a_stream_gives_the_model_of_rows_in_memory(monkeypatch):
    table = flights(gaps=0.05)
    whole = fitted(table)
    monkeypatch.setattr("pnml.tables.fitting.MOST_ROWS", 120)
    streamed = fitted(table, cuts=(120, 400, 900), categorical=("tail",))
    assert streamed.encoder.width == whole.encoder.width
    assert (streamed.encoder.columns[1].known == whole.encoder.columns[1].known).all()
    new = one_batch(flights(100, seed=4, gaps=0.2))
    ours, theirs = streamed.score(new, 0.9, 0.99), whole.score(new, 0.9, 0.99)
    # moments keep half the digits, and the penalty is found to about 1e-6
    np.testing.assert_allclose(ours.answer.regret, theirs.answer.regret, rtol=1e-4)
    assert (ours.never_seen == theirs.never_seen).all()


def test_merged_models_are_that_of_all_rows_whoever_hashes():
    """One part has few words, with a place each; the other hashes them."""
    few, many = flights(400, seed=5, words=WORDS[:40], gaps=0.1), flights(1200, seed=6)
    parts = [fitted(few), fitted(many)]
    assert isinstance(parts[0].encoder.columns[1], CategoryColumn)
    whole = fitted(pa.concat_tables([few, many]))
    for pair in (parts, parts[::-1]):
        both = merge(pair)
        assert (both.encoder.columns[1].known == whole.encoder.columns[1].known).all()
        new = one_batch(flights(60, seed=7))
        ours, theirs = both.score(new, 0.9, 0.99), whole.score(new, 0.9, 0.99)
        np.testing.assert_allclose(ours.answer.prediction, theirs.answer.prediction, rtol=1e-5)
        np.testing.assert_allclose(ours.answer.regret, theirs.answer.regret, rtol=1e-4)


def test_a_column_that_is_constant_in_a_part_varies_in_the_whole():
    table = flights(300, words=WORDS[:5])
    early, late = table.slice(0, 100), table.slice(100)
    marked = [
        part.append_column("year", pa.array([year] * len(part)))
        .append_column("site", pa.array([site] * len(part), pa.string()))
        .append_column("same", pa.array([3.0] * len(part)))
        for part, year, site in ((early, 2023.0, None), (late, 2024.0, "Oslo"))
    ]
    both, whole = merge([fitted(part) for part in marked]), fitted(pa.concat_tables(marked))
    assert both.encoder.used == whole.encoder.used == ("a", "tail", "b", "year", "site")
    assert [(r.column, r.kind) for r in both.roles] == [(r.column, r.kind) for r in whole.roles]
    new = one_batch(pa.concat_tables([part.slice(0, 20) for part in marked]))
    ours, theirs = both.score(new, 0.9, 0.99), whole.score(new, 0.9, 0.99)
    np.testing.assert_allclose(ours.answer.prediction, theirs.answer.prediction, rtol=1e-6)
    np.testing.assert_allclose(ours.answer.regret, theirs.answer.regret, rtol=1e-5)
    assert ours.because.to_pylist() == theirs.because.to_pylist()


def test_a_file_keeps_the_words(tmp_path):
    model = fitted(flights(gaps=0.05).append_column("same", pa.array(["x"] * 1500)))
    save(model, tmp_path / "m.pnml")
    again = load(tmp_path / "m.pnml")
    assert again.encoder.columns == model.encoder.columns
    new = one_batch(flights(50, seed=8).append_column("same", pa.array(["z"] * 50)))
    ours, theirs = again.score(new, 0.9, 0.99), model.score(new, 0.9, 0.99)
    assert ours.answer.regret.tobytes() == theirs.answer.regret.tobytes()
    assert ours.because.to_pylist() == theirs.because.to_pylist()
    assert ours.never_seen.all()


def test_a_graph_cannot_hash_and_says_so(tmp_path):
    with pytest.raises(InputError, match=r"'tail' has \d+ words, which are hashed"):
        export_onnx(fitted(flights()), tmp_path / "m.onnx")
