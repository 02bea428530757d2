"""Numbers and dates in cells of text: decimal comma, thousands, signs, formats of dates."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from pnml.errors import InputError, shorten

SIGNS = "$€£¥%"
_GAP = r"[\s\x{A0}\x{202F}]"
_SPACES = (" ", "\N{NO-BREAK SPACE}", "\N{NARROW NO-BREAK SPACE}")
_THOUSANDS = (",", ".", "'", "’", "_", *_SPACES)
_ISO = r"^\s*\d{4,6}-\d{2}-\d{2}(Z|[ T]\d{2}(:\d{2}){0,2}(\.\d+)?(Z|[+-]\d{2}(:?\d{2})?)?)?\s*$"
_OFFSET = r":\d{2}(\.\d+)?(Z|[+-]\d{2}(:?\d{2})?)\s*$"
_DIRECTIVES = {"Y": r"\d{4}", "f": r"\d+", "z": r"\S+", "Z": r"\w*", "p": r"\w+"} | dict.fromkeys(
    "bBaA", r"\w+\.?"
)


@dataclass(frozen=True)
class CellFormats:
    """How numbers and dates are written in cells of text.

    `decimal` and `thousands` are the marks in numbers, `date_format` is as of ``strptime``.

    >>> german = CellFormats(",", ".", "%d.%m.%Y")
    >>> german.numbers(pa.array(["1.234,5", "12,5 %", "7 €", "7.5"])).to_pylist()
    ['1234.5', '12.5', '7', None]
    """

    decimal: str = "."
    thousands: str | None = None
    date_format: str | None = None

    def __post_init__(self) -> None:
        if self.decimal not in (".", ","):
            raise InputError(
                f"The decimal mark {shorten(self.decimal)!r} is neither a point nor a comma; pass "
                "one of them."
            )
        if self.thousands is not None and self.thousands not in _THOUSANDS:
            raise InputError(
                f"The mark of thousands {shorten(self.thousands)!r} is not known; pass ',', '.', "
                "an apostrophe, an underscore or a space."
            )
        if self.thousands == self.decimal:
            raise InputError(
                f"The decimal mark and the mark of thousands are both {self.decimal!r}; pass "
                "different ones."
            )
        if self.date_format is not None:
            _check_date_format(self.date_format)

    def numbers(self, texts: pa.Array) -> pa.Array:
        """Cells of numbers as plain text such as 1234.5, null where they are no numbers."""
        parts = pc.extract_regex(texts, self._number)
        before, after = pc.struct_field(parts, "before"), pc.struct_field(parts, "after")
        digits = pc.struct_field(parts, "digits")
        if self.thousands is not None:
            digits = pc.replace_substring_regex(digits, self._thousand, "")
        if self.decimal != ".":
            digits = pc.replace_substring(digits, self.decimal, ".")
        minus, inner = pc.struct_field(parts, "minus"), pc.struct_field(parts, "inner")
        signed = pc.binary_join_element_wise(
            pc.utf8_ltrim(pc.binary_join_element_wise(minus, inner, ""), "+"), digits, ""
        )
        twice = pc.or_(
            pc.and_(pc.not_equal(before, ""), pc.not_equal(after, "")),
            pc.and_(pc.not_equal(minus, ""), pc.not_equal(inner, "")),
        )
        return pc.if_else(twice, pa.scalar(None, pa.string()), signed)

    def signs(self, texts: pa.Array) -> pa.Array:
        """Currency or percent sign of each number, "" without one; null for other cells."""
        parts = pc.extract_regex(texts, self._number)
        return pc.binary_join_element_wise(
            pc.struct_field(parts, "before"), pc.struct_field(parts, "after"), ""
        )

    def units(self, texts: pa.Array) -> list[str]:
        """Distinct currency and percent signs in cells of numbers, in the order they come."""
        return [sign for sign in pc.unique(self.signs(texts)).to_pylist() if sign]

    def read(self, texts: pa.Array, kind: pa.DataType) -> pa.Array:
        """Cells of text as numbers or times of the type `kind`, null where they cannot be read so.

        A currency or percent sign is dropped, so that 12 % is 12; cells with another sign than the
        first are null.
        """
        if pt.is_temporal(kind):
            return self._times(texts, kind)
        numbers = self.numbers(texts)
        units = self.units(texts)
        if len(units) > 1:  # amounts of one unit only
            other = pc.is_in(self.signs(texts), pa.array(units[1:]))
            numbers = pc.if_else(other, pa.scalar(None, pa.string()), numbers)
        return _cast(numbers, kind, lambda text: pa.scalar(text).cast(kind).as_py())

    def type_of(self, texts: pa.Array) -> pa.DataType | None:
        """The type of cells that are all numbers or dates in these formats; None for words."""
        texts = texts.drop_null()
        if not len(texts):
            return None
        if self.date_format is not None:
            kind = pa.timestamp("us" if "%f" in self.date_format else "s")
            if not self._times(texts, kind).null_count:
                return kind
        numbers = self.numbers(texts)
        if numbers.null_count or len(self.units(texts)) > 1:
            return None
        for kind in (pa.int64(), pa.float64()):
            try:
                numbers.cast(kind)
            except pa.ArrowInvalid:
                continue
            return kind
        return None

    @property
    def is_digits(self) -> bool:
        """Whether dates in the date format consist of digits only, such as 20241231."""
        return self.date_format is not None and not re.sub("%[YymdHMSj]", "", self.date_format)

    def are_dates(self, texts: pa.Array) -> bool:
        """Whether all cells are dates exactly as the date format writes them."""
        texts = pc.unique(texts.drop_null())
        stamps = pc.strptime(texts, format=self.date_format, unit="s", error_is_null=True)
        if not len(texts) or stamps.null_count:
            return False
        return bool(pc.strftime(stamps, format=self.date_format).equals(texts))

    def date_type(self, texts: pa.Array) -> pa.DataType:
        """The timestamp type in which most cells are written: with a time zone or without."""
        return pa.timestamp("us", tz="UTC" if _mostly_zoned(texts) else None)

    def share(self, cells: list[str]) -> tuple[float, float]:
        """Shares of cells that are written as numbers, and as dates; quick for a few cells.

        >>> CellFormats().share(["5 €", "2024-02-30", "word", "7"])
        (0.5, 0.25)
        """
        number = re.compile(self._number.replace(r"\x{A0}\x{202F}", "\xa0\u202f"))
        dates = [re.compile(_ISO)] + ([re.compile(self._date)] if self.date_format else [])
        numbers = sum(number.match(cell) is not None for cell in cells)
        days = sum(any(date.match(cell) for date in dates) for cell in cells)
        return numbers / max(len(cells), 1), days / max(len(cells), 1)

    def looks_like_date(self, texts: pa.Array) -> pa.Array:
        """Boolean array: whether each cell is written as a date, which may not exist."""
        found = pc.match_substring_regex(texts, _ISO)
        if self.date_format is not None:
            found = pc.or_(found, pc.match_substring_regex(texts, self._date))
        return pc.fill_null(found, False)

    def impossible_dates(self, texts: pa.Array) -> list[str]:
        """Distinct cells written as dates that do not exist; else those that differ in time zone.

        If all dates exist, these are dates with a time zone among more dates without one, or the
        reverse.

        >>> CellFormats().impossible_dates(pa.array(["2024-02-30", "2024-01-31", "10000-01-01"]))
        ['2024-02-30', '10000-01-01']
        """
        dates = texts.filter(self.looks_like_date(texts))
        cells = pc.unique(dates)
        never = [cell for cell in cells.to_pylist() if self._moment(cell) is None]
        return never or pc.unique(dates.filter(_odd_zones(dates))).to_pylist()

    def date_fault(self, cell: str) -> str:
        """What is wrong with an impossible date, in words.

        >>> CellFormats().date_fault("2024-01-31T10:00:00Z")
        'a date with a time zone among dates without one'
        """
        if self._moment(cell) is None:
            return "a date that does not exist"
        return unlike_zone(cell)

    def _moment(self, text: str) -> dt.datetime | None:
        text = text.strip()
        for read in (dt.datetime.fromisoformat, self._strptime):
            try:
                return read(text)
            except (ValueError, TypeError):
                continue
        return None

    def _strptime(self, text: str) -> dt.datetime:
        return dt.datetime.strptime(text.strip(), str(self.date_format))

    def _times(self, texts: pa.Array, kind: pa.DataType) -> pa.Array:
        texts = pc.utf8_trim_whitespace(texts)
        if pt.is_time(kind):  # pyarrow reads times of day only as part of a date
            stamps = pc.binary_join_element_wise("1970-01-01", texts, "T")
            return self._times(stamps, pa.timestamp("us")).cast(pa.time64("us")).cast(kind)
        if pt.is_timestamp(kind) and kind.tz is None:  # what is odd here has no meaning
            texts = pc.if_else(_odd_zones(texts), pa.scalar(None, pa.string()), texts)
        if self.date_format is None:
            return _cast(texts, kind, lambda text: _moment_of(text, kind))
        found = self._formatted(texts, kind)
        rest = pc.if_else(pc.is_valid(found), pa.scalar(None, pa.string()), texts)
        if rest.null_count < len(rest):
            plain = _cast(rest, kind, lambda text: _moment_of(text, kind))
            found = pc.coalesce(found, plain)
        return found

    def _formatted(self, texts: pa.Array, kind: pa.DataType) -> pa.Array:
        """Cells in the date format as times; each is checked, as Arrow takes 31.02. for 2 March."""
        words = texts.dictionary_encode()
        values = words.dictionary
        stamps = pc.strptime(values, format=self.date_format, unit="s", error_is_null=True)
        try:
            back = pc.strftime(stamps, format=self.date_format)
            sure = pc.fill_null(pc.equal(back, values), False).to_pylist()
        except pa.ArrowInvalid:
            sure = [False] * len(values)
        cells = stamps.to_pylist()
        for place, text in enumerate(values.to_pylist()):
            if not sure[place]:
                try:
                    cells[place] = self._strptime(text)
                except ValueError:
                    cells[place] = None
        zone = getattr(kind, "tz", None)
        array = pa.array(cells, pa.timestamp("us", tz=zone))
        return array.cast(kind, safe=False).take(words.indices)

    @cached_property
    def _number(self) -> str:
        point = re.escape(self.decimal)
        whole = r"\d+"
        if self.thousands is not None:
            whole = rf"(?:\d{{1,3}}(?:{self._thousand}\d{{3}})+|\d+)"
        digits = rf"(?:{whole}(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?|(?i:inf|infinity)"
        sign = f"[{SIGNS}]?"
        return (
            rf"^{_GAP}*(?P<minus>[+-]?){_GAP}*(?P<before>{sign}){_GAP}*(?P<inner>[+-]?)"
            rf"(?P<digits>{digits}){_GAP}*(?P<after>{sign}){_GAP}*$"
        )

    @property
    def _thousand(self) -> str:
        return _GAP if self.thousands in _SPACES else re.escape(str(self.thousands))

    @cached_property
    def _date(self) -> str:
        pattern, text = r"^\s*", str(self.date_format)
        place = 0
        while place < len(text):
            if text[place] == "%" and place + 1 < len(text):
                pattern += _DIRECTIVES.get(text[place + 1], r"\d{1,2}")
                place += 2
            else:
                pattern += re.escape(text[place])
                place += 1
        return pattern + r"\s*$"


def with_zone(texts: pa.Array) -> pa.Array:
    """Boolean array: whether each date, given as text, names a time zone.

    >>> with_zone(pa.array(["2024-01-31T10:00:00Z", "2024-01-31 10:00:00"])).to_pylist()
    [True, False]
    """
    return pc.fill_null(pc.match_substring_regex(texts, _OFFSET), False)


def _mostly_zoned(texts: pa.Array) -> bool:
    """Whether more than half of the cells name a time zone."""
    zoned = pc.sum(pc.match_substring_regex(texts, _OFFSET)).as_py() or 0
    return bool(2 * zoned > len(texts) - texts.null_count)


def _odd_zones(texts: pa.Array) -> pa.Array:
    """Which cells name a time zone where most do not, or none where most do."""
    zoned = with_zone(texts)
    if not pc.any(zoned).as_py():
        return zoned
    return pc.and_(pc.invert(zoned), pc.is_valid(texts)) if _mostly_zoned(texts) else zoned


def unlike_zone(cell: str) -> str:
    """Text on how a date differs from most dates of its column: with a time zone, or without one.

    >>> unlike_zone("2024-01-31")
    'a date without a time zone among dates with one'
    """
    ours, theirs = ("with", "without") if re.search(_OFFSET, cell) else ("without", "with")
    return f"a date {ours} a time zone among dates {theirs} one"


def _moment_of(text: str, kind: pa.DataType) -> Any:
    """A text as a time; with an offset from UTC as a moment of UTC where the type has no zone.

    >>> _moment_of("2024-01-01T10:00:00+02:00", pa.timestamp("us"))
    datetime.datetime(2024, 1, 1, 8, 0)
    """
    try:
        return pa.scalar(text).cast(kind).as_py()
    except pa.ArrowInvalid:
        if not pt.is_timestamp(kind) or kind.tz is not None:
            raise
    return pa.scalar(text).cast(pa.timestamp("us", "UTC")).cast(pa.timestamp("us")).as_py()


def _cast(texts: pa.Array, kind: pa.DataType, one: Callable[[str], Any]) -> pa.Array:
    """The cells of text as the type `kind`, null where that fails; `one` reads a single cell."""
    try:
        return texts.cast(kind)
    except pa.ArrowInvalid:
        pass
    words = texts.dictionary_encode()
    cells: list[Any] = []
    for text in words.dictionary.to_pylist():
        try:
            cells.append(one(text))
        except (pa.ArrowInvalid, ValueError, OverflowError):
            cells.append(None)
    return pa.array(cells, kind).take(words.indices)


def _check_date_format(text: str) -> None:
    moment = dt.datetime(2023, 12, 31)
    try:
        known = dt.datetime.strptime(moment.strftime(text), text) == moment
    except ValueError:
        known = False
    if not known:
        raise InputError(
            f"The date format {shorten(text)!r} does not tell day, month and year; pass one such "
            "as %d.%m.%Y or %m/%d/%Y."
        )
