"""Rows of the study of whole jobs are those of its rules, and its numbers those of definitions."""

from __future__ import annotations

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

from pnml.errors import InputError
from pnml_experiments.framework.registry import find
from pnml_experiments.studies import job_tables, table_job
from pnml_experiments.studies.job_accuracy import accuracy, as_categories
from pnml_experiments.studies.job_faults import FAULTS, OURS, RIVALS, recalls, with_fault
from pnml_experiments.studies.job_report import Numbers, remarks, spread
from pnml_experiments.studies.job_shifts import SHIFTS
from pnml_experiments.studies.job_tables import (
    FAULTY,
    PACKAGES,
    TABLES,
    JobTable,
    folder_of,
    split,
    table_of,
)


@pytest.fixture
def packages():
    """Skip where a package with tables is missing; none of them is imported."""
    for package in PACKAGES:
        try:
            folder_of(package)
        except InputError as lack:
            pytest.skip(str(lack))


def made(rng, n=200):
    """A table of numbers, words and dates, as a reader of it."""
    x, word = rng.normal(size=n), rng.choice(["a", "b", "c"], n)
    frame = pd.DataFrame(
        {
            "x": x,
            "kids": rng.integers(0, 4, n),
            "word": word,
            "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(n), "D"),
            "y": 2 * x + (word == "a") + 0.1 * rng.normal(size=n),
        }
    )
    return JobTable("made", lambda: frame, "made here", "y")


def test_a_split_is_disjoint_whole_and_the_same_again():
    frame = pd.DataFrame({"row": range(1_000)})
    train, rest = split(frame, 10_000, 3)
    assert sorted([*train["row"], *rest["row"]]) == list(range(1_000))
    assert len(train) == 700
    assert list(split(frame, 10_000, 3)[0]["row"]) == list(train["row"])
    few, other = split(frame, 70, 3)
    assert (len(few), len(other)) == (70, 30)


def test_words_are_categories_of_training_and_dates_are_days():
    train = pd.DataFrame(
        {"w": ["a", "b", None], "d": pd.to_datetime(["1970-01-02"] * 3), "y": [1, 2, 3]}
    )
    test = pd.DataFrame({"w": ["b", "z", None], "d": train["d"], "y": [0, 0, 0]})
    _, out = as_categories(train, test, "y")
    assert out["d"].tolist() == [1.0] * 3
    assert out["w"].isna().tolist() == [False, False, True]
    assert out["w"].iloc[0] == "b"
    assert out["w"].iloc[1] not in ("a", "b", "z")
    assert "y" not in out


def test_errors_are_those_of_the_definition(rng):
    table = made(rng)
    train, test = split(table.frame(), 200, 0)
    found = accuracy(table, train, test)
    assert found["rows"] == 140
    assert found["scored"] == 60
    parts = [found["trusted"], found["untrusted"]]
    counts = [60 - found["flagged"], found["flagged"]]
    squares = sum(n * e**2 for n, e in zip(counts, parts, strict=True) if e is not None)
    assert found["ours"] == pytest.approx(np.sqrt(squares / 60))
    least = min(found["tried"].items(), key=lambda one: one[1][0])
    assert found["learner"] == least[0]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_changes_its_cells_in_as_many_rows_as_asked(fault, packages):
    table = table_of(fault.table)
    train, test = split(table.frame(), 400, 0)
    changed, is_faulty = with_fault(fault, train, test, 40, 0)
    assert is_faulty.sum() == 40
    same = (changed == test) | (changed.isna() & test.isna())
    assert same.loc[~is_faulty].all(axis=None)
    moved = [name for name in same if not same[name].all()]
    assert 1 <= len(moved) <= 2
    expected = fault.change(train, test)
    assert set(moved) == set(expected)
    for name in moved:
        values = pd.Series(expected[name], index=test.index)[is_faulty]
        # the mask copies the numbers
        np.testing.assert_array_equal(changed[name][is_faulty], values)


def test_recall_is_the_share_of_faults_among_as_many_rows(rng):
    train = made(rng).frame()
    fault = next(one for one in FAULTS if one.table == "labour")
    _, is_faulty = with_fault(fault, train, train, 10, 0)
    half = is_faulty & (np.cumsum(is_faulty) <= 5)
    methods = {"all": lambda rows: rows["kids"], "half": lambda rows: half.astype(float)}
    found = recalls(fault, train, train, methods, 10, 0)
    assert found["all"] == 1.0  # five more than any other row or equal to none
    first = np.argsort(-half.astype(float), kind="stable")[:10]
    assert found["half"] == is_faulty[first].sum() / 10


def test_a_target_is_said_to_be_missed_where_a_rival_is_ahead():
    ahead = dict.fromkeys(RIVALS, 0.5) | {OURS: 0.5}
    behind = dict.fromkeys(RIVALS, 0.5) | {OURS: 0.4}
    names = [fault.name for fault in FAULTS[:2]]
    found = Numbers((0,), {}, {}, {(names[0], 0): ahead, (names[1], 0): behind})
    said = next(remarks(found, 10, 60))
    assert "Reached on 1 of 2" in said
    assert f"not on {names[1]} (0.40 against 0.50" in said
    assert spread([1.0, 2.0, 6.0]) == (3.0, 1.0, 6.0)


def test_every_fault_and_shift_is_of_a_listed_table():
    names = {table.name for table in (*TABLES, *FAULTY)}
    assert len(TABLES) == 8
    assert len(FAULTS) == 11
    assert {one.table for one in (*FAULTS, *SHIFTS)} <= names


def test_a_missing_package_is_named_with_its_command():
    with pytest.raises(InputError, match="run pip install no_such_package"):
        folder_of("no_such_package")


@pytest.mark.parametrize("name", [table.name for table in (*TABLES, *FAULTY)])
def test_a_listed_table_has_its_target_and_enough_rows(name, packages):
    table = table_of(name)
    frame = table.frame()
    assert len(frame) > 200
    assert frame[table.target].notna().all()
    assert not set(table.drop) & set(frame)


def test_the_study_runs_small_and_goes_on(out, monkeypatch, rng):
    table = made(rng)
    shift = SHIFTS[2].__class__("others", "made", "word == 'a'", "word != 'a'", drop=("word",))
    fault = FAULTS[-1].__class__("five more children", "made", FAULTS[-1].change)
    for module in (table_job, job_tables):
        monkeypatch.setattr(module, "TABLES", (table,))
    monkeypatch.setattr("pnml_experiments.studies.job_report.TABLES", (table,))
    for name, value in (("SHIFTS", (shift,)), ("FAULTS", (fault,))):
        monkeypatch.setattr(table_job, name, value)
        monkeypatch.setattr(f"pnml_experiments.studies.job_report.{name}", value)
    sizes = table_job.Sizes(("made",), 100, 10, 60, (0, 1))
    monkeypatch.setattr(table_job, "SIZES", {"small": sizes})
    told = []

    def run():
        return find("table-job").run("small", out, lambda *done: told.append(done))

    def unwanted(*args):
        raise AssertionError("computed again")

    first = run()
    assert told[-1] == (6, 6)
    titles = [one.title for one in first.tables]
    assert titles[0] == "Random rows"
    assert titles[-1] == "Recall of faults"
    for one in first.tables:
        for row in one.rows:
            assert row.ours.low <= row.ours.value <= row.ours.high
    for name in ("accuracy", "shift_numbers", "recalls"):
        monkeypatch.setattr(table_job, name, unwanted)  # all is stored
    assert run() == first


def test_the_experiment_lists_the_packages_that_it_reads():
    assert table_job.EXPERIMENT.packages == PACKAGES
