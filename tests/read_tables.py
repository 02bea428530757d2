"""All of a table in memory, or the sentence that it is refused with, for tests of reading."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest

from pnml import InputError
from pnml.readers import ReadOptions, open_table


def whole(source, options=None, *, query=None, columns=None, **read):
    """All rows of a table; `read` are the arguments of `TableSource.read`."""
    options = options if query is None else ReadOptions(query=query)
    with open_table(source, options, columns=columns) as table:
        return table.read(lambda batches: pa.Table.from_batches(list(batches)), **read)


def refused(source, options=None, **asked):
    """The sentence that a table is refused with, however much of it must be read for that."""
    with pytest.raises(InputError) as caught:
        whole(source, options, **asked)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert sentence.endswith((".", "?")), sentence
    assert not re.search(r"[.?!] [A-Z]", sentence), sentence
    return sentence
