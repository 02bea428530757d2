"""The guide to networks runs as it stands, and what it says of its example is so."""

from __future__ import annotations

import re

import pytest

import pages

pytest.importorskip("matplotlib").use("Agg")
torch = pytest.importorskip("torch")

PAGE = pages.GUIDE / "networks.md"


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """All that the snippets define."""
    import matplotlib.pyplot as plt

    yield pages.run(PAGE.name, tmp_path_factory.mktemp("guide"))
    plt.close("all")


def test_trust_is_what_the_guide_says(names):
    m, x, y = (names[name] for name in ("m", "x_test", "y_test"))
    right = names["net"](x).argmax(dim=1) == y
    passed = m.trusted(x)
    assert passed.double().mean() == pytest.approx(0.96, abs=0.02)
    assert right[passed].double().mean() == pytest.approx(0.96, abs=0.02)
    assert right[~passed].double().mean() == pytest.approx(0.5, abs=0.15)
    assert m.trusted(names["never_seen"]).double().mean() == pytest.approx(0.76, abs=0.08)
    assert not m.trusted(names["noise"]).any()


def test_embeddings_parts_and_files_give_the_same_regrets(names):
    with torch.no_grad():
        regret = names["out"].regret
        for again in (names["m"], names["half"], names["both"]):
            torch.testing.assert_close(again(names["x_test"]).regret, regret, rtol=1e-6, atol=0)
        e = names["e"](names["new_embeddings"]).regret
    torch.testing.assert_close(e, regret, rtol=1e-6, atol=0)


def test_the_table_is_the_one_printed(names):
    table = names["table"]
    printed = re.findall(r"^\| (8 and 9|noise) \| (.*) \|$", PAGE.read_text(), re.M)
    assert [row for row, _ in printed] == list(table.oods)
    for ood, line in printed:
        values = [float(re.search(r"\d+\.\d+", cell).group()) for cell in line.split("|")]
        for detector, value in zip(table.detectors, values, strict=True):
            assert 100 * table[detector, ood].auroc.value == pytest.approx(value, abs=2)
