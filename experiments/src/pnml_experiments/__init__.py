"""The tables and figures of the pNML thesis, run again beside what was printed."""

from __future__ import annotations

from collections.abc import Sequence


def reproduce(arguments: Sequence[str]) -> int:
    """Run ``pnml reproduce`` with these arguments; the exit code."""
    from pnml_experiments.command import main

    return main(arguments)
