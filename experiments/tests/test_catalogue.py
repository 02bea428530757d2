"""All of the thesis is in the catalogue, and every experiment belongs to it or is ours."""

from __future__ import annotations

from collections import Counter

import pytest

import child
from pnml.errors import InputError
from pnml_experiments.command.listing import _cells
from pnml_experiments.framework import catalogue
from pnml_experiments.framework.catalogue import Entry, asked, beyond, state, thesis
from pnml_experiments.framework.experiment import Experiment
from pnml_experiments.framework.registry import EXPERIMENTS

KNOWN = {one.id for one in EXPERIMENTS}
MADE = Experiment("made", 2, "Made", "polynomial", extras=(), minutes=(1.0, 2.0))


def test_all_figures_tables_and_algorithms_are_there():
    assert Counter(entry.kind for entry in thesis()) == {"figure": 25, "table": 22, "algorithm": 2}


def test_names_and_numbers_are_unique_and_in_order():
    assert len({entry.id for entry in thesis()} | KNOWN) == len(thesis()) + len(KNOWN)
    assert len({entry.number for entry in thesis()}) == len(thesis())
    for kind in ("figure", "table"):
        chapters = [e.number.split()[1].split(".") for e in thesis() if e.kind == kind]
        keys = [(chapter.isalpha(), chapter, int(place)) for chapter, place in chapters]
        assert keys == sorted(keys)
        ends = Counter(chapter for chapter, _ in chapters)
        assert all(int(place) <= ends[chapter] for chapter, place in chapters)


def test_numbers_begin_with_the_chapter_or_the_letter_of_its_appendix():
    letters = {"B": 5, "C": 6}
    for entry in thesis():
        start = entry.number.split()[1].split(".")[0]
        if entry.kind != "algorithm":
            assert entry.chapter == letters.get(start) or entry.chapter == int(start)


@pytest.mark.parametrize("entry", thesis(), ids=lambda entry: entry.id)
def test_each_entry_names_experiments_that_exist(entry):
    assert entry.names
    assert set(entry.names) <= KNOWN


def test_each_experiment_makes_an_entry_or_is_marked_as_ours():
    made = {name for entry in thesis() for name in entry.names}
    assert {one.id for one in EXPERIMENTS if one.beyond} == KNOWN - made


def test_each_experiment_says_what_it_costs_at_every_scale():
    for one in EXPERIMENTS:
        assert len(one.minutes) == len(one.scales), one.id
        # three weeks of one core; what takes longer is not offered
        assert all(0 < minutes < 30_000 for minutes in one.minutes), one.id
        assert one.minutes[0] <= 10, one.id


def test_a_name_of_either_kind_is_found_and_a_near_one_is_offered():
    assert [one.id for one in asked("figure-active-mnist")] == ["dial-mnist", "dial-mnist-ood"]
    assert [one.id for one in asked("regret-curve")] == ["regret-curve"]
    with pytest.raises(InputError, match="did you mean table-ablation"):
        asked("table-ablatoin")
    with pytest.raises(InputError, match="pnml reproduce to list"):
        asked("zzz")


def test_the_state_says_what_is_done_or_missing(tmp_path, monkeypatch):
    monkeypatch.delenv("PNML_DATA", raising=False)
    assert state(MADE, tmp_path) == "can run"
    for scale in ("small", "stored"):
        place = tmp_path / "made" / scale
        place.mkdir(parents=True)
        (place / "rows.jsonl").write_text("")
        assert state(MADE, tmp_path) == f"done at {scale}"
    needy = Experiment("needy", 5, "Needy", "x", needs=("features/x.npz",), extras=())
    assert state(needy, tmp_path) == "needs PNML_DATA"
    monkeypatch.setenv("PNML_DATA", str(tmp_path))
    assert state(needy, tmp_path) == "needs features/x.npz"


def test_every_scale_that_is_not_reduced_is_listed_with_its_cost(tmp_path):
    one = asked("table-active-mnist")[0]
    (entry,) = (entry for entry in thesis() if entry.id == "table-active-mnist")
    assert entry.large == ("stored", "printed")
    costs = [f"{one.cost(scale):.0f}\n{scale}" for scale in entry.large]
    assert "\n".join(costs) in _cells(entry, tmp_path)


def test_what_only_others_have_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr("pnml_experiments.framework.experiment.which", lambda name: None)
    heavy = Experiment("heavy", 7, "Heavy", "x", extras=(), gpu=True, own=("weights/any.pth",))
    assert state(heavy, tmp_path) == "needs a GPU"
    rare = Experiment("rare", 7, "Rare", "x", extras=(), own=("weights/rare.pth",))
    monkeypatch.setenv("PNML_DATA", str(tmp_path))
    assert state(rare, tmp_path) == "needs weights/rare.pth"
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / "rare.pth").write_text("")
    assert state(rare, tmp_path) == "can run"


def test_an_entry_of_several_adds_up_its_costs_and_names_its_data(monkeypatch):
    one = Experiment("one", 7, "One", "x", needs=("b/x",), uses=("a/y",), minutes=(1.0, 5.0))
    two = Experiment("two", 7, "Two", "x", needs=("b/z",), minutes=(2.0,))
    monkeypatch.setattr(catalogue, "find", {"one": one, "two": two}.__getitem__)
    entry = Entry("figure-both", "Figure 7.9", 7, "Both", ("one", "two"))
    assert entry.cost("small") == 3.0
    assert entry.cost("stored") is None
    assert entry.data == ("a", "b")


def test_those_beyond_the_thesis_have_no_number():
    assert all(entry.kind == "experiment" and not entry.number for entry in beyond())


def test_listing_imports_no_experiment_and_no_numpy_torch_or_matplotlib():
    code = (
        "import sys; from pathlib import Path; "
        "from pnml_experiments.framework.catalogue import beyond, thesis; "
        "[e.state(Path()) for e in (*thesis(), *beyond())]; "
        "print([name for name in sys.modules if name in ('torch', 'matplotlib', 'numpy') "
        "or name.startswith(('pnml_experiments.ch', 'pnml_experiments.studies'))])"
    )
    done = child.python(code, check=True)
    assert done.stdout.strip() == "[]"
