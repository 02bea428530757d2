"""The guide to scale runs as it stands, and what it says of its example is so."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import pages
from pnml import PNMLRegressor
from pnml.scale import fit_files

pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    folder = tmp_path_factory.mktemp("guide")
    return pages.run("scale.md", folder) | {"folder": folder}


def test_files_teach_the_slopes_and_leave_no_checkpoint(names):
    np.testing.assert_allclose(names["model"].coef_, names["slopes"], atol=0.05)
    assert names["regret"][1] > names["regret"][0] > 0
    assert not Path(names["folder"], "price.part").exists()
    assert names["table_model"].rows == 20_000


def test_parts_put_together_are_the_whole(names):
    np.testing.assert_allclose(names["whole"].coef_, names["model"].coef_, rtol=1e-10)


def test_what_was_forgotten_was_never_there(names):
    forgot, never = names["model_of_all"], names["never"]
    np.testing.assert_allclose(forgot.coef_, never.coef_, rtol=1e-9)


def test_the_window_knows_the_last_day_only(names):
    window = names["window"]
    assert window.rows == 24 * 60
    assert 76 < names["latest"].coef_[0] < 100


def test_the_shell_puts_the_parts_together_too(names, monkeypatch, capsys):
    pytest.importorskip("typer")
    from pnml import load
    from pnml.cli import main

    text = (pages.GUIDE / "scale.md").read_text()
    [command] = re.findall(r"^pnml merge .*$", text, re.M)
    monkeypatch.chdir(names["folder"])
    monkeypatch.setattr(sys, "argv", command.split())
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert "Put 3 models of 12,000 rows together" in capsys.readouterr().out
    truth = fit_files(PNMLRegressor(), f"{names['folder']}/part-[012].parquet", target="price")
    np.testing.assert_allclose(load("all.pnml").coef_, truth.coef_, rtol=1e-10)


def test_the_alarm_comes_with_the_change_and_not_before(names):
    drift = names["drift"]
    assert names["calm"] is None
    assert 2000 <= drift.row < 2200
    assert abs(drift.since - 2000) < 50
    assert drift.rows_between == 1e6
    assert names["later"].drift == drift
    assert names["later"].evidence == names["monitor"].evidence


def test_the_plan_states_what_its_formulas_say(tmp_path):
    found = pages.run("../scale-plan.md", tmp_path)
    text = (pages.GUIDE.parent / "scale-plan.md").read_text()
    stated = re.findall(r"^\| ([\d,]+) \| ([\d.]+) nats \|", text, re.M)
    assert len(stated) == 2
    for size, nats in stated:
        error = found["regret_error"](74.0, int(size.replace(",", "")))
        assert float(nats) == pytest.approx(error, abs=0.02)
