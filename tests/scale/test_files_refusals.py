"""Files that cannot be counted are named, each in one sentence."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge

from made_tables import mixed, numbers
from pnml import InputError, KernelPNMLRegressor, LpNMLRegressor, PNMLClassifier, PNMLRegressor
from pnml.scale import fit_files, fit_mixed_files
from pnml.scale.checkpoint import LeftOutWarning
from written_files import write


def refused(source, *words, target="y", estimator=None, **asked):
    with pytest.raises(InputError) as raised:
        fit_files(estimator or PNMLRegressor(), source, target, **asked)
    text = str(raised.value)
    for word in words:
        assert word in text, text
    assert text.endswith((".", "?")), text
    assert not re.search(r"[.!?] [A-Z]", text), text
    return text


@pytest.fixture
def folder(tmp_path):
    return write(numbers(200, 3), tmp_path / "t")


def damage(path):
    """The same length, with a hole in the pages of the columns."""
    data = bytearray(path.read_bytes())
    data[40:900] = bytes(860)
    path.write_bytes(data)


def test_a_schema_that_changes_is_refused_by_the_name_of_the_file(folder):
    table = numbers(50, 3)
    path = folder / "part-2.parquet"
    pyarrow.parquet.write_table(table.drop(["x1"]), path)
    refused(folder, "part-2.parquet lacks 'x1' as against", "part-0.parquet")
    refused(folder, "part-2.parquet lacks 'x1'", skip_bad=True)
    pyarrow.parquet.write_table(table.set_column(1, "x1", pa.array(["a"] * 50)), path)
    refused(folder, "'x1' is string in", "part-2.parquet", "double in")


@pytest.mark.parametrize("how", ["hole", "cut", "empty", "foreign"])
def test_a_bad_file_is_named_and_costs_no_row_of_the_others(folder, how):
    bad = folder / "part-1.parquet"
    whole = fit_files(PNMLRegressor(), folder, "y")
    if how == "hole":
        damage(bad)
    else:
        bad.write_bytes({"cut": bad.read_bytes()[:-30], "empty": b"", "foreign": b"PK\3\4no"}[how])
    refused(folder, "part-1.parquet")
    with pytest.warns(LeftOutWarning, match=r"1 file was left out: .*part-1.parquet"):
        rest = fit_files(PNMLRegressor(), folder, "y", skip_bad=True)
    assert rest._statistic.rows == whole._statistic.rows - 50
    bad.unlink()
    others = fit_files(PNMLRegressor(), folder, "y")
    np.testing.assert_allclose(rest.coef_, others.coef_, rtol=1e-12)


def test_rows_of_a_file_that_breaks_off_half_way_are_taken_back(tmp_path):
    folder = tmp_path / "t"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for part in range(3):
        table = pa.table({"x": rng.normal(size=150_000), "y": rng.normal(size=150_000)})
        pyarrow.parquet.write_table(table, folder / f"{part}.parquet", compression="none")
    path = folder / "1.parquet"
    data = bytearray(path.read_bytes())
    data[len(data) // 2 - 40_000 : len(data) // 2] = b"\xff" * 40_000
    data[-200_000:-150_000] = b"\xff" * 50_000
    path.write_bytes(data)
    try:
        fit_files(PNMLRegressor(), folder, "y")
    except InputError:
        pass
    else:
        pytest.skip("this damage is read as numbers")
    with pytest.warns(LeftOutWarning):
        rest = fit_files(PNMLRegressor(), folder, "y", skip_bad=True)
    assert rest._statistic.rows == 300_000
    path.unlink()
    others = fit_files(PNMLRegressor(), folder, "y")
    np.testing.assert_allclose(rest._statistic.xx, others._statistic.xx, rtol=1e-14)


def test_a_bad_csv_file_in_the_middle_is_left_out_whole(tmp_path):
    folder = write(numbers(400, 2), tmp_path / "t", ending="csv")
    path = folder / "part-1.csv"
    path.write_text(path.read_text() + "1,2\n")  # a row that is too short
    refused(folder, "Row 102 of", "part-1.csv has 2 cells")
    with pytest.warns(LeftOutWarning, match="part-1.csv has 2 cells"):
        rest = fit_files(PNMLRegressor(), folder, "y", skip_bad=True)
    assert rest._statistic.rows == 300


def test_a_bad_file_is_left_out_of_mixed_tables_with_its_words(tmp_path, monkeypatch):
    table = mixed(400)
    folder = write(table, tmp_path / "t")
    odd = table.slice(0, 100).set_column(2, "city", pa.array(["Nowhere"] * 100))
    path = folder / "part-2.csv"
    for ending in ("parquet", "csv"):
        for old in folder.iterdir():
            old.unlink()
        write(table, folder, ending=ending)
        path = folder / f"part-2.{ending}"
        if ending == "parquet":
            path.write_bytes(path.read_bytes()[:-30])
        else:
            pyarrow.csv.write_csv(odd, path)
            path.write_text(path.read_text() + "1,2\n")
        for most in (100_000, 150):
            monkeypatch.setattr("pnml.tables.fitting.MOST_ROWS", most)
            with pytest.warns(LeftOutWarning, match="part-2"):
                model = fit_mixed_files(folder, "y", learner="pnml", skip_bad=True)
            assert model.rows == 300
            city = next(c for c in model.encoder.columns if c.name == "city")
            assert "Nowhere" not in city.levels


def test_when_no_file_can_be_read_the_first_reason_is_given(folder):
    for path in folder.iterdir():
        path.write_bytes(path.read_bytes()[:-20])
    refused(folder, "None of the 4 files of", "part-0.parquet", skip_bad=True)


def test_no_files_rows_or_columns_are_refused(folder, tmp_path):
    refused(tmp_path / "none" / "*.parquet", "No file matches")
    refused(f"file://{tmp_path}/*.nothing", "No file matches")
    refused(f"memory://{tmp_path.name}/nothing.csv", "is not there")
    refused("nosuchscheme://a/b.csv", "cannot be reached")
    (tmp_path / "empty").mkdir()
    refused(tmp_path / "empty", "holds no tables")
    refused(folder, "no column 'z' for the target", "it has x0", target="z")
    refused(folder, "did you mean 'y'?", target="Y")
    refused(folder, "no column 'w' for the weight", weight="w")
    refused(folder, "has no column 'x9'", columns=["x0", "x9"])
    for columns in ("x0", [], ["x0", "x0"], ["y"], [3]):
        refused(folder, "columns", columns=columns)
    none = write(numbers(5, 2).slice(0, 0), tmp_path / "n", parts=1)
    refused(none, "no rows")
    gone = numbers(9, 2).set_column(2, "y", pa.array([None] * 9, pa.float64()))
    refused(write(gone, tmp_path / "g", parts=1), "no rows with a value of 'y'")
    alone = numbers(9, 2).select(["y"])
    refused(write(alone, tmp_path / "a", parts=1), "has no column beside 'y'")


def test_cells_that_are_no_numbers_are_refused_with_their_file_and_column(folder, tmp_path):
    table = numbers(50, 3)
    path = folder / "part-1.parquet"
    x = table["x1"].to_numpy().copy()
    for value, words in ((np.nan, "missing cell"), (np.inf, "as large as inf"), (1e200, "1e+200")):
        x[7] = value
        pyarrow.parquet.write_table(table.set_column(1, "x1", [x]), path)
        refused(folder, "part-1.parquet cannot be counted", "'x1'", words)
    holes = table.set_column(1, "x1", pa.array(x, mask=np.arange(50) == 3))
    pyarrow.parquet.write_table(holes, path)
    refused(folder, "part-1.parquet cannot be counted", "'x1'")
    words = mixed(90)
    refused(write(words, tmp_path / "w"), "'city'", "string", "fit_mixed_files")
    refused(tmp_path / "w", "target 'city'", "predicts numbers", target="city", columns=["size"])
    text = write(numbers(40, 2), tmp_path / "c", ending="csv") / "part-1.csv"
    rows = text.read_text().splitlines()
    rows[4] = "much," + rows[4].split(",", 1)[1]
    text.write_text("\n".join(rows) + "\n")
    refused(text.parent, "'x0' of", "part-1.csv holds 'much' in row 5")


def test_what_does_not_add_up_is_refused_before_anything_is_read():
    for estimator, words in (
        (LpNMLRegressor(penalty="l1"), "LpNMLRegressor(penalty='l1') needs all its rows"),
        (KernelPNMLRegressor(), "KernelPNMLRegressor needs all its rows"),
        (Ridge(), "Ridge needs all its rows"),
        (PNMLClassifier(), "would train LogisticRegression"),
        (PNMLClassifier(method="refit"), "trains again on all rows"),
        (PNMLClassifier(normalize=True), "normalize=True"),
        (PNMLClassifier(FrozenEstimator(LogisticRegression())), "is not fitted"),
        (PNMLRegressor(alpha=-1), "alpha is -1"),
    ):
        refused("nowhere.parquet", words, estimator=estimator)


def test_labels_that_the_classifier_does_not_know_are_named(folder):
    X = np.arange(12.0).reshape(4, 3)
    frozen = FrozenEstimator(LogisticRegression().fit(X, ["a", "b", "a", "b"]))
    table = numbers(200, 3).set_column(3, "y", pa.array(["a", "b"] * 99 + ["c", "a"]))
    for path in folder.iterdir():
        path.unlink()
    write(table, folder)
    refused(folder, "part-3.parquet", "'c'", estimator=PNMLClassifier(frozen))
