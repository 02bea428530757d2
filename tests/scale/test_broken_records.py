"""Checkpoints and monitors with a right checksum and wrong content are refused in a sentence."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest

from made_tables import mixed, numbers
from pnml import InputError, PNMLRegressor
from pnml.models.container import pack, unpack
from pnml.scale import fit_files, fit_mixed_files
from pnml.scale.monitor import RegretMonitor
from written_files import write

ODD = [None, True, -1, 1.5, 2**70, "x", [], {}, [None], {"a": 1}]


def rewrite(path, document, arrays):
    """The file with another content and the checksum of that."""
    held = {name: value for name, value in document.items() if name not in ("pnml", "sha256")}
    path.write_bytes(b"".join(pack(held, arrays)))


def places(value, at=()):
    """Paths to every part of a JSON value."""
    yield at
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(item, (*at, key))


def mutants(document, arrays, rng, most):
    """The content with one part changed, or one array."""
    spots = list(places(document))[1:]
    chosen = [spots[i] for i in rng.permutation(len(spots))[:most]]
    for at in chosen:
        for odd in ODD:
            changed = copy.deepcopy(document)
            inside = changed
            for key in at[:-1]:
                inside = inside[key]
            inside[at[-1]] = odd
            yield changed, arrays
    for name, array in arrays.items():
        for odd in (array[:0], array.astype(np.int64), np.full_like(array, np.nan)):
            yield document, arrays | {name: odd}
        yield document, {key: held for key, held in arrays.items() if key != name}


def said(run):
    """The sentence that refuses a run; nothing where it ends well."""
    try:
        run()
    except InputError as error:
        return str(error)
    return ""


class Stopped(Exception):
    pass


def stop_after(rows):
    def progress(*news):
        if news[2] >= rows:
            raise Stopped

    return progress


FITS = {
    "numbers": (numbers, lambda path, **more: fit_files(PNMLRegressor(), path, "y", **more)),
    "mixed": (
        lambda rows, _: mixed(rows, seed=4),
        lambda path, **more: fit_mixed_files(path, "y", learner="pnml", **more),
    ),
}


@pytest.fixture(params=FITS)
def stopped(request, tmp_path, monkeypatch):
    """A fit that goes on from a checkpoint, the checkpoint, and its content."""
    monkeypatch.setattr("pnml.tables.fitting.MOST_ROWS", 200)
    table, fit = FITS[request.param]
    folder, kept = write(table(1500, 3), tmp_path / "t", parts=15), tmp_path / "kept"
    with pytest.raises(Stopped):
        fit(folder, checkpoint=kept, checkpoint_seconds=0.0, threads=1, progress=stop_after(1200))
    whole = kept.read_bytes()

    def go_on():
        try:
            return fit(folder, checkpoint=kept, threads=1)
        finally:
            kept.write_bytes(whole)

    return go_on, kept, *unpack(kept)


@pytest.mark.parametrize("body", [None, {}, [], "x", 3])
def test_a_checkpoint_with_another_body_is_refused(body, stopped):
    go_on, kept, document, arrays = stopped
    rewrite(kept, document | {"counted": body}, arrays)
    with pytest.raises(InputError, match=r"Cannot go on from the checkpoint .*begin anew"):
        go_on()


def test_a_checkpoint_with_one_odd_value_is_refused_or_goes_on(stopped):
    go_on, kept, document, arrays = stopped
    refused = 0
    for changed, held in mutants(document["counted"], arrays, np.random.default_rng(0), 25):
        rewrite(kept, document | {"counted": changed}, held)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            refused += "Cannot go on from the checkpoint" in said(go_on)
    assert refused > 100
    go_on()


def test_a_monitor_with_one_odd_value_is_refused_or_goes_on(tmp_path):
    random, path = np.random.default_rng(4), tmp_path / "monitor.pnml"
    monitor = RegretMonitor(random.exponential(size=50), pool=70, within=500)
    monitor.update(random.exponential(size=100))
    monitor.update(9 * random.exponential(size=60))
    assert monitor.drift is not None
    monitor.save(path)
    document, arrays = unpack(path)
    refused = tried = 0
    for changed, held in mutants(document["regret_monitor"], arrays, random, 100):
        rewrite(path, document | {"regret_monitor": changed}, held)
        tried += 1
        sentence = said(lambda: goes_on(RegretMonitor.load(path), random))
        assert sentence.startswith(f"Cannot load {path}: ") or not sentence
        refused += bool(sentence)
    assert refused > tried / 2


def goes_on(monitor, random):
    monitor.update(random.exponential(size=5))
    assert np.isfinite(monitor.p_value)
    monitor.reset()


@pytest.mark.parametrize("body", [None, {}, [], "x", 3])
def test_a_monitor_with_another_body_is_refused(body, tmp_path):
    path = tmp_path / "monitor.pnml"
    RegretMonitor([1.0, 2.0]).save(path)
    document, arrays = unpack(path)
    rewrite(path, document | {"regret_monitor": body}, arrays)
    with pytest.raises(InputError, match="does not have the entries"):
        RegretMonitor.load(path)
