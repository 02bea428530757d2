"""Every run leaves a page, its rows as JSON lines, and its figures; all of them whole."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import import_module

import pytest

from pnml.errors import InputError
from pnml.metrics import Estimate
from pnml_experiments.framework import running
from pnml_experiments.framework.experiment import Experiment
from pnml_experiments.framework.page import cells, page
from pnml_experiments.framework.registry import EXPERIMENTS, find, read
from pnml_experiments.framework.result import Result, Row, Table, exactly
from pnml_experiments.framework.running import reproduce

pytest.importorskip("matplotlib")

LISTED = Experiment("listed", 5, "Listed", "ch5_networks.ood_networks", "ImageNet-30")


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_run_leaves_a_page_rows_and_figures(tmp_path):
    result, written = reproduce(find("regret-curve"), "small", tmp_path)
    names = {path.name for path in written.parent.iterdir()}
    assert names == {
        "pieces.jsonl",
        "result.md",
        "rows.jsonl",
        "regret-curve.png",
        "regret-curve.svg",
    }
    head, *rows = lines(written.parent / "rows.jsonl")
    assert head["experiment"] == "regret-curve"
    assert head["scale"] == "small"
    assert len(rows) == sum(len(table.rows) for table in result.tables)
    assert "regret-curve.png" in written.read_text()


def test_a_run_that_fails_to_draw_leaves_the_old_page(tmp_path, monkeypatch):
    _, written = reproduce(find("regret-curve"), "small", tmp_path)
    before = written.read_bytes()

    def fail(figure, folder):
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "_write_figure", fail)
    with pytest.raises(KeyboardInterrupt):
        reproduce(find("regret-curve"), "small", tmp_path)
    assert written.read_bytes() == before
    assert not list(tmp_path.rglob("*.tmp"))


def test_the_difference_is_ours_less_printed():
    row = Row({}, 90.0, Estimate(92.5, 91.0, 94.0), Estimate(95.0, 95.0, 95.0))
    assert row.difference == 2.5
    assert row.record()["fair"] == 95.0
    assert Row({}, 90.0).difference is None
    assert Row({}, None, exactly(1.0)).difference is None


def test_a_page_shows_intervals_notes_and_what_was_not_run():
    rows = (
        Row({"OOD": "A"}, 90.0, Estimate(92.54, 91.0, 94.0), note="Fewer rows."),
        Row({"OOD": "B"}, 80.0, note="Not run."),
        Row({"OOD": "C"}, None, exactly(3.0), note="Fewer rows."),
    )
    table = Table("T", rows)
    headings, body, notes = cells(table)
    assert headings == ["OOD", "printed", "ours", "difference", "note"]
    assert body[0] == ["A", "90.0", "92.5 [91.0, 94.0]", "+2.5", "1"]
    assert body[1] == ["B", "80.0", "–", "–", "2"]
    assert body[2][-1] == "1"
    assert notes == ["Fewer rows.", "Not run."]
    text = page(LISTED, "small", Result((table,), seeds=(0,), repeats=3, interval="bootstrap"))
    assert "seeds: 0" in text
    assert "repeats: 3" in text
    assert "bootstrap" in text
    assert "2. Not run." in text


def test_missing_things_are_named_in_one_sentence(tmp_path, monkeypatch):
    needy = Experiment("needy", 5, "Needy", "nothing", needs=("features/x.npz",), extras=())
    monkeypatch.delenv("PNML_DATA", raising=False)
    assert needy.lacking().what == "PNML_DATA"
    assert "PNML_DATA" in needy.lacking().sentence
    monkeypatch.setenv("PNML_DATA", str(tmp_path))
    assert needy.lacking().what == "features/x.npz"
    with pytest.raises(InputError, match=r"features/x\.npz"):
        reproduce(needy, "small", tmp_path)
    (tmp_path / "features").mkdir()
    (tmp_path / "features" / "x.npz").write_bytes(b"")
    assert needy.lacking() is None
    assert needy.files() == [tmp_path / "features" / "x.npz"]


def test_a_missing_package_is_named_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setattr("pnml_experiments.framework.experiment.find_spec", lambda name: None)
    assert 'pip install "pnml[plots]"' in LISTED.lacking().sentence


def test_a_package_of_tables_that_is_not_installed_is_lacking():
    lack = replace(LISTED, extras=(), packages=("no_such_tables",)).lacking()
    assert lack.what == "no_such_tables"
    assert lack.sentence.endswith("run pip install no_such_tables.")


def test_a_scale_that_is_not_offered_is_refused(tmp_path):
    only = Experiment(
        "only", 5, "Only", "ch5_networks.ood_networks", "ImageNet-30", scales=("printed",)
    )
    with pytest.raises(InputError, match="--scale printed"):
        reproduce(only, "small", tmp_path)


def test_unknown_names_are_answered_with_near_ones():
    with pytest.raises(InputError, match="did you mean ood-densenet"):
        find("ood-densnet")
    with pytest.raises(InputError, match="pnml reproduce to list"):
        find("zzz")


def test_names_are_unique():
    assert len({experiment.id for experiment in EXPERIMENTS}) == len(EXPERIMENTS)


@pytest.mark.parametrize("module", sorted({experiment.module for experiment in EXPERIMENTS}))
def test_what_is_read_from_a_file_is_what_its_module_declares(module):
    pytest.importorskip("torch")
    imported = import_module(f"pnml_experiments.{module}")
    assert callable(imported.run)
    declared = getattr(imported, "EXPERIMENTS", None) or (imported.EXPERIMENT,)
    listed = [experiment for experiment in EXPERIMENTS if experiment.module == module]
    assert {replace(one, module=module) for one in declared} == set(listed)
    assert len(listed) == 1 or all(one.case for one in listed)


@pytest.mark.parametrize(
    "header",
    ["EXPERIMENT = Experiment(\n    'one', 2,\n)\n", "EXPERIMENT = (\n    3,\n)\n"],
    ids=["positional", "number"],
)
def test_a_header_that_is_not_made_of_keywords_is_refused(tmp_path, header):
    path = tmp_path / "one.py"
    path.write_text(header)
    with pytest.raises(ValueError, match="keywords"):
        list(read(path, "studies.one"))
