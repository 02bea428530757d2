"""Names of columns, classes and tables are cut in messages."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa

from pnml.errors import InputError
from pnml.tables.fitting import fit_table
from pnml.tables.roles import Request

LONG = "n" * 100_000
N = 30
x = np.random.default_rng(0).normal(size=N)
words = pa.array([f"w{i % 3}" for i in range(N)])

CASES = {
    "unknown target": ({"x": x, "y": x}, Request(target=LONG)),
    "unknown among long names": ({LONG: x, "y": x}, Request(target="z")),
    "two roles": ({LONG: x, "y": x}, Request(target="y", id=(LONG,), drop=(LONG,))),
    "constant columns only": ({"x": np.ones(N), LONG: x}, Request(target=LONG)),
    "infinite column": ({LONG: x * 1e300, "x": x, "y": x}, Request(target="y")),
    "constant target": ({"x": x, LONG: np.ones(N)}, Request(target=LONG)),
    "empty target": ({"x": x, LONG: pa.nulls(N, pa.float64())}, Request(target=LONG)),
    "target of words": ({"x": x, LONG: words}, Request(target=LONG, task="regression")),
    "one class": ({"x": x, "y": [LONG] * N}, Request(target="y", task="classification")),
    "a class a row": (
        {"x": x, LONG: [f"c{i}" for i in range(N)]},
        Request(target=LONG, task="classification"),
    ),
    "mixed words": (
        {LONG: ["1", "2", "three" + LONG] * 10, "x": x, "y": x},
        Request(target="y"),
    ),
    "nested column": ({LONG: [{"a": 1}] * N, "x": x, "y": x}, Request(target=LONG)),
    "weight of words": ({LONG: words, "x": x, "y": x}, Request(target="y", weight=LONG)),
}


@pytest.mark.parametrize("case", CASES)
def test_a_long_name_is_cut_in_a_message(case):
    columns, request = CASES[case]
    with pytest.raises(InputError) as error:
        fit_table(pa.table(columns).to_batches(), request, "auto", "t" * 5000 + ".csv")
    message = str(error.value)
    assert "…" in message
    assert len(message) < 1500
