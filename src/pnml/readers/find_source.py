"""Find what a table is read from: files, a database or a data frame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pnml.errors import MOST_PATH, InputError, shorten
from pnml.readers.csv_text import ReadOptions
from pnml.readers.data_frames import FrameKind, frame_table, kind_of, stream_reader, width
from pnml.readers.database_address import is_database
from pnml.readers.databases import spooled_database
from pnml.readers.file_errors import brief_reason, refuse_many_columns
from pnml.readers.find_files import FoundFiles, find_files, in_spool
from pnml.readers.frame_in_memory import FrameInMemory
from pnml.readers.frame_part import refuse_nested
from pnml.readers.pandas_columns import Spare, none_spare
from pnml.readers.spooled import Spool, spooled_batches


def find_source(
    source: Any,
    options: ReadOptions,
    access: Mapping[str, Any] | None = None,
    *,
    skip_bad: bool = False,
    spare: Spare = none_spare,
) -> FoundFiles:
    """The files that hold the rows of a source; temporary ones for a stream or a database.

    `access` holds options of fsspec. `spare` tells by name whether the cells of a column are not
    needed; such columns of frames, streams and databases may hold lists or anything else.
    """
    kind = kind_of(source)
    if kind is FrameKind.FILES and is_database(str(source)):
        spooled = spooled_database(str(source), options.query, options.max_columns, spare)
        found = in_spool(spooled.spool, spooled.name)
        return replace(found, impossible=spooled.impossible)
    name = str(source) if kind is FrameKind.FILES else type(source).__name__
    if options.query is not None:
        raise InputError(
            f"There is a query, but {shorten(name, MOST_PATH)} is no database; give one such as "
            "sqlite:///my.db, or leave the query out."
        )
    if kind is FrameKind.FILES:
        return find_files(source, access, skip_bad=skip_bad)
    if kind is not FrameKind.STREAM:
        refuse_many_columns(width(source), name, options.max_columns)
        frame = FrameInMemory(frame_table(source, spare), name)
        refuse_nested(frame.table.schema, frame.label, spare)
        return FoundFiles(name, (frame,))
    return in_spool(_spooled_stream(source, name, options.max_columns, spare), name)


def _spooled_stream(source: Any, name: str, most: int, spare: Spare) -> Spool:
    try:
        reader = stream_reader(source)
        refuse_many_columns(len(reader.schema), name, most)
        refuse_nested(reader.schema, name, spare)
        return spooled_batches(reader.schema, reader, name)
    except InputError:
        raise
    except Exception as error:  # the library behind the stream has errors of its own
        raise InputError(
            f"{name} cannot be read to its end ({brief_reason(error)}); check where it comes from."
        ) from error
