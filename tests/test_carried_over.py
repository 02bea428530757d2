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


def test_answers_that_are_new_are_counted_and_do_not_differ(comparing):
    old = {"x": {"text": "an object"}, "y": {"text": "1"}}
    new = {"x": {"text": "parts: a"}, "x/a": {"text": "2"}, "y": {"text": "1"}}
    assert comparing.differences(old, new) == []
    assert comparing.additions(old, new) == ["x", "x/a"]


def test_a_new_warning_or_sentence_differs(comparing):
    old = {"x": {"text": "1"}}
    unheard = {key: {"text": "UserWarning: a"} for key in ("x/warnings", "sentences/t 1")}
    assert [d.key for d in comparing.differences(old, old | unheard)] == [*unheard]
    assert comparing.additions(old, old | unheard) == []


@pytest.fixture
def expected(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    return pytest.importorskip("benchmarks.carried_over.expected")


def numbers(*values, dtype="float64"):
    return {"dtype": dtype, "shape": [len(values)], "numbers": [*values]}


def test_expected_differences_have_a_reason(expected):
    assert expected.reason("regressors/ridge/predict", numbers(1.0), numbers(2.0)) is None
    was, became = (numbers(*said, dtype="bool") for said in ((True, False), (False, False)))
    assert "leverage" in expected.reason("ood/regret/trusted@0.9", was, became)
    assert all(meant.why.endswith(".") for meant in expected.EXPECTED.values())


EXPLAIN, MARGIN = "regressors/universal/float32/explain", "ood/regret/decision_function@0.9"
BEYOND = [
    ("ood/regret/trusted@0.9", numbers(False, dtype="bool"), numbers(True, dtype="bool")),
    (MARGIN, numbers(0.5, 0.2), numbers(0.4, 0.2)),
    (MARGIN, numbers(-0.5), numbers(-0.6)),
    (MARGIN, numbers(0.5), numbers(-0.5, -0.5)),
    (EXPLAIN, numbers(1.0, dtype="float32"), numbers(1.00001, dtype="float32")),
    (EXPLAIN, numbers(1.0, dtype="float32"), {"text": "InputError(): no."}),
    ("names/pnml.adversarial.Attacked/warnings", {}, {"text": "UserWarning: no."}),
    ("displays/regret/a-tree/threshold", numbers(1.0), {}),
    ("nn/pair/state_dict", {"text": "a\nb"}, {"text": "a\nc"}),
    ("displays/numbers/active/words", {"text": "Labels"}, {"text": "Labels paid for"}),
    ("regressors/conformal/predict_interval@0.9/warnings", {}, {"text": "UserWarning: no."}),
    ("degenerate/not Gaussian", {"text": "InputError(): no."}, {"text": "TypeError(): no."}),
    ("command/net/json/out", {"text": '{"rows": 3}'}, {"text": '{"rows": 4}'}),
]


@pytest.mark.parametrize(("key", "was", "became"), BEYOND)
def test_no_more_than_what_is_meant_is_expected(expected, key, was, became):
    assert expected.reason(key, was, became) is None
