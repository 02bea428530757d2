"""Dates that never were: refused in training, untrusted and named in scoring, however read."""

from __future__ import annotations

import numpy as np
import pytest

import pnml
from pnml.errors import InputError

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
