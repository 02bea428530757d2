"""The sets named beforehand: intents left out are not shown, and the place of ours is told."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

from pnml_experiments.ch5_networks import ood_confirmation
from pnml_experiments.framework.stored_files import BANKING


def quiet(done, total):
    pass


@pytest.fixture
def sentences(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(77), 6)
    centres = rng.normal(size=(77, 12))
    arrays = {}
    for part in ("train", "test"):
        arrays |= {f"x_{part}": centres[y] + 0.3 * rng.normal(size=(len(y), 12)), f"y_{part}": y}
    path = tmp_path / "data" / BANKING
    path.parent.mkdir(parents=True)
    np.savez(path, **arrays)
    monkeypatch.setenv("PNML_DATA", str(tmp_path / "data"))
    return arrays


def test_left_out_intents_are_the_outliers_and_nothing_else(sentences, out):
    data = ood_confirmation.banking77(out)
    assert data.weight.shape == (58, 12)
    assert len(data.train) == len(data.test) == 58 * 6
    (strange,) = data.outliers.values()
    rows = {tuple(row) for row in sentences["x_test"]}
    assert rows == {tuple(row) for row in (*data.test, *strange)}
    assert np.array_equal(np.unique(data.train_labels), np.arange(58))
    # the head was fitted to these very labels
    guessed = (data.test @ data.weight.T + data.bias).argmax(axis=1)
    assert np.mean(guessed == data.test_labels) > 0.9


def test_the_place_of_the_regret_is_told(sentences, out, monkeypatch):
    monkeypatch.setattr(
        ood_confirmation, "svhn", lambda out, scale: ood_confirmation.banking77(out)
    )
    result = ood_confirmation.run("small", out, quiet)
    rows = [row for row in result.tables[0].rows if row.labels["features"] == "Banking77"]
    values = {row.labels["detector"]: row.ours.value for row in rows}
    assert len(values) == 11
    place = 1 + sum(value > values["pNML"] for value in values.values())
    assert f"place {place} of 11" in result.remarks[0]
