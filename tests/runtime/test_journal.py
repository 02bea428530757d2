"""Journals: what was computed once is read back, whatever interrupted the run."""

from __future__ import annotations

import json
import os

import pytest

from pnml.errors import InputError
from pnml.runtime.journal import Journal, JournalKind

KIND = JournalKind(
    unwritable="{path} cannot be written ({reason}); name another file.",
    foreign="{path} holds something else; name another file.",
    other="{path} is of another run; name another file.",
)
REPLACED = JournalKind("{path}: {reason}", None, None)
HEAD = {"stamp": "a"}


def never():
    raise AssertionError("computed again")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "log {of} é.jsonl"


@pytest.mark.parametrize("where", ["file", "memory"])
def test_a_value_is_the_same_at_first_and_afterwards(where, path):
    journal = Journal(path if where == "file" else None, HEAD, KIND)
    assert "t" not in journal
    assert journal.piece("t", lambda: {"x": (1, 0.1)}) == {"x": [1, 0.1]}
    assert journal.piece("t", never) == {"x": [1, 0.1]}
    assert "t" in journal
    if where == "file":
        assert Journal(path, HEAD, KIND).piece("t", never) == {"x": [1, 0.1]}


def test_the_file_is_one_line_a_piece_behind_the_head(path):
    kind = JournalKind("", None, None, key="key")
    Journal(path, {"format": "x", "version": 1}, kind).piece("k", lambda: "é", {"rows": [1]})
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert lines == [{"format": "x", "version": 1}, {"key": "k", "rows": [1], "value": "é"}]
    assert list(lines[1]) == ["key", "rows", "value"]
    assert "é" in path.read_text(encoding="utf-8")


def test_a_file_killed_at_any_byte_resumes_to_the_same_bytes(path):
    def run():
        journal = Journal(path, HEAD, KIND)
        return [journal.piece(str(i), lambda i=i: i**2) for i in range(3)]

    run()
    whole = path.read_bytes()
    for end in range(len(whole) + 1):
        path.write_bytes(whole[:end])
        assert run() == [0, 1, 4]
        assert path.read_bytes() == whole


@pytest.mark.parametrize("text", ["Dear diary,\n", "Dear diary", "[1]\n", '{"a": 1}\n', "3\n"])
def test_another_kind_of_file_is_refused_and_left_alone(text, path):
    path.write_text(text)
    with pytest.raises(InputError) as error:
        Journal(path, HEAD, KIND)
    assert "something else" in str(error.value)
    assert str(path) in str(error.value)
    assert path.read_text() == text


def test_lines_without_a_key_are_another_kind_of_file(path):
    path.write_text('{"stamp": "a"}\n{"value": 1}\n')
    with pytest.raises(InputError, match="something else") as error:
        Journal(path, HEAD, KIND)
    assert isinstance(error.value.__cause__, KeyError)


def test_another_head_is_refused_or_replaced(path):
    Journal(path, {"stamp": "b"}, KIND).piece("k", lambda: 1)
    before = path.read_bytes()
    with pytest.raises(InputError) as error:
        Journal(path, HEAD, KIND)
    assert "another run" in str(error.value)
    assert str(path) in str(error.value)
    assert path.read_bytes() == before
    assert Journal(path, HEAD, REPLACED).piece("k", lambda: 2) == 2
    assert Journal(path, HEAD, KIND).piece("k", never) == 2


@pytest.mark.parametrize("where", ["folder", "missing/log"])
def test_a_place_that_cannot_be_written_is_named(where, tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError) as error:
        Journal(tmp_path / where, HEAD, KIND)
    assert "cannot be written" in str(error.value)
    assert where in str(error.value)


def test_a_full_disk_is_named_and_the_value_not_kept(path, monkeypatch):
    journal = Journal(path, HEAD, KIND)

    def full(handle):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(InputError, match="No space left"):
            journal.piece("k", lambda: 1)
    assert "k" not in journal


@pytest.mark.parametrize("finite", [True, False])
def test_numbers_without_a_place_in_json_are_refused_where_asked(finite, path):
    journal = Journal(path, HEAD, JournalKind("", None, None, finite=finite))
    if finite:
        with pytest.raises(ValueError, match="JSON"):
            journal.piece("k", lambda: float("inf"))
        assert "k" not in journal
    else:
        assert journal.piece("k", lambda: float("inf")) == float("inf")


def test_journals_of_the_first_release_are_read(tmp_path):
    attacks, curve = tmp_path / "attacks", tmp_path / "curve"
    attacks.write_text(
        '{"format": "pnml attacks", "version": 1}\n'
        '{"key": "k", "model": "defence", "rows": [0], "value": {"margin": [Infinity]}}\n'
    )
    kind = JournalKind("", "", "", key="key", finite=False)
    head = {"format": "pnml attacks", "version": 1}
    assert Journal(attacks, head, kind).piece("k", never) == {"margin": [float("inf")]}
    curve.write_text('{"stamp": "a"}\n{"piece": "random 0 1", "value": {"accuracy": 0.5}}\n')
    assert Journal(curve, HEAD, KIND).piece("random 0 1", never) == {"accuracy": 0.5}
