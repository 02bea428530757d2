"""``pnml reproduce`` as a user runs it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

COMMAND = shutil.which("pnml", path=str(Path(sys.executable).parent)) or shutil.which("pnml")

pytestmark = [
    pytest.mark.skipif(find_spec("typer") is None, reason="the cli extra is not installed"),
    pytest.mark.skipif(find_spec("matplotlib") is None, reason="the plots extra is not installed"),
    pytest.mark.skipif(COMMAND is None, reason="the package is not installed, only on the path"),
]


def run(*arguments, cwd, **environment):
    kept = {name: value for name, value in os.environ.items() if name != "PNML_DATA"}
    return subprocess.run(
        [COMMAND, "reproduce", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
        cwd=cwd,
        env={**kept, "PYTHONIOENCODING": "utf-8", "COLUMNS": "120", **environment},
    )


def refused(done):
    """The one sentence of a refusal."""
    assert done.returncode == 2, done.stdout + done.stderr
    (sentence,) = done.stderr.splitlines()
    return sentence


def test_without_a_name_all_are_listed(tmp_path):
    done = run(cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "regret-curve" in done.stdout
    assert "PNML_DATA" in done.stdout
    assert not list(tmp_path.iterdir())


def test_the_list_for_machines_says_what_is_lacking(tmp_path):
    listed = json.loads(run("--json", cwd=tmp_path).stdout)["experiments"]
    by_name = {entry["id"]: entry for entry in listed}
    assert by_name["regret-curve"]["ready"]
    assert not by_name["ood-clinc150"]["ready"]
    assert (
        "PNML_DATA" in by_name["ood-clinc150"]["lacking"]
        or "torch" in by_name["ood-clinc150"]["lacking"]
    )


def test_one_name_is_run_and_written(tmp_path):
    done = run("regret-curve", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "pnml-results" / "regret-curve" / "small" / "result.md").is_file()
    assert "0.4166" in done.stdout


def test_the_folder_is_the_one_asked_for(tmp_path):
    done = run("regret-curve", "--scale", "full", "-o", "elsewhere", "--json", cwd=tmp_path)
    (entry,) = json.loads(done.stdout)["done"]
    assert Path(tmp_path, entry["page"]).is_file()
    assert entry["tables"][0]["rows"][0]["ours"] > 0


def test_missing_data_is_one_sentence(tmp_path):
    pytest.importorskip("torch")
    assert "set PNML_DATA" in refused(run("ood-resnet20", cwd=tmp_path))
    sentence = refused(run("ood-resnet20", cwd=tmp_path, PNML_DATA=str(tmp_path)))
    assert "features/cifar10_resnet20.npz" in sentence
    assert not (tmp_path / "pnml-results").exists()


def test_wrong_words_are_one_sentence(tmp_path):
    assert "did you mean regret-curve?" in refused(run("regret-curv", cwd=tmp_path))
    assert "--all" in refused(run("regret-curve", "--all", cwd=tmp_path))
    assert "medium" in refused(run("regret-curve", "--scale", "medium", cwd=tmp_path))


def test_all_runs_what_can_be_run_and_says_why_the_others_are_skipped(tmp_path):
    done = run("--all", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert {"regret-curve", "iris-maps"} <= {entry["id"] for entry in document["done"]}
    skipped = {entry["id"]: entry["reason"] for entry in document["skipped"]}
    assert "ood-densenet" in skipped
    assert all(reason.endswith(".") for reason in skipped.values())
