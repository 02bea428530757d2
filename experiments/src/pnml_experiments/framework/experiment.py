"""An experiment: its metadata, what it needs, and how it is run."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING

from pnml.errors import InputError, how_to_install
from pnml_experiments.framework.scales import FULL, Offered, size_of, today, warn_of_full
from pnml_experiments.framework.scales import Scale as Scale
from pnml_experiments.framework.stored_files import VARIABLE, find, paths

if TYPE_CHECKING:  # listing experiments loads no numpy
    from pnml_experiments.framework.output import Output
    from pnml_experiments.framework.result import Result

ROWS = "rows.jsonl"  # name of the file with the rows of a result
# Called with (done, total).
Progress = Callable[[int, int], None]

# Extra of pnml → the module that it installs.
_BRINGS = {"torch": "torch", "plots": "matplotlib"}


def counted(progress: Progress, total: int) -> Callable[[int], None]:
    """Progress by increments: call it with how much more is done.

    >>> tell = counted(lambda done, total: print(done, "of", total), 5)
    >>> tell(2)
    2 of 5
    >>> tell(3)
    5 of 5
    """
    done = 0

    def tell(more: int) -> None:
        nonlocal done
        done += more
        progress(done, total)

    return tell


@dataclass(frozen=True)
class Lack:
    """Something missing without which an experiment cannot run."""

    what: str  # a variable, a path or an extra
    sentence: str


@dataclass(frozen=True)
class Experiment:
    """A table or a figure of the thesis; the code that makes it is imported when it is run.

    Stands as literals at the top of its module, from where it is read without an import.
    """

    id: str
    chapter: int
    title: str
    module: str = ""  # below pnml_experiments, with a function `run`; known to those who list it
    case: str = ""  # first argument of `run`, where the module has several experiments
    needs: tuple[str, ...] = ()  # paths below the data folder, or names of groups of them
    uses: tuple[str, ...] = ()  # the same, of files that only add rows
    extras: tuple[str, ...] = ("plots",)
    packages: tuple[str, ...] = ()  # of PyPI, whose tables are read
    scales: tuple[Offered, ...] = ("small", "stored")
    minutes: tuple[float, ...] = ()  # of one core at each scale, approximate
    own: tuple[str, ...] = ()  # files, one of which our own numbers need
    gpu: bool = False  # our own numbers need a GPU
    beyond: bool = False  # a study that the thesis does not have
    less: str = ""  # what the scale stored lacks of what the thesis had, or of the data at hand
    other: str = ""  # what stands for the data or the network of the thesis

    def __post_init__(self) -> None:
        for name in ("needs", "uses", "own"):
            object.__setattr__(self, name, paths(getattr(self, name)))

    def run(self, scale: Offered, out: Output, progress: Progress) -> Result:
        """The result at this scale; finished pieces are taken from the output folder."""
        run: Callable[..., Result] = import_module(f"pnml_experiments.{self.module}").run
        return run(*[self.case] * bool(self.case), self.size(scale), out, progress)

    def size(self, scale: Offered) -> Scale:
        """The size that `run` is told for a scale."""
        return size_of(scale, self.scales)

    def lacking(self) -> Lack | None:
        """The first thing that is missing; None if the experiment can run."""
        for extra in self.extras:
            if find_spec(_BRINGS[extra]) is None:
                return Lack(
                    f"pnml[{extra}]",
                    f"{self.id} needs {_BRINGS[extra]}, which is not installed: "
                    f"{how_to_install(extra)}.",
                )
        for package in self.packages:
            if find_spec(package) is None:
                return Lack(
                    package,
                    f"{self.id} reads tables of the package {package}, which is not installed: "
                    f"run pip install {package}.",
                )
        named = os.environ.get(VARIABLE, "")
        if self.needs and not named:
            return Lack(
                VARIABLE,
                f"{self.id} reads {self.needs[0]} below the folder that {VARIABLE} names, which is "
                f"not set; set {VARIABLE} to the folder that holds the data.",
            )
        absent = next((path for path in self.needs if find(path) is None), None)
        if absent is not None:
            return Lack(
                absent,
                f"{self.id} reads {absent}, which is not below {VARIABLE}={named}; put the file "
                f"there, or set {VARIABLE} to the folder that holds it.",
            )
        return None

    def print_alone(self) -> str:
        """What is missing for our own numbers; a run then shows only printed ones."""
        if self.gpu and which("nvidia-smi") is None:
            return "a GPU"  # without it the files are of no use
        return self.own[0] if self.own and not any(find(path) for path in self.own) else ""

    def cost(self, scale: str) -> float | None:
        """Approximate minutes at a scale; None if not offered or not known.

        >>> Experiment("one", 2, "One", "one", minutes=(0.5, 10.0)).cost("stored")
        10.0
        """
        known: dict[str, float] = dict(zip(self.scales, self.minutes, strict=False))
        return known.get(scale)

    def files(self) -> list[Path]:
        """The data files that the result depends on, those that exist."""
        names = dict.fromkeys((*self.needs, *self.uses))
        return [path for name in names if (path := find(name)) is not None]

    def place(self, folder: Path, scale: str) -> Path:
        """Folder of a run below the folder of all results.

        The largest scale was called `full` once; a folder of that name stays in use.
        """
        here, older = folder / self.id / scale, folder / self.id / FULL
        in_use = scale == self.scales[-1] and older.is_dir() and not here.is_dir()
        return older if in_use else here

    def check(self, scale: str) -> Offered:
        """The scale, if it is offered and nothing is missing; InputError otherwise."""
        asked = today(scale, self.scales)
        if scale == FULL:
            warn_of_full(f"{self.id} runs at {asked}")
        offered = next((one for one in self.scales if one == asked), None)
        if offered is None:
            raise InputError(
                f"{self.id} runs at the scales {' and '.join(self.scales)}, but {scale} was asked "
                f"for; pass --scale {self.scales[0]}."
            )
        lack = self.lacking()
        if lack is not None:
            raise InputError(lack.sentence)
        return offered
