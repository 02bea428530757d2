"""UTF-8 text of a file, decompressed and decoded."""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import zlib
from collections.abc import Generator
from typing import IO, Any

import pyarrow as pa

from pnml.errors import InputError, shorten
from pnml.readers.file_errors import reading
from pnml.readers.remote import Place

PIECE_BYTES = 4 * 2**20
_WIDE_BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def check_encoding(encoding: str) -> None:
    """Raise InputError if Python does not know the encoding, or if it is not one of text.

    >>> check_encoding("latin-1")
    """
    try:
        "".encode(encoding)
    except (LookupError, ValueError):
        raise InputError(
            f"The encoding {shorten(encoding)!r} is not known; pass one such as utf-8, latin-1 or "
            "utf-16."
        ) from None


def pieces(path: Place, name: str, encoding: str) -> Generator[tuple[bytes, int], None, None]:
    """Pieces of a file's decompressed text as UTF-8, each with the file bytes read so far."""
    decoder = _decoder(encoding)
    with reading(name), path.open("rb", buffering=0) as raw:
        stream = _decompressed(raw)
        first = True
        while True:
            piece = _read(stream, name)
            ended = not piece
            if decoder is not None:
                piece = _decoded(decoder, piece, ended, name, encoding)
            if first:
                _refuse_wide(piece, name)
                piece = piece.removeprefix(codecs.BOM_UTF8)
                first = False
            if piece:
                yield piece, raw.tell()
            if ended:
                return


def _read(stream: Any, name: str) -> bytes:
    try:
        piece: bytes = stream.read(PIECE_BYTES)
        # fill the piece, so that pieces end at the same places in every pass
        while 0 < len(piece) < PIECE_BYTES:
            more = stream.read(PIECE_BYTES - len(piece))
            if not more:
                break
            piece += more
        return piece
    except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
        if getattr(error, "errno", None) is not None:
            raise
        raise InputError(
            f"{name} cannot be decompressed to its end, so it was cut short or damaged; "
            "copy or compress it again."
        ) from error


def encoding_is_utf8(encoding: str) -> bool:
    """Whether text in this encoding is UTF-8 as it stands.

    >>> encoding_is_utf8("UTF8"), encoding_is_utf8("latin-1")
    (True, False)
    """
    return codecs.lookup(encoding).name in ("utf-8", "utf-8-sig", "ascii")


def _decoder(encoding: str) -> codecs.IncrementalDecoder | None:
    return None if encoding_is_utf8(encoding) else codecs.getincrementaldecoder(encoding)()


def _decompressed(raw: IO[bytes]) -> Any:
    """The file, decompressed where its first bytes are those of a compressed one."""
    magic = raw.read(6)
    raw.seek(0)
    if magic.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=raw)
    if magic.startswith(b"BZh"):
        return bz2.BZ2File(raw)
    if magic.startswith(b"\xfd7zXZ\0"):
        return lzma.LZMAFile(raw)
    if magic.startswith(b"\x28\xb5\x2f\xfd"):
        return pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), "zstd")
    return raw


def _decoded(
    decoder: codecs.IncrementalDecoder, piece: bytes, ended: bool, name: str, encoding: str
) -> bytes:
    try:
        return decoder.decode(piece, ended).encode()
    except UnicodeError as error:
        raise InputError(
            f"{name} is not text in the encoding {encoding}; pass the right --encoding, or save "
            "it as UTF-8 and pass none."
        ) from error


def _refuse_wide(piece: bytes, name: str) -> None:
    if piece.startswith(_WIDE_BOMS):
        raise InputError(
            f"{name} is UTF-16 text, not UTF-8; save it as UTF-8 or pass --encoding utf-16."
        )
