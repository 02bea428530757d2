"""``pnml reproduce`` as a user runs it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest

from pnml_experiments.framework import registry
from pnml_experiments.framework.experiment import Experiment

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
    done = run("regret-curve", "--scale", "printed", "-o", "elsewhere", "--json", cwd=tmp_path)
    (entry,) = json.loads(done.stdout)["done"]
    assert Path(tmp_path, entry["page"]).is_file()
    assert entry["tables"][0]["rows"][0]["ours"] > 0


def test_missing_data_is_one_sentence(tmp_path):
    pytest.importorskip("torch")
    assert "set PNML_DATA" in refused(run("ood-resnet20", cwd=tmp_path))
    sentence = refused(run("ood-resnet20", cwd=tmp_path, PNML_DATA=str(tmp_path)))
    assert "features/cifar10_resnet20.npz" in sentence
    assert not (tmp_path / "pnml-results").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["regret-curv"], "did you mean regret-curve?"),
        (["figure-irs"], "did you mean figure-iris?"),
        (["regret-curve", "--all"], "--all"),
        (["regret-curve", "--list"], "--list"),
        (["--all", "--list"], "--list"),
        (["regret-curve", "--jobs", "2"], "without --all"),
        (["regret-curve", "--scale", "medium"], "medium"),
    ],
)
def test_wrong_words_are_one_sentence(call, tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    done = call("reproduce", *arguments)
    assert done.code == 2
    (sentence,) = done.err.splitlines()
    assert said in sentence


@pytest.fixture
def few(monkeypatch):
    """Four experiments: two run, one fails, one lacks its data."""
    made = (
        registry.find("regret-curve"),
        Experiment("broken", 2, "Broken", "no_such_module", extras=()),
        registry.find("ood-imagenet30"),
        Experiment("needy", 5, "Needy", "x", needs=("features/x.npz",), extras=()),
        Experiment("huge", 5, "Huge", "x", extras=(), scales=("stored",)),
    )
    monkeypatch.delenv("PNML_DATA", raising=False)
    monkeypatch.setattr(registry, "EXPERIMENTS", made)


def test_all_runs_what_can_be_run_and_goes_on_after_a_failure(few, call, tmp_path):
    done = call("reproduce", "--all", "-o", tmp_path / "out")
    assert done.code == 1
    assert re.search(r"regret-curve: \d+ s, .*result\.md", done.out)
    assert re.search(r"ood-imagenet30: \d+ s, ", done.out)
    assert "broken: failed" in done.out
    assert "broken: ModuleNotFoundError: No module named" in done.out
    assert "set PNML_DATA" in done.out
    assert "huge is not offered at the scale small." in done.out
    assert (tmp_path / "out" / "ood-imagenet30" / "small" / "result.md").is_file()


def test_all_for_machines_keeps_done_skipped_and_failed_apart(few, call, tmp_path):
    done = call("reproduce", "--all", "--json", "-j", "1", "-o", tmp_path / "out")
    assert done.code == 1
    document = json.loads(done.out)
    assert [entry["id"] for entry in document["done"]] == ["regret-curve", "ood-imagenet30"]
    assert all(entry["seconds"] > 0 for entry in document["done"])
    assert [entry["id"] for entry in document["failed"]] == ["broken"]
    skipped = {entry["id"]: entry["reason"] for entry in document["skipped"]}
    assert set(skipped) == {"needy", "huge"}
    assert all(reason.endswith(".") for reason in skipped.values())


@pytest.mark.parametrize("jobs", [1, 2])
def test_any_number_of_jobs_finds_the_same(few, call, tmp_path, jobs):
    done = call("reproduce", "--all", "--json", "-j", str(jobs), "-o", tmp_path / "out")
    document = json.loads(done.out)
    assert [entry["id"] for entry in document["done"]] == ["regret-curve", "ood-imagenet30"]
    assert document["failed"][0]["reason"].startswith("ModuleNotFoundError")
    alone = json.loads(call("reproduce", "regret-curve", "--json", "-o", tmp_path / "alone").out)
    assert document["done"][0]["tables"] == alone["done"][0]["tables"]


class Dying(Experiment):
    """Ends its process, as one that runs out of memory does."""

    def run(self, scale, out, progress):
        os._exit(9)


def test_a_process_that_is_lost_is_a_failure_and_takes_no_other_along(call, tmp_path, monkeypatch):
    lost = Dying("lost", 2, "Lost", "x", extras=(), minutes=(1.0, 1.0))  # the first to begin
    others = registry.find("regret-curve"), registry.find("ood-imagenet30")
    monkeypatch.setattr(registry, "EXPERIMENTS", (lost, *others))
    done = call("reproduce", "--all", "--json", "-j", "2", "-o", tmp_path / "out")
    assert done.code == 1
    document = json.loads(done.out)
    assert [entry["id"] for entry in document["done"]] == ["regret-curve", "ood-imagenet30"]
    ((name, reason),) = [(entry["id"], entry["reason"]) for entry in document["failed"]]
    assert name == "lost"
    assert reason.startswith("BrokenProcessPool")


def test_all_without_a_failure_is_a_success(few, call, tmp_path, monkeypatch):
    monkeypatch.setattr(registry, "EXPERIMENTS", registry.EXPERIMENTS[:1])
    assert call("reproduce", "--all", "-j", "1", "-o", tmp_path / "out").code == 0


def test_a_figure_is_run_by_its_own_name(call, tmp_path):
    done = call("reproduce", "figure-regret-curve", "-o", tmp_path / "out")
    assert done.code == 0
    assert "0.4166" in done.out
    assert (tmp_path / "out" / "regret-curve" / "small" / "result.md").is_file()


def test_the_list_has_all_of_the_thesis_with_cost_data_and_state(call, tmp_path, monkeypatch):
    monkeypatch.delenv("PNML_DATA", raising=False)
    call("reproduce", "regret-curve", "-o", tmp_path / "out")
    listed = call("reproduce", "--list", "--json", "-o", tmp_path / "out")
    entries = {entry["id"]: entry for entry in json.loads(listed.out)["entries"]}
    kinds = Counter(entry["kind"] for entry in entries.values())
    assert (kinds["figure"], kinds["table"], kinds["algorithm"]) == (25, 22, 2)
    curve = entries["figure-regret-curve"]
    assert curve["number"] == "Figure 5.1"
    assert curve["state"] == "done at small"
    assert set(curve["minutes"]) == {"small", "printed"}
    assert entries["table-ablation"]["data"] == ["features"]
    assert entries["table-ablation"]["state"] == "needs PNML_DATA"
    words = call("reproduce", "--list", "-o", tmp_path / "out").out
    assert "figure-double-descent" in words
    assert "done at small" in words
    assert "Beyond the thesis" in words
