"""Runs all probes in one version: python -m benchmarks.carried_over.probe ROOT OUT SCRATCH FILES.

ROOT is the folder that `pnml` must come from, OUT the recording, SCRATCH a folder to work in, and
FILES the folder of model files, which version 0.1 writes and both versions read.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import time
import traceback
from pathlib import Path

SECTIONS = (
    "names",
    "estimators",
    "measures",
    "networks",
    "detectors",
    "queries",
    "defences",
    "streams",
    "displays",
    "graphs",
    "files",
    "command",
    "sentences",
)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("scratch", type=Path)
    parser.add_argument("files", type=Path)
    parser.add_argument("--old", type=Path, required=True, help="tree of version 0.1")
    parser.add_argument("--sections", nargs="*", default=SECTIONS, choices=SECTIONS)
    asked = parser.parse_args()
    run(asked)


def without_regions():
    """Score networks in the form of version 0.1, which both trees have: regions=False."""
    from pnml.nn import LastLayerPNML

    defaults = LastLayerPNML.__init__.__kwdefaults__
    if "regions" in defaults:
        defaults["regions"] = False


def run(asked):
    import pnml
    from benchmarks.carried_over.recording import Record

    home = Path(pnml.__file__).resolve()
    if not home.is_relative_to(asked.root.resolve()):
        sys.exit(f"pnml comes from {home} and not from {asked.root}")
    asked.scratch.mkdir(parents=True, exist_ok=True)
    record = Record(asked.out, asked.scratch)
    record.files, record.old, record.root = asked.files, asked.old, asked.root
    os.chdir(asked.scratch)
    without_regions()
    for name in asked.sections:
        start = time.perf_counter()
        try:
            importlib.import_module(f"benchmarks.carried_over.{name}").probe(record)
        except Exception as error:
            record.text(f"sections/{name}", f"broke off: {type(error).__name__}: {error}")
            traceback.print_exc()
        else:
            record.text(f"sections/{name}", "ran to its end")
        print(f"  {name}: {time.perf_counter() - start:.1f} s", flush=True)
    record.close()


if __name__ == "__main__":
    main()
