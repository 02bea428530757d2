"""Progress: what a function is passed, and when a bar is drawn."""

from __future__ import annotations

import sys
from itertools import count, islice

import pytest

from pnml.errors import InputError
from pnml.runtime import progress as module
from pnml.runtime.progress import reporting, terminal_bar, tracked, watching


class Terminal:
    """Standard error that says it is a terminal, and keeps what was written."""

    encoding = "utf-8"

    def __init__(self):
        self.text = ""

    def write(self, text):
        self.text += text
        return len(text)

    def flush(self):
        pass

    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    """A function that makes standard error a terminal; pytest resets it after fixtures."""
    pytest.importorskip("rich")
    monkeypatch.setenv("TERM", "xterm")

    def start():
        made = Terminal()
        monkeypatch.setattr(sys, "stderr", made)
        return made

    return start


def test_a_function_gets_what_is_done_and_never_more_than_the_total():
    seen = []
    with reporting(lambda *state: seen.append(state), 5, "Scoring") as advance:
        advance(2)
        advance(9)
    assert seen == [(2, 5), (5, 5)]


def test_an_exception_is_not_reported_as_done():
    seen = []

    def interrupted():
        with reporting(lambda *state: seen.append(state), 5, "Scoring") as advance:
            advance(1)
            raise KeyError

    with pytest.raises(KeyError):
        interrupted()
    assert seen == [(1, 5)]


@pytest.mark.parametrize("progress", [None, False])
def test_nothing_is_drawn_away_from_a_terminal(progress, capsys):
    with reporting(progress, 2, "Scoring") as advance:
        advance(1)
    assert list(tracked("ab", "Scoring", progress)) == ["a", "b"]
    with watching(progress, "Counting", 10) as tell:
        tell(1, 1)
    with terminal_bar("Scoring") as show:
        show(1, 2)
    assert capsys.readouterr() == ("", "")


def test_a_bar_that_was_asked_for_names_the_work_on_standard_error(capsys):
    pytest.importorskip("rich")
    with reporting(True, 2, "Scoring [rows]") as advance:
        advance(1)
    assert list(tracked("ab", "Counting", True)) == ["a", "b"]
    out, err = capsys.readouterr()
    assert not out
    assert "Scoring [rows]" in err
    assert "Counting" in err


def test_short_work_draws_no_bar_on_a_terminal(terminal):
    screen = terminal()
    with reporting(None, 2, "Scoring") as advance:
        advance(1)
    assert screen.text == ""


def test_long_work_draws_one(terminal, monkeypatch):
    screen = terminal()
    monkeypatch.setattr(module, "_PATIENCE", 0.0)
    with reporting(None, 2, "Scoring") as advance:
        advance(1)
    assert "Scoring" in screen.text


def test_a_pass_over_files_shows_rows_and_rate(terminal):
    screen = terminal()
    with watching(True, "Counting", 100) as tell:
        tell(50, 1234)
    assert "1,234 rows" in screen.text
    assert "a second" in screen.text


def test_a_terminal_bar_learns_its_total_on_the_way(terminal):
    screen = terminal()
    with terminal_bar("experiment") as show:
        show(1, 4)
    assert "experiment" in screen.text
    assert "25%" in screen.text


def test_streams_without_an_end_can_be_tracked():
    seen = []
    items = tracked(count(), "Reading", lambda *state: seen.append(state))
    assert list(islice(items, 3)) == [0, 1, 2]
    assert seen == [(1, 0), (2, 0)]


def test_a_length_that_raises_type_error_is_unknown():
    class Stream:
        def __iter__(self):
            return iter("ab")

        def __len__(self):
            raise TypeError

    assert list(tracked(Stream(), "Reading", False)) == ["a", "b"]


@pytest.mark.parametrize("progress", [None, True])
def test_without_rich_a_bar_is_refused_only_where_asked_for(progress, monkeypatch, terminal):
    terminal()
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    if progress is None:
        assert list(tracked("ab", "Reading", progress)) == ["a", "b"]
        return
    with pytest.raises(InputError) as error:
        list(tracked("ab", "Reading", progress))
    assert "pnml[cli]" in str(error.value)
