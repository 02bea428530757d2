"""Every numbered figure, table and algorithm of the thesis, and the experiment that makes it."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from pnml.errors import InputError
from pnml_experiments.framework.experiment import ROWS, Experiment
from pnml_experiments.framework.printed import lines
from pnml_experiments.framework.registry import EXPERIMENTS, find
from pnml_experiments.framework.scales import REDUCED, SCALES, Offered


@dataclass(frozen=True)
class Entry:
    """A figure, table or algorithm of the thesis, or an experiment beyond it."""

    id: str
    number: str  # in the thesis, with its kind; empty where it has none
    chapter: int  # to which it belongs, appendices too
    title: str
    names: tuple[str, ...]  # of the experiments that make it

    @property
    def experiments(self) -> tuple[Experiment, ...]:
        """The experiments that make it; several where it has parts."""
        return tuple(find(name) for name in self.names)

    @property
    def kind(self) -> str:
        """figure, table or algorithm; experiment where the thesis has none."""
        return self.number.partition(" ")[0].lower() or "experiment"

    @property
    def large(self) -> tuple[Offered, ...]:
        """The scales of its first experiment that are not reduced, from the smallest."""
        return tuple(scale for scale in self.experiments[0].scales if scale not in REDUCED)

    def cost(self, scale: str) -> float | None:
        """Approximate minutes at a scale; None if one of its experiments has none."""
        costs = [experiment.cost(scale) for experiment in self.experiments]
        known = [minutes for minutes in costs if minutes is not None]
        return sum(known) if len(known) == len(costs) else None

    @property
    def data(self) -> tuple[str, ...]:
        """Folders below the data folder that it reads from."""
        paths = (path for e in self.experiments for path in (*e.needs, *e.uses))
        return tuple(sorted({path.partition("/")[0] for path in paths}))

    def state(self, folder: Path) -> str:
        """``done at SCALE``, ``can run``, or ``needs …`` for what is missing."""
        return "; ".join(dict.fromkeys(state(part, folder) for part in self.experiments))


def state(experiment: Experiment, folder: Path) -> str:
    """``done at SCALE`` below a folder of results, ``can run``, or ``needs …``."""
    missing = experiment.print_alone()
    if missing:
        return f"needs {missing}"
    done = finished(experiment, folder)
    if done:
        return f"done at {done[-1]}"
    lack = experiment.lacking()
    return "can run" if lack is None else f"needs {lack.what}"


def finished(experiment: Experiment, folder: Path) -> list[str]:
    """The scales with a result below the folder, smallest first."""
    return [scale for scale in SCALES if (experiment.place(folder, scale) / ROWS).is_file()]


@cache
def thesis() -> tuple[Entry, ...]:
    """The figures, the tables and the algorithms of the thesis, each in their order.

    >>> entry = thesis()[0]
    >>> entry.id, entry.number, entry.chapter
    ('figure-polynomials', 'Figure 2.1', 2)
    """
    return tuple(
        Entry(
            line["id"],
            f"{line['id'].partition('-')[0].capitalize()} {line['number']}",
            int(line["chapter"]),
            line["title"],
            tuple(line["experiments"].split()),
        )
        for line in lines("catalogue")
    )


def beyond() -> tuple[Entry, ...]:
    """The experiments beyond the thesis.

    >>> beyond()[0].kind
    'experiment'
    """
    return tuple(
        Entry(one.id, "", one.chapter, one.title, (one.id,)) for one in EXPERIMENTS if one.beyond
    )


def asked(name: str) -> tuple[Experiment, ...]:
    """The experiments behind the id of an entry or of an experiment.

    >>> [one.id for one in asked("figure-iris")]
    ['iris-maps']
    """
    entries = {entry.id: entry for entry in thesis()}
    if name in entries:
        return entries[name].experiments
    known = [*entries, *(one.id for one in EXPERIMENTS)]
    near = get_close_matches(name, known, n=1)
    if name not in known and near:
        raise InputError(f"There is no entry {name}; did you mean {near[0]}?")
    return (find(name),)
