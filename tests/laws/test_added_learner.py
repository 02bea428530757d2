"""The learner of docs/add-a-learner.md keeps all laws, as it stands on the page."""

from __future__ import annotations

import re
import sys
import types
from contextlib import suppress
from pathlib import Path
from unittest import SkipTest

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from pnml.estimators import registry
from registry_laws import LAWS

PAGE = Path(__file__).parents[2] / "docs" / "add-a-learner.md"


@pytest.fixture(scope="module")
def added():
    """The code of the page as a module, and its registration; both are gone afterwards."""
    known = set(registry.every_learner())
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), flags=re.DOTALL | re.MULTILINE)
    page = types.ModuleType("added_learner")
    sys.modules[page.__name__] = page  # dataclasses and pickle look the module up
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), vars(page))
    (name,) = set(registry.every_learner()) - known
    yield page, registry.every_learner()[name]
    registry._EVERY.pop(name)
    registry._FOR_TABLES.pop(name, None)
    del sys.modules[page.__name__]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_the_learner_of_the_page_keeps(law, added, tmp_path):
    law(added[1], tmp_path)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_it_keeps_the_contract_of_scikit_learn(added):
    for estimator, check in estimator_checks_generator(added[1].make(), mark=None):
        with suppress(SkipTest):  # of a package that is not installed
            check(estimator)


def test_its_regret_is_that_of_a_constant(added):
    page, _ = added
    np.testing.assert_allclose(page.model.regret(page.X[:2]), np.log(1 + 1 / 20))
    assert page.model.trusted(page.X[:2]).all()


def test_the_page_is_found():
    root = PAGE.parents[1]
    assert "docs/add-a-learner.md" in (root / "CONTRIBUTING.md").read_text()
    assert "add-a-learner.md" in (root / "mkdocs.yml").read_text()
