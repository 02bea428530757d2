"""Files of any size give what their rows would give in memory, to the last bit in any way read."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from made_tables import mixed, numbers
from pnml import LpNMLRegressor, PNMLClassifier, PNMLRegressor
from pnml.readers import open_table
from pnml.readers.file_pass import Mark, Read
from pnml.scale import fit_files, fit_mixed_files
from pnml.scale.checkpoint import LeftOutWarning
from pnml.tables.fitting import fit_table
from pnml.tables.roles import Request
from written_files import WRITERS, same_statistic, write

fsspec = pytest.importorskip("fsspec")


def arrays(table):
    X = np.column_stack([table[name].to_numpy() for name in table.column_names if name != "y"])
    return X, table["y"].to_numpy()


@pytest.mark.parametrize("ending", WRITERS)
@pytest.mark.parametrize("estimator", [PNMLRegressor(), LpNMLRegressor(alpha=2.0)], ids=str)
def test_files_give_what_their_rows_give_in_memory(ending, estimator, tmp_path):
    table = numbers(700, 5)
    folder = write(table, tmp_path / "t", ending=ending)
    model = fit_files(estimator, folder, "y")
    X, y = arrays(table)
    truth = type(estimator)(**estimator.get_params()).fit(X, y)
    assert model.feature_names_in_.tolist() == [f"x{j}" for j in range(5)]
    frame = table.drop(["y"]).to_pandas()
    np.testing.assert_allclose(model.predict(frame), truth.predict(X), rtol=1e-10)
    np.testing.assert_allclose(model.regret(frame), truth.regret(X), rtol=1e-10)
    assert len(model.loo_.regrets) == 700


@pytest.mark.parametrize("scheme", ["memory", "file"])
@pytest.mark.parametrize("ending", WRITERS)
def test_addresses_are_read_as_files_are(scheme, ending, tmp_path):
    folder = write(numbers(300, 3), tmp_path / "t", ending=ending)
    local = fit_files(PNMLRegressor(), str(folder / f"*.{ending}"), "y")
    root = f"file://{folder}"
    if scheme == "memory":
        root = f"memory://{tmp_path.name}"
        fs = fsspec.filesystem("memory")
        for path in folder.iterdir():
            fs.pipe(f"/{tmp_path.name}/{path.name}", path.read_bytes())
    for source in (f"{root}/*.{ending}", root):
        remote = fit_files(PNMLRegressor(), source, "y")
        assert same_statistic(remote._statistic, local._statistic)
    one = fit_files(PNMLRegressor(), f"{root}/part-1.{ending}", "y")
    assert one._statistic.rows == 75


def test_threads_never_change_a_bit(tmp_path):
    rng = np.random.default_rng(0)
    names = ["x0", "x1", "x2", "y"]
    table = pa.table({name: rng.normal(size=150_000) for name in names})
    folder = write(table, tmp_path / "t", parts=3)
    one, many = (fit_files(PNMLRegressor(), folder, "y", threads=k) for k in (1, 4))
    assert same_statistic(one._statistic, many._statistic)
    skipping = fit_files(PNMLRegressor(), folder, "y", threads=4, skip_bad=True)
    assert same_statistic(one._statistic, skipping._statistic)


def test_only_the_columns_asked_for_are_read_and_only_they_must_be_alike(tmp_path):
    table = numbers(200, 4)
    write(table.slice(0, 100), tmp_path / "t", parts=1)
    other = table.slice(100).append_column("more", pa.array(["text"] * 100)).drop(["x3"])
    pyarrow.parquet.write_table(other, tmp_path / "t" / "part-9.parquet")
    model = fit_files(PNMLRegressor(), tmp_path / "t", "y", columns=["x2", "x0"])
    X, y = arrays(table)
    np.testing.assert_allclose(model.coef_, PNMLRegressor().fit(X[:, [2, 0]], y).coef_, rtol=1e-10)


def test_numbers_of_any_width_are_one_column(tmp_path):
    folder = tmp_path / "t"
    folder.mkdir()
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 50, size=90), rng.normal(size=90)
    kinds = (pa.int16(), pa.float32(), pa.float64())
    for i, kind in enumerate(kinds):
        part = slice(30 * i, 30 * i + 30)
        rows = {"x": pa.array(x[part]).cast(kind), "b": pa.array(x[part] > 20), "y": y[part]}
        pyarrow.parquet.write_table(pa.table(rows), folder / f"{i}.parquet")
    model = fit_files(PNMLRegressor(), folder, "y")
    truth = PNMLRegressor().fit(np.column_stack([x, x > 20]), y)
    np.testing.assert_allclose(model.coef_, truth.coef_, rtol=1e-9)


def test_columns_of_float32_are_taken_for_no_better_than_they_are(tmp_path):
    table = numbers(300, 3)
    table = table.cast(pa.schema([pa.field(n, pa.float32()) for n in table.column_names]))
    model = fit_files(PNMLRegressor(), write(table, tmp_path / "t"), "y")
    assert model._statistic.rounding == np.finfo(np.float32).eps
    X, y = arrays(table)
    np.testing.assert_allclose(model.coef_, PNMLRegressor().fit(X, y).coef_, rtol=1e-6)


def test_weights_count_copies_and_rows_without_a_target_are_left_out(tmp_path):
    table = numbers(60, 2)
    times = np.arange(60) % 3
    y = table["y"].to_numpy().copy()
    gaps = pa.array(y, mask=np.arange(60) < 5)
    told = table.set_column(2, "y", gaps).append_column("w", pa.array(times))
    with pytest.warns(LeftOutWarning, match="5 rows without a value of 'y' left out"):
        model = fit_files(PNMLRegressor(), write(told, tmp_path / "t"), "y", weight="w")
    X, _ = arrays(table)
    copies = np.repeat(np.arange(5, 60), times[5:])
    truth = PNMLRegressor().fit(X[copies], y[copies])
    np.testing.assert_allclose(model.coef_, truth.coef_, rtol=1e-10)
    assert model._statistic.weight == len(copies)


def test_files_without_rows_add_nothing(tmp_path):
    table = numbers(120, 3)
    folder = write(table, tmp_path / "t")
    whole = fit_files(PNMLRegressor(), folder, "y")
    pyarrow.parquet.write_table(table.slice(0, 0), folder / "a-first.parquet")
    pyarrow.parquet.write_table(table.slice(0, 0), folder / "part-11.parquet")
    again = fit_files(PNMLRegressor(), folder, "y")
    np.testing.assert_allclose(again.coef_, whole.coef_, rtol=1e-13)


@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize("steps", [False, True])
def test_a_frozen_classifier_gets_the_geometry_of_all_rows(words, steps, tmp_path):
    table = numbers(600, 3)
    X, y = arrays(table)
    labels = np.where(y > 0, "high", "low") if words else (y > 0).astype(int)
    model = LogisticRegression()
    inside = make_pipeline(StandardScaler(), model) if steps else model
    frozen = FrozenEstimator(inside.fit(X[:200], labels[:200]))
    told = table.set_column(3, "y", pa.array(labels.tolist()))
    streamed = fit_files(PNMLClassifier(frozen), write(told, tmp_path / "t"), "y")
    truth = PNMLClassifier(frozen).fit(X, labels)
    np.testing.assert_allclose(streamed.regret(X), truth.regret(X), rtol=1e-9)
    np.testing.assert_allclose(streamed.predict_proba(X), truth.predict_proba(X), rtol=1e-9)
    assert streamed.loo_.log_loss == pytest.approx(truth.loo_.log_loss, rel=1e-9)
    assert (streamed.trusted(X) == truth.trusted(X)).all()


def test_a_long_mixed_table_is_counted_as_the_iterator_of_its_batches_is(tmp_path, monkeypatch):
    monkeypatch.setattr("pnml.tables.fitting.MOST_ROWS", 100)
    table = mixed(900, seed=2)
    folder = write(table, tmp_path / "t", parts=3)
    model = fit_mixed_files(folder, "y", learner="ols")
    truth = fit_table(table.to_batches(100), Request("y"), "ols", "t")
    assert model.encoder.names == truth.encoder.names
    assert model.rows == truth.rows == 900
    new = mixed(50, seed=3).to_batches()[0]
    ours, theirs = (m.score(new, 0.9, 0.99).answer for m in (model, truth))
    np.testing.assert_allclose(ours.prediction, theirs.prediction, rtol=1e-6)
    np.testing.assert_allclose(ours.regret, theirs.regret, rtol=1e-6)


def test_pieces_are_the_same_wherever_reading_begins(tmp_path):
    table = numbers(2000, 2)
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(table, path, row_group_size=150)
    write(table, tmp_path / "c", parts=1, ending="csv")
    for source in (path, tmp_path / "c"):
        with open_table(source) as opened:

            def found(start, opened=opened):
                passing = opened.passing(opened.schema, lambda batch, _: batch, start=start)
                return {e.mark: e.result for e in passing if isinstance(e, Read)}

            every = found(Mark())
            for mark in every:
                rest = found(mark)
                assert list(rest) == [m for m in every if m >= mark]
                assert all(rest[m].equals(every[m]) for m in rest)


def test_progress_is_told_in_bytes_and_rows(tmp_path):
    folder = write(numbers(400, 2), tmp_path / "t")
    seen = []
    fit_files(PNMLRegressor(), folder, "y", progress=lambda *news: seen.append(news))
    size = sum(path.stat().st_size for path in folder.iterdir())
    assert seen[-1] == (size, size, 400)
    assert [rows for *_, rows in seen] == [100, 200, 300, 400]
