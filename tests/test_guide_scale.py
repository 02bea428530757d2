"""The guide to scale runs as it stands, and what it says of its example is so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pages

pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    folder = tmp_path_factory.mktemp("guide")
    return pages.run("scale.md", folder) | {"folder": folder}


def test_files_teach_the_slopes_and_leave_no_checkpoint(names):
    np.testing.assert_allclose(names["model"].coef_, names["slopes"], atol=0.05)
    assert names["regret"][1] > names["regret"][0] > 0
    assert not Path(names["folder"], "price.part").exists()
    assert names["table_model"].rows == 20_000


def test_parts_put_together_are_the_whole(names):
    np.testing.assert_allclose(names["whole"].coef_, names["model"].coef_, rtol=1e-10)


def test_what_was_forgotten_was_never_there(names):
    forgot, never = names["model_of_all"], names["never"]
    np.testing.assert_allclose(forgot.coef_, never.coef_, rtol=1e-9)


def test_the_window_knows_the_last_day_only(names):
    window = names["window"]
    assert window.rows == 24 * 60
    assert 76 < names["latest"].coef_[0] < 100
