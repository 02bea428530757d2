"""docs/stack.md says of every tool what happens, no more and no less."""

from __future__ import annotations

import pytest

import stack_rows


@pytest.mark.filterwarnings("ignore")  # of the tools
@pytest.mark.parametrize("name", stack_rows.ROWS)
def test_a_tool_does_what_the_page_says(name):
    found = stack_rows.outcome(name)
    if found.startswith("untested"):
        pytest.skip(found)
    assert stack_rows.stated()[name] == found


def test_the_page_has_every_row_and_no_other():
    assert list(stack_rows.stated()) == list(stack_rows.ROWS)
    assert not [found for found in stack_rows.stated().values() if found.startswith("untested")]
