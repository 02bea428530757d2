"""Every bad input is answered in one sentence that says what to do."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

import child
from pnml.errors import InputError
from pnml.nn import LastLayerPNML, RefitLastLayerPNML


@pytest.fixture
def fitted(network, inputs):
    return LastLayerPNML(network).fit(inputs)


def convolutions():
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten())


def twice():
    layer = nn.Linear(6, 6)
    return nn.Sequential(layer, layer)


class Functional(nn.Module):
    """The last layer is a product of its own making, after one that can be seen."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(6, 12)
        self.weight = nn.Parameter(torch.ones(4, 12))

    def forward(self, x):
        return functional.linear(torch.tanh(self.a(x)), self.weight)


class OneKeyword(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(6, 4)

    def forward(self, pixels, mask=None):
        return self.a(pixels)


REFUSED = {
    "no linear layer": (
        lambda net, x: LastLayerPNML(convolutions()).fit(torch.zeros(2, 3, 8, 8)),
        "No linear layer ran .* pass layer=",
    ),
    "a head that is no layer": (
        lambda net, x: LastLayerPNML(Functional()).fit(x),
        r"returns the shape \(300, 4\), which no linear layer in it gives, .* pass layer=",
    ),
    "a layer that is not there": (
        lambda net, x: LastLayerPNML(net, "fc"),
        'no layer "fc"; its linear layers are "0", "2"',
    ),
    "a layer that is not linear": (
        lambda net, x: LastLayerPNML(net, "1"),
        'layer "1" is a ReLU, but the last layer must be linear',
    ),
    "a layer of another model": (
        lambda net, x: LastLayerPNML(net, nn.Linear(2, 2)),
        "not a part of the model",
    ),
    "a layer that is a number": (lambda net, x: LastLayerPNML(net, 3), "layer is 3, which names"),
    "a pair of one": (lambda net, x: LastLayerPNML(net, (net,)), "not one of two functions"),
    "a model that is none": (lambda net, x: LastLayerPNML(len), "not a torch module"),
    "a layer that runs twice": (
        lambda net, x: LastLayerPNML(twice()).fit(x),
        "ran 2 times in one forward pass",
    ),
    "wrong feature width": (
        lambda net, x: LastLayerPNML(net, "2").fit_features(np.zeros((3, 5))),
        "features have 5 columns, but the last layer takes 12",
    ),
    "features that no layer takes": (
        lambda net, x: LastLayerPNML(net).fit_features(np.zeros((3, 5))),
        "No linear layers of the model take 5 features",
    ),
    "features that are a row": (
        lambda net, x: LastLayerPNML(net, "2").fit_features(np.zeros(12)),
        r"shape \(12,\), but rows",
    ),
    "empty loader": (lambda net, x: LastLayerPNML(net).fit([]), "nothing to fit"),
    "empty tuple": (lambda net, x: LastLayerPNML(net).fit([()]), "empty tuple"),
    "not a loader": (lambda net, x: LastLayerPNML(net).fit(3), "is a int, which gives no batches"),
    "zero rows": (
        lambda net, x: LastLayerPNML(net, "2").fit_features(np.zeros((0, 12))),
        "nothing to fit",
    ),
    "a batch of zero rows": (lambda net, x: LastLayerPNML(net).fit([x[:0]]), "nothing to fit"),
    "NaN embeddings": (
        lambda net, x: LastLayerPNML(net, "2").fit_features(np.full((3, 12), np.nan)),
        "The array gives features that are NaN or infinite, first in row 0",
    ),
    "scoring before fit": (lambda net, x: LastLayerPNML(net)(x), "seen no training rows; call fit"),
    "threshold before fit": (
        lambda net, x: LastLayerPNML(net).regret_threshold(),
        "seen no training rows",
    ),
    "integer images": (
        lambda net, x: LastLayerPNML(net).fit((255 * x).to(torch.uint8)),
        r"input is torch.uint8, .* x.float\(\) / 255",
    ),
    "integer images in a dict": (
        lambda net, x: LastLayerPNML(OneKeyword()).fit([{"pixels": x.to(torch.uint8)}]),
        r"input is torch.uint8, .* x.float\(\) / 255",
    ),
    "an input and a keyword": (
        lambda net, x: LastLayerPNML(OneKeyword()).fit(x)(x, other=x),
        "beside the keyword other, .* by keywords, or as one dict",
    ),
    "a mask that may be the network's": (
        lambda net, x: LastLayerPNML(OneKeyword()).fit(x)(x, mask=x),
        "takes an argument mask itself, .* in a dict with its input, and ours as a function",
    ),
    "words for features": (
        lambda net, x: LastLayerPNML(net, "2").fit_features([["a"] * 12]),
        "A list came that cannot be read as rows of equally many numbers",
    ),
    "rows of unequal length": (
        lambda net, x: LastLayerPNML(net, "2").fit_features([[1.0, 2.0], [1.0]]),
        "rows of equally many numbers",
    ),
    "a number for features": (
        lambda net, x: LastLayerPNML(net, "2").fit(x).score_features(3.0),
        r"One number came, .* \(n, d\)",
    ),
    "one row without an axis of rows": (
        lambda net, x: LastLayerPNML(net, "2").fit(x).score_features(np.ones(12)),
        r"shape \(12,\), .* for one row features\[None\]",
    ),
    "one input without an axis of rows": (
        lambda net, x: LastLayerPNML(net, "2").fit(x)(x[0]),
        r"features of shape \(12,\), .* for one input x\[None\]",
    ),
    "one refitted row without an axis of rows": (
        lambda net, x: (
            RefitLastLayerPNML(net, "2")
            .fit_features(np.eye(12), np.arange(12) % 4)
            .score_features(np.ones(12))
        ),
        r"shape \(12,\), .* for one row features\[None\]",
    ),
    "features beyond all numbers": (
        lambda net, x: LastLayerPNML(net, "2").fit_features(np.full((3, 12), 1e200)),
        "NaN or infinite, first in row 0",
    ),
    "a fraction of no classes": (
        lambda net, x: LastLayerPNML(nn.Linear(6, 1), task="regression").fit(x)(x).relative_regret,
        "this is a regression head; use regret",
    ),
    "a network without numbers": (
        lambda net, x: LastLayerPNML(nn.Linear(6, 3, device="meta")).fit(x),
        "network is on the meta device",
    ),
    "one output": (
        lambda net, x: LastLayerPNML(nn.Linear(6, 1)).fit(x),
        'one output, .* pass task="regression" or task="multilabel"',
    ),
    "task": (lambda net, x: LastLayerPNML(net, task="binary"), 'task is .* "multilabel"'),
    "alpha": (lambda net, x: LastLayerPNML(net, alpha=-1), "alpha is -1"),
    "alpha that is a word": (lambda net, x: LastLayerPNML(net, alpha="loo"), "alpha is 'loo'"),
    "scale": (lambda net, x: LastLayerPNML(net, scale=0.0), "scale is 0.0"),
    "scale that is a word": (lambda net, x: LastLayerPNML(net, scale="best"), "scale is 'best'"),
    "normalize": (lambda net, x: LastLayerPNML(net, normalize=1), "normalize is 1"),
    "head": (
        lambda net, x: LastLayerPNML.from_embeddings(np.eye(3), np.zeros(2), np.eye(3)),
        r"weight has shape \(3, 3\) and the bias \(2,\)",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_refused_in_one_sentence(case, network, inputs):
    act, message = REFUSED[case]
    with pytest.raises(InputError, match=message) as caught:
        act(network, inputs)
    said = str(caught.value)
    assert said.endswith((".", ")")) or '"' in said
    assert "\n" not in said


def test_an_input_on_another_device_is_refused(fitted, inputs):
    with pytest.raises(InputError, match="input is on meta but the network is on cpu; move one"):
        fitted(inputs.to("meta"))


def test_labels_out_of_range_are_refused(fitted, inputs):
    out = fitted(inputs[:3])
    for labels, message in (
        (torch.tensor([0, 1, 4]), "labels go from 0 to 4, but the network has 4 classes"),
        (torch.tensor([-1, 1, 3]), "labels go from -1"),
        (torch.tensor([0, 1]), r"shape \(2,\)"),
        (torch.tensor([0.0, 1.0, 2.0]), "torch.float32"),
    ):
        with pytest.raises(InputError, match=message):
            out.log_loss(labels)
    numbers = LastLayerPNML(nn.Linear(6, 1), task="regression").fit(inputs)(inputs[:3])
    with pytest.raises(InputError, match="this is a regression head"):
        numbers.log_loss(torch.tensor([0, 0, 0]))


@pytest.mark.parametrize("level", [0, 1.5, "high", float("nan"), None])
def test_a_level_that_is_no_quantile_is_refused(fitted, inputs, level):
    with pytest.raises(InputError, match="pass a number above 0 and at most 1"):
        fitted.trusted(inputs, level=level)


def test_a_statistic_of_another_network_is_refused(network, inputs):
    m = LastLayerPNML(nn.Linear(6, 4)).fit(inputs)
    other = LastLayerPNML(network)
    other.statistic.load_state_dict(m.statistic.state_dict())
    with pytest.raises(InputError, match="features have 6 columns, but the last layer takes 12"):
        other(inputs)
    with pytest.raises(InputError, match="cannot be counted with the rows of 6 normalised"):
        other.partial_fit(inputs)


def test_missing_pytorch_is_named_with_the_command_that_installs_it():

    code = "import sys; sys.modules['torch'] = None\nimport pnml.nn"
    done = child.python(code)
    assert 'pip install "pnml[torch]"' in done.stderr
