"""Tutorials run as they stand, and what they say of their examples is so."""

from __future__ import annotations

import os
import re
import textwrap

import numpy as np
import pytest

import pages

DOCS = pages.GUIDE.parent

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


def share(values):
    return float(values.double().mean())


def test_the_landing_page(tmp_path):
    pytest.importorskip("torch")
    text = (DOCS / "index.md").read_text()
    table, network = (
        textwrap.dedent(code)
        for code in re.findall(r"^    ```python\n(.*?)^    ```", text, re.S | re.M)
    )
    found = {}
    exec(table, found)
    model, rows = found["model"], found["rows"]
    np.testing.assert_allclose(
        model.predict_interval(rows, coverage=0.9), [[92, 279], [-83, 124]], atol=0.5
    )
    np.testing.assert_allclose(model.regret(rows), [0.04, 0.14], atol=0.005)
    assert model.trusted(rows).tolist() == [True, False]
    assert model.explain(rows).argmax(axis=1)[1] == 3
    exec(network, found)
    near, far = found["out"].regret
    assert far > near
    assert share(found["m"].trusted(found["torch"].randn(1000, 4))) == pytest.approx(0.98, abs=0.02)
    assert all(len(code.strip().splitlines()) <= 13 for code in (table, network))


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
    assert names["found"].auroc.value == pytest.approx(0.941, abs=0.005)
    assert names["baseline"].auroc.value == pytest.approx(0.916, abs=0.005)
    assert names["refused_known"] == pytest.approx(0.07, abs=0.01)
    assert names["refused_strange"] == pytest.approx(0.78, abs=0.02)


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
