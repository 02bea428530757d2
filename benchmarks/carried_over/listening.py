"""A plugin of pytest that writes down every sentence that a test provokes."""

from __future__ import annotations

import inspect
import json
import os
import re
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from benchmarks.carried_over.recording import plain, raised

_SINK = Path(os.environ["PNML_HEARD"])
_HEARD: Counter[str] = Counter()
_RAISES = pytest.raises
# Tests of these words provoke a sentence; the others are of no use here.
WORDS = ("raises(", "refused(", "refused_after(", "assert_one_sentence(", "warns(")

# Several seconds each, for sentences that other tests provoke too.
SLOW = ("test_a_changed_byte_anywhere_is_noticed", "test_a_file_without_permission_is_refused")
# It patches a limit by a path that it puts together, of a module that has moved.
PRIVATE = ("test_words_that_become_too_many_in_a_stream_are_refused_by_name",)


def say(text):
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rsplit(" (", 1)[0]
    _HEARD[test] += 1
    if "dask" in test:  # which names the partition that it met first
        text = re.sub(r"Partition \d+|(?<=text \()'\w'|(?<=float: )'\w'", "<any partition>", text)
    row = {"key": f"{test} {_HEARD[test]}", "text": plain(text)}
    with _SINK.open("a", encoding="utf-8") as sink:
        sink.write(json.dumps(row) + "\n")


@contextmanager
def _listening(expected, **said):
    with _RAISES(expected, **said) as caught:
        try:
            yield caught
        except BaseException as error:
            if not isinstance(error, LookupError):
                say(raised(error))
            raise


def raises(expected, *arguments, **said):
    """`pytest.raises` that writes down what was raised."""
    if arguments:
        return _RAISES(expected, *arguments, **said)
    return _listening(expected, **said)


pytest.raises = raises


def pytest_collectstart():
    """Networks that a test file makes as it is imported are the same in both versions."""
    torch.manual_seed(0)


def pytest_runtest_setup():
    torch.manual_seed(0)


def pytest_collection_modifyitems(items):
    items[:] = [item for item in items if provokes(item)]


def provokes(item):
    if "installed" in item.fixturenames or item.originalname in (*SLOW, *PRIVATE):
        return False
    text = inspect.getsource(item.function)
    return any(word in text for word in WORDS)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef, request):
    """The fixture that runs the command says what the command said."""
    run = yield
    if fixturedef.argname not in ("call", "command") or "cli" not in str(request.node.fspath):
        return run

    def heard(*arguments):
        done = run(*arguments)
        say(f"{done.code}\n{done.out}\n{done.err}" if done.code else f"{done.code}")
        return done

    fixturedef.cached_result = (heard, *fixturedef.cached_result[1:])
    return heard
