"""Files of numbers and words: how often they are read."""

from __future__ import annotations

import pytest

pytest.importorskip("pyarrow")

from made_tables import mixed, numbers
from pnml.readers import TableSource
from pnml.scale import fit_mixed_files
from written_files import write


@pytest.fixture
def passes(monkeypatch):
    """Rows of each pass over a table."""
    seen = []
    passing = TableSource.passing

    def counted(self, *arguments, **options):
        place = len(seen)
        seen.append(0)
        for event in passing(self, *arguments, **options):
            seen[place] += getattr(event, "rows", 0)
            yield event

    monkeypatch.setattr(TableSource, "passing", counted)
    return seen


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("learner", ["pnml", "kernel", "auto"])
def test_a_short_table_is_read_once(learner, ending, tmp_path, passes):
    folder = write(mixed(300, seed=1), tmp_path / "t", parts=3, ending=ending)
    assert fit_mixed_files(folder, "y", learner=learner).rows == 300
    assert passes == [300]


def test_a_long_table_of_a_learner_that_samples_is_read_once(tmp_path, passes, monkeypatch):
    monkeypatch.setattr("pnml.tables.fitting.MOST_ROWS", 100)
    folder = write(numbers(3000, 2), tmp_path / "t", parts=30)
    model = fit_mixed_files(folder, "y", learner="kernel")
    assert "2,000 of the 3,000 rows" in model.remarks[0]
    assert passes == [3000]


def test_a_long_table_that_adds_up_is_read_once_behind_its_first_rows(
    tmp_path, passes, monkeypatch
):
    monkeypatch.setattr("pnml.tables.fitting.MOST_ROWS", 100)
    folder = write(numbers(3000, 2), tmp_path / "t", parts=30)
    assert fit_mixed_files(folder, "y", learner="pnml").rows == 3000
    first_rows, all_rows = passes
    assert first_rows < 3000
    assert all_rows == 3000


def test_progress_of_a_short_table_goes_up_to_all_bytes(tmp_path):
    folder = write(mixed(300, seed=1), tmp_path / "t", parts=3)
    seen = []
    fit_mixed_files(folder, "y", learner="pnml", progress=lambda *state: seen.append(state))
    done = [state[0] for state in seen]
    assert done == sorted(done)
    assert seen[-1] == (done[-1], done[-1], 0)
