"""Reasons in words: the cell of a column, what training knew of it, and its share."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pnml.columns.phrases import known_text, value_text
from pnml.core.arrays import FloatArray
from pnml.tables.bad_cells import UNREADABLE, zoned
from pnml.tables.cell_values import as_words, codes_of
from pnml.tables.column_roles import constant_text
from pnml.tables.encoder import BoolArray, ConstantColumn, Encoded, Encoder, NumberColumn
from pnml.tables.encoder_columns import AnyColumn

_LONGEST = 40
_DIGITS = 6
_PERCENT = pa.array([f" ({share}%)" for share in range(101)], pa.string())
_DAY = 86_400e6  # microseconds
_MOST_DAYS = 1e8  # timestamps end a little later

# How a cell stands to training. Each has its own words behind the cell.
_KNOWN, _NEW, _NEVER_MISSING, _NOT_TOGETHER, _BAD, _OTHER_ZONE = range(6)
_STATES = 6

_PHRASES = {"number": "number", "date": "date", "time": "span"}  # kinds of columns, in phrases

Places = npt.NDArray[np.intp]


class Reasons:
    """Writes reasons for cells of a table, such as ``age 648; training 19–79 (62%)``.

    All rows are written at once, from tables of phrases by column and state and with arrow's own
    writing of numbers, so that a text costs less time than reading a CSV cell.
    """

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    def texts(self, places: Places, shares: Places, rows: Rows) -> pa.Array:
        """Text (n,) on the cell in column `places` (n,) of each row; "" for known cells of share 0.

        `places` are indices of columns of the encoder, `shares` (n,) their shares of the leverage,
        in percent.
        """
        states = rows.states(places)
        cells = self._cells(places, states, rows)
        states = self._told_by_zone(places, states, cells)
        names = self._names.take(pa.array(places))
        behind = self._endings.take(pa.array(places * _STATES + states))
        text = pc.binary_join_element_wise(
            names, cells, behind, _PERCENT.take(pa.array(shares)), ""
        )
        shown = (shares > 0) | (states != _KNOWN)
        return text if shown.all() else pc.if_else(pa.array(shown), text, "")

    @cached_property
    def _names(self) -> pa.Array:
        return pa.array([f"{shortened(name)} " for name in self._encoder.names], pa.string())

    @cached_property
    def _endings(self) -> pa.Array:
        """The words after a cell in a reason, by column and state."""
        columns = self._encoder.columns
        return pa.array([words for c in columns for words in self._words_behind(c)], pa.string())

    def _words_behind(self, column: AnyColumn) -> list[str]:
        kind = column.kind if column.kind in _PHRASES else "number"
        wanted = getattr(column, "wanted", kind)
        known, new = "", " never seen in training"
        if isinstance(column, ConstantColumn):
            new = "" if column.kind == "gap" else f"; {constant_text(column)}"
            new = new or ", never filled in training"
        elif isinstance(column, NumberColumn) and column.low is not None:
            low, high = column.low, column.high or 0.0
            trained = known_text(phrase_kind(column), low, low, high, gaps=False)
            known = f"; training {trained}"
            if low == high:
                known, new = f"; {trained} in training", f"; {trained} in training"
        alone = ", never so in training"
        together = ", never together with the other gaps in training"
        return [known, new, alone, together, f" is not a {kind}", f" is not a {wanted}"]

    def _told_by_zone(self, places: Places, states: Places, cells: pa.Array) -> Places:
        """The states (n,), with those of bad dates whose time zone is not as in training apart."""
        bad = states == _BAD
        if not bad.any():
            return states
        zones = [getattr(column, "has_zone", None) for column in self._encoder.columns]
        known = np.array([zone is not None for zone in zones])[places]
        expected = np.array([bool(zone) for zone in zones])[places]
        other = bad & known & (zoned(pc.utf8_trim(cells, "'")) != expected)
        return np.where(other, _OTHER_ZONE, states)

    def _cells(self, places: Places, states: Places, rows: Rows) -> pa.Array:
        """The cells (n,) themselves, as words, numbers or dates."""
        n = len(places)
        values = rows.encoded.values[np.arange(n), places]
        missing = rows.encoded.missing[np.arange(n), places] & (states != _NEW)
        plain = ~np.isnan(values)
        texts = _number_texts(np.where(plain, values, 0.0))
        dates = plain & self._are("date")[places] & (np.abs(values) < _MOST_DAYS)
        if dates.any():
            texts = pc.replace_with_mask(texts, pa.array(dates), _date_texts(values[dates]))
        times = plain & self._are("time")[places] & (values >= 0) & (values < _DAY / 1e6)
        if times.any():
            texts = pc.replace_with_mask(texts, pa.array(times), _time_texts(values[times]))
        texts = self._told_apart(texts, values, places, rows)
        words = ~plain & ~missing
        if words.any():
            texts = pc.replace_with_mask(texts, pa.array(words), rows.words(words, places))
        if (gaps := ~plain & missing).any():
            texts = pc.if_else(pa.array(gaps), "missing", texts)
        return texts

    def _told_apart(
        self, texts: pa.Array, values: FloatArray, places: Places, rows: Rows
    ) -> pa.Array:
        """Texts with more digits where a number outside its range would look like its end."""
        outside = rows.encoded.outside[np.arange(len(places)), places]
        at = np.flatnonzero(outside)
        if not len(at):
            return texts
        ends = [self._ends[place] for place in places[at].tolist()]
        same = [
            text in end
            for text, end in zip(texts.take(pa.array(at)).to_pylist(), ends, strict=True)
        ]
        if not any(same):
            return texts
        at = at[np.array(same)]
        precise = [self._precisely(int(places[i]), float(values[i])) for i in at]
        mask = np.zeros(len(places), dtype=bool)
        mask[at] = True
        return pc.replace_with_mask(texts, pa.array(mask), pa.array(precise, pa.string()))

    def _precisely(self, place: int, value: float) -> str:
        column = self._encoder.columns[place]
        low, high = getattr(column, "low", None), getattr(column, "high", None)
        return value_text(phrase_kind(column), value, low or 0.0, high or 0.0)

    @cached_property
    def _ends(self) -> list[frozenset[str]]:
        """How the ends of the range of each column are written."""
        ends = []
        for column in self._encoder.columns:
            known = [getattr(column, "low", None), getattr(column, "high", None)]
            values = np.array([value for value in known if value is not None], dtype=float)
            write = _WRITERS.get(column.kind, _number_texts)
            ends.append(frozenset(write(values).to_pylist()))
        return ends

    def _are(self, kind: str) -> BoolArray:
        return np.array([column.kind == kind for column in self._encoder.columns], dtype=bool)


class Rows:
    """Rows of a table to give reasons for: their cells, and what the encoder found in them."""

    def __init__(self, encoder: Encoder, encoded: Encoded, batch: pa.RecordBatch) -> None:
        self._encoder, self.encoded, self._batch = encoder, encoded, batch
        self._coded: dict[int, tuple[npt.NDArray[np.int64], pa.Array]] = {}

    def states(self, places: Places) -> Places:
        """Code (n,) of how the cell in column `places` (n,) of each row stands to training.

        The codes are the constants of this file: known, never seen, missing, bad and so on.
        """
        encoded, every = self.encoded, np.arange(len(places))
        states = np.full(len(places), _KNOWN, dtype=np.intp)
        if not encoded.never_seen.any():
            return states
        missing, strange = encoded.missing[every, places], encoded.strange_cells[every, places]
        gap = missing & (encoded.strange_pattern | strange)
        some = np.array([c.missing is not None for c in self._encoder.columns], dtype=bool)
        together = encoded.missing.sum(axis=1) > 1
        states[gap] = np.where((together & some[places])[gap], _NOT_TOGETHER, _NEVER_MISSING)
        kinds = [c.kind == "gap" for c in self._encoder.columns]
        always = np.array(kinds, dtype=bool)[places]
        states[always] = _KNOWN
        states[strange & (~missing | always)] = _NEW
        states[encoded.bad_cells[every, places]] = _BAD
        return states

    def words(self, mask: BoolArray, places: Places) -> pa.Array:
        """Quoted words, one for each row in the mask (n,): its cell in column `places` (n,)."""
        at = np.flatnonzero(mask)
        texts = np.empty(len(at), dtype=object)
        for place in np.unique(places[at]).tolist():
            codes, quoted = self._quoted(place)
            here = places[at] == place
            texts[here] = quoted.take(pa.array(codes[at[here]])).to_numpy(zero_copy_only=False)
        return pa.array(texts, pa.string())

    def _quoted(self, place: int) -> tuple[npt.NDArray[np.int64], pa.Array]:
        """Code (n,) of each cell of a column, and what the codes mean, in quotes."""
        if place not in self._coded:
            name = self._encoder.names[place]
            cells = self._batch.column(name)
            if UNREADABLE + name in self._batch.schema.names:
                unread = self._batch.column(UNREADABLE + name).cast(pa.string())
                cells = pc.coalesce(unread, as_words(cells, name).cast(pa.string()))
            coded = as_words(cells, name)
            known = [f"'{shortened(word)}'" for word in coded.dictionary.to_pylist()]
            codes = codes_of(coded)
            codes = np.where(codes < 0, len(known), codes)
            self._coded[place] = codes, pa.array([*known, "missing"], pa.string())
        return self._coded[place]


def shortened(text: str) -> str:
    """A name or word cut to at most 40 characters, with an ellipsis where it was cut."""
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def phrase_kind(column: AnyColumn) -> str:
    """The kind of value that `columns.phrases` takes for a column: "number", "date" or "span"."""
    return _PHRASES.get(column.kind, "number")


def _number_texts(values: FloatArray) -> pa.Array:
    """Numbers (n,) to six digits; whole ones have all of theirs.

    >>> _number_texts(np.array([648.0, 0.1234567, 1234567.0])).to_pylist()
    ['648', '0.123457', '1234567']
    """
    size = np.abs(values)
    usual = (size > 0) & (size < np.inf)
    power = np.floor(np.log10(np.where(usual, size, 1.0)))
    with np.errstate(over="ignore", invalid="ignore"):
        unit = 10.0 ** (power - (_DIGITS - 1))
        finer = unit < 1  # powers below 1 are not exact, those above are
        inverse = 10.0 ** np.where(finer, (_DIGITS - 1) - power, 0.0)
        rounded = np.where(
            finer, np.rint(values * inverse) / inverse, np.rint(values / unit) * unit
        )
    whole = (values == np.rint(values)) & (size < 1e15)
    kept = ~usual | whole | ~np.isfinite(rounded)
    return pa.array(np.where(kept, values, rounded)).cast(pa.string())


def _date_texts(days: FloatArray) -> pa.Array:
    """Days since 1970 (n,) as dates, with the time of day where any of them has one.

    >>> _date_texts(np.array([19000.0])).to_pylist()
    ['2022-01-08']
    """
    if np.all(days == np.rint(days)):
        return pa.array(days.astype(np.int32), pa.date32()).cast(pa.string())
    stamps = pa.array(np.rint(days * _DAY).astype(np.int64)).cast(pa.timestamp("us"))
    return stamps.cast(pa.timestamp("s"), safe=False).cast(pa.string())


def _time_texts(seconds: FloatArray) -> pa.Array:
    """Seconds (n,) of less than a day as times, such as 7:30:00, as ranges are written.

    >>> _time_texts(np.array([27000.0])).to_pylist()
    ['7:30:00']
    """
    clock = pa.array(np.floor(seconds).astype(np.int32), pa.time32("s")).cast(pa.string())
    return pc.replace_substring_regex(clock, "^0", "")


_WRITERS = {"date": _date_texts, "time": _time_texts}
