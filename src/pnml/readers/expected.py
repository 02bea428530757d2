"""What a reader expects in columns, and cells that cannot be read so."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from pnml.readers.cell_formats import CellFormats, with_zone
from pnml.readers.column_type import is_number

UNREADABLE = "\0unreadable:"

# Columns of dates, and whether their cells name a time zone; None: most of a batch decide.
Dates = Mapping[str, bool | None]


@dataclass(frozen=True)
class Expected:
    """Names of the columns in which a reader expects numbers, dates or times of day.

    `dates` also says whether the dates name a time zone, None if unknown; `lenient`: cells that
    cannot be read so become null.
    """

    numeric: frozenset[str] = frozenset()
    dates: Dates = field(default_factory=dict)
    times: frozenset[str] = frozenset()
    lenient: bool = False

    @classmethod
    def of(
        cls,
        numeric: Collection[str] = (),
        dates: Dates | Collection[str] = (),
        times: Collection[str] = (),
        *,
        lenient: bool = False,
    ) -> Expected:
        """The expectations from the arguments of `TableSource.read`."""
        zones = dict(dates) if isinstance(dates, Mapping) else dict.fromkeys(dates)
        return cls(frozenset(numeric), zones, frozenset(times), lenient)

    def may_be_null(self, name: str) -> bool:
        """Whether cells of the column `name` that cannot be read become null."""
        return self.lenient and name in {*self.numeric, *self.dates, *self.times}

    def zone_of(self, name: str) -> bool | None:
        """Whether the dates of a column name a time zone; None: unknown, or not `lenient`."""
        return self.dates.get(name) if self.lenient else None

    def type_of(self, field: pa.Field) -> pa.DataType:
        """The type to start reading a column with: the expected one, or its own if that fits."""
        if field.name in self.numeric and not is_number(field.type):
            return pa.float64()
        if field.name in self.dates:
            return self._date_type(field)
        if field.name in self.times and not pt.is_temporal(field.type):
            return pa.time64("us")
        return field.type

    def _date_type(self, field: pa.Field) -> pa.DataType:
        zone = self.zone_of(field.name)
        fits = zone is None or (getattr(field.type, "tz", None) is not None) == zone
        if pt.is_temporal(field.type) and fits:
            return field.type
        return pa.timestamp("us", tz="UTC" if zone else None)


PLAIN = Expected()


def is_text(kind: pa.DataType) -> bool:
    """Whether a column type is one of text, also as categories.

    >>> is_text(pa.string()), is_text(pa.dictionary(pa.int8(), pa.string())), is_text(pa.int8())
    (True, True, False)
    """
    inner = kind.value_type if pt.is_dictionary(kind) else kind
    return bool(pt.is_string(inner) or pt.is_large_string(inner) or pt.is_string_view(inner))


def read_or_null(
    texts: pa.Array, kind: pa.DataType, formats: CellFormats, zone: bool | None = None
) -> tuple[pa.Array, ...]:
    """Cells of text read with a type, null where that fails; and the texts that failed.

    `zone`: whether dates must name a time zone (True) or must not (False).

    >>> values, unreadable = read_or_null(pa.array(["1", "x"]), pa.int64(), CellFormats())
    >>> values.to_pylist(), unreadable.to_pylist()
    ([1, None], [None, 'x'])
    """
    texts = texts.cast(pa.string())
    fitting = texts
    if zone is not None:
        fitting = pc.if_else(pc.equal(with_zone(texts), zone), texts, pa.scalar(None, pa.string()))
    values = formats.read(fitting, kind)
    failed = pc.and_(pc.is_null(values), pc.is_valid(texts))
    return values, pc.if_else(failed, texts, pa.scalar(None, pa.string()))


def with_unreadable(
    arrays: list[pa.Array], schema: pa.Schema, unreadable: Mapping[str, pa.Array]
) -> pa.RecordBatch:
    r"""A batch with a further text column for each column in `unreadable`, which holds those cells.

    >>> texts = {"x": pa.array([None, "two"])}
    >>> with_unreadable([pa.array([1, None])], pa.schema([("x", pa.int64())]), texts).column_names
    ['x', '\x00unreadable:x']
    """
    for name, texts in unreadable.items():
        arrays = [*arrays, texts]
        schema = schema.append(pa.field(UNREADABLE + name, pa.string()))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
