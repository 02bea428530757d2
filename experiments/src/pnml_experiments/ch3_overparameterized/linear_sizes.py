"""Sizes of sets, beside those that are printed."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from importlib.resources import files

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


def printed() -> dict[tuple[str, str, str], float]:
    """Printed sizes, by table, set and number.

    >>> printed()["uci", "yacht", "columns"]
    6.0
    """
    folder = files("pnml_experiments").joinpath("printed")
    text = folder.joinpath("linear_sizes.csv").read_text(encoding="utf-8")
    return {
        (line["of"], line["set"], line["number"]): float(line["value"])
        for line in csv.DictReader(text.splitlines())
    }
