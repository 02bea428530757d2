"""Faults of files at every call of a command: ``python -m tests.fuzz.faults``.

Each command runs once for each call that it makes on files and each fault that this call can meet.
The old output must stay or the whole new one be there; the command says one sentence and exits with
2, or ends as if nothing had happened; and the next run gives the right output and leaves nothing
else behind.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import shutil
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

import pnml
from fuzz.faulty_files import KINDS, Fault, Layer, faulty
from made_tables import mixed, numbers
from pnml.cli import main as command_line
from pnml.runtime import temporary
from pnml.scale import RegretMonitor, fit_files

_OLD = b"old and whole"


class Ended(NamedTuple):
    """How a run ended: its exit code, and what it said of an error."""

    code: int
    said: str


@dataclass(frozen=True)
class Command:
    """A command, and the file that it writes."""

    name: str
    run: Callable[[], Ended]
    output: str
    piped: str | None = None  # the file that comes as standard input


def pnml_command(*words: str) -> Callable[[], Ended]:
    """The command line with these words, in this process."""

    def run() -> Ended:
        out, err = io.StringIO(), io.StringIO()
        with (
            patch.object(sys, "argv", ["pnml", *words]),
            patch.object(warnings, "showwarning", warnings.showwarning),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            try:
                command_line()
            except SystemExit as ended:
                lines = [line for line in err.getvalue().splitlines() if line[:5] != "Note:"]
                return Ended(int(ended.code or 0), "\n".join(lines))
        raise AssertionError("the command did not exit")

    return run


def python_call(call: Callable[[], object]) -> Callable[[], Ended]:
    """A function of the library; what it refuses counts as exit code 2."""

    def run() -> Ended:
        try:
            call()
        except pnml.InputError as error:
            return Ended(2, str(error))
        return Ended(0, "")

    return run


def _fit_files() -> None:
    model = pnml.PNMLRegressor()
    fit_files(model, "numbers", "y", checkpoint="kept.part", checkpoint_seconds=0.0, threads=1)
    pnml.save(model, "files.pnml")


def _save() -> None:
    pnml.save(pnml.PNMLRegressor().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.5]), "saved.pnml")


def _monitor() -> None:
    monitor = RegretMonitor(np.linspace(0, 1, 50))
    monitor.update(np.linspace(0, 2, 20))
    monitor.save("monitor.pnml")


_REPORT = ("report", "model.pnml", "new.csv", "-o", "o.html")
_MERGE = ("merge", "model.pnml", "model.pnml", "-o", "m.pnml")
COMMANDS = {
    command.name: command
    for command in (
        Command(
            "fit",
            pnml_command("fit", "parts", "-t", "y", "--learner", "pnml", "-o", "fit.pnml"),
            "fit.pnml",
        ),
        Command(
            "fit, standard input",
            pnml_command("fit", "-", "-t", "y", "--learner", "pnml", "-o", "piped.pnml"),
            "piped.pnml",
            piped="new.csv",
        ),
        *(
            Command(
                f"score {new} to {output}",
                pnml_command("score", "model.pnml", new, "-o", output),
                output,
            )
            for new, output in (
                ("new.csv", "out.csv"),
                ("new.csv.gz", "out.tsv.gz"),
                ("new.parquet", "out.parquet"),
                ("new.arrow", "out.arrow"),
            )
        ),
        Command("report", pnml_command(*_REPORT), "o.html"),
        Command("merge", pnml_command(*_MERGE), "m.pnml"),
        Command("fit_files", python_call(_fit_files), "files.pnml"),
        Command("save", python_call(_save), "saved.pnml"),
        Command("monitor", python_call(_monitor), "monitor.pnml"),
    )
}


def prepare(folder: Path) -> None:
    """Tables of every format, a folder of two, and a model of them."""
    new, plain = mixed(60, seed=1), numbers(80, 3)
    pyarrow.csv.write_csv(new, folder / "new.csv")
    with pyarrow.CompressedOutputStream(str(folder / "new.csv.gz"), "gzip") as file:
        pyarrow.csv.write_csv(new, file)
    pyarrow.parquet.write_table(new, folder / "new.parquet")
    pyarrow.feather.write_feather(new, str(folder / "new.arrow"), compression="uncompressed")
    (folder / "parts").mkdir()
    (folder / "numbers").mkdir()
    for part in range(2):
        pyarrow.csv.write_csv(mixed(60, seed=part), folder / "parts" / f"{part}.csv")
        half = plain.slice(40 * part, 40)
        pyarrow.parquet.write_table(half, folder / "numbers" / f"{part}.parquet")
    with contextlib.chdir(folder):
        ended = pnml_command("fit", "parts", "-t", "y", "--learner", "pnml", "-o", "model.pnml")()
    assert ended.code == 0, ended.said


class Bench:
    """A folder in which one command runs again and again."""

    def __init__(self, command: Command, made: Path, room: Path) -> None:
        self.command, self._made, self._here = command, made, room / "here"
        self._temporary = room / "tmp"
        self._temporary.mkdir()
        self.clean = b""
        self.kinds: list[str] = []  # of the calls of a run without fault

    def begin(self) -> None:
        """Run without fault, twice, and remember calls and output."""
        outputs = []
        for _ in range(2):
            self._fresh()
            (self._here / self.command.output).write_bytes(_OLD)
            layer = Layer((self._here, self._temporary))
            ended = self._run(layer)
            assert ended.code == 0, ended.said
            outputs.append((self._here / self.command.output).read_bytes())
            self.kinds = layer.calls
        assert outputs[0] == outputs[1], f"{self.command.name} writes other bytes each time"
        self.clean = outputs[0]
        self._files = self._listed()

    def tried(self, fault: Fault) -> tuple[str, str | None]:
        """How a run with a fault ended, and what was wrong with that."""
        self._fresh()
        (self._here / self.command.output).write_bytes(_OLD)
        layer = Layer((self._here, self._temporary), fault)
        try:
            ended = self._run(layer)
        except Exception as error:
            return "raised", f"{type(error).__name__}: {error}"
        if not layer.struck:
            return "not reached", None  # threads made fewer calls this time
        how = "as if nothing had been" if ended.code == 0 else "refused"
        return how, self._wrong(ended) or self._wrong_next(fault)

    def _wrong(self, ended: Ended) -> str | None:
        output = (self._here / self.command.output).read_bytes()
        if output not in (_OLD, self.clean):
            return f"the output is corrupt after exit code {ended.code}"
        if ended.code == 0:
            return None if output == self.clean else "the old output is there after exit code 0"
        if ended.code != 2:
            return f"exit code {ended.code}"
        one_line = ended.said.count("\n") == 0 and ended.said.endswith((".", "?"))
        if not one_line or "not foreseen" in ended.said:
            return f"no sentence of ours: {ended.said!r}"
        return None

    def _wrong_next(self, fault: Fault) -> str | None:
        """The next run is another process, so it may sweep what this one left."""
        if fault.kind == "cut":  # the tables are to be put back first
            for path in self._made.rglob("*"):
                if path.is_file() and not path.name.endswith(".part"):
                    shutil.copy2(path, self._here / path.relative_to(self._made))
            for part in self._here.glob("*.part"):  # of other files now, which it would refuse
                part.unlink()
        with patch.object(temporary, "_is_gone", lambda _: True):
            ended = self._run(Layer((self._here, self._temporary)))
        if ended.code != 0:
            return f"the next run was refused: {ended.said}"
        if (self._here / self.command.output).read_bytes() != self.clean:
            return "the next run wrote other bytes"
        strays = set(self._listed()) ^ set(self._files)
        return f"left behind: {sorted(strays)}" if strays else None

    def _fresh(self) -> None:
        shutil.rmtree(self._here, ignore_errors=True)
        shutil.copytree(self._made, self._here)

    def _listed(self) -> list[str]:
        folders = (self._here, self._temporary)
        return [str(path) for folder in folders for path in sorted(folder.rglob("*"))]

    def _run(self, layer: Layer) -> Ended:
        piped = self.command.piped
        with contextlib.ExitStack() as stack:
            stack.enter_context(contextlib.chdir(self._here))
            stack.enter_context(patch.object(tempfile, "tempdir", str(self._temporary)))
            stack.enter_context(patch.object(temporary, "_swept", set()))
            stack.enter_context(patch("pnml.scale.resumable_pass.EVERY", 0.0))
            stack.enter_context(patch("pnml.scale.resumable_pass._MOST_THREADS", 1))
            stack.enter_context(patch("pnml.tables.fitting.MOST_ROWS", 50))
            stack.enter_context(warnings.catch_warnings())
            warnings.simplefilter("ignore")
            if piped is not None:
                given = io.TextIOWrapper(io.BytesIO((self._made / piped).read_bytes()))
                stack.enter_context(patch.object(sys, "stdin", given))
            stack.enter_context(faulty(layer))
            return self.command.run()


class Case(NamedTuple):
    """One command with one fault at one call."""

    command: str
    call: int
    of: str
    fault: str
    how: str
    wrong: str | None


def cases(names: list[str], *, every: int = 1, first: int = 0) -> Iterator[Case]:
    """All cases of these commands, or every so many of them from the first on."""
    with tempfile.TemporaryDirectory() as made:
        prepare(Path(made))
        count = 0
        for name in names:
            with tempfile.TemporaryDirectory() as room:
                bench = Bench(COMMANDS[name], Path(made), Path(room))
                bench.begin()
                for number, call in enumerate(bench.kinds, start=1):
                    for kind in KINDS:
                        fault = Fault(kind, number)
                        if not fault.applies(call):
                            continue
                        count += 1
                        if (count - first) % every == 0:
                            yield Case(name, number, call, kind, *bench.tried(fault))


def main() -> int:
    """Exit code 1 if anything was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.faults", description=__doc__)
    parser.add_argument("--command", choices=COMMANDS, action="append", help="all, if not given")
    parser.add_argument("--every", type=int, default=1, help="try only every so many cases")
    given = parser.parse_args()
    bad = 0
    for name in given.command or COMMANDS:
        counts: Counter[str] = Counter()
        calls = 0
        for case in cases([name], every=given.every):
            counts[case.how] += 1
            calls = max(calls, case.call)
            if case.wrong:
                bad += 1
                _say(f"{name}, call {case.call} ({case.of}), {case.fault}: {case.wrong}")
        ends = ", ".join(f"{number} {how}" for how, number in sorted(counts.items()))
        _say(f"{name}: {calls} calls, {sum(counts.values())} cases: {ends}")
    _say(f"{bad} wrong")
    return int(bad > 0)


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
