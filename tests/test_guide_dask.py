"""The guide to many machines runs as it stands, and what it says of its example is so."""

from __future__ import annotations

import socket

import numpy as np
import pytest

import pages

for package in ("dask", "distributed", "pandas", "pyarrow", "torch"):
    pytest.importorskip(package)

# Dask itself calls pandas so when it writes Parquet files.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    alone = {"RANK": 0, "WORLD_SIZE": 1, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in alone.items():  # as torchrun does
            patch.setenv(name, str(value))
        return pages.run("dask.md", tmp_path_factory.mktemp("guide"))


def test_rows_on_a_cluster_are_those_in_memory(names):
    table = names["table"]
    twice = np.tile(table.to_numpy(), (2, 1))
    whole = names["PNMLRegressor"]().fit(twice[:, :-1], twice[:, -1])
    np.testing.assert_allclose(names["model"].coef_, whole.coef_, rtol=1e-10, atol=1e-10)
    assert names["model"].noise_variance_ == pytest.approx(whole.noise_variance_, rel=1e-10)
    assert names["share"] == pytest.approx(0.99, abs=0.005)
    assert names["choice"].k_fold.squares.shape == (5, 100)


def test_processes_have_counted_all_rows(names):
    assert names["m"].rows_ == 1000
    assert names["regressor"].coef_ == pytest.approx([1.0, 1.0, 1.0], abs=0.15)
