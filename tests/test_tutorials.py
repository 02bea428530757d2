"""Tutorials run as they stand, and what they say of their examples is so."""

from __future__ import annotations

import os
import re
import shlex
import sqlite3
import sys
import textwrap
import warnings
from contextlib import closing

import numpy as np
import pytest

import pages

DOCS = pages.GUIDE.parent
README = DOCS.parent / "README.md"

# Dask itself calls pandas so.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")


@pytest.fixture
def ran(tmp_path):
    """All that the snippets of a tutorial define."""

    def run(page, *packages):
        for package in packages:
            pytest.importorskip(package)
        return pages.run(f"../tutorials/{page}", tmp_path)

    return run


def block(page, words):
    """The one fenced block of a page that holds these words."""
    found = re.findall(r"^```\w*\n(.*?)^```", page.read_text(), re.S | re.M)
    [code] = [text for text in found if words in text]
    return code


def typed(commands, monkeypatch):
    """Run every command of the library in a block, within this process."""
    from pnml.cli import main

    lines = [line for line in commands.splitlines() if line.startswith("pnml ")]
    assert lines
    for line in lines:
        monkeypatch.setattr(sys, "argv", shlex.split(line, comments=True))
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 0, line


def share(values):
    return float(values.double().mean())


def test_the_landing_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for package in ("torch", "lightgbm", "pandas", "pyarrow"):
        pytest.importorskip(package)
    text = (DOCS / "index.md").read_text()
    wrapped, table, words, network = (
        textwrap.dedent(code)
        for code in re.findall(r"^    ```python\n(.*?)^    ```", text, re.S | re.M)
    )
    found = {}
    exec(wrapped, found)
    scored = found["scored"]
    assert scored["trusted"].tolist() == [True, False]
    assert scored["because"][401] in text
    exec(table, found)
    model, rows = found["model"], found["rows"]
    np.testing.assert_allclose(
        model.predict_interval(rows, coverage=0.9), [[92, 279], [-83, 124]], atol=0.5
    )
    np.testing.assert_allclose(model.regret(rows), [0.04, 0.14], atol=0.005)
    assert model.trusted(rows).tolist() == [True, False]
    assert model.explain(rows).argmax(axis=1)[1] == 3
    exec(words, found)
    assert found["scored"]["trusted"].tolist() == [True, False]
    assert found["scored"]["because"][401].startswith("sex 'x' never seen in training")
    assert (tmp_path / "report.html").stat().st_size
    exec(network, found)
    near, far = found["out"].regret
    assert far > near
    assert share(found["m"].trusted(found["torch"].randn(1000, 4))) == pytest.approx(0.98, abs=0.02)
    assert all(len(code.strip().splitlines()) <= 13 for code in (wrapped, table, words, network))


def test_a_table(ran):
    pytest.importorskip("matplotlib").use("Agg")
    import matplotlib.pyplot as plt

    names = ran("table.md", "pandas")
    plt.close("all")
    assert names["held"] == pytest.approx(0.89)
    assert names["trusted"].mean() == pytest.approx(0.99)
    assert names["regret"].mean() == pytest.approx(0.02, abs=0.005)
    assert names["strange_regret"].mean() == pytest.approx(0.15, abs=0.005)
    assert not names["strange_trusted"].any()
    wider = np.ptp(names["strange_interval"], axis=1) / np.ptp(names["interval"], axis=1)
    assert wider.mean() == pytest.approx(1.14, abs=0.01)
    assert (names["blamed"] == "bp").all()


def test_a_table_without_python(ran, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib").use("Agg")
    pytest.importorskip("typer")
    import matplotlib.pyplot as plt
    import pandas as pd

    ran("table.md")
    plt.close("all")
    monkeypatch.chdir(tmp_path)
    typed(block(DOCS / "tutorials" / "table.md", "pnml fit"), monkeypatch)
    scored = pd.read_csv("scored.csv")
    added = ["prediction", "lower", "upper", "expected_error", "regret", "trusted", "because"]
    assert scored.columns[-7:].tolist() == added
    assert not scored.trusted.any()
    assert scored.because.str.startswith("bp ").all()
    assert "<html" in (tmp_path / "report.html").read_text()[:500]


@pytest.mark.parametrize("page", [README, DOCS / "guide" / "tables.md", DOCS / "guide" / "onnx.md"])
def test_commands_of_pages_run_on_a_table_with_prices(page, tmp_path, monkeypatch):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("typer")
    pytest.importorskip("pyarrow")
    if page.stem == "onnx":
        pytest.importorskip("skl2onnx")
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(80, 3)), columns=["rooms", "age", "floor"])
    table["price"] = 2 * table.rooms - table.age + rng.normal(size=80)
    monkeypatch.chdir(tmp_path)
    table[:60].to_csv("train.csv", index=False)
    table[60:].to_csv("new.csv", index=False)
    commands = block(page, "pnml fit train.csv")
    typed(commands, monkeypatch)
    written = re.findall(r" -o (\S+)", commands)
    assert written
    assert all((tmp_path / name).stat().st_size for name in written)


def test_databases_and_frames_of_the_page_on_tables_are_read(tmp_path, monkeypatch):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("typer")
    pytest.importorskip("pyarrow")
    page = DOCS / "guide" / "tables.md"
    found = {}
    exec(block(page, "from pnml.readers import open_table"), found)
    assert found["rows"] == len(found["frame"])
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(40, 3)), columns=["rooms", "age", "price"])
    monkeypatch.chdir(tmp_path)
    with closing(sqlite3.connect("my.db")) as database:
        table.to_sql("sales", database, index=False)
    typed(block(page, 'pnml fit "sqlite').splitlines()[0], monkeypatch)
    assert (tmp_path / "model.pnml").stat().st_size


def test_the_network_of_the_readme():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3))
    found = {"net": net, "train_loader": torch.randn(10, 50, 4), "x": torch.randn(5, 4)}
    exec(block(README, "LastLayerPNML"), found)
    assert found["out"].regret.shape == (5,)
    assert found["scores"].shape == (5,)
    np.testing.assert_allclose(found["scores"], found["out"].regret.detach(), rtol=1e-9)


def test_benchmarks_that_pages_name_are_there(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS.parent))
    named = set()
    for page in (README, *DOCS.rglob("*.md")):
        named |= set(re.findall(r"python -m benchmarks ([\w-]+)", page.read_text()))
    assert len(named) > 5
    for name in named:
        assert (DOCS.parent / "benchmarks" / f"{name.replace('-', '_')}.py").is_file(), name


def test_a_torch_classifier(ran):
    names = ran("torch.md", "torch")
    passed = {name: share(verdict) for name, verdict in names["passed"].items()}
    assert passed["test"] == pytest.approx(0.93, abs=0.02)
    assert passed["upside down"] == pytest.approx(0.66, abs=0.06)
    assert passed["noise"] == 0
    assert share(names["sure"]) == pytest.approx(0.85, abs=0.04)
    assert float(names["accuracy"]) == pytest.approx(0.93, abs=0.02)
    assert float(names["of_trusted"]) == pytest.approx(0.95, abs=0.02)
    assert float(names["of_others"]) == pytest.approx(0.55, abs=0.15)
    means = names["table"].mean()
    assert means["regret"] > means["Energy"] > 0.6


@pytest.mark.data
@pytest.mark.skipif(not os.environ.get("PNML_DATA"), reason="PNML_DATA is not set")
def test_text_embeddings(ran):
    names = ran("text.md", "torch")
    assert names["accuracy"] == pytest.approx(0.90, abs=0.01)
    assert names["found"].auroc.value == pytest.approx(0.954, abs=0.005)
    assert names["baseline"].auroc.value == pytest.approx(0.916, abs=0.005)
    assert names["refused_known"] == pytest.approx(0.07, abs=0.01)
    assert names["refused_strange"] == pytest.approx(0.83, abs=0.02)


def test_active_learning(ran):
    names = ran("active.md")
    assert names["before"] == pytest.approx(2.27, abs=0.005)
    assert names["bought"] == pytest.approx(0.36, abs=0.005)
    assert names["drawn"] == pytest.approx(1.01, abs=0.005)
    assert names["accuracy"] == pytest.approx(0.83, abs=0.04)
    assert names["plain"] == pytest.approx(0.73, abs=0.04)


def test_attacked_inputs(ran):
    names = ran("adversarial.md", "torch")
    assert names["clean"].accuracy == pytest.approx(0.98, abs=0.01)
    assert names["made"].accuracy == pytest.approx(0.23, abs=0.06)
    assert names["shown"].accuracy == pytest.approx(0.72, abs=0.06)
    assert names["through"].accuracy == pytest.approx(0.43, abs=0.06)
    assert names["through"].accuracy < names["shown"].accuracy
    assert names["seen"].metrics.auroc.value == pytest.approx(0.79, abs=0.04)
    assert float(names["unnoticed"]) == pytest.approx(0.5, abs=0.1)
    with warnings.catch_warnings():  # of the library
        warnings.simplefilter("ignore")
        pytest.importorskip("art")
        exec(block(DOCS / "guide" / "adversarial.md", "ProjectedGradientDescent"), names)
    fooled = names["found"].fooled
    assert fooled.shape == (100,)
    assert share(fooled) == pytest.approx(0.03, abs=0.03)
    assert share(fooled) < (1 - names["through"].accuracy) / 5


def test_dask(ran):
    names = ran("dask.md", "dask", "distributed", "pandas", "pyarrow")
    assert names["difference"] < 1e-10
    assert names["share"] == pytest.approx(0.99, abs=0.003)
    assert names["choice"].k_fold.squares.shape[0] == 3
    judge, moved = names["judge"], names["moved"]
    assert judge.trusted(moved).mean().compute() == 0
    assert judge.regret(moved).mean().compute() == pytest.approx(0.002, abs=0.0005)


def test_onnx(ran):
    names = ran("onnx.md", "onnx", "onnxruntime", "onnxscript", "skl2onnx", "torch")
    assert names["gap"] < 1e-9
    model, rows = names["model"], names["rows"]
    line = names["regret"] <= names["limit"]
    np.testing.assert_array_equal(line, model[1].trusted(rows))
    with names["torch"].no_grad():
        out = names["m"](names["new"])
    np.testing.assert_allclose(names["net_regret"], out.regret, rtol=1e-5)


def test_tutorials_are_short():
    for page in (DOCS / "tutorials").glob("*.md"):
        assert len(page.read_text().splitlines()) < 120, page.name
