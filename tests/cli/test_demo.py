"""The demo, help, version and the other commands that need no table."""

from __future__ import annotations

import json
import os
from importlib.metadata import version
from pathlib import Path

import pandas as pd
import pytest

import child
import pnml

MADE = ["model.pnml", "new.csv", "report.html", "scored.csv", "train.csv"]


def seconds(installed, *arguments):
    """Processor time of one run; the clock on the wall also counts what else the machine does."""
    before = os.times()
    installed(*arguments)
    after = os.times()
    return (
        after.children_user + after.children_system - before.children_user - before.children_system
    )


@pytest.fixture(scope="module")
def demo(installed, tmp_path_factory):
    """What the demo prints on a narrow screen, and the folder that it leaves."""
    folder = tmp_path_factory.mktemp("demo")
    done = installed("demo", cwd=folder, environment={"COLUMNS": "80"})
    done.folder = folder / "pnml-demo"
    return done


@pytest.fixture(scope="module")
def scored(demo):
    return pd.read_csv(demo.folder / "scored.csv")


def test_the_demo_succeeds_and_keeps_quiet_on_stderr(demo):
    assert demo.returncode == 0, demo.stderr
    assert demo.stderr == ""


def test_it_leaves_tables_a_model_and_a_report(demo):
    assert sorted(path.name for path in demo.folder.iterdir()) == MADE
    assert len(pd.read_csv(demo.folder / "train.csv")) == 342
    assert len(pd.read_csv(demo.folder / "new.csv")) == 100


def test_wrong_units_are_not_trusted_and_hardly_anyone_else(scored):
    mistaken = scored[scored.mistake.notna()]
    ordinary = scored[scored.mistake.isna()]
    assert len(mistaken) == 12
    assert not mistaken.trusted.any()
    assert ordinary.trusted.mean() > 0.95
    assert mistaken.regret.min() > 3 * ordinary.regret.median()


def test_the_reason_names_the_measurement_that_was_changed(scored):
    column = {"age": "age", "blood pressure": "bp", "cholesterol": "s1"}
    for _, row in scored[scored.mistake.notna()].iterrows():
        changed = column[row.mistake.split(" in ")[0]]
        assert row.because.split(" ")[0] == changed


def test_the_intervals_cover_about_as_often_as_they_say(scored):
    ordinary = scored[scored.mistake.isna()]
    inside = (ordinary.lower <= ordinary.progression) & (ordinary.progression <= ordinary.upper)
    assert 0.8 <= inside.mean() <= 0.98


def test_it_says_what_it_did_and_how_to_do_it_by_hand(demo, scored):
    out = " ".join(demo.stdout.split())
    assert "100 rows were scored" in out
    untrusted = (~scored.trusted).sum()
    assert f"{untrusted} ({untrusted} %) are not to be trusted" in out
    assert "age in months" in out
    assert "least log-loss on rows left out" in out
    assert "Open pnml-demo/report.html in a browser" in out


def test_the_commands_that_it_prints_give_the_same_files(demo, installed):
    before = {name: (demo.folder / name).read_bytes() for name in ("model.pnml", "scored.csv")}
    lines = [line for line in demo.stdout.splitlines() if line.startswith("  pnml ")]
    assert [line.split()[1] for line in lines] == ["fit", "score", "report"]
    for line in lines:
        done = installed(*line.split()[1:], cwd=demo.folder.parent)
        assert done.returncode == 0, done.stderr
    for name, data in before.items():
        assert (demo.folder / name).read_bytes() == data


def test_piped_output_has_no_colour_codes_and_fits_the_screen(demo):
    assert "\x1b" not in demo.stdout
    lines = [line for line in demo.stdout.splitlines() if not line.startswith("  pnml ")]
    assert max(map(len, lines)) <= 80


def test_a_pipe_that_knows_no_greek_still_gets_the_words_and_json_too(installed, tmp_path):
    done = installed(
        "demo", "--folder", "here", cwd=tmp_path, environment={"PYTHONIOENCODING": "ascii"}
    )
    assert done.returncode == 0, done.stderr
    assert "age in months" in done.stdout
    done = installed("demo", "--folder", "here", "--json", cwd=tmp_path)
    found = json.loads(done.stdout)
    assert (found["rows"], found["folder"]) == (100, "here")
    assert sorted(path.name for path in (tmp_path / "here").iterdir()) == MADE


def test_the_version_is_that_of_the_package(installed):
    done = installed("--version")
    assert (done.returncode, done.stdout.strip()) == (0, f"pnml {pnml.__version__}")


def test_help_lists_the_commands_within_half_a_second(installed):
    done = installed("--help")
    assert done.returncode == 0
    for command in ("demo", "fit", "score", "report", "inspect", "doctor"):
        assert command in done.stdout
    assert min(seconds(installed, "--help") for _ in range(4)) < 0.5


def test_no_command_at_all_is_a_question_for_help(call):
    done = call()
    assert done.code == 0
    assert "score" in done.out


@pytest.mark.parametrize("command", ["demo", "fit", "score", "report", "inspect", "doctor"])
def test_every_command_has_help(command, call):
    done = call(command, "--help")
    assert done.code == 0
    assert f"pnml {command}" in done.out or "Usage" in done.out
    assert "--json" in done.out


def test_help_loads_none_of_the_heavy_packages():
    code = "import sys; from pnml.cli.app import app; app(['--help'], standalone_mode=False); "
    heavy = ("numpy", "sklearn", "pandas", "pyarrow", "jinja2")
    code += f"print(*(name for name in {heavy} if name in sys.modules))"
    out = child.python(code, check=True)
    assert out.stdout.splitlines()[-1] == ""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_get_a_script_that_completes(shell, installed):
    done = installed(environment={"_PNML_COMPLETE": f"source_{shell}"})
    assert done.returncode == 0
    assert "complete_" + shell in done.stdout


def test_completion_knows_commands_and_options(installed):
    def completed(words, place):
        environment = {"_PNML_COMPLETE": "complete_bash", "COMP_WORDS": words}
        return installed(environment=environment | {"COMP_CWORD": str(place)}).stdout.split()

    assert {"score"} == set(completed("pnml sc", 1))
    assert "--learner" in completed("pnml fit --l", 2)
    assert "lpnml-l1" in completed("pnml fit t.csv --learner lp", 4)


def test_doctor_tells_what_is_installed_and_how_to_get_the_rest(call, monkeypatch):
    from pnml.cli import installed as packages

    found = json.loads(call("doctor", "--json").out)
    assert found["pnml"] == pnml.__version__
    assert found["ready"]["cli"] is True
    assert found["extras"]["cli"]["pyarrow"] == version("pyarrow")
    kept = packages._version
    monkeypatch.setattr(packages, "_version", lambda p: None if p == "torch" else kept(p))
    done = call("doctor")
    assert done.code == 0
    assert 'pip install "pnml[torch]"' in " ".join(done.out.split())
    assert json.loads(call("doctor", "--json").out)["ready"]["torch"] is False


def test_doctor_finds_a_library_that_comes_in_another_package(monkeypatch):
    from pnml.cli import installed as packages

    def version(package):
        if package == "xgboost-cpu":
            return "3.2.0"
        raise packages.PackageNotFoundError(package)

    monkeypatch.setattr(packages, "version", version)
    assert packages._version("xgboost") == "3.2.0"
    assert packages._version("lightgbm") is None


@pytest.mark.parametrize("missing", ["typer", "rich", "pyarrow", "jinja2"])
def test_a_missing_extra_is_named_with_the_command_that_installs_it(missing, tmp_path):
    code = f"import sys; sys.modules[{missing!r}] = None; sys.argv = ['pnml', 'demo']; "
    code += "from pnml.cli import main; main()"
    done = child.python(code, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert missing in done.stderr
    assert 'pip install "pnml[cli]"' in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(os.name == "nt", reason="no SIGINT to a process of one's own")
def test_ctrl_c_exits_with_130_and_one_word(tmp_path):
    code = """
import os, signal, sys, time
from pnml.cli import demo, main
def interrupted():
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)
demo._patients = interrupted
sys.argv = ["pnml", "demo"]
main()
"""
    done = child.python(code, seconds=50, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (130, "Stopped.\n")
    assert list(Path(tmp_path, "pnml-demo").iterdir()) == []
