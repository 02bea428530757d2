"""Compare this tree with version 0.1: python -m benchmarks.carried_over [--new FOLDER].

Both versions run the same probes, each in a process of its own, with `pnml` from its own `src`.
Every difference is printed; the exit code is 1 if there is one that `expected.py` does not list.
"""

from __future__ import annotations

import argparse
import io
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

from benchmarks.carried_over.comparing import additions, differences, read
from benchmarks.carried_over.expected import reason
from benchmarks.carried_over.probe import SECTIONS

COMMIT = "b850802"
HERE = Path(__file__).parents[2]
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.carried_over")
    parser.add_argument("--new", type=Path, default=HERE, help="tree to compare; default: this one")
    parser.add_argument("--commit", default=COMMIT, help="what to compare it with")
    parser.add_argument("--keep", type=Path, help="folder for the recordings; default: none kept")
    parser.add_argument("--sections", nargs="*", default=SECTIONS, choices=SECTIONS)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="probe-") as folder:
        work = asked.keep.resolve() if asked.keep else Path(folder)
        work.mkdir(parents=True, exist_ok=True)
        sys.exit(compare(asked, work))


def compare(asked, work):
    start = time.perf_counter()
    old = work / "probe-tree"
    if not old.exists():
        unpack(asked.commit, old)
    files = work / "probe-files"
    for path in [*files.glob("*")]:
        path.unlink()
    files.mkdir(exist_ok=True)
    recordings = []
    for name, root in {"old": old, "new": asked.new.resolve()}.items():
        print(f"{name}: {root}", flush=True)
        recordings.append(probed(name, root / "src", old, work, files, asked.sections))
    code = told(*map(read, recordings))
    print(f"Took {time.perf_counter() - start:.0f} s.")
    return code


def unpack(commit, folder):
    """The tree of a commit, without touching this one."""
    packed = subprocess.run(
        ["git", "-C", str(HERE), "archive", commit], capture_output=True, check=True
    )
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        archive.extractall(folder, filter="data")


def probed(name, source, old, work, files, sections):
    """Run the probes with `pnml` from one tree; return the path of the recording."""
    out = work / f"{name}.jsonl"
    environment = os.environ | dict.fromkeys(_ONE_THREAD, "1")
    environment |= {"PYTHONPATH": f"{source}{os.pathsep}{HERE}", "PYTHONHASHSEED": "0"}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    command = [sys.executable, "-m", "benchmarks.carried_over.probe"]
    command += [str(part) for part in (source, out, work / f"probe-{name}", files)]
    command += ["--old", str(old), "--sections", *sections]
    subprocess.run(command, env=environment, cwd=work, check=True, timeout=1800)
    return out


def told(old, new):
    """Print every difference; 1 if one of them was not expected."""
    found, unexpected = differences(old, new), 0
    for key, what in found:
        why = reason(key, old.get(key, {}), new.get(key, {}))
        unexpected += why is None
        mark = "differs" if why is None else f"expected ({why})"
        print(f"{mark}: {key}: {what}")
    print(
        f"{len(old)} answers of 0.1 compared: {unexpected} differ, "
        f"{len(found) - unexpected} differ as expected; {len(additions(old, new))} are new."
    )
    return int(unexpected > 0)


if __name__ == "__main__":
    main()
