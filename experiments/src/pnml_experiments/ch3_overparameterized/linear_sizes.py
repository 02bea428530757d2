"""Sizes of sets, beside those that are printed."""

from __future__ import annotations

from collections.abc import Mapping

from pnml_experiments.framework.printed import numbers
from pnml_experiments.framework.result import Row, Table, exactly


def sizes_table(of: str, found: Mapping[str, Mapping[str, int]], notes: Mapping[str, str]) -> Table:
    """Numbers by set, each beside the printed one; a set may have a note.

    >>> sizes_table("uci", {"yacht": {"rows": 308}}, {}).rows[0].printed
    308.0
    """
    rows = tuple(
        Row(
            {"set": name, "number": number},
            printed()[of, name, number],
            exactly(value),
            note=notes.get(name, ""),
        )
        for name, each in found.items()
        for number, value in each.items()
    )
    return Table("Sizes of the sets", rows, digits=0)


def printed() -> dict[tuple[str, ...], float]:
    """Printed sizes, by table, set and number.

    >>> printed()["uci", "yacht", "columns"]
    6.0
    """
    return numbers("linear_sizes", ["of", "set", "number"], "value")
