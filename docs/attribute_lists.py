"""Attributes in docstrings, laid out: names, and what they are as the description."""

from __future__ import annotations

import re

import griffe

_SECTION = re.compile(r"(?<=^Attributes\n----------\n)(.*?)(?=\n\n|\Z)", re.M | re.S)
_ENTRY = re.compile(r"(\S[^:]*?) : (.+)$")


def laid_out(text):
    """A docstring in which ``name : what it is`` has its words as the description.

    numpydoc reads what follows the colon as the type. Our entries say in one line what an
    attribute is, so the words go below the name. An entry with lines below it has a type.
    """
    return _SECTION.sub(lambda found: _entries(found[1].split("\n")), text)


def _entries(lines):
    result = []
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        found = _ENTRY.match(line)
        if found is None or below.startswith(" "):
            result.append(line)
        else:
            result += [found[1], f"    {found[2]}"]
    return "\n".join(result)


class AttributeLists(griffe.Extension):
    """Lay out the attributes of a docstring before it is parsed."""

    def on_object(self, *, obj, **_):
        """Change the docstring of an object before it is parsed."""
        if obj.docstring is not None:
            obj.docstring.value = laid_out(obj.docstring.value)
