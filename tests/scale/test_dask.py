"""Rows on a Dask cluster are learnt as rows in memory, whoever does the work."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold

import child
from pnml import LpNMLRegressor, PNMLRegressor, scale

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
pd = pytest.importorskip("pandas")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

NAMES = ["a", "b", "c", "d"]


@pytest.fixture(scope="module")
def client():
    """Two workers, each in a process of its own that is started again when it dies."""
    settings = {
        "distributed.scheduler.allowed-failures": 1,
        "logging.distributed": "critical",  # deaths are meant
        "distributed.worker.preload": [child.__file__],  # limits, also for workers started again
    }
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=0
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
def test_workers_may_not_fill_a_disk(client):
    def limit():
        import resource

        return resource.getrlimit(resource.RLIMIT_FSIZE)[0]

    assert set(client.run(limit).values()) == {2**31}


@pytest.fixture
def rows(rng):
    X = rng.normal(2.0, 1.0, size=(3000, 4)) * [1.0, 10.0, 0.1, 1.0]
    return X, X @ [1.0, 0.2, 3.0, 0.0] + rng.normal(size=3000)


def table(X, y):
    return pd.DataFrame(X, columns=NAMES).assign(target=y)


def assert_same(model, whole, X):
    np.testing.assert_allclose(model.predict(X), whole.predict(X), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(model.regret(X), whole.regret(X), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(
        model.predict_interval(X), whole.predict_interval(X), rtol=1e-10, atol=1e-10
    )
    np.testing.assert_array_equal(model.trusted(X), whole.trusted(X))


@pytest.mark.parametrize(
    "model", [PNMLRegressor(), PNMLRegressor(alpha="loo"), LpNMLRegressor(fit_intercept=False)]
)
def test_arrays_are_learnt_as_in_memory(model, rows):
    X, y = rows
    whole = type(model)(**model.get_params()).fit(X, y)
    found = scale.fit_dask(model, da.from_array(X, chunks=(170, 4)), da.from_array(y, chunks=170))
    assert found is model
    assert_same(model, whole, X)


def test_dataframes_are_learnt_as_in_memory(rows):
    X, y = rows
    frame = table(X, y)
    weights = pd.Series(np.arange(3000) % 4, name="copies")  # some rows count nothing
    weights[:500] = 0  # and so do whole partitions
    whole = PNMLRegressor().fit(frame[NAMES], y, weights)
    ddf = dd.from_pandas(frame.assign(copies=weights), npartitions=7)
    by_name = scale.fit_dask(PNMLRegressor(), ddf, "target", "copies")
    by_value = scale.fit_dask(PNMLRegressor(), ddf[NAMES], ddf["target"], ddf["copies"])
    mixed = scale.fit_dask(
        PNMLRegressor(), ddf[NAMES], ddf["target"].to_dask_array(), ddf["copies"].to_dask_array()
    )
    for model in (by_name, by_value, mixed):
        assert_same(model, whole, frame[NAMES])
        assert list(model.feature_names_in_) == NAMES


def test_how_the_rows_are_cut_does_not_matter(rows):
    X, y = rows
    whole = PNMLRegressor().fit(X, y)
    keep = np.arange(3000) >= 1000  # the first partitions lose all their rows
    part = PNMLRegressor().fit(X[keep], y[keep])
    dX, dy, dkeep = (da.from_array(v, chunks=500) for v in (X, y, keep))
    cases = [
        (
            scale.fit_dask(PNMLRegressor(), dX.rechunk((500, 3)), dy),
            whole,
        ),  # several chunks of columns
        (scale.fit_dask(PNMLRegressor(), dX, dy.rechunk(77)), whole),
        (scale.fit_dask(PNMLRegressor(), dX, y), whole),  # targets in memory
        (scale.fit_dask(PNMLRegressor(), dX, dy[:, None]), whole),
        (scale.fit_dask(PNMLRegressor(), dX[dkeep], dy[dkeep]), part),  # chunks of unknown size
    ]
    for model, expected in cases:
        assert_same(model, expected, X)


def test_partitions_of_other_dtypes_add_up(rng):
    X = rng.integers(0, 9, size=(600, 3)).astype(float)
    y = X @ [1.0, 2.0, 3.0] + rng.normal(size=600)
    kinds = [np.float64, np.int16, np.float32]
    parts = [X[i * 200 : (i + 1) * 200].astype(kind) for i, kind in enumerate(kinds)]
    mixed = da.concatenate([da.from_array(part) for part in parts])
    assert_same(scale.fit_dask(PNMLRegressor(), mixed, y), PNMLRegressor().fit(X, y), X)
    frame = pd.DataFrame({"i": X[:, 0].astype(int), "b": X[:, 1] > 4, "f": X[:, 2].astype("f4")})
    model = scale.fit_dask(PNMLRegressor(), dd.from_pandas(frame.assign(y=y), npartitions=3), "y")
    assert_same(model, PNMLRegressor().fit(frame, y), frame.astype(float))


def test_rows_stay_where_they_are():
    """Beside the rows that are sampled, no result is larger than a Gram."""
    n, d, sizes = 40_000, 5, {}
    X = da.random.default_rng(0).normal(size=(n, d), chunks=(4000, d))

    def noted(key, result, dsk, state, worker_id):
        if str(key).startswith(("_counted", "_sum")):
            sizes[key] = (len(result.high.sample.rows), result.high.xx.shape)

    with dask.callbacks.Callback(posttask=noted), dask.config.set(scheduler="sync"):
        scale.fit_dask(PNMLRegressor(), X, X.sum(axis=1))
    assert len(sizes) == 10 + 2 + 1  # partitions, and a tree of two levels
    assert {rows <= 4096 for rows, _ in sizes.values()} == {True}
    assert {shape for _, shape in sizes.values()} == {(d, d)}


@pytest.mark.parametrize("intercept", [True, False])
def test_folds_of_partitions_give_the_errors_of_refits(intercept, rng):
    X = rng.normal(3.0, 1.0, size=(600, 5))
    y = X @ [1.0, -1.0, 0.5, 0.0, 0.0] + 2.0 + rng.normal(size=600)
    alphas = [0.01, 1.0, 100.0, 1e4]
    choice = scale.k_fold_dask(
        PNMLRegressor(fit_intercept=intercept),
        da.from_array(X, chunks=(50, 5)),
        da.from_array(y, chunks=50),
        folds=4,
        alphas=alphas,
    )
    for k, (train, test) in enumerate(KFold(4).split(X)):
        for j, alpha in enumerate(alphas):
            refit = Ridge(alpha, fit_intercept=intercept).fit(X[train], y[train])
            expected = np.sum((y[test] - refit.predict(X[test])) ** 2)
            assert choice.k_fold.squares[k, j] == pytest.approx(expected, rel=1e-9)
    best = alphas[np.argmin(choice.k_fold.squares.sum(axis=0))]
    assert choice.alpha == choice.estimator.alpha == best
    assert_same(choice.estimator, PNMLRegressor(alpha=best, fit_intercept=intercept).fit(X, y), X)


def test_choosing_a_penalty_takes_one_pass(tmp_path, rng):
    X = rng.normal(size=(300, 30))
    y = X[:, 0] + rng.normal(size=300)

    def noted(block, block_info=None):
        number = block_info[0]["chunk-location"][0]
        with (tmp_path / str(number)).open("a") as note:
            note.write("read\n")
        return block

    lazy = da.from_array(X, chunks=(30, 30)).map_blocks(noted, dtype=float)
    choice = scale.k_fold_dask(PNMLRegressor(), lazy, y, folds=5)
    assert [(tmp_path / str(i)).read_text() for i in range(10)] == ["read\n"] * 10
    assert len(choice.path.alphas) == 100
    assert choice.alpha > 10  # 29 of 30 features say nothing
    assert choice.alpha == choice.path.alphas[choice.path.best()]
    assert np.all(choice.k_fold.standard_errors > 0)


def test_workers_give_the_same_bits_as_threads(client, rows):
    X, y = rows
    dX, dy = da.from_array(X, chunks=(100, 4)), da.from_array(y, chunks=100)
    on_workers = scale.fit_dask(PNMLRegressor(), dX, dy)
    other = distributed.Client(
        client.scheduler.address, set_as_default=True
    )  # any scheduler, by its address
    with other:
        by_address = scale.fit_dask(PNMLRegressor(), dX, dy)
    with dask.config.set(scheduler="threads"):
        in_threads = scale.fit_dask(PNMLRegressor(), dX, dy)
    for model in (by_address, in_threads):
        assert model._statistic.xx.tobytes() == on_workers._statistic.xx.tobytes()
        assert model.regret(X).tobytes() == on_workers.regret(X).tobytes()


def killer(marker, always=False):
    """Rows as they are; on the way, the worker is killed as the kernel would do it."""

    def dies(block):  # not of this module, which workers cannot import
        time.sleep(0.05)
        marked = block.size > 0 and block[0, 0] == 1.0
        if marked and (always or not Path(marker).exists()):
            Path(marker).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return block

    return dies


def test_a_worker_killed_in_mid_fit_changes_nothing(client, tmp_path, rng):
    X = rng.uniform(0.0, 0.9, size=(2000, 3))
    y = X.sum(axis=1) + rng.normal(size=2000)
    X[1000, 0] = 1.0  # in the middle of the partitions
    dX, dy = da.from_array(X, chunks=(100, 3)), da.from_array(y, chunks=100)
    marker = tmp_path / "killed"
    pids = set(client.run(os.getpid).values())
    meta = np.empty((0, 0))
    found = scale.fit_dask(PNMLRegressor(), dX.map_blocks(killer(str(marker)), meta=meta), dy)
    assert marker.exists()
    assert len(pids & set(client.run(os.getpid).values())) < 2  # one is really gone
    assert_same(found, PNMLRegressor().fit(X, y), X)
    with dask.config.set(scheduler="sync"):
        undisturbed = scale.fit_dask(PNMLRegressor(), dX, dy)
    assert found._statistic.xx.tobytes() == undisturbed._statistic.xx.tobytes()
    assert found._statistic.sample.rows.tobytes() == undisturbed._statistic.sample.rows.tobytes()


def test_a_worker_without_enough_memory_is_told_of_in_one_sentence(client, tmp_path):
    meta = np.empty((0, 0))
    X = da.ones((10, 2), chunks=5).map_blocks(killer(str(tmp_path / "it"), always=True), meta=meta)
    with pytest.raises(MemoryError, match=r"lost again and again .* make partitions smaller"):
        scale.fit_dask(PNMLRegressor(), X, np.arange(10.0))

    def too_much(block):
        raise MemoryError("Unable to allocate 8.00 TiB")

    X = da.ones((10, 2), chunks=5).map_blocks(too_much, meta=meta)
    with pytest.raises(MemoryError, match=r"A worker failed, .* make partitions smaller"):
        scale.fit_dask(PNMLRegressor(), X, np.arange(10.0))
