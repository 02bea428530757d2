"""Finished parts of an evaluation as JSON lines, from which an interrupted one goes on."""

from __future__ import annotations

import base64
import json
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pnml.adversarial.attack_result import Attacked
from pnml.errors import InputError

_HEAD = {"format": "pnml attacks", "version": 1}


class Ledger:
    """Values under keys, each on a line of its own; without a path in memory only.

    The key of a value stands for all that it depends on, so one file may serve many evaluations.
    A line is added in one write, and one that was cut short is dropped.

    >>> Ledger(None).piece("sum", {}, lambda: {"value": 1 + 1})
    {'value': 2}
    """

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self._path = None if path is None else Path(path)
        self._values: dict[str, dict[str, Any]] = {}
        if self._path is not None:
            self._read(self._path)

    def piece(
        self, key: str, about: dict[str, Any], compute: Callable[[], dict[str, Any]]
    ) -> dict[str, Any]:
        """What was computed under this key, now or in an earlier run; plain JSON values."""
        if key not in self._values:
            value = compute()
            self._add({"key": key, **about, "value": value})
            self._values[key] = value
        return self._values[key]

    def _add(self, record: dict[str, Any]) -> None:
        if self._path is None:
            return
        try:
            with self._path.open("ab", buffering=0) as file:
                file.write(_line(record))
                os.fsync(file.fileno())
        except OSError as error:
            raise self._unwritable(error) from error

    def _read(self, path: Path) -> None:
        try:
            if not path.exists():
                path.write_bytes(_line(_HEAD))
                return
            text = path.read_bytes()
            whole = text[: text.rfind(b"\n") + 1]
            if len(whole) < len(text):
                os.truncate(path, len(whole))
            if not whole:
                path.write_bytes(_line(_HEAD))
                return
        except OSError as error:
            raise self._unwritable(error) from error
        try:
            head, *records = (json.loads(line) for line in whole.splitlines())
            self._values = {record["key"]: record["value"] for record in records}
            known = head == _HEAD
        except (ValueError, KeyError, TypeError):
            known = False
        if not known:
            raise InputError(
                f"{path} is no record of attacks; pass another path, or delete it to begin anew."
            )

    def _unwritable(self, error: OSError) -> InputError:
        return InputError(f"Cannot use {self._path}: {error.strerror}; pass another path.")


def stored(found: Attacked) -> dict[str, Any]:
    """An outcome as plain JSON values; the inputs are packed, not rounded."""
    inputs = found.inputs.cpu().numpy()
    packed = base64.b64encode(zlib.compress(np.ascontiguousarray(inputs).tobytes(), 6)).decode()
    queries = None if found.queries is None else [_finite(q) for q in found.queries.tolist()]
    return {
        "fooled": found.fooled.int().tolist(),
        "margin": found.margin.double().tolist(),
        "queries": queries,
        "dtype": str(inputs.dtype),
        "shape": list(inputs.shape),
        "inputs": packed,
    }


def restored(value: dict[str, Any], device: torch.device) -> Attacked:
    """The outcome again."""
    flat = np.frombuffer(zlib.decompress(base64.b64decode(value["inputs"])), value["dtype"])
    inputs = torch.from_numpy(flat.reshape(value["shape"]).copy()).to(device)
    queries: Tensor | None = None
    if value["queries"] is not None:
        counts = [float("inf") if q is None else q for q in value["queries"]]
        queries = torch.tensor(counts, dtype=torch.float64, device=device)
    fooled = torch.tensor(value["fooled"], device=device).bool()
    margin = torch.tensor(value["margin"], dtype=torch.float64, device=device)
    return Attacked(inputs, fooled, margin, queries)


def _finite(number: float) -> float | None:
    return number if np.isfinite(number) else None


def _line(record: dict[str, Any]) -> bytes:
    return (json.dumps(record, ensure_ascii=False) + "\n").encode()
