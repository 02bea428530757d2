"""What commands print: words for people, one JSON object for machines."""

from __future__ import annotations

import json
import math
import sys
from typing import TYPE_CHECKING, Any

from pnml.errors import InputError
from pnml.runtime.checks import is_share

if TYPE_CHECKING:
    from rich.table import Table

    from pnml.report.findings import Findings


def print_json(document: dict[str, Any]) -> None:
    """One JSON object; what is not finite becomes null or a word, as JSON has no such numbers."""
    sys.stdout.write(json.dumps(_plain(document), ensure_ascii=False, indent=2) + "\n")


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return value


def print_words(*lines: Any) -> None:
    """Sentences and tables for people; markup in names is not obeyed."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    for line in lines:
        if isinstance(line, str):  # what is indented is there to be copied
            console.print(Text(line), soft_wrap=line.startswith(" "))
        else:
            console.print(line)


def pairs(rows: list[tuple[str, str]]) -> Table:
    """Names and values, one pair a line."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(Text(name), Text(value))
    return table


def grid(headings: list[str], rows: list[list[str]], right: frozenset[int] = frozenset()) -> Table:
    """A table with a heading; columns named in `right` are numbers."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for j, heading in enumerate(headings):
        justify = "right" if j in right else "left"
        table.add_column(Text(heading), justify=justify, overflow="fold")  # type: ignore[arg-type]
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def side_by_side(findings: Findings) -> Table | None:
    """Coverage, log-loss and error of trusted and untrusted rows; None without labels."""
    if not findings.groups:
        return None
    regression = findings.task == "regression"
    error = "root mean squared error" if regression else "wrong labels"
    rows = []
    for group in findings.groups:
        row = [group.name, f"{group.rows:,}"]
        row += [number(group.coverage, ".1%")] if regression else []
        row += [number(group.log_loss), number(group.error, ".4g" if regression else ".1%")]
        rows.append(row)
    covered = [f"inside the {100 * findings.coverage:g}% interval"] if regression else []
    headings = ["rows with a label", "number", *covered, "log-loss", error]
    return grid(headings, rows, frozenset(range(1, len(headings))))


def number(value: float, form: str = ".4g") -> str:
    """A number, or a dash where there is none."""
    return "–" if math.isnan(value) else f"{value:{form}}"


def check_share(option: str, value: float, *, one: bool) -> None:
    """Raise where an option is no share: above 0 and below 1, or up to 1 where `one`."""
    if not is_share(value, one=one):
        top = "at most 1" if one else "below 1"
        raise InputError(f"{option} is {value:g}, but it is a share; pass one above 0 and {top}.")
