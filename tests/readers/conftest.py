"""Folders for all tests of this folder."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest


@pytest.fixture
def open_folder():
    """A folder that any user may enter."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture
def small_pieces(monkeypatch):
    """Blocks of a few rows, so that a small CSV file has many."""
    monkeypatch.setattr("pnml.readers.encoding_and_compression.PIECE_BYTES", 64)
