"""Rows counted in two processes are the rows of one; what one cannot do, both are told."""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
import torch

import child
import sentences
import two_processes
from pnml import LpNMLRegressor, PNMLRegressor
from pnml.core.statistic.gram import Gram
from pnml.errors import InputError
from pnml.nn import LastLayerPNML
from two_processes import CUT, inputs, network, parts, rows, settled

SCRIPT = Path(two_processes.__file__)


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """What both processes made of all scenes."""
    folder = tmp_path_factory.mktemp("processes")
    with ExitStack() as stack:
        running = [
            stack.enter_context(
                child.started([sys.executable, SCRIPT, str(rank), folder], stderr=subprocess.PIPE)
            )
            for rank in range(2)
        ]
        errors = [process.communicate()[1].decode() for process in running]
    assert [process.returncode for process in running] == [0, 0], errors
    return [torch.load(folder / f"seen_{rank}.pt", weights_only=True) for rank in range(2)]


def assert_same_bits(one, other):
    assert one.keys() == other.keys()
    for name, value in one.items():
        assert torch.equal(torch.as_tensor(value), torch.as_tensor(other[name])), name


def assert_close(one, other):
    """The same rows, sampled alike, and sums that differ in their order."""
    for name, value in one.items():
        if name in ("statistic.sample_keys", "statistic.sample_rows"):
            assert torch.equal(value, other[name]), name
        elif name != "statistic.sample_bound":  # a merge may lower it to the last key it keeps
            torch.testing.assert_close(
                torch.as_tensor(value), torch.as_tensor(other[name]), rtol=1e-10, atol=1e-10
            )


@pytest.mark.parametrize("scene", ["uneven", "empty", "own_rows_first", "estimators"])
def test_all_processes_end_with_the_same_bits(seen, scene):
    assert_same_bits(seen[0][scene], seen[1][scene])


def test_two_processes_count_what_one_counts(seen):
    one, other = (LastLayerPNML(network()).fit(part) for part in parts())
    assert_close(seen[0]["uneven"], settled(one + other))
    whole = LastLayerPNML(network()).fit(inputs())
    torch.testing.assert_close(seen[0]["uneven"]["statistic.xx"], whole.statistic.xx)
    assert seen[0]["uneven"]["statistic.counts"][0] == 6000


def test_a_process_without_rows_changes_nothing(seen):
    assert_close(seen[1]["empty"], settled(LastLayerPNML(network()).fit(inputs())))


def test_rows_counted_before_add_up_too(seen):
    counts = seen[0]["own_rows_first"]["statistic.counts"]
    assert counts.tolist() == [6000 - CUT, 1, 0, 4]


def test_where_one_process_fails_all_do_and_keep_what_they_had(seen):
    (told, rows), (failed, own_rows) = (one["one_fails"] for one in seen)
    assert failed.startswith("InputError: Batch 1 gives features that are NaN or infinite")
    assert told.startswith("RuntimeError: Process 1 of 2 has failed (InputError: Batch 1 gives")
    assert told.endswith("put that right and start all of them again.")
    assert (rows, own_rows) == (CUT, 6000 - CUT)


@pytest.mark.parametrize(
    ("scene", "words"),
    [
        ("unlike", ["Process 1", "normalised", "process 0", "raw", "same settings"]),
        ("nothing", ["nothing to fit", "any of 2 processes"]),
    ],
)
def test_what_does_not_go_together_is_refused_in_both(seen, scene, words):
    assert seen[0][scene] == seen[1][scene]
    kind, sentence = seen[0][scene].split(": ", 1)
    assert kind == "InputError"
    sentences.assert_one_sentence(2, "", sentence + "\n", words)


def test_rows_that_count_twice_are_noticed(seen):
    for one in seen:
        [(message, file)], rows = one["twice"]
        assert message.startswith("Processes 0 and 1 have counted the same 6000 rows")
        assert "DistributedSampler" in message
        assert (file, rows) == ("two_processes.py", 12000)


def test_a_group_of_some_processes_will_do(seen):
    for one, count in zip(seen, (CUT, 6000 - CUT), strict=True):
        own, outsider, no_group = one["groups"]
        assert own == count
        assert "not in the process group" in outsider
        assert "'gloo' is no process group" in no_group


def test_estimators_learn_the_rows_of_both_processes(seen):
    X, y = (np.concatenate(both) for both in zip(rows(0), rows(1), strict=True))
    probe = np.linspace(-4, 4, 40).reshape(10, 4)
    whole, told = PNMLRegressor(alpha=1.0).fit(X, y), seen[0]["estimators"]
    np.testing.assert_allclose(told["predict"], whole.predict(probe), rtol=1e-10)
    np.testing.assert_allclose(told["regret"], whole.regret(probe), rtol=1e-10)
    parts = [Gram.of(*rows(rank)).sample for rank in range(2)]
    both = parts[0] + parts[1]
    np.testing.assert_array_equal(told["sampled"], both.rows)
    np.testing.assert_array_equal(told["keys"], both.keys)


def test_moments_far_from_zero_keep_their_digits(seen):
    X, y = (np.concatenate(both) for both in zip(rows(0, 1e6), rows(1, 1e6), strict=True))
    xx, yy, count = seen[0]["estimators_far_away"]
    centred = X - X.mean(axis=0)
    np.testing.assert_allclose(xx, centred.T @ centred, rtol=1e-9)
    np.testing.assert_allclose(yy.item(), np.sum((y - y.mean()) ** 2), rtol=1e-9)
    assert count == len(X)


def test_a_process_without_rows_learns_names_and_slopes_of_the_others(seen):
    whole = LpNMLRegressor(alpha=1.0).fit(*rows(1))
    for one in seen:
        names, slopes = one["estimators_one_empty"]
        assert names == list("abcd")
        np.testing.assert_allclose(slopes, whole.coef_, rtol=1e-10)


def test_what_does_not_add_up_is_refused_in_both(seen):
    (narrow, none, told), (wide, also_none, kernel) = (one["estimators_refused"] for one in seen)
    assert narrow == wide
    assert none == also_none
    assert "Process 1 has counted 4 features" in narrow
    assert "process 0 has counted 3 features" in narrow
    assert "none of 2 processes has learnt" in none
    assert kernel.startswith("InputError: KernelPNMLRegressor does not add up over processes")
    assert told.startswith("RuntimeError: Process 1 of 2 has failed (InputError: Kernel")


def test_a_process_that_is_gone_is_not_waited_for(seen):
    kind, sentence = seen[0]["one_is_gone"].split(": ", 1)
    assert kind == "RuntimeError"
    assert sentence.startswith("Process 0 of 2 has lost the others while adding up")
    assert "timeout" in sentence
    assert "one_is_gone" not in seen[1]


def test_without_a_process_group_there_is_nothing_to_add_up():
    with pytest.raises(InputError, match="init_process_group first"):
        LastLayerPNML(network()).fit([inputs()], distributed=True)
    with pytest.raises(InputError, match="init_process_group first"):
        LastLayerPNML(network()).all_reduce()
