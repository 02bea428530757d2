"""Fuzz for some minutes: ``python -m tests.fuzz --minutes 30``; what is found goes to a folder."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))

from fuzz.running import Finding, fuzzed, made_seeds, mutant  # noqa: E402
from fuzz.targets import TARGETS  # noqa: E402


def keep(found: Finding, folder: Path) -> Path:
    """Write the mutant of a finding, so that it can be tried again."""
    folder.mkdir(parents=True, exist_ok=True)
    target = TARGETS[found.target]
    with tempfile.TemporaryDirectory() as made:
        seed, data = mutant(target, made_seeds(target, Path(made)), found.number)
    path = folder / f"{found.target}-{found.number}{''.join(seed.suffixes)}"
    path.write_bytes(data)
    return path


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> int:
    """Exit code 1 if anything was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=2.0, help="for all targets together")
    parser.add_argument("--mutants", type=int, default=10**9, help="of each target, at most")
    parser.add_argument("--first", type=int, default=0, help="number of the first mutant")
    parser.add_argument("--target", choices=TARGETS, action="append", help="all, if not given")
    parser.add_argument("--keep", type=Path, default=Path("fuzz-findings"), help="folder")
    given = parser.parse_args()
    names = given.target or list(TARGETS)
    total, findings = 0, 0
    for name in names:
        share = 60 * given.minutes / len(names)
        counted = 0
        for said in fuzzed(name, first=given.first, count=given.mutants, seconds=share):
            if isinstance(said, int):
                counted += said
            else:
                findings += 1
                where = "" if said.number < 0 else f" → {keep(said, given.keep)}"
                say(f"{name} {said.number}: {said.what}{where}")
        say(f"{name}: {counted} mutants")
        total += counted
    say(f"{total} mutants, {findings} findings")
    return int(findings > 0)


if __name__ == "__main__":
    sys.exit(main())
