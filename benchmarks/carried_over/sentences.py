"""Sentences on bad input: the tests of 0.1 that refuse something, run against either version.

The tests are those of the old tree, with their own conftest and helpers. Modules that they import
and patch are looked up where `moves.py` has them now, names also in the same sub-package and in
the public ones; a test whose helpers are gone counts as not run, but every sentence that came
before is compared.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.carried_over.moves import ATTRIBUTES, moved

PATH = re.compile(r"pnml(\.\w+)+")

FILES = (
    "test_metrics.py",
    "active/test_curve.py",
    "active/test_dial.py",
    "active/test_refusals.py",
    "active/test_sources.py",
    "adversarial/test_refusals.py",
    "cli/test_bad_input.py",
    "cli/test_merge.py",
    "cli/test_network_file.py",
    "cli/test_options.py",
    "estimators/test_classifier_inputs.py",
    "estimators/test_classifier_pipelines.py",
    "estimators/test_gram_fit.py",
    "estimators/test_inputs.py",
    "estimators/test_kernel.py",
    "estimators/test_refit_classifier.py",
    "estimators/test_tables.py",
    "estimators/test_trees.py",
    "estimators/test_universal.py",
    "estimators/test_universal_classifier.py",
    "io/test_broken_files.py",
    "io/test_classifier_file.py",
    "io/test_network_file.py",
    "io/test_onnx.py",
    "io/test_onnx_networks.py",
    "io/test_onnx_pipelines.py",
    "io/test_onnx_tables.py",
    "io/test_round_trip.py",
    "io/test_state.py",
    "io/test_table_models.py",
    "io/test_table_refusals.py",
    "io/test_table_writing.py",
    "io/test_tree_file.py",
    "nn/test_networks.py",
    "nn/test_refit_refusals.py",
    "nn/test_refusals.py",
    "nn/test_statistic.py",
    "ood/test_composition.py",
    "ood/test_evaluation.py",
    "ood/test_gram.py",
    "ood/test_logits.py",
    "ood/test_odin.py",
    "ood/test_open_set.py",
    "ood/test_regret.py",
    "plots/test_displays.py",
    "plots/test_network_displays.py",
    "plots/test_open_set_displays.py",
    "plots/test_regret_display.py",
    "plots/test_reliability.py",
    "plots/test_risk_coverage_display.py",
    "plots/test_spectrum_display.py",
    "scale/test_dask_input.py",
    "scale/test_files.py",
    "scale/test_files_refusals.py",
    "scale/test_forget.py",
    "scale/test_merge.py",
    "scale/test_monitor.py",
    "scale/test_passes.py",
    "scale/test_resume.py",
    "tables/test_encoder.py",
    "tables/test_fitting.py",
    "tables/test_roles.py",
)


def probe(record):
    folder = record.scratch / "pytest-sentences"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(record.old / "tests", folder / "tests")
    now = str if record.root == record.old / "src" else moved
    for path in needed(folder / "tests"):
        path.write_text(redirected(path.read_text(encoding="utf-8"), now), encoding="utf-8")
    (folder / "pytest.ini").write_text(
        "[pytest]\npythonpath = tests\naddopts = --import-mode=importlib\n"
        "markers =\n    slow\n    data\n",
        encoding="utf-8",
    )
    heard = folder / "heard.jsonl"
    run(folder, heard)
    for line in heard.read_text(encoding="utf-8").splitlines():
        said = json.loads(line)
        record.text(f"sentences/{said['key']}", said["text"])


def needed(tests):
    """The test files, and what they import from beside them."""
    files = [*tests.glob("*.py"), *tests.rglob("conftest.py"), *(tests / name for name in FILES)]
    return sorted(set(files))


def run(folder, heard):
    here = Path(__file__).parents[2]
    environment = os.environ | {
        "PNML_HEARD": str(heard),
        "PYTHONPATH": os.pathsep.join([os.environ.get("PYTHONPATH", ""), str(here)]),
    }
    environment.pop("PNML_DATA", None)
    command = [sys.executable, "-m", "pytest", "-q", "--no-header", "--tb=no", "-W", "ignore"]
    command += ["-p", "benchmarks.carried_over.listening", "-p", "no:cacheprovider"]
    command += ["-p", "no:xdist", "--basetemp", str(folder / "pytest-temp"), "-c", "pytest.ini"]
    command += ["--continue-on-collection-errors"]
    done = subprocess.run(
        [*command, *(f"tests/{name}" for name in FILES)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=1500,  # 120 s on a machine that does nothing else
        check=False,
    )
    print(f"    {done.stdout.strip().splitlines()[-1] if done.stdout else done.stderr[-300:]}")


class Redirect(ast.NodeTransformer):
    """Names and dotted paths of 0.1, as they are now.

    `from pnml.somewhere import name` asks where the module is now, then its sub-package, then the
    public packages; a text such as "pnml.somewhere.name", which a test patches, is replaced.
    """

    def __init__(self, now):
        self.now = now

    def visit_ImportFrom(self, node):
        if not (node.module or "").startswith("pnml"):
            return node
        imports = []
        for a in node.names:
            module, name = self.now(f"{node.module}.{a.name}").rsplit(".", 1)
            imports += ast.parse(f"{a.asname or a.name} = _found({module!r}, {name!r})").body
        helper = ast.parse("from benchmarks.carried_over.finding import found as _found").body
        return helper + imports

    def visit_Attribute(self, node):
        self.generic_visit(node)
        if self.now is moved:
            node.attr = ATTRIBUTES.get(node.attr, node.attr)
        return node

    def visit_Constant(self, node):
        if isinstance(node.value, str) and PATH.fullmatch(node.value):
            return ast.copy_location(ast.Constant(self.now(node.value)), node)
        return node


def redirected(source, now):
    tree = Redirect(now).visit(ast.parse(source))
    return ast.unparse(ast.fix_missing_locations(tree))
