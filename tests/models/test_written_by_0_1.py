"""Model files that version 0.1 has written say today what 0.1 said of the same rows.

``benchmarks/carried_over/fixtures.py``, run with version 0.1, has written ``format_1``: one file
of each kind of model, and beside it the answers of 0.1. Answers come from products of matrices,
which differ in their last digits between processors.
"""

from __future__ import annotations

import json
import re
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import pnml

# Small models of ConformalRegressor say so.
pytestmark = pytest.mark.filterwarnings("ignore:The intervals are infinite")

FOLDER = Path(__file__).parent / "format_1"
NAMES = sorted(path.stem for path in FOLDER.glob("*.pnml"))
TABLES = [name for name in NAMES if name.startswith("table-")]
LAYERS = [name for name in NAMES if name.startswith("last-layer")]
ESTIMATORS = [name for name in NAMES if name not in {*TABLES, *LAYERS, "head", "monitor"}]


def answers(name):
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def assert_same(found, expected, name):
    """Words and verdicts exactly, numbers to the digits that every processor gives."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape, name
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12, err_msg=name)
    else:
        assert found.tolist() == expected.tolist(), name


def test_there_is_a_file_of_every_kind():
    assert len(ESTIMATORS) >= 40
    assert len(TABLES) == 11
    assert len(LAYERS) == 5
    kinds = {type(pnml.load(FOLDER / f"{name}.pnml")).__name__ for name in ESTIMATORS}
    public = {name for name in pnml.__all__ if hasattr(getattr(pnml, name), "fit")}
    assert kinds <= public
    assert kinds >= {
        "ConformalRegressor",
        "KernelPNMLRegressor",
        "LpNMLRegressor",
        "NormBallRegressor",
        "PNMLClassifier",
        "PNMLRegressor",
        "PNMLTreeClassifier",
        "PNMLTreeRegressor",
        "RegretDifficulty",
        "UniversalClassifier",
        "UniversalRegressor",
    }


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_estimator_says_what_it_said(name):
    model, said = pnml.load(FOLDER / f"{name}.pnml"), answers(name)
    rows = np.array(said.pop("rows"))
    std = said.pop("std", None)
    if std is not None:
        assert_same(model.predict_dist(rows).std, std, "std")
    for method, expected in said.items():
        assert_same(getattr(model, method)(rows), expected, method)


@pytest.mark.parametrize("name", [*LAYERS, "head"])
def test_a_last_layer_says_what_it_said(name):
    torch = pytest.importorskip("torch")
    said = answers(name)
    rows = torch.tensor(said.pop("rows"), dtype=torch.float64)
    held = said.pop("weights", None)
    network = None
    if held is not None:
        network = torch.nn.Sequential(
            torch.nn.Linear(6, 12), torch.nn.ReLU(), torch.nn.Linear(12, 4)
        ).double()
        weights = {key: torch.tensor(value, dtype=torch.float64) for key, value in held.items()}
        network.load_state_dict(weights)
    module = pnml.load(FOLDER / f"{name}.pnml", model=network)
    assert_same(module.trusted(rows), said.pop("trusted"), "trusted")
    with torch.no_grad():
        out = module(rows)
    for part, expected in said.items():
        assert_same(getattr(out, part), expected, part)


def test_a_monitor_goes_on_where_it_was():
    from pnml.scale import RegretMonitor

    watch, said = RegretMonitor.load(FOLDER / "monitor.pnml"), answers("monitor")
    assert watch.evidence == pytest.approx(said["evidence"], rel=1e-9)
    assert watch.p_value == pytest.approx(said["p_value"], rel=1e-9)
    drift = watch.update(said["rows"])
    assert [drift.row, drift.since, drift.rows_between] == pytest.approx(said["drift"])


@pytest.mark.parametrize("name", TABLES)
def test_a_model_of_a_table_scores_as_it_did(name, tmp_path, monkeypatch, capsys):
    pytest.importorskip("typer")
    parquet = pytest.importorskip("pyarrow.parquet")
    from pnml.cli import main

    said = answers(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    Path("new.csv").write_text(said.pop("table"), encoding="utf-8")
    command = ["pnml", "score", str(FOLDER / f"{name}.pnml"), "new.csv", "-o", "scored.parquet"]
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0, capsys.readouterr().err
    scored = parquet.read_table("scored.parquet").to_pydict()
    scored["because"] = [shares(text, r"(\w+) [^%]*?\((\d+)%\)") for text in scored["because"]]
    said["because"] = [shares(text, r"(\w+) (\d+)%") for text in said["because"]]
    for column, expected in said.items():
        if column == "because":  # 0.1 named the columns without their cells
            explained = [
                text != "like the training rows" for text in scored[column]
            ]  # and explained every row
            assert sum(explained) >= len(explained) // 10
            for text, row, shown in zip(scored[column], expected, explained, strict=True):
                if name == "table-kernel" and shown:  # words of a column now come and go together
                    text, row = ([cell for cell, _ in shares] for shares in (text, row))
                    text, row = text[:1], row[:1]
                assert text == row or not shown
        else:
            assert_same(scored[column], expected, column)


def shares(text, pattern):
    """Columns that a reason names, with their shares; the reason itself where it names none."""
    return re.findall(pattern, text) or text
