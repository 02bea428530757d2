"""Write a result as JSON lines, and read it back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from pnml.errors import InputError
from pnml.metrics import Estimate
from pnml_experiments.framework.experiment import Experiment
from pnml_experiments.framework.registry import EXPERIMENTS
from pnml_experiments.framework.result import Figure, Result, Row, Table
from pnml_experiments.framework.scales import today

if TYPE_CHECKING:
    from collections.abc import Mapping

_TITLE = "table"  # of the table of a row; a label of that name stands in its place
_VALUES = {"printed", "difference", "note"} | {
    f"{name}{end}" for name in ("ours", "fair") for end in ("", "_low", "_high")
}


@dataclass(frozen=True)
class Stored:
    """The contents of a file of rows."""

    experiment: Experiment  # its id and title at that time; it cannot be run
    scale: str
    release: str  # of this package
    result: Result  # its figures cannot be drawn again


def lines(experiment: Experiment, scale: str, result: Result) -> Iterator[dict[str, Any]]:
    """A line on how the result was made, then one line for every row.

    The first line has the titles of all tables and how many rows each has. A line of a row has the
    title too, for the reader, unless a label of the row is called ``table``.
    """
    yield {
        "experiment": experiment.id,
        "title": experiment.title,
        "chapter": experiment.chapter,
        "scale": scale,
        "pnml": version("pnml"),
        "seeds": list(result.seeds),
        "repeats": result.repeats,
        "interval": result.interval,
        "remarks": list(result.remarks),
        "tables": [
            {
                "title": table.title,
                "about": table.about,
                "digits": table.digits,
                "rows": len(table.rows),
            }
            for table in result.tables
        ],
        "figures": [{"name": figure.name, "caption": figure.caption} for figure in result.figures],
    }
    for table in result.tables:
        for row in table.rows:
            yield {_TITLE: table.title} | _checked(row, table.title).record()


def stored(path: Path) -> Stored:
    """Read a file of rows; InputError if it is not whole."""
    try:
        head, *rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        remaining = iter(rows)
        tables = tuple(
            Table(
                table["title"],
                tuple(_row(next(remaining), table["title"]) for _ in range(table["rows"])),
                table["about"],
                table["digits"],
            )
            for table in head["tables"]
        )
        figures = tuple(
            Figure(figure["name"], figure["caption"], _drawn_already) for figure in head["figures"]
        )
        result = Result(
            tables,
            figures,
            tuple(head["seeds"]),
            head["repeats"],
            head["interval"],
            tuple(head["remarks"]),
        )
        experiment = _known(head["experiment"], head["chapter"], head["title"])
        scale = today(head["scale"], experiment.scales)
        return Stored(experiment, scale, head["pnml"], result)
    except (ValueError, KeyError, TypeError, RuntimeError) as error:
        raise InputError(
            f"{path} is not a whole file of rows ({type(error).__name__}); run the experiment "
            "again with --fresh."
        ) from error


def _known(name: str, chapter: int, title: str) -> Experiment:
    """The experiment of this name as it was when the rows were made; it cannot be run."""
    known = next((one for one in EXPERIMENTS if one.id == name), Experiment(name, chapter, title))
    return replace(known, chapter=chapter, title=title, module="", case="")


def _checked(row: Row, title: str) -> Row:
    """The row, if its labels can be told from what else is stored of it."""
    if row.labels.keys() & _VALUES or row.labels.get(_TITLE) == title:
        raise InputError(
            f"A row of the table {title!r} has the labels {dict(row.labels)}, which would be lost "
            "in a file; give them other names."
        )
    return row


def _row(record: Mapping[str, Any], title: str) -> Row:
    """A row from its plain names and values, and the title of its table."""
    own = {name: value for name, value in record.items() if name not in _VALUES}
    labels = {name: value for name, value in own.items() if (name, value) != (_TITLE, title)}
    ours, fair = (_estimate(record, name) for name in ("ours", "fair"))
    return Row(labels, record["printed"], ours, fair, record["note"])


def _estimate(record: Mapping[str, Any], name: str) -> Estimate | None:
    if record[name] is None:
        return None
    return Estimate(record[name], record[f"{name}_low"], record[f"{name}_high"])


def _drawn_already() -> NoReturn:
    raise InputError("The figure of a stored result is drawn already; look at its PNG.")
