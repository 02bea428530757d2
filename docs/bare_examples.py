"""Docstrings whose example comes without a heading, read as if it had one."""

from __future__ import annotations

import re

import griffe

_HEADING = "Examples\n--------\n"
_SECTION = re.compile(r"^Examples\n-+$", re.M)
_EXAMPLE = re.compile(r"^>>> ", re.M)


class BareExamples(griffe.Extension):
    """Put the heading of numpydoc before the first example that stands alone."""

    def on_object(self, *, obj, **_):
        """Change the docstring of an object before it is parsed."""
        said = obj.docstring
        if said is None or _SECTION.search(said.value):
            return
        found = _EXAMPLE.search(said.value)
        if found:
            said.value = said.value[: found.start()] + _HEADING + said.value[found.start() :]
