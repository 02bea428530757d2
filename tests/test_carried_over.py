"""The comparison with version 0.1 sees what changed, and only that."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def comparing(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    return pytest.importorskip("benchmarks.carried_over.comparing")


@pytest.fixture
def recording(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    return pytest.importorskip("benchmarks.carried_over.recording")


def recorded(recording, folder, **said):
    record = recording.Record(folder / "said.jsonl", folder)
    for key, value in said.items():
        record.case(key, value if callable(value) else lambda value=value: value)
    record.close()
    return folder / "said.jsonl"


def keys(comparing, recording, folder, old, new):
    old, new = (comparing.read(recorded(recording, folder, **said)) for said in (old, new))
    return [difference.key for difference in comparing.differences(old, new)]


SAME = [
    (1.0, 1.0 + 1e-13),
    (1e6, 1e6 + 1e-7),
    (np.nan, np.nan),
    (np.array([np.inf, 1.0]), np.array([np.inf, 1.0])),
    ("mean 0.12345678901234567", "mean 0.12345678901234561"),
    ({"a": [1, 2]}, {"a": [1, 2]}),
]
OTHER = [
    (1.0, 1.0 + 1e-11),
    (np.inf, 1e300),
    (1.0, np.float32(1.0)),
    (np.zeros(2), np.zeros((2, 1))),
    (np.array([True, False]), np.array([True, True])),
    ("mean 0.123", "mean 0.124"),
    ("pass a number", "give a number"),
    (None, "None of them"),
]


@pytest.mark.parametrize(("old", "new"), SAME)
def test_round_off_is_no_difference(comparing, recording, tmp_path, old, new):
    assert keys(comparing, recording, tmp_path, {"x": old}, {"x": new}) == []


@pytest.mark.parametrize(("old", "new"), OTHER)
def test_anything_else_is_one(comparing, recording, tmp_path, old, new):
    assert keys(comparing, recording, tmp_path, {"x": old}, {"x": new}) == ["x"]


def test_what_is_raised_or_warned_of_is_compared(comparing, recording, tmp_path):
    def refuse(words, kind=ValueError):
        def call():
            raise kind(words)

        return call

    old = {"x": refuse("alpha is -1"), "gone": 1}
    assert keys(comparing, recording, tmp_path, old, {"x": refuse("alpha is -1")}) == ["gone"]
    for other in (refuse("alpha is −1"), refuse("alpha is -1", TypeError), 1):
        assert keys(comparing, recording, tmp_path, {"x": old["x"]}, {"x": other}) == ["x"]


def test_folders_and_addresses_are_left_out_of_texts(recording):
    said = (
        "/tmp/probe-a1/probe-old/m.pnml and /tmp/pytest-of-me/pytest-7/t0/x.csv at 0x7f2b145cd4e0"
    )
    assert recording.plain(said) == "<tmp>/m.pnml and <tmp>/t0/x.csv at 0x…"


def test_expected_differences_have_a_reason(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    expected = pytest.importorskip("benchmarks.carried_over.expected")
    assert expected.reason("regressors/ridge/predict") is None
    assert "leverage" in expected.reason("ood/regret/trusted@0.9")
    assert all(why.endswith(".") for why in expected.EXPECTED.values())
