"""Finished pieces are kept, whatever interrupts the run."""

from __future__ import annotations

import json

import numpy as np
import pytest

from pnml.errors import InputError
from pnml_experiments.framework.output import Output


def opened(tmp_path, stamp="stamp", **settings):
    return Output(tmp_path / "here", tmp_path / "cache", stamp, **settings)


def refuse():
    raise AssertionError("computed again")


def test_a_run_goes_on_where_it_was_interrupted(tmp_path):
    first = opened(tmp_path)
    assert first.piece("a", lambda: {"x": [1.5, None]}) == {"x": [1.5, None]}

    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        first.piece("b", interrupted)
    again = opened(tmp_path)
    assert again.piece("a", refuse) == {"x": [1.5, None]}
    assert again.piece("b", lambda: 2) == 2


def test_what_is_computed_now_is_what_is_read_later(out, tmp_path):
    now = out.piece("a", lambda: {1: (0.1, 0.2)})
    assert now == Output(tmp_path / "here", tmp_path / "cache", "stamp").piece("a", refuse)


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_a_line_cut_short_is_computed_again_and_the_others_are_kept(tmp_path, cut):
    first = opened(tmp_path)
    first.piece("a", lambda: 1)
    first.piece("b", lambda: "something long enough to be cut")
    path = tmp_path / "here" / "pieces.jsonl"
    path.write_bytes(path.read_bytes()[:-cut])
    again = opened(tmp_path)
    assert again.piece("a", refuse) == 1
    assert again.piece("b", lambda: "anew") == "anew"
    lines = path.read_text().splitlines()
    assert [json.loads(line).get("piece") for line in lines] == [None, "a", "b"]


@pytest.mark.parametrize("junk", [b"{not json}\n", b"[]\n", b"\xff\x00\n", b'{"other": 1}\n'])
def test_pieces_that_something_else_has_written_to_are_computed_again(tmp_path, junk):
    first = opened(tmp_path)
    first.piece("a", lambda: 1)
    path = tmp_path / "here" / "pieces.jsonl"
    for broken in (path.read_bytes() + junk, junk + path.read_bytes()):
        path.write_bytes(broken)
        assert opened(tmp_path).piece("a", lambda: 2) == 2
        assert opened(tmp_path).piece("a", refuse) == 2


def test_a_broken_cache_is_computed_again(out, tmp_path):
    out.arrays("x", ["word"], lambda: {"v": np.zeros(2)})
    (file,) = (tmp_path / "cache").iterdir()
    for content in (b"", b"junk", file.read_bytes()[:-30]):
        file.write_bytes(content)
        assert out.arrays("x", ["word"], lambda: {"v": np.ones(2)})["v"].sum() == 2
        assert out.arrays("x", ["word"], refuse)["v"].sum() == 2


def test_pieces_of_other_data_are_forgotten(tmp_path):
    opened(tmp_path, "one").piece("a", lambda: 1)
    assert opened(tmp_path, "two").piece("a", lambda: 2) == 2


def test_a_fresh_run_forgets_pieces_and_arrays(tmp_path):
    first = opened(tmp_path)
    first.piece("a", lambda: 1)
    first.arrays("x", ["word"], lambda: {"v": np.zeros(2)})
    fresh = opened(tmp_path, fresh=True)
    assert fresh.piece("a", lambda: 2) == 2
    assert fresh.arrays("x", ["word"], lambda: {"v": np.ones(2)})["v"].sum() == 2
    assert fresh.arrays("x", ["word"], refuse)["v"].sum() == 2


def test_arrays_are_computed_once_for_what_they_depend_on(out, tmp_path):
    file = tmp_path / "data"
    file.write_bytes(b"one")
    found = out.arrays("x", [file, "word"], lambda: {"v": np.arange(3)})
    np.testing.assert_array_equal(out.arrays("x", [file, "word"], refuse)["v"], found["v"])
    file.write_bytes(b"two")
    assert out.arrays("x", [file, "word"], lambda: {"v": np.zeros(1)})["v"].shape == (1,)


def test_arrays_that_were_interrupted_leave_no_file(out, tmp_path):
    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        out.arrays("x", ["word"], interrupted)
    assert list((tmp_path / "cache").iterdir()) == []


def test_numbers_that_json_has_not_are_refused(out):
    with pytest.raises(ValueError, match="JSON"):
        out.piece("a", lambda: float("nan"))


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file"):
        Output(tmp_path / "file" / "below", tmp_path / "cache", "stamp")


def test_a_journal_outlives_another_stamp_and_what_it_depends_on_has_its_own(tmp_path):
    first = opened(tmp_path)
    assert first.journal("long", ["a", np.zeros(2)]).piece("x", lambda: 1) == 1
    later = opened(tmp_path, "another stamp")
    assert later.journal("long", ["a", np.zeros(2)]).piece("x", refuse) == 1
    assert later.journal("long", ["a", np.ones(2)]).piece("x", lambda: 2) == 2
    assert opened(tmp_path).journal("long", ["a", np.zeros(2)]).piece("x", refuse) == 1


def test_a_fresh_run_forgets_a_journal_once(tmp_path):
    opened(tmp_path).journal("long", ["a"]).piece("x", lambda: 1)
    fresh = opened(tmp_path, fresh=True)
    assert fresh.journal("long", ["a"]).piece("x", lambda: 2) == 2
    assert fresh.journal("long", ["a"]).piece("x", refuse) == 2
