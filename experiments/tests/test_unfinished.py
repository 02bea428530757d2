"""Unfinished runs: the page says how far they are, from the journals that are stored."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")

from pnml.errors import InputError
from pnml_experiments.ch5_networks import ablation_mnist
from pnml_experiments.framework.registry import EXPERIMENTS
from pnml_experiments.framework.scales import SCALES
from pnml_experiments.framework.unfinished import UNFINISHED, how_far

RESULTS = Path(__file__).parents[2] / "docs" / "results"


def journal(docs, name, scale, keys):
    folder = docs / UNFINISHED / name / scale
    folder.mkdir(parents=True)
    lines = [{"stamp": "x"}, *({"piece": key, "value": 0} for key in keys)]
    (folder / "long-0123.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    # what else a run writes does not count
    (folder / "pieces.jsonl").write_text("not read")
    (folder / "rows.jsonl").write_text("not read")


def test_a_page_says_how_many_rows_are_judged_and_how_to_go_on(tmp_path):
    journal(tmp_path, "ablation-mnist", "stored", ["1 known 0", "1 known 4", "all 4 unknown 8"])
    (said,) = how_far("ablation-mnist", tmp_path)
    rows = ablation_mnist.SIZES["full"].known + ablation_mnist.SIZES["full"].unknown
    assert f"1, to the end 0 %, 1 {800 / rows:.0f} %, 2 0 %, all 4 {400 / rows:.0f} %" in said
    command = "pnml reproduce ablation-mnist --scale stored -o docs/results/data/unfinished"
    assert said.endswith(f"It goes on with `{command}`.")


def test_a_run_of_two_cases_is_told_which_it_is(tmp_path):
    journal(tmp_path, "dial-mnist-ood", "printed", ["0 DIAL 0 accuracy", "0 DIAL 0 picks"])
    (said,) = how_far("dial-mnist-ood", tmp_path)
    assert said.startswith("**A run at the scale printed is unfinished.** Rounds of 301")
    assert "seed 0: DIAL 1, BALD 0" in said
    assert how_far("dial-mnist", tmp_path) == []


def test_a_journal_that_is_none_is_one_sentence(tmp_path):
    journal(tmp_path, "dial-mnist", "printed", [])
    next((tmp_path / UNFINISHED).rglob("long-*")).write_text("{}\n[1]\n")
    with pytest.raises(InputError, match="restore it"):
        how_far("dial-mnist", tmp_path)


def test_stored_journals_are_of_runs_that_are_offered_and_not_published():
    offered = {(one.id, scale) for one in EXPERIMENTS for scale in one.scales}
    for path in (RESULTS / UNFINISHED).glob("*/*/*.jsonl"):
        name, scale = path.parts[-3:-1]
        assert (name, scale) in offered
        assert scale in SCALES
        assert len(how_far(name, RESULTS)) == 1
