"""Use mutants one after the other, in a process with limits; a lost process loses no finding."""

from __future__ import annotations

import json
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import child
from fuzz.targets import TARGETS, Target, quietly
from pnml import InputError

TESTS = Path(__file__).parents[1]
SECONDS = 10  # of processor time that one mutant may take
WAITING = 60  # seconds, if it waits for something instead
MEMORY = 1_000_000_000  # bytes that mutants may add to what the libraries take

_LIMITS = (
    (signal.ITIMER_PROF, signal.SIGPROF, SECONDS),
    (signal.ITIMER_REAL, signal.SIGALRM, WAITING),
)


@dataclass(frozen=True)
class Finding:
    """A mutant that did not end in a result or a refusal."""

    target: str
    number: int
    what: str


class TooSlow(BaseException):
    """A mutant took longer than it may."""


def mutant(target: Target, seeds: list[Path], number: int) -> tuple[Path, bytes]:
    """The mutant of a number: the file that it was made from, and its bytes."""
    rng = np.random.default_rng([number, len(target.name)])
    seed = seeds[rng.integers(len(seeds))]
    return seed, target.mutant(seed, rng)


def made_seeds(target: Target, folder: Path) -> list[Path]:
    """Good files of a target, in a folder of their own."""
    place = folder / "seeds"
    place.mkdir()
    return target.seeds(place)


def used(target: Target, path: Path) -> str | None:
    """What went wrong when a file was used; None if it gave a result or a refusal."""
    for timer, stop, seconds in _LIMITS:
        signal.signal(stop, _too_slow)
        signal.setitimer(timer, seconds)
    try:
        quietly(target.use, path)
    except InputError:
        return None
    except (Exception, TooSlow) as error:
        return f"{type(error).__name__}: {error}"[:300]
    finally:
        for timer, _, _ in _LIMITS:
            signal.setitimer(timer, 0)
    return None


def _too_slow(*_: object) -> None:
    raise TooSlow(f"more than {SECONDS} s")


def explore(name: str, first: int, count: int, seconds: float) -> None:
    """Use mutants in this process, and print a line of JSON before and after each."""
    target = TARGETS[name]
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        seeds = made_seeds(target, folder)
        for seed in seeds:  # before the limit: what the libraries need is loaded
            (folder / seed.name).write_bytes(seed.read_bytes())
            wrong = used(target, folder / seed.name)
            _say(number=-1, what=wrong)
        _limit_memory()
        until = time.monotonic() + seconds
        for number in range(first, first + count):
            if time.monotonic() > until:
                break
            seed, data = mutant(target, seeds, number)
            path = folder / seed.name
            path.write_bytes(data)
            _say(number=number)
            _say(number=number, what=used(target, path))


def _limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY,) * 2)


def _say(**line: object) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def fuzzed(
    name: str, *, first: int = 0, count: int = 100, seconds: float = 60.0
) -> Iterator[Finding | int]:
    """Findings among mutants of a target; a number says how many were used since the last."""
    end, until = first + count, time.monotonic() + seconds
    while first < end and time.monotonic() < until:
        left = until - time.monotonic()
        code = (
            f"import sys; sys.path.insert(0, {str(TESTS)!r}); from fuzz.running import explore; "
            f"explore({name!r}, {first}, {end - first}, {left})"
        )
        done = child.python(code, seconds=left + 120)
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        finished = [line for line in lines if "what" in line]
        for line in finished:
            if line["what"]:
                yield Finding(name, line["number"], line["what"])
        numbers = [line["number"] for line in finished if line["number"] >= 0]
        yield len(numbers)
        if done.returncode == 0:
            return
        lost = max((line["number"] for line in lines), default=first)
        yield Finding(name, lost, f"the process ended with {done.returncode}: {done.stderr[-200:]}")
        first = max(lost, first) + 1
