"""What a refused command leaves behind: one sentence, and every file as it was."""

from __future__ import annotations

import re


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
