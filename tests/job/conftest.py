"""Rows to learn from and rows to score, which every test of the job shares."""

from __future__ import annotations

import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa

from made_tables import mixed, replaced
from pnml import fit_table


def as_words(table):
    """The table with words for truth values, which SQLite does not have."""
    words = ["yes" if value else "no" for value in table["member"].to_pylist()]
    place = table.column_names.index("member")
    return table.set_column(place, "member", pa.array(words))


@pytest.fixture(scope="session")
def train():
    return as_words(mixed(150))


@pytest.fixture(scope="session")
def new():
    """Forty rows, of which some are far off, and one has a word that training never saw."""
    rows = as_words(mixed(40, seed=1))
    size = rows["size"].to_pylist()
    size[3] = 50.0
    city = rows["city"].to_pylist()
    city[7] = "Atlantis"
    return replaced(replaced(rows, "size", size), "city", city)


@pytest.fixture(scope="session")
def model(train):
    return fit_table(train, target="y", learner="pnml")
