"""Whatever is changed in a file that the library reads, it gives a result or one refusal."""

import os
import shutil
import sys
from pathlib import Path

import pytest

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("safetensors")
if sys.platform != "linux":
    pytest.skip("limits of memory are those of Linux", allow_module_level=True)

from fuzz.changed_stores import of_the_same_files
from fuzz.running import fuzzed, made_seeds, mutant, used
from fuzz.targets import TARGETS

CORPUS = sorted((Path(__file__).parent / "corpus").glob("[a-z]*"))
THOROUGH = os.environ.get("PNML_TEST_PROFILE") == "thorough"
# A process of its own for each; the second kind of checkpoint is left to the longer runs.
SHORT = [name for name in TARGETS if THOROUGH or name != "table_checkpoints"]
MUTANTS, SECONDS = (400, 30.0) if THOROUGH else (40, 20.0)


@pytest.mark.parametrize("name", SHORT)
def test_mutants_are_used_or_refused_within_time_and_memory(name):
    found = list(fuzzed(name, count=MUTANTS, seconds=SECONDS))
    assert [finding for finding in found if not isinstance(finding, int)] == []
    assert sum(found) > 0


@pytest.mark.parametrize("name", TARGETS)
def test_the_same_number_gives_the_same_mutant_and_most_are_changed(name, tmp_path):
    target = TARGETS[name]
    seeds = made_seeds(target, tmp_path)
    twice = [[mutant(target, seeds, number) for number in range(30)] for _ in range(2)]
    assert twice[0] == twice[1]
    assert sum(seed.read_bytes() != data for seed, data in twice[0]) > 20


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_what_was_ever_found_stays_mended(path, tmp_path):
    target = TARGETS[path.name.split("-")[0]]
    seeds = made_seeds(target, tmp_path)
    shutil.copy(path, tmp_path)
    if target.name.endswith("checkpoints"):  # else it is refused for its files' other place
        (tmp_path / path.name).write_bytes(of_the_same_files(path, seeds[0]))
    assert used(target, tmp_path / path.name) is None


def test_a_traceback_and_a_hang_are_findings(monkeypatch, tmp_path):
    from dataclasses import replace

    from fuzz import running

    def fails(path):
        raise KeyError("x")

    def hangs(path):
        while True:
            pass

    limits = tuple((timer, stop, 0.2) for timer, stop, _ in running._LIMITS)
    monkeypatch.setattr(running, "_LIMITS", limits)
    target = TARGETS["models"]
    assert used(replace(target, use=fails), tmp_path).startswith("KeyError")
    assert "more than" in used(replace(target, use=hangs), tmp_path)
