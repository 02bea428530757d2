"""Output of commands: text and tables for people, one JSON object for programs."""

from __future__ import annotations

import json
import math
import sys
from typing import TYPE_CHECKING, Any

from pnml.errors import InputError, printable
from pnml.runtime.checks import is_share

if TYPE_CHECKING:
    from rich.table import Table


def print_json(document: dict[str, Any]) -> None:
    """Print one JSON object on standard output; NaN becomes null, infinity "inf" or "-inf"."""
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
    """Print strings and rich tables on standard output; markup in strings is printed as it is."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    for line in lines:
        if isinstance(line, str):  # indented lines are for copying, so they are not wrapped
            console.print(Text(_shown(line)), soft_wrap=line.startswith(" "))
        else:
            console.print(line)


def pairs(rows: list[tuple[str, str]]) -> Table:
    """A rich table of (name, value) pairs, one pair a line, without a heading."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(Text(_shown(name)), Text(_shown(value)))
    return table


def _shown(text: str) -> str:
    """Text without the control codes that names and words may hold and a terminal would obey."""
    return "\n".join(map(printable, text.split("\n")))


def grid(headings: list[str], rows: list[list[str]], right: frozenset[int] = frozenset()) -> Table:
    """A rich table with headings; `right` are the positions of right-aligned columns."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for j, heading in enumerate(headings):
        justify = "right" if j in right else "left"
        table.add_column(Text(_shown(heading)), justify=justify, overflow="fold")  # type: ignore[arg-type]
    for row in rows:
        table.add_row(*(Text(_shown(cell)) for cell in row))
    return table


def number(value: float, form: str = ".4g") -> str:
    """A number as text in the format `form`; "–" for NaN."""
    return "–" if math.isnan(value) else f"{value:{form}}"


def check_share(option: str, value: float, *, or_one: bool) -> None:
    """Raise InputError if an option is not above 0 and below 1; with `or_one`, 1 is allowed too."""
    if not is_share(value, or_one=or_one):
        top = "at most 1" if or_one else "below 1"
        raise InputError(f"{option} is {value:g}, but it is a share; pass one above 0 and {top}.")
