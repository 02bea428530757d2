"""Answers of rivals to the fresh tables, stored ahead of the one run that scores ours on them.

``python -m pnml_experiments.studies.trust_ahead RESULTS``; the run
``pnml reproduce trust-tables --scale stored -o RESULTS`` then takes them from there.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from pnml.errors import InputError
from pnml_experiments.framework.output import Output
from pnml_experiments.studies.trust_answers import rival_answers
from pnml_experiments.studies.trust_fresh import fresh


def rivals_ahead(results: Path, names: tuple[str, ...] | None = None) -> list[str]:
    """Store the answers of all rivals to these fresh tables; the names of the files."""
    out = Output(results / "trust-tables" / "ahead", results / "cache", "ahead")
    done = []
    for read in fresh(names):
        table = read()
        rival_answers(table, out, lambda steps: None)
        done.append(table.file)
        sys.stdout.write(f"{table.file}\n")
        sys.stdout.flush()
    return done


def main(arguments: Sequence[str]) -> None:
    """Command line: the folder of the results."""
    if len(arguments) != 1:
        raise InputError(f"{len(arguments)} folders were given; pass the folder of the results.")
    rivals_ahead(Path(arguments[0]))


if __name__ == "__main__":
    main(sys.argv[1:])
