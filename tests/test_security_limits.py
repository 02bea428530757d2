"""SECURITY.md gives the limits that the code has."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("typer")

import pnml
from pnml.cli import options
from pnml.core import conditions
from pnml.errors import MOST_PATH
from pnml.learners.kernel_function import MOST_KERNELS
from pnml.models import container, decode, encode
from pnml.readers import ReadOptions, batches, csv_text
from pnml.report import page
from pnml.tables import encoder_columns

PAGE = Path(__file__).parents[1] / "SECURITY.md"
UNITS = {"MiB": 2**20, "GiB": 2**30}
LIMITS = {
    "columns of a table": csv_text.MOST_COLUMNS,
    "bytes of one row of text": csv_text.MOST_ROW_BYTES,
    "rows of one batch of a table in memory": batches.MOST_ROWS,
    "size of a number in a table or an array": encoder_columns.LARGEST,
    "bytes of a model file, a checkpoint or a monitor": container.MOST_BYTES,
    "bytes of its header": container.MOST_HEADER_BYTES,
    "lists and objects in its header": container.MOST_CONTAINERS,
    "values in its header": container.MOST_VALUES,
    "parts that a model expands to": decode.MOST_EXPANDED,
    "characters of an array of texts in a model": encode._MOST_CHARACTERS,
    "kernels in one sum or product": MOST_KERNELS,
    "size of a stored number": conditions.FINITE.high,
    "size of a stored number that is one of a row": conditions.OF_ROWS.high,
    "stored counts, such as those of rows": conditions.COUNT.high,
    "bytes of a report": page.LARGEST,
    "characters of a path in a message": MOST_PATH,
}


def read(text):
    """The number that a cell gives."""
    number, _, unit = text.replace(",", "").partition(" ")
    base, _, power = number.partition("^")
    return (int(base) ** int(power) if power else float(number)) * UNITS.get(unit, 1)


def test_the_limits_on_the_page_are_those_of_the_code():
    section = PAGE.read_text().split("## Limits")[1].split("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+?) \| ([^|]+?) \|", section, re.MULTILINE)
    written = {name: read(value) for name, value in rows if value not in ("value", "---")}
    assert written == LIMITS


def test_the_options_that_raise_limits_begin_at_them():
    assert options.MOST_COLUMNS == csv_text.MOST_COLUMNS == ReadOptions().max_columns
    assert inspect.signature(pnml.load).parameters["max_bytes"].default is None
