"""A table in memory in the place of a file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from pnml.errors import shorten
from pnml.readers.batches import MOST_ROWS
from pnml.runtime.fingerprint import fingerprint


@dataclass(frozen=True, eq=False)
class FrameInMemory:
    """A table in memory, with the attributes that a table source needs of a file."""

    table: pa.Table
    name: str
    path: None = None

    @property
    def label(self) -> str:
        """The name for messages."""
        return shorten(self.name)

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return int(self.table.nbytes)

    @cached_property
    def state(self) -> tuple[str, ...]:
        """A digest of column names, types and cells, to tell whether two tables are the same."""
        batches = self.table.to_batches(MOST_ROWS)
        cells = [fingerprint(np.frombuffer(batch.serialize(), np.uint8)) for batch in batches]
        return (fingerprint(str(self.table.schema), *cells),)

    def check_unchanged(self) -> None:
        """Do nothing: arrow tables never change."""
