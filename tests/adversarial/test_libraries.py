"""The defence is a network like any other to the libraries of attacks, and our doors to them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from torch import nn

from pnml.adversarial import AdversarialPNML, AveragedPNML, fab, hop_skip_jump, square

RADIUS = 0.3


def images(n=6, seed=1):
    return torch.rand(n, 1, 4, 4, generator=torch.Generator().manual_seed(seed))


def tiny(classes=4):
    """A network that answers with several labels in the middle of the range."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Flatten(), nn.Linear(16, 12), nn.Tanh(), nn.Linear(12, classes))
    with torch.no_grad():
        for weight in (net[1].weight, net[3].weight):
            weight.mul_(4)
        net[1].bias.copy_(-net[1].weight.sum(dim=1) / 2)
        net[3].bias.zero_()
    return net.eval()


@pytest.fixture(params=["autograd", "identity", "soft", "averaged"])
def defence(request):
    if request.param == "averaged":
        return AveragedPNML(tiny(), 0.1, draws=2)
    return AdversarialPNML(tiny(), 0.1, backward=request.param)


def library(name):
    """A library whose own warnings are not ours to fix."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name)


def within(x, found):
    assert found.shape == x.shape
    assert float((found - x).abs().max()) <= RADIUS + 1e-5
    assert float(found.min()) >= 0
    assert float(found.max()) <= 1


def some_fall(defence, found, y):
    with torch.no_grad():
        assert (defence(found).argmax(dim=1) != y).any()


@pytest.mark.filterwarnings("ignore")
def test_art_takes_it_for_a_network_and_its_dtypes_are_cast(defence):
    library("art")
    from art.attacks.evasion import HopSkipJump, ProjectedGradientDescent
    from art.estimators.classification import PyTorchClassifier

    classifier = PyTorchClassifier(
        defence,
        loss=nn.CrossEntropyLoss(),
        input_shape=(1, 4, 4),
        nb_classes=4,
        clip_values=(0.0, 1.0),
        device_type="cpu",
    )
    x = images(3)
    y = defence(x).argmax(dim=1)
    double = x.numpy().astype(np.float64)
    assert np.isfinite(classifier.predict(double)).all()
    pgd = ProjectedGradientDescent(classifier, eps=RADIUS, eps_step=0.1, max_iter=8, verbose=False)
    found = torch.from_numpy(pgd.generate(x.numpy(), y=y.numpy()))
    within(x, found)
    if getattr(defence, "backward", None) == "autograd":  # the values of all are the same
        few = {"max_iter": 2, "max_eval": 50, "init_eval": 10, "verbose": False}
        hop = HopSkipJump(classifier, norm=np.inf, **few)
        walked = hop.generate(double, y=y.numpy())
        assert walked.shape == double.shape


@pytest.mark.parametrize("call", ["fab", "square"])
@pytest.mark.filterwarnings("ignore")
def test_our_doors_to_pyautoattack_stay_in_the_ball_and_leave_chance_alone(call):
    library("pyautoattack")
    defence, x = AdversarialPNML(tiny(), 0.1), images(8)
    y = defence(x).argmax(dim=1)
    state, old = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    door = {"fab": lambda s: fab(defence, x, y, RADIUS, steps=5, seed=s)}
    door["square"] = lambda s: square(defence, x, y, RADIUS, queries=40, seed=s)
    first, again = door[call](3), door[call](3)
    assert (torch.get_rng_state() == state).all()
    assert (np.random.get_state()[1] == old).all()  # noqa: NPY002
    assert (first.inputs == again.inputs).all()
    within(x, first.inputs)
    with torch.no_grad():
        assert (first.fooled == (defence(first.inputs).argmax(dim=1) != y)).all()
    assert first.fooled.any()


@pytest.mark.filterwarnings("ignore")
def test_a_curve_of_queries_falls_to_the_accuracy_and_counts_each_query():
    library("pyautoattack")
    asked = []

    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = tiny()

        def forward(self, x):
            asked.append(len(x))
            return self.net(x)

    network, x = Counting(), images(8)
    y = network(x).argmax(dim=1)
    found = square(network, x, y, RADIUS, queries=40)
    curve = found.curve([0, 5, 20, 41])
    assert curve[0] == 1.0
    assert curve == sorted(curve, reverse=True)
    assert curve[-1] == pytest.approx(found.accuracy)
    assert (torch.isinf(found.queries) == ~found.fooled).all()
    assert float(found.queries[found.fooled].max()) <= 41


@pytest.mark.filterwarnings("ignore")
def test_hop_skip_jump_counts_what_it_asks_and_stops_there():
    library("art")
    network, x = tiny(), images(6)
    y = network(x).argmax(dim=1)
    asked = []
    network.register_forward_hook(lambda _, args, __: asked.append(len(args[0])))
    few = hop_skip_jump(network, x, y, 0.01, queries=25)
    # clean scores, both ends of each row, its queries and a last batch, and the final look
    assert sum(asked) <= len(x) * (1 + 2 + 25 + 100 + 1)
    assert not few.fooled.any()
    many = hop_skip_jump(network, x, y, RADIUS, queries=400)
    within(x, many.inputs)
    assert many.fooled.any()
    assert (many.queries[many.fooled] <= 400).all()
    assert (hop_skip_jump(network, x, y, RADIUS, queries=400).inputs == many.inputs).all()
    fewer = hop_skip_jump(network, x, y, RADIUS, queries=400, starts=x[:1])
    assert torch.isinf(fewer.queries[y == y[0]]).all()
