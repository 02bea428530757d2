"""``pnml doctor``: which parts of the library can be used here."""

from __future__ import annotations

from pnml.cli.installed import tell
from pnml.cli.options import Json


def doctor(as_json: Json = False) -> None:
    """Tell which optional packages are installed, and how to install the others.

    It needs no package itself. Paste its output when you report an error.
    """
    tell(as_json)
