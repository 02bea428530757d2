"""Reads FlatBuffers, the layout of CatBoost's files, with every offset checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pnml.errors import InputError

BROKEN = "the bytes of its CatBoost model are not what CatBoost writes"
_TEXT = np.dtype(np.uint8)


@dataclass(frozen=True)
class FlatTable:
    """One table of a FlatBuffers file, whose fields have numbers; every offset is checked."""

    data: bytes
    at: int

    @classmethod
    def root(cls, data: bytes) -> FlatTable:
        """The outermost table of a buffer."""
        return cls(data, _read(data, 0, "<u4"))

    def number(self, field: int, dtype: str, default: float = 0) -> Any:
        """The number in a field, or `default` if the field is left out."""
        place = self._place(field)
        return default if place is None else _read(self.data, place, dtype)

    def array(self, field: int, dtype: Any) -> npt.NDArray[Any]:
        """The vector of numbers or records in a field; empty if the field is left out."""
        place, kind = self._place(field), np.dtype(dtype)
        if place is None:
            return np.zeros(0, dtype=kind)
        start = place + _read(self.data, place, "<u4")
        count = _read(self.data, start, "<u4")
        if start + 4 + count * kind.itemsize > len(self.data):
            raise InputError(BROKEN)
        return np.frombuffer(self.data, kind, count, start + 4)

    def text(self, field: int) -> str:
        """The string in a field; empty if the field is left out."""
        try:
            return self.array(field, _TEXT).tobytes().decode()
        except UnicodeDecodeError as error:
            raise InputError(BROKEN) from error

    def table(self, field: int) -> FlatTable:
        """The table in a field; raises InputError if the field is left out."""
        place = self._place(field)
        if place is None:
            raise InputError(BROKEN)
        return FlatTable(self.data, place + _read(self.data, place, "<u4"))

    def tables(self, field: int) -> list[FlatTable]:
        """The list of tables in a field; empty if the field is left out."""
        place, steps = self._place(field), self.array(field, "<u4")
        if place is None:
            return []
        first = place + _read(self.data, place, "<u4") + 4
        at = first + 4 * np.arange(len(steps)) + steps
        return [FlatTable(self.data, int(item)) for item in at]

    def texts(self, field: int) -> list[str]:
        """The list of strings in a field; empty if the field is left out."""
        return [_text_at(table) for table in self.tables(field)]

    def _place(self, field: int) -> int | None:
        """Position of a field in the buffer, or None if the field is left out."""
        places = self.at - _read(self.data, self.at, "<i4")
        size, whole = _read(self.data, places, "<u2"), _read(self.data, places + 2, "<u2")
        if size < 4 or size % 2 or places + size > len(self.data):
            raise InputError(BROKEN)
        if self.at + whole > len(self.data) or whole < 4:
            raise InputError(BROKEN)
        step = _read(self.data, places + 4 + 2 * field, "<u2") if 4 + 2 * field < size else 0
        if step and not 4 <= step < whole:
            raise InputError(BROKEN)
        return self.at + step if step else None


def _text_at(table: FlatTable) -> str:
    """The string at the position of `table`, which is a string and no table."""
    size = _read(table.data, table.at, "<u4")
    if table.at + 4 + size > len(table.data):
        raise InputError(BROKEN)
    return table.data[table.at + 4 : table.at + 4 + size].decode(errors="replace")


def _read(data: bytes, at: int, dtype: str) -> Any:
    kind = np.dtype(dtype)
    if not 0 <= at <= len(data) - kind.itemsize:
        raise InputError(BROKEN)
    return np.frombuffer(data, kind, 1, at)[0].item()
