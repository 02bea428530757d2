"""Type promotion: the narrowest type that holds the values of two types."""

from __future__ import annotations

from functools import reduce

import pyarrow as pa

_UNITS = ("s", "ms", "us", "ns")


def joined(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """A type for the values of two column types, or None where only text holds both.

    >>> joined(pa.int64(), pa.float64())
    DataType(double)
    """
    if a.equals(b):
        return a
    if pa.types.is_null(a) or pa.types.is_null(b):
        return b if pa.types.is_null(a) else a
    if pa.types.is_dictionary(a) or pa.types.is_dictionary(b):
        return joined(_plain(a), _plain(b))
    for join in (_numbers, _texts, _times):
        if (kind := join(a, b)) is not None:
            return kind
    return None


def joined_or_text(a: pa.DataType, b: pa.DataType) -> pa.DataType:
    """A type for the values of two column types; text where no other type holds both.

    >>> joined_or_text(pa.int64(), pa.date32())
    DataType(string)
    """
    kind = joined(a, b)
    return pa.string() if kind is None else kind


def is_number(kind: pa.DataType) -> bool:
    """Whether a column type is one of numbers.

    >>> is_number(pa.int64()), is_number(pa.bool_())
    (True, False)
    """
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _numbers(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    if not (is_number(a) and is_number(b)):
        return None
    whole = pa.types.is_integer(a) and pa.types.is_integer(b)
    return pa.int64() if whole else pa.float64()


def _texts(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    texts = (pa.string(), pa.large_string(), pa.string_view())
    if a not in texts or b not in texts:
        return None
    return pa.large_string() if pa.large_string() in (a, b) else pa.string()


def _times(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """Dates and timestamps in the finer unit; None for different time zones."""
    kinds = [pa.timestamp("s") if pa.types.is_date32(kind) else kind for kind in (a, b)]
    if not all(map(pa.types.is_timestamp, kinds)) or kinds[0].tz != kinds[1].tz:
        return None
    finer = reduce(lambda x, y: max(x, y, key=_UNITS.index), (kind.unit for kind in kinds))
    return pa.timestamp(finer, kinds[0].tz)
