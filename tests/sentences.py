"""What is refused: one sentence says why, and every file stays as it was."""

from __future__ import annotations

import re

import pytest

from pnml import InputError


def state(folder):
    """Every file below a folder with its bytes."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def assert_one_sentence(code, out, err, named, expected=2):
    assert code == expected, err
    assert out == ""
    assert "Traceback" not in err
    assert err.count("\n") == 1, err
    assert err.endswith((".\n", "?\n"))
    assert not re.search(r"[.!?] [A-Z]", err), err
    assert err[0].isupper() or err.split()[0].count(".") or err.startswith(("-", "'")), err
    for word in named:
        assert word in err, err


def assert_refused(run, words):
    """The run ends in an InputError of these words, in a whole sentence, which is returned."""
    with pytest.raises(InputError, match=words) as caught:
        run()
    said = str(caught.value)
    assert said.endswith(".")
    return said


def assert_done_or_refused(run):
    """The run ends well, or in an InputError of one whole sentence on one line."""
    try:
        run()
    except InputError as error:
        said = str(error)
        assert said.endswith("."), said
        assert "\n" not in said, said
