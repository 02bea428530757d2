"""A scale says how much of what the thesis had a run has, and a page says what it lacks."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import import_module

import pytest

pytest.importorskip("matplotlib")

from pnml.errors import InputError
from pnml_experiments.command.run_all import split
from pnml_experiments.framework.catalogue import finished
from pnml_experiments.framework.experiment import Experiment
from pnml_experiments.framework.extent import extent, extent_line
from pnml_experiments.framework.page import page
from pnml_experiments.framework.registry import EXPERIMENTS, find
from pnml_experiments.framework.result import Result, Row, Table, exactly
from pnml_experiments.framework.rows import lines, stored
from pnml_experiments.framework.running import reproduce, stamp
from pnml_experiments.framework.scales import SCALES, today

BOTH = {"scales": ("small", "stored", "printed"), "less": "A half."}
RAN = Result((Table("T", (Row({"a": "1"}, 1.0, exactly(1.0)),)),))
NOT_RUN = Result((Table("T", (Row({"a": "1"}, 1.0),)),))


@pytest.mark.parametrize("one", EXPERIMENTS, ids=lambda one: one.id)
def test_stored_says_what_it_lacks_and_printed_lacks_nothing(one):
    assert list(one.scales) == sorted(one.scales, key=SCALES.index)
    if "printed" in one.scales:
        assert bool(one.less) == ("stored" in one.scales)
        assert not one.other
        assert not one.beyond
    elif not one.beyond:
        assert one.less or one.other


@pytest.mark.parametrize(
    ("name", "module", "counts"),
    [
        ("ablation-mnist", "ablation_mnist", lambda m: vars(m.SIZES["full"])),
        ("open-set-resnet20", "open_set_recognition", lambda m: m._SAMPLES["ResNet-20"]),
        ("open-set-clinc150", "open_set_recognition", lambda m: m._SAMPLES["CLINC150"]),
        ("open-set-mnist", "open_set_recognition", lambda m: m._SAMPLES["MNIST"]),
        ("constrained-genie", "constrained_genie", lambda m: vars(m._SIZES["full"])),
    ],
)
def test_what_stored_leaves_out_is_counted_as_the_code_counts_it(name, module, counts):
    pytest.importorskip("torch")
    folder = "studies" if module == "constrained_genie" else "ch5_networks"
    found = counts(import_module(f"pnml_experiments.{folder}.{module}"))
    for key in ("full", "train", "known", "unknown", "trained", "inside", "outside"):
        assert key not in found or f"{found[key]:,} " in find(name).less, key


@pytest.mark.parametrize("name", ["dial-mnist", "dial-mnist-ood"])
def test_what_the_stored_rounds_of_active_learning_leave_out_is_counted(name):
    pytest.importorskip("torch")
    from pnml_experiments.ch7_active.dial_pools import settings

    both = settings("MNIST")
    part, whole = both["stored"], both["full"]
    assert (part.seeds, whole.seeds) == (3, 6)
    assert f"Three of six seeds, and up to {part.stop} of {whole.stop} labels." == find(name).less
    # its rounds are the first ones of the whole run
    assert replace(part, seeds=whole.seeds, stop=whole.stop) == whole


def test_stored_is_told_apart_from_printed_where_both_are_offered():
    one = Experiment("one", 2, "One", scales=("small", "stored", "printed"))
    assert [one.size(scale) for scale in one.scales] == ["small", "stored", "full"]
    assert stamp(find("dial-mnist"), "stored") != stamp(find("dial-mnist"), "printed")


def test_full_still_runs_the_largest_scale_and_warns(tmp_path):
    curve = find("regret-curve")
    with pytest.warns(FutureWarning, match="regret-curve runs at printed"):
        _, written = reproduce(curve, "full", tmp_path)
    assert written.parent == tmp_path / "regret-curve" / "printed"
    assert stored(written.parent / "rows.jsonl").scale == "printed"
    assert finished(curve, tmp_path) == ["printed"]


def test_all_at_full_is_each_at_its_largest_with_one_warning(tmp_path):
    with pytest.warns(FutureWarning, match="full") as told:
        tasks, _ = split("full", tmp_path, False)
    assert len(told) == 1
    assert all(task.scale == task.experiment.scales[-1] for task in tasks)
    assert {task.scale for task in tasks} == {"stored", "printed"}


def test_a_folder_called_full_stays_in_use(tmp_path):
    curve = find("regret-curve")
    older = tmp_path / "regret-curve" / "full"
    older.mkdir(parents=True)
    assert finished(curve, tmp_path) == []
    _, written = reproduce(curve, "printed", tmp_path)
    assert written.parent == older
    assert finished(curve, tmp_path) == ["printed"]
    _, small = reproduce(curve, "small", tmp_path)
    assert small.parent.name == "small"


def test_finished_pieces_of_full_keep_their_stamp():
    curve = find("regret-curve")
    assert f"{curve.id} full " in stamp(curve, "printed")


@pytest.mark.parametrize(
    ("name", "scale"), [("regret-curve", "printed"), ("pmlb", "stored"), ("unheard", "stored")]
)
def test_rows_made_under_the_old_name_are_read_by_the_new_one(tmp_path, name, scale):
    known = [one for one in EXPERIMENTS if one.id == name]
    experiment = known[0] if known else Experiment(name, 2, "Unheard of")
    path = tmp_path / "rows.jsonl"
    records = [json.dumps(record) + "\n" for record in lines(experiment, "full", RAN)]
    path.write_text("".join(records))
    assert stored(path).scale == scale


def test_a_scale_that_is_not_offered_is_refused_by_its_new_name(tmp_path):
    with pytest.raises(InputError, match="small and printed, but stored"):
        reproduce(find("regret-curve"), "stored", tmp_path)
    assert today("medium", ("small", "stored")) == "medium"


@pytest.mark.parametrize(
    ("fields", "scale", "kind", "begins"),
    [
        ({"scales": ("small", "printed")}, "printed", "printed scale", ""),
        ({"scales": ("small", "printed")}, "small", "subset", "**Less than the thesis had.** The"),
        ({"less": "A half."}, "stored", "subset", "**Less than the thesis had.** A half."),
        ({"other": "X for Y."}, "stored", "other data", "**Other data than the thesis had.** X"),
        (BOTH, "stored", "subset", "**Less than the thesis had.** A half."),
        (BOTH, "printed", "printed scale", ""),
        (
            {"other": "X for Y.", "less": "A half."},
            "stored",
            "other data",
            "**Other data than the thesis had, and not all of it.** X for Y. A half.",
        ),
        (
            {"other": "X for Y.", "less": "A half."},
            "small",
            "other data",
            "**Other data than the thesis had, and not all of it.** X for Y. The scale small has",
        ),
        (
            {"other": "X for Y.", "beyond": True},
            "medium",
            "other data",
            "**Other data than the thesis had, and not all of it.** X for Y. The scale medium has",
        ),
        ({"beyond": True}, "small", "study of ours", "**Less than the data at hand.**"),
        ({"beyond": True}, "stored", "study of ours", ""),
        (
            {"beyond": True, "less": "A half.", "chapter": 8},
            "stored",
            "study of ours",
            "**Less than the data at hand.** A half.",
        ),
        (
            {"beyond": True, "less": "A half."},
            "stored",
            "subset",
            "**Less than the thesis had.** A half.",
        ),
    ],
)
def test_a_page_says_in_its_first_line_what_it_lacks(fields, scale, kind, begins):
    one = Experiment("one", **{"chapter": 2, "title": "One"} | fields)
    assert extent(one, scale, RAN) == kind
    line = extent_line(one, scale, RAN)
    assert line.startswith(begins)
    assert bool(line) == bool(begins)
    after_title = page(one, scale, RAN).splitlines()[2]
    assert after_title == (line or page(one, scale, RAN).splitlines()[2])
    assert after_title.startswith(begins or "`pnml reproduce one")


def test_a_page_of_printed_numbers_says_so():
    one = Experiment("one", 2, "One", less="No weights.")
    line = extent_line(one, "small", NOT_RUN)
    assert line == "**Printed numbers alone.** Nothing was run. No weights."
