"""Kill real processes at random moments: ``python -m tests.fuzz.kills --kills 300``.

Each command runs in a process of its own, forked after the imports, which is killed (SIGKILL) at a
random moment between its first step and its end. The output must then be the old one or the whole
new one. The same command runs once more: it must write the same bytes as a run without kill, and
leave nothing else behind. Half of the processes do without unnamed temporary files, as on other
systems.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ.setdefault("OMP_NUM_THREADS", "1")  # no threads before a fork

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import rich.console
import rich.table  # noqa: F401
import sklearn.ensemble  # noqa: F401

import pnml.cli.app
import pnml.job.fit_table
import pnml.report.page
import pnml.scale.resumable_pass
import pnml.tables.fitting
from made_tables import mixed, numbers
from pnml.cli import main as main_of_pnml
from pnml.runtime import temporary

_OLD = b"old and whole"
_LONGEST = 3600  # seconds that a command may take


def _command_line(words: tuple[str, ...]) -> None:
    sys.argv = ["pnml", *words]
    main_of_pnml()


def _fit_files(_: tuple[str, ...]) -> None:
    model = pnml.PNMLRegressor()
    pnml.scale.fit_files(model, "numbers", "y", checkpoint="kept.part", checkpoint_seconds=0.0)
    pnml.save(model, "files.pnml")


def _save(_: tuple[str, ...]) -> None:
    rng = np.random.default_rng(0)
    model = pnml.PNMLRegressor().fit(rng.normal(size=(600, 300)), rng.normal(size=600))
    for _ in range(20):
        pnml.save(model, "saved.pnml")


@dataclass(frozen=True)
class Command:
    """What a process does, with which words, and the file that it writes."""

    output: str
    words: tuple[str, ...] = ()
    does: Callable[[tuple[str, ...]], None] = _command_line
    piped: str = os.devnull


COMMANDS = {
    "fit": Command("f.pnml", ("fit", "parts", "-t", "y", "--learner", "pnml", "-o", "f.pnml")),
    "fit, several learners": Command("a.pnml", ("fit", "short.csv", "-t", "y", "-o", "a.pnml")),
    "fit, standard input": Command(
        "p.pnml",
        ("fit", "-", "-t", "y", "--learner", "pnml", "-o", "p.pnml"),
        piped="long.csv",
    ),
    "score to CSV": Command("o.csv", ("score", "model.pnml", "long.csv", "-o", "o.csv")),
    "score to gz": Command("o.csv.gz", ("score", "model.pnml", "long.parquet", "-o", "o.csv.gz")),
    "score to Parquet": Command(
        "o.parquet", ("score", "model.pnml", "long.csv", "-o", "o.parquet")
    ),
    "score, standard input": Command(
        "o.arrow", ("score", "model.pnml", "-", "-o", "o.arrow"), piped="long.csv"
    ),
    "report": Command("o.html", ("report", "model.pnml", "long.csv", "-o", "o.html")),
    "merge": Command("m.pnml", ("merge", "model.pnml", "model.pnml", "-o", "m.pnml")),
    "export": Command("o.onnx", ("export", "model.pnml", "-o", "o.onnx")),
    "fit_files": Command("files.pnml", does=_fit_files),
    "save": Command("saved.pnml", does=_save),
}


def _tables(_: tuple[str, ...]) -> None:
    """Tables, a folder of many files, and a model."""
    pyarrow.csv.write_csv(mixed(300), "short.csv")
    new = mixed(20_000, seed=1)
    pyarrow.csv.write_csv(new, "long.csv")
    pyarrow.parquet.write_table(new, "long.parquet", row_group_size=4_000)
    for name in ("parts", "numbers"):
        Path(name).mkdir()
    for part in range(20):
        pyarrow.csv.write_csv(mixed(200, seed=part), Path("parts", f"{part:02}.csv"))
        table = numbers(400, 20, seed=part)
        pyarrow.parquet.write_table(table, Path("numbers", f"{part:02}.parquet"))
    _command_line(("fit", "short.csv", "-t", "y", "--learner", "pnml", "-o", "model.pnml"))


class Ended(NamedTuple):
    """How a process ended, how long it took, and the end of what it said."""

    code: int
    seconds: float
    said: str


def _finished(
    command: Command, here: Path, kept: Path, files: str, killed: float | None = None
) -> Ended:
    """A process of a command, perhaps killed after so many seconds."""
    with tempfile.TemporaryFile() as said:
        start = time.monotonic()
        process = os.fork()
        if not process:
            _become(command, here, kept, files, said.fileno())
        code = None
        if killed is not None:
            time.sleep(killed)
            os.kill(process, signal.SIGKILL)
        while code is None:
            done, status = os.waitpid(process, os.WNOHANG)
            if done:
                code = os.waitstatus_to_exitcode(status)
            elif time.monotonic() - start > _LONGEST:
                os.kill(process, signal.SIGKILL)
            else:
                time.sleep(0.002)
        said.seek(0)
        return Ended(code, time.monotonic() - start, said.read().decode()[-300:])


def _become(command: Command, here: Path, kept: Path, files: str, said: int) -> None:
    """Do in a forked process what the command does, and end."""
    code = 1
    try:
        os.chdir(here)
        os.environ["TMPDIR"] = str(kept)
        os.dup2(os.open(command.piped, os.O_RDONLY), 0)
        for stream in (1, 2):
            os.dup2(said, stream)
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
        pnml.scale.resumable_pass.EVERY = 0.0
        pnml.tables.fitting.MOST_ROWS = 500
        if files == "named":
            temporary._HANDLES = "nowhere"
        command.does(command.words)
        code = 0
    except SystemExit as ended:
        code = int(ended.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


class Kill(NamedTuple):
    """What came of one kill: when, how it ended, and what was wrong."""

    command: str
    seconds: float
    how: str
    wrong: str | None


class Bench:
    """A folder in which one command is killed again and again."""

    def __init__(self, name: str, made: Path, room: Path) -> None:
        self.name, self._command, self._made = name, COMMANDS[name], made
        self._here, self._kept = room / "here", room / "tmp"
        for _ in range(2):  # the second time the system has all libraries at hand
            self._fresh()
            whole = self._run("unnamed")
            assert whole.code == 0, whole.said
            self.seconds = whole.seconds
        self.clean = self._output.read_bytes()
        self._files = self._listed()

    def killed(self, seconds: float, files: str) -> Kill:
        """Kill after so many seconds, look, and run once more."""
        self._fresh()
        self._output.write_bytes(_OLD)
        ended = self._run(files, seconds)
        output = self._output.read_bytes()
        how = "too late" if ended.code == 0 else ("new" if output == self.clean else "old")
        if output not in (_OLD, self.clean):
            return Kill(self.name, seconds, how, "the output is lost or corrupt")
        again = self._run(files)
        if again.code != 0:
            return Kill(self.name, seconds, how, f"the next run was refused: {again.said}")
        if self._output.read_bytes() != self.clean:
            return Kill(self.name, seconds, how, "the next run wrote other bytes")
        strays = set(self._listed()) ^ set(self._files)
        return Kill(self.name, seconds, how, f"left behind: {sorted(strays)}" if strays else None)

    @property
    def _output(self) -> Path:
        return self._here / self._command.output

    def _run(self, files: str, killed: float | None = None) -> Ended:
        return _finished(self._command, self._here, self._kept, files, killed)

    def _fresh(self) -> None:
        for folder in (self._here, self._kept):
            shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self._made, self._here)
        self._kept.mkdir()

    def _listed(self) -> list[str]:
        folders = (self._here, self._kept)
        return [str(path) for folder in folders for path in sorted(folder.rglob("*"))]


def kills(names: list[str], count: int, seed: int = 0) -> Iterator[Kill]:
    """So many kills, the commands in turn."""
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as top:
        made = Path(top, "made")
        made.mkdir()
        assert _finished(Command("", does=_tables), made, Path(top), "unnamed").code == 0
        benches = []
        for number in range(count):
            if number < len(names):
                room = Path(top, str(number))
                room.mkdir()
                benches.append(Bench(names[number], made, room))
            bench = benches[number % len(benches)]
            files = ("unnamed", "named")[int(rng.integers(2))]
            yield bench.killed(float(rng.uniform(0, bench.seconds)), files)


def main() -> int:
    """Exit code 1 if anything was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.kills", description=__doc__)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--command", choices=COMMANDS, action="append", help="all, if not given")
    given = parser.parse_args()
    counts: Counter[tuple[str, str]] = Counter()
    bad = 0
    for one in kills(given.command or list(COMMANDS), given.kills, given.seed):
        counts[one.command, one.how] += 1
        bad += one.wrong is not None
        shown = f": {one.wrong}" if one.wrong else ""
        sys.stdout.write(f"{one.command} after {one.seconds:.2f} s, {one.how}{shown}\n")
        sys.stdout.flush()
    for (command, how), number in sorted(counts.items()):
        sys.stdout.write(f"{command}: {number} {how}\n")
    sys.stdout.write(f"{sum(counts.values())} kills, {bad} wrong\n")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
