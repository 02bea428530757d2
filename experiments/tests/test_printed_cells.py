"""Printed cells are counted from rows, and a group has as many as the printed table."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from pnml_experiments.framework.catalogue import thesis
from pnml_experiments.framework.experiment import Experiment
from pnml_experiments.framework.printed_cells import (
    Count,
    cells_of,
    cells_page,
    counts,
    made,
    whole,
)
from pnml_experiments.framework.printed_groups import GROUPS, Group
from pnml_experiments.framework.result import Result, Row, Table, exactly
from pnml_experiments.framework.rows import Stored, stored

RESULTS = Path(__file__).parents[2] / "docs" / "results"
# Counted in the printed tables: rows × columns of numbers.
PRINTED = {
    "table-uci-sets": 9 * 3,
    "table-shift-sets": 5 * 3,
    "table-shift": 8 * 5,
    "table-pmlb": 50 * 5,
    "table-ood-densenet": 25 * 8,
    "table-ood-resnet34": 25 * 8,
    "table-ood-wrn40": 16 * 6,
    "table-ood-imagenet30": 8 * 4,
    "table-open-set-cifar10": 3 * 7 * 6,
    "table-open-set-cifar100": 3 * 7 * 6,
    "table-open-set-celeba": 3 * 7 * 6,
    "table-ablation": 3 * 4,
    "table-defences": 16 + 30 + 15 + 8,
    "table-refinement": 3,
    "table-active-mnist": 4 * 3,
    "table-active-emnist": 4 * 3,
    "table-active-cifar10": 4 * 3,
    "table-tnr-densenet": 25 * 8,
    "table-accuracy-densenet": 25 * 8,
    "table-tnr-resnet34": 25 * 8,
    "table-accuracy-resnet34": 25 * 8,
    "table-attack-steps": 2 * 9,
}
ONE = Group("table-x", "x", "T", 2, scales=("printed",))


def of(scale, *rows):
    return Stored(Experiment("x", 2, "X"), scale, "1", Result((Table("T", rows),)))


def test_every_printed_table_is_there_with_all_of_its_cells():
    assert {entry.id for entry in thesis() if entry.kind == "table"} == set(PRINTED)
    found = Counter()
    for group in GROUPS:
        found[group.entry] += group.cells
    assert found == PRINTED


@pytest.mark.parametrize("group", [one for one in GROUPS if one.where], ids=lambda one: one.part)
def test_a_group_finds_its_rows(group):
    path = RESULTS / "data" / f"{group.experiment}.jsonl"
    if not path.is_file():
        pytest.skip("was not run yet")
    rows = stored(path)
    assert len(cells_of(group, rows)) == group.cells


def test_only_rows_of_the_printed_size_count():
    ran, open_ = Row({"a": "1"}, 1.0, exactly(1.0)), Row({"a": "2"}, 2.0)
    assert made(ONE, of("printed", ran, open_)) == 1
    assert made(ONE, of("small", ran, open_)) == 0
    assert made(ONE, None) == 0
    assert made(replace(ONE, missing="weights"), of("printed", ran)) == 0
    assert made(replace(ONE, where={"a": ("2",)}), of("printed", ran)) == 0
    part = replace(ran, note="2,500 of 50,000 training images, 10,000 of 10,000 test images.")
    assert made(ONE, of("printed", part)) == 0
    assert whole(replace(ran, note="50,000 of 50,000 training images and 700 outliers."))


def test_what_is_not_made_says_what_is_missing():
    for one in counts(RESULTS):
        group = one.group
        assert one.done <= one.obtainable <= group.cells
        assert one.done == group.cells or group.missing or group.needed or group.unsaid, group
        assert not (group.missing and group.needed)


def test_the_page_is_what_the_rows_say():
    here = RESULTS / "printed-cells.md"
    assert here.read_text(encoding="utf-8") == cells_page(RESULTS)
    can = sum(one.obtainable for one in counts(RESULTS))
    done = sum(one.done for one in counts(RESULTS))
    page = cells_page(RESULTS)
    assert f"{can:,} are obtainable." in page
    assert f"and {done:,}, " in page


def test_cells_of_a_size_that_print_does_not_say_are_counted_apart():
    group = replace(ONE, unsaid="the number of rows")
    ran = Count(group, made(group, of("printed", Row({}, 1.0, exactly(1.0)))))
    assert (ran.made, ran.done, ran.obtainable) == (1, 0, 2)
    unsaid = [one for one in counts(RESULTS) if one.group.unsaid]
    assert [one.group.entry for one in unsaid] == ["table-pmlb"]
    line = next(line for line in cells_page(RESULTS).splitlines() if "49 sets" in line)
    assert f"({unsaid[0].made})" in line
    assert "which print does not say" in line
