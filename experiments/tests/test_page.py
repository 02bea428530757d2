"""Tables of results on a page."""

import pytest

from pnml_experiments.framework.page import cells
from pnml_experiments.framework.result import Row, Table, exactly


def grid(rows):
    return Table("T", tuple(rows), digits=1)


def test_a_table_of_one_column_of_numbers_has_a_column_for_every_number_it_tells():
    rows = [
        Row({"set": name, "learner": learner, "number": number}, ours=exactly(10 * i + 2 * j + k))
        for i, name in enumerate("ab")
        for j, learner in enumerate(["ridge", "Bayes"])
        for k, number in enumerate(["MSE", "loss"])
    ]
    headings, body, notes = cells(grid(rows))
    assert headings == ["set", "learner", "MSE", "loss"]
    assert body == [
        ["a", "ridge", "0.0", "1.0"],
        ["a", "Bayes", "2.0", "3.0"],
        ["b", "ridge", "10.0", "11.0"],
        ["b", "Bayes", "12.0", "13.0"],
    ]
    assert notes == []


def test_no_number_is_lost_and_none_is_there_twice():
    rows = [
        Row({"rows": str(n), "learner": f"learner {i}"}, fair=exactly(100 * n + i))
        for n in (1, 2, 3)
        for i in range(12)
        if (n, i) != (2, 5)
    ]
    headings, body, _ = cells(grid(rows))
    assert headings == ["learner", "1", "2", "3"]  # twelve learners side by side are too wide
    told = sorted(cell for line in body for cell in line[1:] if cell)
    assert told == sorted(f"{row.fair.value:.1f}" for row in rows)


@pytest.mark.parametrize(
    "rows",
    [
        [Row({"a": str(i), "b": str(i)}, ours=exactly(i)) for i in range(6)],  # mostly holes
        [Row({"a": str(i)}, ours=exactly(i)) for i in range(6)],  # nothing left to stand in front
        [Row({"a": "1", "b": "x"}, ours=exactly(1)), Row({"a": "1", "b": "x"}, ours=exactly(2))],
        [Row({"a": a, "b": b}, 1.0, exactly(1)) for a in "12" for b in "xy"],  # beside print
        [Row({"a": a, "b": b}, None, exactly(1), exactly(2)) for a in "12" for b in "xy"],
    ],
)
def test_other_tables_have_a_line_for_every_row(rows):
    headings, body, _ = cells(grid(rows))
    assert len(body) == len(rows)
    assert headings[: len(grid(rows).headings)] == list(grid(rows).headings)


def test_columns_without_a_number_are_left_out():
    rows = [Row({"a": "1"}, fair=exactly(1)), Row({"a": "2"}, fair=exactly(2))]
    assert cells(grid(rows))[0] == ["a", "fair"]
    assert cells(grid([Row({"a": "1"}, printed=3.0)]))[0] == ["a", "printed"]


def test_a_note_stays_with_its_number():
    rows = [Row({"a": a, "b": b}, ours=exactly(1)) for a in "12" for b in "xy"]
    rows[2] = Row({"a": "2", "b": "x"}, note="Not run.")
    headings, body, notes = cells(grid(rows))
    assert headings == ["a", "x", "y"]
    assert body == [["1", "1.0", "1.0"], ["2", "– (1)", "1.0"]]
    assert notes == ["Not run."]
