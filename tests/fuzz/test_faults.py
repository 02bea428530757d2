"""Whatever call on files fails: the output is old or new, and whole; one sentence says why."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("safetensors")
pytest.importorskip("typer")
if sys.platform != "linux":
    pytest.skip("handles are looked up as on Linux", allow_module_level=True)

from fuzz import faults
from fuzz.faults import COMMANDS, Command, cases, python_call
from fuzz.faulty_files import Fault, Layer, faulty

QUICK = ["save", "monitor"]


def wrong(found):
    return [case for case in found if case.wrong]


@pytest.mark.parametrize("name", QUICK)
def test_a_fault_at_any_call_leaves_the_old_file_or_the_new_one(name):
    found = list(cases([name]))
    assert len(found) > 30
    assert wrong(found) == []
    assert {case.how for case in found} >= {"refused", "as if nothing had been"}


@pytest.mark.integration
@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in QUICK])
def test_some_faults_of_every_command_leave_the_old_file_or_the_new_one(name):
    found = list(cases([name], every=23))
    assert found
    assert wrong(found) == []


def careless():
    with Path("saved.pnml").open("wb", buffering=0) as file:
        file.write(b"whole")
        file.write(b" and new")


def test_a_command_that_writes_over_its_output_is_found(monkeypatch):
    command = Command("save", python_call(careless), "saved.pnml")
    monkeypatch.setitem(faults.COMMANDS, "save", command)
    found = wrong(cases(["save"]))
    assert any("corrupt" in case.wrong for case in found)
    assert any("OSError" in case.wrong for case in found)


def test_the_layer_counts_calls_in_its_folders_only(tmp_path):
    inside, outside = tmp_path / "in", tmp_path / "out"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "a").write_bytes(b"abcdef")
    with faulty(Layer((inside,))) as layer:
        assert (outside / "a").read_bytes() == b"abcdef"
        assert layer.calls == []
        assert (inside / "a").read_bytes() == b"abcdef"
    assert layer.calls[0] == "open"
    assert set(layer.calls[1:]) == {"read"}
    with faulty(Layer((inside,), Fault("EIO", 2))), pytest.raises(OSError, match="Input/output"):
        (inside / "a").read_bytes()
    with faulty(Layer((inside,), Fault("cut", 2))):
        assert (inside / "a").read_bytes() == b"abc"
