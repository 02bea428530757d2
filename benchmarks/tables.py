"""Tables: learning from and scoring a large CSV file, against merely reading it."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from benchmarks.report import Job, Row, Target, absolute_row, ratio_row
from benchmarks.timing import duel
from pnml.cli.fit import fit_file
from pnml.cli.score import score_file
from pnml.readers import ReadOptions
from pnml.tables.roles import Request

_LEVELS = (3, 5, 8, 12, 20)  # of the columns of words
_NUMBERS = 24
# ours may take this many times as long as reading: 0.3 of the rows in a second
_SLOWEST = 1 / 0.3
_MOST_MEMORY = 1.5  # GB


@dataclass(frozen=True)
class Sizes:
    """How long the table is. Targets hold at full size only."""

    rows: int
    full: bool

    def target(self, limit: float) -> Target | None:
        return Target(limit) if self.full else None


def jobs(*, quick: bool) -> list[Job]:
    """All comparisons."""
    return [partial(_table, Sizes(20_000 if quick else 1_000_000, full=not quick))]


def write_table(path: Path, rows: int) -> None:
    """A CSV file of 30 columns: 24 numbers, 5 of words, and the target."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, _NUMBERS))
    y = X[:, :5].sum(axis=1) + rng.normal(size=rows)
    columns: dict[str, object] = {
        f"x{j}": np.round(X[:, j] * 10 ** (j % 4), 4) for j in range(_NUMBERS)
    }
    for j, levels in enumerate(_LEVELS):
        level = rng.integers(0, levels, rows)
        words = pa.array([f"level {i}" for i in range(levels)])
        columns[f"c{j}"] = words.take(pa.array(level))
        y += 0.1 * level
    pyarrow.csv.write_csv(pa.table(columns | {"y": np.round(y, 4)}), path)


def _table(sizes: Sizes, rounds: int) -> Iterator[Row]:
    rounds = min(rounds, 5)  # a round takes the better part of a minute
    rival = "pyarrow.csv.read_csv"
    with tempfile.TemporaryDirectory() as folder:
        table, model = f"{folder}/train.csv", f"{folder}/model.pnml"
        write_table(Path(table), sizes.rows)
        name = f"{sizes.rows:,} x 30 CSV"
        read = partial(pyarrow.csv.read_csv, table)
        options = ReadOptions()
        fit = partial(fit_file, table, Request("y"), "auto", model, options)
        yield ratio_row(f"pnml fit, {name}", rival, duel(fit, read, rounds), sizes.target(_SLOWEST))
        for ending in ("parquet", "arrow", "csv"):
            out = f"{folder}/scored.{ending}"
            score = partial(score_file, model, table, out, 0.9, 0.99, options)
            # text is dear to write: pyarrow alone takes longer for it than for reading
            target = None if ending == "csv" else sizes.target(_SLOWEST)
            yield ratio_row(
                f"pnml score to {ending}, {name}", rival, duel(score, read, rounds), target
            )
        commands = {
            "fit": ["fit", table, "--target", "y", "-o", model],
            "score": ["score", model, table, "-o", f"{folder}/scored.parquet"],
        }
        for command, arguments in commands.items():
            seconds, peak = _fresh(arguments)
            yield absolute_row(
                f"peak memory of pnml {command}",
                np.array([peak]),
                "GB",
                sizes.target(_MOST_MEMORY),
                f"{sizes.rows / seconds:,.0f} rows a second by the clock on the wall",
            )


# A process remembers the memory of the one that started it, but not in this file.
_COMMAND = """
import atexit, re, sys
from pathlib import Path
from pnml.cli import main
def peak():
    print(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1], file=sys.stderr)
atexit.register(peak)
main()
"""


def _fresh(arguments: list[str]) -> tuple[float, float]:
    """Seconds that a command says it took, and the peak of its memory in GB."""
    run = [sys.executable, "-c", _COMMAND, *arguments, "--json"]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout)["seconds"]), float(done.stderr) * 1024 / 1e9
