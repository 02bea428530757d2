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
