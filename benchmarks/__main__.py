"""python -m benchmarks SUITE [--rounds N] [--quick] [--json FILE]; linear, tables, scale …"""

from __future__ import annotations

import argparse
import os
from importlib import import_module
from pathlib import Path

SUITES = (
    "linear",
    "tables",
    "trusted",
    "ood",
    "heads",
    "refit",
    "active",
    "onnx",
    "scale",
    "scale_dask",
    "scale_model",
)  # modules here that have jobs


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("suite", choices=[*SUITES, "penalty-rule", "never-seen"])
    parser.add_argument("--rounds", type=int, default=9, help="rounds in which both take a turn")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that all runs")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the numbers here")
    asked = parser.parse_args()

    # One thread for everyone. Libraries read this when they are loaded, so they are loaded after.
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = "1"
    from benchmarks import never_seen, penalty_rule, report

    if asked.suite == "penalty-rule":
        return penalty_rule.main()
    if asked.suite == "never-seen":
        return never_seen.main(quick=asked.quick)

    suite = import_module(f"benchmarks.{asked.suite}")
    rows = report.run(suite.jobs(quick=asked.quick), asked.rounds)
    if asked.json is not None:
        asked.json.write_text(report.as_json(rows, asked.rounds, quick=asked.quick))
    return int(any(row.passed is False for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
