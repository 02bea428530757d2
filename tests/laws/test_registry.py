"""The laws of learners, over all that are registered."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import pytest

from pnml.errors import InputError
from pnml.estimators.registry import every_learner, register, table_learners
from registry_laws import LAWS

LEARNERS = every_learner()
PAGE = Path(__file__).parents[2] / "docs" / "which-learner.md"


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("name", LEARNERS)
def test_every_registered_learner_keeps(law, name, tmp_path):
    law(LEARNERS[name], tmp_path)


def test_the_command_offers_the_registered_learners_for_tables():
    names = pytest.importorskip("pnml.cli.fit").LearnerName
    assert [name.value for name in names] == ["auto", *table_learners()]


def test_the_page_lists_every_registered_learner_with_what_it_can_do():
    rows = re.findall(r"^\| `([\w-]+)` \| (.*) \|$", PAGE.read_text(), flags=re.MULTILINE)
    listed = {name: cells.split(" | ") for name, cells in rows if len(cells.split(" | ")) == 5}
    assert list(listed) == list(LEARNERS)
    for name, (_, about, most, streams, weighs) in listed.items():
        entry = LEARNERS[name]
        assert about == entry.about
        assert most == f"{entry.rows:,}"
        assert (streams == "yes", weighs == "yes") == (entry.streams, entry.weighs)


def test_a_name_is_registered_once():
    with pytest.raises(InputError, match="registered already"):
        register("pnml", LEARNERS["pnml"].make, task="regression", about="")
