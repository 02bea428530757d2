"""Dates that never were: refused in training, untrusted and named in scoring, however read."""

from __future__ import annotations

import numpy as np
import pytest

import pnml
from pnml.errors import InputError
from pnml.tables.merging import merge_tables

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")
pq = pytest.importorskip("pyarrow.parquet")

ODD = 7  # row of the odd cell
CASES = {
    "a day of no month": ("%Y-%m-%d", "2024-02-30"),
    "year 10000": ("%Y-%m-%d", "10000-01-01"),
    "a day with a zone": ("%Y-%m-%d", "2024-01-05Z"),
    "an hour of no day": ("%Y-%m-%d %H:%M:%S", "2024-01-08 24:00:00"),
    "a zone among none": ("%Y-%m-%d %H:%M:%S", "2024-01-08T00:00:00Z"),
    "no zone among zones": ("%Y-%m-%dT%H:%M:%SZ", "2024-01-08T00:00:00"),
}
WAYS = ("csv", "parquet", "pandas", "polars")


def frame(written, cell=None):
    rng = np.random.default_rng(0)
    texts = pd.date_range("2024-01-01", periods=40, freq="D").strftime(written).tolist()
    if cell is not None:
        texts[ODD] = cell
    x = rng.normal(size=40)
    return pd.DataFrame({"when": texts, "x": x, "y": x + 0.1 * rng.normal(size=40)})


def given(way, data, folder):
    if way == "csv":
        data.to_csv(folder / "t.csv", index=False)
        return str(folder / "t.csv")
    if way == "parquet":
        pq.write_table(pa.Table.from_pandas(data, preserve_index=False), folder / "t.parquet")
        return str(folder / "t.parquet")
    return data if way == "pandas" else pl.from_pandas(data)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", CASES)
def test_an_impossible_date_is_refused_in_training_and_named_in_scoring(case, way, tmp_path):
    written, cell = CASES[case]
    with pytest.raises(InputError, match=r"Column 'when'.* row [89], ") as refused:
        pnml.fit_table(given(way, frame(written, cell), tmp_path), target="y", learner="pnml")
    assert repr(cell) in str(refused.value)
    model = pnml.fit_table(given(way, frame(written), tmp_path), target="y", learner="pnml")
    scored = model.score(given(way, frame(written, cell), tmp_path))
    because, trusted = (list(scored[name]) for name in ("because", "trusted"))
    because, trusted = (
        [str(text) for text in because],
        [str(verdict) == "True" for verdict in trusted],
    )
    assert not trusted[ODD]
    assert because[ODD].startswith(f"when {cell!r} is not a date")
    assert np.mean(trusted) > 0.9


@pytest.mark.parametrize("way", WAYS)
def test_a_time_of_no_day_is_refused_in_training(way, tmp_path):
    data = frame("%Y-%m-%d")
    data["when"] = [f"{hour % 24:02d}:{hour:02d}:00" for hour in range(40)]
    data.loc[ODD, "when"] = "24:00:00"
    with pytest.raises(InputError, match=r"'24:00:00' in row [89], which is no time of a day"):
        pnml.fit_table(given(way, data, tmp_path), target="y", learner="pnml")


def test_durations_of_more_than_a_day_are_words():
    data = frame("%Y-%m-%d")
    data["when"] = [f"{20 + hour % 9}:00:00" for hour in range(40)]
    model = pnml.fit_table(data, target="y", learner="pnml")
    assert {role.column: role.kind for role in model.roles}["when"] == "category"


NAIVE, ZONED = "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%SZ"
KINDS = {"with": ZONED, "without": NAIVE}


def answers(model, way, data, folder):
    scored = model.score(given(way, data, folder))
    trusted = [str(verdict) == "True" for verdict in scored["trusted"]]
    return trusted, [str(text) for text in scored["because"]]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("trained", KINDS)
def test_training_decides_whether_dates_have_a_zone_and_not_the_scored_rows(trained, way, tmp_path):
    (other,) = KINDS.keys() - {trained}
    ours, theirs = frame(KINDS[trained]), frame(KINDS[other])
    pnml.fit_table(given(way, ours, tmp_path), target="y", learner="pnml").save(tmp_path / "m.pnml")
    model = pnml.load(tmp_path / "m.pnml")
    few = [3, 4, 5]
    assert answers(model, way, ours.loc[few], tmp_path)[0] == [True] * 3
    for odd in ([4], few):  # alone, and as most of the rows beside one of the right kind
        data = pd.concat([theirs.loc[odd], ours.loc[[6]]]) if len(odd) > 1 else theirs.loc[odd]
        trusted, because = answers(model, way, data.reset_index(drop=True), tmp_path)
        assert trusted == [False] * len(odd) + [True] * (len(odd) > 1)
        cell = theirs.loc[odd[0], "when"]
        assert because[0].startswith(f"when {cell!r} is not a date {trained} a time zone")


@pytest.mark.parametrize("trained", KINDS)
def test_typed_dates_of_the_other_kind_are_not_trusted_and_do_not_merge(trained):
    (other,) = KINDS.keys() - {trained}
    ours, theirs = (frame(KINDS[kind]) for kind in (trained, other))
    for data in (ours, theirs):
        data["when"] = pd.to_datetime(data["when"])
    models = [pnml.fit_table(data, target="y", learner="pnml") for data in (ours, theirs)]
    assert not models[0].score(theirs)["trusted"].any()
    assert models[0].score(ours)["trusted"].mean() > 0.9
    with pytest.raises(InputError, match="dates of 'when' name a time zone in one of"):
        merge_tables([model.fitted for model in models], ["a.pnml", "b.pnml"])
    ours["when"] = ours["when"].iloc[0]  # a constant
    models[0] = pnml.fit_table(ours, target="y", learner="pnml")
    with pytest.raises(InputError, match="dates of 'when' name a time zone in one of"):
        merge_tables([model.fitted for model in models], ["a.pnml", "b.pnml"])


@pytest.mark.parametrize("trained", KINDS)
def test_a_model_file_that_does_not_know_goes_by_most_rows(trained):
    from dataclasses import replace

    model = pnml.fit_table(frame(KINDS[trained]), target="y", learner="pnml")
    when, *others = model.fitted.encoder.columns
    older = replace(model.fitted.encoder, columns=(replace(when, has_zone=None), *others))
    assert when.has_zone is (trained == "with")
    for kind, other in (("with", "without"), ("without", "with")):
        data = frame(KINDS[kind])[:3]
        data.loc[1, "when"] = frame(KINDS[other]).loc[1, "when"]
        batch = pa.RecordBatch.from_pandas(data, preserve_index=False)
        assert older.encode(batch).bad_cells[:, 0].tolist() == [False, True, False]


def test_dates_of_another_kind_far_into_a_stream_are_refused_in_training(monkeypatch):
    monkeypatch.setattr("pnml.tables.fitting.MOST_ROWS", 30)
    cells = [f"2024-01-{day:02d} 10:00:00" for day in [*range(1, 21)] * 10]
    data = pd.DataFrame({"when": cells, "y": np.arange(200.0)})
    data.loc[150, "when"] = "2024-01-05T10:00:00Z"
    batches = pa.Table.from_pandas(data, preserve_index=False).to_batches(max_chunksize=20)
    reader = pa.RecordBatchReader.from_batches(batches[0].schema, batches)
    with pytest.raises(InputError, match=r"'2024-01-05T10:00:00Z'.* with a time zone among dates"):
        pnml.fit_table(reader, target="y", learner="pnml")
