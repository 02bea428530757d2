"""The kind of a file, by its first bytes and then by its ending."""

from __future__ import annotations

import os
import zipfile
from enum import Enum
from pathlib import Path
from typing import Any

from pnml.errors import MOST_PATH, InputError, shorten
from pnml.readers.file_errors import reading
from pnml.readers.remote import Place


class Kind(Enum):
    """The kinds of table files: their formats."""

    TEXT = "CSV"
    PARQUET = "Parquet"
    ARROW = "Arrow"


_SAFETENSORS_PREFIX = 8  # bytes that give the length of the header

ENDINGS = {
    ".csv": Kind.TEXT,
    ".tsv": Kind.TEXT,
    ".txt": Kind.TEXT,
    ".parquet": Kind.PARQUET,
    ".pq": Kind.PARQUET,
    ".arrow": Kind.ARROW,
    ".feather": Kind.ARROW,
    ".ipc": Kind.ARROW,
}
COMPRESSED = (".gz", ".bz2", ".zst", ".xz")

_MAGIC = {b"PAR1": Kind.PARQUET, b"ARROW1": Kind.ARROW, b"\xff\xff\xff\xff": Kind.ARROW}
_FOREIGN = {
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "an old Excel workbook or another Office file",
    b"SQLite format 3\0": "an SQLite database",
    b"\x89HDF\r\n\x1a\n": "an HDF5 file",
    b"\x93NUMPY": "a NumPy file",
    b"FEA1": "a Feather file of version 1",
    b"PARE": "an encrypted Parquet file",
    b"ORC": "an ORC file",
    b"Obj\x01": "an Avro file",
    b"%PDF": "a PDF document",
    b"\x89PNG": "an image",
    b"7z\xbc\xaf'\x1c": "a 7z archive",
}
_DATABASES = {"an SQLite database": "sqlite", "a DuckDB database": "duckdb"}
_FOREIGN_ENDINGS = {
    ".json": "JSON",
    ".jsonl": "JSON lines",
    ".ndjson": "JSON lines",
    ".rds": "an R object",
    ".rdata": "an R workspace",
}


def ending(path: Place) -> str:
    """The ending of a file name that tells its kind, without that of its compression.

    >>> ending(Path("a.CSV.gz")), ending(Path("b.parquet")), ending(Path("README"))
    ('.csv', '.parquet', '')
    """
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix in COMPRESSED else suffix


def kind_of(path: Place, name: str) -> Kind:
    """The kind of a table file; raises InputError for other files, and says what they are.

    `name` is the file in messages.
    """
    label = shorten(name, MOST_PATH)
    with reading(name), path.open("rb") as file:
        start = file.read(32)
    if not start:
        raise InputError(f"{label} is empty; give a table with a header and rows.")
    for magic, kind in _MAGIC.items():
        if start.startswith(magic):
            return kind
    if is_model_file(path):
        raise InputError(
            f"{label} is a model, not a table; give a table there, after the model where both "
            "are asked for."
        )
    other = _foreign(path, start)
    if other in _DATABASES:
        raise InputError(
            f"{label} is {other}, not a table; read one of its tables by "
            f"{_DATABASES[other]}:///{label}?table=NAME."
        )
    if other:
        raise InputError(f"{label} is {other}, not a table; save it as CSV or Parquet.")
    expected = ENDINGS.get(ending(path), Kind.TEXT)
    if expected is not Kind.TEXT:
        raise InputError(
            f"{label} does not begin as {expected.value} files do, so it is damaged or named "
            "wrongly; write it again or give it the right ending."
        )
    return Kind.TEXT


def delimiter_of(path: Place) -> str:
    r"""The usual delimiter of a text file by its ending: a tab for .tsv, else a comma.

    >>> delimiter_of(Path("a.tsv.gz")), delimiter_of(Path("a.csv"))
    ('\t', ',')
    """
    return "\t" if ending(path) == ".tsv" else ","


def _foreign(path: Place, start: bytes) -> str | None:
    for magic, words in _FOREIGN.items():
        if start.startswith(magic):
            return words
    if start[8:12] == b"DUCK":
        return "a DuckDB database"
    if start.startswith(b"PK\x03\x04"):
        return _archive(path)
    if start[:1] == b"\x80" and start[1] in range(2, 6):
        return "a Python pickle"
    if start.startswith((b"{\\rtf", b"<?xml", b"<!DOCTYPE", b"<html")):
        return "a marked-up document"
    return _FOREIGN_ENDINGS.get(ending(path))


def _archive(path: Place) -> str:
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError):
        return "a damaged zip archive"
    if any(name.startswith("xl/") for name in names):
        return "an Excel workbook"
    if "content.xml" in names:
        return "an OpenDocument file"
    return "a zip archive"


def is_model_file(path: Any) -> bool:
    """Whether a file is of the kind of model files: safetensors, by its first bytes.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     is_model_file(Path(file.name))
    False
    """
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        length = int.from_bytes(file.read(_SAFETENSORS_PREFIX), "little")
        return 2 <= length <= size - _SAFETENSORS_PREFIX and bool(file.read(2) == b'{"')
