"""Pages of the guide, run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[1] / "docs" / "guide"


def run(page, folder):
    """All that the snippets of a page define, run one after the other in a folder."""
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        text = (GUIDE / page).read_text()
        for number, code in enumerate(re.findall(r"```python\n(.*?)```", text, re.S)):
            exec(compile(code, f"{page}, snippet {number}", "exec"), found)
    return found
