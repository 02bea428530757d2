"""Work done once: forward passes, thresholds and the scale, counted rather than timed."""

from __future__ import annotations

import copy

import pytest
import torch

from pnml.nn import LastLayerPNML
from pnml.nn.feature_regret import Scorer
from pnml.ood import Gram, RegretDetector, with_pnml


class Counter:
    """Counts the calls of a function and passes them on."""

    def __init__(self, function):
        self.function, self.calls = function, 0

    def __get__(self, owner, kind):
        return lambda *args, **kwargs: self(owner, *args, **kwargs)

    def __call__(self, *args, **kwargs):
        self.calls += 1
        return self.function(*args, **kwargs)


@pytest.fixture
def references(monkeypatch):
    """How often the regrets of left-out training rows are computed."""
    counter = Counter(Scorer.sample_regrets)
    monkeypatch.setattr(Scorer, "sample_regrets", counter)
    return counter


def counted_forwards(network):
    sizes = []
    handle = network.register_forward_pre_hook(lambda _, args: sizes.append(len(args[0])))
    return sizes, handle


def same(one, other):
    return one.keys() == other.keys() and all(
        torch.equal(value.nan_to_num(-1.0), other[name].nan_to_num(-1.0))
        for name, value in one.items()
    )


def test_fit_sends_every_batch_through_the_network_once(network, inputs):
    sizes, _ = counted_forwards(network)
    module = LastLayerPNML(network).fit([inputs[:100], inputs[100:250], inputs[250:]])
    assert sizes == [100, 150, 50]
    module(inputs[:7])
    assert sizes[3:] == [7]


def test_the_last_layer_is_found_by_the_forward_pass_that_needs_it(network, inputs):
    """Also with gradients: the pass that finds the layer is the one that is differentiated."""
    known = LastLayerPNML(network, layer="2").fit([inputs])
    module = LastLayerPNML(network)
    module.load_state_dict(known.state_dict())
    sizes, _ = counted_forwards(network)
    x = inputs[:5].clone().requires_grad_(True)
    module(x).regret.sum().backward()
    assert sizes == [5]
    y = inputs[:5].clone().requires_grad_(True)
    known(y).regret.sum().backward()
    torch.testing.assert_close(x.grad, y.grad)
    assert x.grad.abs().max() > 0


def test_a_head_that_does_not_run_last_is_found_all_the_same(inputs):
    class Auxiliary(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.head = torch.nn.Linear(6, 8), torch.nn.Linear(8, 3)
            self.other = torch.nn.Linear(8, 5)

        def forward(self, x):
            features = self.body(x)
            logits = self.head(features)
            self.other(features)  # runs after the head, and is not returned
            return logits

    torch.manual_seed(0)
    network = Auxiliary().requires_grad_(False)
    found, named = LastLayerPNML(network), LastLayerPNML(network, layer="head")
    for module in (found, named):
        module.fit([inputs])
    assert same(found.state_dict(), named.state_dict())


@pytest.mark.parametrize("asked", ["trusted", "thresholds", "detector"])
def test_thresholds_are_computed_once(network, inputs, references, asked):
    module = LastLayerPNML(network).fit([inputs])
    detector = RegretDetector(module)
    ask = {
        "trusted": module.trusted,
        "thresholds": lambda _, level: module.thresholds(level),
        "detector": lambda x, level: detector.trusted(x, level=level),
    }[asked]
    for level in (0.9, 0.99, 0.9, 0.99):
        for _ in range(3):
            ask(inputs[:1], level=level)
    assert references.calls == 1
    assert module.thresholds(0.9) is module.thresholds(0.9)


def other_weights(module, inputs):
    with torch.no_grad():
        module.model[2].weight.mul_(2.0)


def other_storage(module, inputs):
    module.model[2].weight.data = 2 * module.model[2].weight.data


def other_state(module, inputs):
    module.load_state_dict(LastLayerPNML(module.model).fit([3 * inputs + 1]).state_dict())


CHANGES = {
    "fit": lambda module, inputs: module.fit([3 * inputs + 1]),
    "fit_features": lambda module, inputs: module.fit_features(inputs.repeat(1, 2)),
    "partial_fit": lambda module, inputs: module.partial_fit(3 * inputs + 1),
    "load_state_dict": other_state,
    "scale": lambda module, inputs: module.statistic.keep_scale(0.5),
    "weights": other_weights,
    "storage of weights": other_storage,
}


@pytest.mark.parametrize("name", CHANGES)
def test_thresholds_follow_what_they_depend_on(name, network, inputs):
    module = LastLayerPNML(network).fit([inputs])
    before = module.thresholds(0.9)
    CHANGES[name](module, inputs)
    fresh = LastLayerPNML(network, layer="2")
    fresh.load_state_dict(module.state_dict())
    assert module.thresholds(0.9) == fresh.thresholds(0.9)
    assert module.thresholds(0.9) != before


def test_a_sum_has_thresholds_of_its_own(network, inputs):
    one, other = (LastLayerPNML(network).fit([part]) for part in (inputs, 3 * inputs + 1))
    one.thresholds(), other.thresholds()
    both = one + other
    whole = LastLayerPNML(network).fit([inputs, 3 * inputs + 1]).thresholds()
    # the two sum their rows in another order, so kernels may round the last digits differently
    assert both.thresholds().regret == pytest.approx(whole.regret, rel=1e-12)
    assert both.thresholds().leverage == pytest.approx(whole.leverage, rel=1e-12)
    assert both.thresholds() != one.thresholds()


FITS = {
    "fit": lambda net, x: LastLayerPNML(net).fit([x]),
    "fit_features": lambda net, x: LastLayerPNML(net).fit_features(net[:2](x)),
    "partial_fit": lambda net, x: LastLayerPNML(net).partial_fit(x[:150]).partial_fit(x[150:]),
    "sum": lambda net, x: LastLayerPNML(net).fit([x[:150]]) + LastLayerPNML(net).fit([x[150:]]),
    "multilabel": lambda net, x: LastLayerPNML(net, task="multilabel").fit([x]),
    "regression": lambda net, x: LastLayerPNML(net, task="regression").fit([x]),
    "fixed scale": lambda net, x: LastLayerPNML(net, scale=2.0).fit([x]),
    "no scale": lambda net, x: LastLayerPNML(net, scale=None).fit([x]),
}


@pytest.mark.parametrize("name", FITS)
def test_a_forward_pass_leaves_the_state_dict_as_it_is(name, network, inputs):
    module = FITS[name](network, inputs)
    before = copy.deepcopy(module.state_dict())
    module(inputs[:5]), module.trusted(inputs[:5]), module.scale_
    assert same(before, module.state_dict())


def test_a_state_dict_without_a_scale_loads_and_keeps_its_scale_to_itself(network, inputs):
    """As 0.1 wrote it before the first forward pass."""
    module = LastLayerPNML(network).fit([inputs])
    state = module.state_dict()
    state["statistic.scale"] = torch.tensor(float("nan"), dtype=torch.float64)
    again = LastLayerPNML(network)
    again.load_state_dict(state)
    torch.testing.assert_close(again(inputs).regret, module(inputs).regret, rtol=0, atol=0)
    assert again.scale_ == module.scale_
    assert torch.isnan(again.state_dict()["statistic.scale"])


def test_gram_with_pnml_runs_the_network_once_for_an_input(network, inputs):
    detector = with_pnml(Gram(network)).fit(inputs)
    sizes, _ = counted_forwards(network)
    for ask in (detector.predict, detector.trusted, detector.decision_function):
        ask(inputs[:9])
    assert sizes == [9, 9, 9]


def test_gram_with_pnml_of_another_network_asks_both(network, inputs):
    twin = copy.deepcopy(network)
    expected = with_pnml(Gram(network)).fit(inputs).predict(inputs[:9])
    detector = with_pnml(Gram(network), LastLayerPNML(twin)).fit(inputs)
    torch.testing.assert_close(detector.predict(inputs[:9]), expected, rtol=0, atol=0)
    parts = LastLayerPNML(network, layer=(network[:2], network[2]))
    detector = with_pnml(Gram(network), parts).fit(inputs)
    torch.testing.assert_close(detector.predict(inputs[:9]), expected, rtol=1e-6, atol=1e-9)
