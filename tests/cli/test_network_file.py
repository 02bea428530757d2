"""A file of a network's last layer, met on the command line."""

from __future__ import annotations

import json

import pytest

import child
from pnml import save
from sentences import assert_one_sentence, state

torch = pytest.importorskip("torch")

from pnml.nn import LastLayerPNML  # noqa: E402

HEAD = torch.nn.Linear(5, 3).requires_grad_(False)
ROWS = torch.randn(200, 5, generator=torch.Generator().manual_seed(0))
NETWORK = torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.ReLU(), torch.nn.Linear(4, 3))


@pytest.fixture
def files(here):
    """Two files: of a head alone, and of a network that is elsewhere."""
    save(LastLayerPNML(HEAD).fit(ROWS), here / "head.pnml")
    save(LastLayerPNML(NETWORK, scale=0.5, alpha=2.0).fit(ROWS), here / "net.pnml")
    return here


def facts(said):
    """Name → value of the lines that a person reads."""
    lines = [line.split(None, 1) for line in said.splitlines() if line.strip()]
    return {name: value.strip() for name, value in lines}


def test_inspect_says_in_words_what_was_counted(files, call):
    done = call("inspect", "head.pnml")
    assert done.code == 0
    told = facts(done.out)
    assert told["holds"] == "the last layer of a network"
    assert told["task"] == "multiclass, 3 classes"
    assert told["rows"] == "200 counted, 200 of them kept for thresholds"
    assert told["features"] == "5 of unit norm"
    assert told["scale"].endswith(", chosen from the training rows")
    assert "pnml.load(path)" in done.out
    told = facts(call("inspect", "net.pnml").out)
    assert told["holds"] == "the last layer of a network, without the network"
    assert told["features"] == "4 of unit norm"
    assert told["penalty"] == "2"
    assert told["scale"] == "0.5, as asked"


@pytest.mark.parametrize(
    ("settings", "task", "scale"),
    [
        ({"task": "regression"}, "regression, 3 numbers", None),
        ({"task": "multilabel", "scale": None}, "multilabel, 3 yes-or-no labels", "the network's"),
    ],
)
def test_inspect_knows_every_task(settings, task, scale, here, call):
    save(LastLayerPNML(HEAD, **settings).fit(ROWS), "m.pnml")
    told = facts(call("inspect", "m.pnml").out)
    assert told["task"] == task
    assert told.get("scale", "").startswith(scale or "")
    assert ("scale" in told) == (scale is not None)


def test_inspect_tells_machines_the_same(files, call):
    told = json.loads(call("inspect", "net.pnml", "--json").out)
    assert told["file"] == "net.pnml"
    assert told["format"] == 1
    assert told["settings"]["alpha"] == 2.0
    known = {"task": "multiclass", "outputs": 3, "rows": 200, "features": 4, "scale": 0.5}
    assert known.items() <= told.items()
    assert told["holds_network"] is False


def test_inspect_needs_no_pytorch(files):
    code = """
import sys
sys.argv = ["pnml", "inspect", "net.pnml"]
from pnml.cli import main
try:
    main()
finally:
    print("torch" in sys.modules)
"""
    done = child.python(code)
    assert (done.returncode, done.stderr) == (0, "")
    assert "200 counted" in done.stdout
    assert done.stdout.splitlines()[-1] == "False"


@pytest.mark.parametrize("file", ["head.pnml", "net.pnml"])
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["score", "{}", "new.csv", "-o", "out.csv"], "takes tensors and not tables"),
        (["report", "{}", "new.csv", "-o", "out.html"], "takes tensors and not tables"),
        (["score", "model.pnml", "{}", "-o", "out.csv"], "is a model, not a table"),
        (["score", "new.csv", "{}", "-o", "out.csv"], "give the model first"),
        (["fit", "{}", "--target", "y", "-o", "out.pnml"], "is a model, not a table"),
    ],
)
def test_commands_for_tables_refuse_it_in_one_sentence(file, arguments, says, files, call):
    before = state(files)
    done = call(*(word.format(file) for word in arguments))
    assert_one_sentence(done.code, done.out, done.err, [file, says])
    assert state(files) == before
