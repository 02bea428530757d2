"""Where a warning points: the user's own line that called the library."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_PACKAGE = str(Path(__file__).resolve().parents[1]) + os.sep


def stacklevel_of_caller() -> int:
    """The `stacklevel` by which `warnings.warn` names the first line outside of this library.

    A fixed number would be wrong as soon as one more function stands between.

    >>> stacklevel_of_caller()
    1
    """
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    return level
