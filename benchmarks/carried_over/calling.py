"""The command ``pnml`` within this process: what it prints, its exit code and its files."""

from __future__ import annotations

import hashlib
import io
import re
import sys
import warnings
from pathlib import Path

import pyarrow.parquet

SCRIPT = re.compile(r"(<script[^>]*>)(.*?)(</script>)", re.DOTALL)
# "in 0.3 s (230 a second)", and the same in JSON
SECONDS = re.compile(
    r"\b\d[\d,.]*(?= ?(?:ms|s|seconds|minutes|a second)\b)"
    r'|(?<="seconds": )[\d.]+|(?<="rows_per_second": )[\d.]+'
)
VERSION = re.compile(r"\b\d+\.\d+(\.\d+)?([.+][\w.]+)?\b")


def call(*arguments):
    """Exit code, standard output and standard error."""
    from pnml.cli import main

    kept = sys.argv, sys.stdout, sys.stderr, warnings.showwarning
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    sys.argv, sys.stdout, sys.stderr = ["pnml", *map(str, arguments)], out, err
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            code = ended(main)
    finally:
        sys.argv, sys.stdout, sys.stderr, warnings.showwarning = kept
    return code, *(text_of(stream) for stream in (out, err))


def ended(main):
    try:
        main()
    except SystemExit as stop:
        return stop.code
    return "returned"


def text_of(stream):
    if stream.closed:
        return "closed"
    stream.flush()
    return stream.buffer.getvalue().decode("utf-8", "replace")


def record_call(record, key, arguments, outputs=(), versions=True):
    """Record one call, and the files that it is to write, if it writes them."""
    for name in outputs:
        Path(name).unlink(missing_ok=True)
    code, out, err = call(*arguments)
    record.text(f"{key}/code", str(code))
    for name, text in {"out": out, "err": err}.items():
        text = SECONDS.sub("#", text)
        record.text(f"{key}/{name}", text if versions else VERSION.sub("#.#", text))
    for name in outputs:
        record_output(record, f"{key}/{name}", Path(name))


def record_output(record, key, path):
    if not path.exists():
        record.text(key, "no file")
    elif path.suffix == ".parquet":
        record.value(key, pyarrow.parquet.read_table(path))
    elif path.suffix == ".html":
        record.text(key, SCRIPT.sub(shortened, path.read_text(encoding="utf-8")))
    elif path.suffix in (".pnml", ".onnx"):
        record.text(key, "a file")
    else:
        record.text(key, path.read_text(encoding="utf-8"))


def shortened(script):
    """A long script by its hash, since it is a library's."""
    if len(script[2]) < 100_000:
        return script[0]
    return script[1] + hashlib.sha256(script[2].encode()).hexdigest() + script[3]
