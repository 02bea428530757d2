"""Changes of tables: bytes, encodings, quoting, types, footers and compression."""

from __future__ import annotations

import gzip

import numpy as np

_CELLS = (
    b"",
    b"NaN",
    b"inf",
    b"-inf",
    b"1e999",
    b"1e-999",
    b"0x10",
    b"1,5",
    b'"',
    b'"a""b"',
    b"2024-02-30",
    b"24:00:00",
    b"2024-01-01T00:00:00Z",
    b"10000-01-01",
    b"007",
    b"99999999999999999999999",
    b"\xff\xfe",
    b"\x00",
    "é😀\u202e".encode(),
    b"=1+1",
    b"a" * 3000,
    b"True",
    b"1 000",
    b"$5",
    b"5%",
)
_NEWLINES = (b"\r\n", b"\r", b"\n\n", b"\x1e", b"\n\r\n")
_ENCODINGS = ("utf-8-sig", "utf-16", "utf-16-le", "latin-1", "cp1252", "utf-32")


def changed_text(data: bytes, rng: np.random.Generator) -> bytes:
    """A CSV file with other cells, rows, quotes, newlines or another encoding."""
    lines = data.split(b"\n")
    for _ in range(rng.integers(1, 4)):
        what, at = rng.integers(9), int(rng.integers(max(len(lines) - 1, 1)))
        cells = lines[at].split(b",")
        if what < 3:
            cells[rng.integers(len(cells))] = _CELLS[rng.integers(len(_CELLS))]
            lines[at] = b",".join(cells)
        elif what == 3:
            lines[at] = b",".join(cells + cells[: rng.integers(len(cells) + 1)])
        elif what == 4:
            lines[at] = b",".join(cells[: rng.integers(len(cells) + 1)])
        elif what == 5:
            lines[at] = lines[at] + b'"' if rng.random() < 0.5 else b'"' + lines[at]
        elif what == 6:
            lines.insert(at, lines[rng.integers(len(lines))])
        elif what == 7:
            del lines[at]
        else:
            lines[at] = lines[at].replace(b",", (b";", b"\t", b"|", b",,")[rng.integers(4)])
        if not lines:
            return b""
    whole = b"\n".join(lines)
    if rng.random() < 0.1:
        whole = whole.replace(b"\n", _NEWLINES[rng.integers(len(_NEWLINES))])
    if rng.random() < 0.1:
        text = whole.decode("utf-8", "replace")
        whole = text.encode(_ENCODINGS[rng.integers(len(_ENCODINGS))], "replace")
    return changed_bytes(whole, rng) if rng.random() < 0.1 else whole


def changed_bytes(data: bytes, rng: np.random.Generator) -> bytes:
    """Any file with other bytes, a piece cut out, doubled or put elsewhere; often near its ends."""
    if not data:
        return b"\0"
    for _ in range(rng.integers(1, 4)):
        end = max(1, min(len(data), int(rng.choice([len(data), 64, 400]))))
        place = int(rng.integers(end))
        at = place if rng.random() < 0.4 else len(data) - 1 - place
        what, size = rng.integers(6), int(rng.integers(1, 40))
        if what < 3:
            data = data[:at] + bytes([int(rng.integers(256))]) + data[at + 1 :]
        elif what == 3:
            data = data[:at] + data[at + size :]
        elif what == 4:
            data = data[: at + size] + data[at:]
        else:
            data = data[:at] + bytes(rng.integers(0, 256, size, dtype=np.uint8)) + data[at:]
        if not data:
            return b""
    return data


def changed_gzip(data: bytes, rng: np.random.Generator) -> bytes:
    """A compressed CSV file, changed inside, outside, or with something after its end."""
    what = rng.random()
    if what < 0.6:
        return gzip.compress(changed_text(gzip.decompress(data), rng), 1)
    if what < 0.7:
        return data + (data if rng.random() < 0.5 else b"more")
    return changed_bytes(data, rng)
