"""Tables of text cells: aligned columns, Markdown and rich. Bold cells are marked with ``**``."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

Cells = list[list[str]]  # the first row is the head


def markdown_table(cells: Cells, left: int) -> str:
    """Text of a table in Markdown; the first `left` columns are aligned to the left.

    Cells are rows of texts, of which the first is the header.

    >>> print(markdown_table([["set", "AUROC"], ["noise", "**97.10**"]], left=1))
    | set | AUROC |
    | --- | ---: |
    | noise | **97.10** |
    """
    head, *lines = cells
    rule = ["---"] * left + ["---:"] * (len(head) - left)
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, rule, *lines))


def aligned_table(cells: Cells, left: int) -> str:
    """Text of a table in plain columns, without the ``**`` of bold cells; `left` as in Markdown.

    >>> print(aligned_table([["set", "AUROC"], ["noise", "**97.10**"]], left=1))
    set    AUROC
    noise  97.10
    """
    plain = [[cell.replace("**", "") for cell in row] for row in cells]
    widths = [max(map(len, column)) for column in zip(*plain, strict=True)]
    lines = [
        "  ".join(
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in plain
    ]
    return "\n".join(lines)


def rich_table(cells: Cells, left: int, title: str) -> Any:
    """Table for the terminal, as a rich.table.Table; the package rich must be installed."""
    head, *lines = cells
    table = import_module("rich.table").Table(title=title)
    for i, name in enumerate(head):
        table.add_column(name, justify="left" if i < left else "right")
    for row in lines:
        table.add_row(*(_rich_cell(cell) for cell in row))
    return table


def bold_if(cell: str, bold: bool) -> str:
    """The text of a table's cell, between ``**`` if it is to be bold."""
    return f"**{cell}**" if bold else cell


def with_intervals(estimates: Mapping[str, tuple[float, float, float]]) -> dict[str, float]:
    """Record of a table: ``name``, ``name_low`` and ``name_high`` for the estimate of each name."""
    record: dict[str, float] = {}
    for name, (value, low, high) in estimates.items():
        record |= {name: value, f"{name}_low": low, f"{name}_high": high}
    return record


def _rich_cell(cell: str) -> str:
    text = cell.replace("**", "").replace("[", r"\[")
    return f"[bold]{text}[/bold]" if cell.startswith("**") else text
