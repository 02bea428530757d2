"""The defence is its definition, whatever the dtype, the mode, the memory and the batch."""

from __future__ import annotations

import copy
import weakref

import pytest
import torch
from torch import nn

import oracle
from pnml.adversarial import AdversarialPNML
from pnml.adversarial.genies import log_probs

STEPS = [(1, None), (3, None), (4, 0.08)]


def defined(network, x, classes, genie, strength, steps, size, bounds=(0.0, 1.0)):
    """Log genies (n, C) row by row, label by label."""
    size = strength / steps if size is None else size
    tables = [oracle.hypotheses(network, row, classes, strength, steps, size, bounds) for row in x]
    judge = {"own": torch.diagonal, "class": lambda table: table.amax(dim=0)}[genie]
    return torch.stack([judge(table) for table in tables])


@pytest.mark.parametrize(("steps", "size"), STEPS)
@pytest.mark.parametrize("genie", ["own", "class"])
@pytest.mark.parametrize("classes", [2, 5])
def test_scores_probabilities_and_regret_are_those_of_the_definition(
    make, inputs, classes, genie, steps, size
):
    network = make(classes)
    truth = defined(network, inputs, classes, genie, 0.15, steps, size)
    defence = AdversarialPNML(network, 0.15, steps, size, genie=genie)
    q = truth.exp() / truth.exp().sum(dim=1, keepdim=True)
    torch.testing.assert_close(defence(inputs), truth, atol=1e-10, rtol=0)
    torch.testing.assert_close(defence(inputs).softmax(dim=1), q, atol=1e-10, rtol=0)
    torch.testing.assert_close(defence.probs(inputs), q, atol=1e-10, rtol=0)
    torch.testing.assert_close(
        defence.regret(inputs), truth.exp().sum(dim=1).log(), atol=1e-10, rtol=0
    )


@pytest.mark.parametrize("genie", ["own", "class"])
def test_a_hundred_classes_in_single_precision_keep_six_digits(make, inputs, genie):
    network, x = make(100, dtype=torch.float32), inputs[:3].float()
    truth = defined(network.double(), x.double(), 100, genie, 0.1, 1, None).softmax(dim=1)
    found = AdversarialPNML(network.float(), 0.1, genie=genie)(x)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.softmax(dim=1).double(), truth, atol=1e-6, rtol=0)


@pytest.mark.parametrize(("steps", "size"), STEPS)
def test_refined_inputs_are_those_of_the_definition_and_stay_in_reach(network, inputs, steps, size):
    bounds, strength = (-0.1, 0.9), 0.15
    x = inputs.clamp(*bounds)
    defence = AdversarialPNML(network, strength, steps, size, bounds=bounds)
    refined = defence.refine(x)
    step = strength / steps if size is None else size
    for i, row in enumerate(x):
        for label in range(5):
            truth = oracle.towards(network, row, label, strength, steps, step, bounds)[-1]
            torch.testing.assert_close(refined[i, label], truth, atol=1e-12, rtol=0)
    assert refined.shape == (7, 5, 6)
    assert (refined - x[:, None]).abs().max() <= strength + 1e-12
    assert refined.min() >= bounds[0]
    assert refined.max() <= bounds[1]


def test_no_strength_is_the_network_itself_with_no_regret(network, inputs):
    defence = AdversarialPNML(network, 0.0)
    torch.testing.assert_close(defence(inputs), network(inputs).log_softmax(dim=1))
    assert defence.regret(inputs).abs().max() < 1e-14


def test_the_regret_of_the_class_is_at_least_that_of_own_labels_and_never_negative(make, inputs):
    for seed in range(20):
        network = make(seed=seed, scale=4.0)
        own, best = (
            AdversarialPNML(network, 0.4, genie=g).regret(inputs) for g in ("own", "class")
        )
        assert (best >= own - 1e-12).all()
        assert (best >= -1e-12).all()


def test_a_label_that_is_certain_still_has_its_digits_and_its_gradient(make, inputs):
    # The loss of such labels, and so its gradient, rounds to zero in single precision.
    network, x = make(3, dtype=torch.float32, scale=6.0), inputs.float()
    with torch.no_grad():
        network[2].weight.mul_(20), network[2].bias.mul_(20)
    top = network(x).argmax(dim=1)
    loss = nn.functional.cross_entropy(network(x), top, reduction="none")
    assert (loss == 0).any()
    moved = AdversarialPNML(network, 0.01).refine(x)[torch.arange(7), top] - x
    assert (moved.abs().amax(dim=1) > 0.009).all()
    assert (log_probs(network(x)).amax(dim=1) < 0).all()


class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.drop = nn.BatchNorm1d(6), nn.Dropout(0.5)
        self.head = nn.Linear(6, 4)
        self.norm.running_mean.uniform_(), self.norm.running_var.uniform_(0.5, 2)

    def forward(self, x):
        return self.head(torch.relu(self.drop(self.norm(x))))


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("backward", ["autograd", "identity", "soft"])
def test_rows_of_a_batch_do_not_touch_each_other_and_modes_stay(inputs, training, backward):
    torch.manual_seed(0)
    network = Normed().double().train(training)
    network.drop.eval()
    before = copy.deepcopy(network.state_dict())
    defence = AdversarialPNML(network, 0.2, 2, backward=backward)
    x = inputs.clone().requires_grad_()
    together = defence(x)
    (slope,) = torch.autograd.grad(together[2, 1], x)
    assert slope[2].abs().max() > 0
    assert slope[[0, 1, 3, 4, 5, 6]].abs().max() == 0
    alone = torch.cat([defence(row[None]) for row in inputs])
    torch.testing.assert_close(together, alone)
    assert network.training == network.norm.training == training
    assert not network.drop.training
    assert all((before[k] == v).all() for k, v in network.state_dict().items())
    assert all(weight.grad is None for weight in network.parameters())


@pytest.mark.parametrize("backward", ["autograd", "identity", "soft"])
@pytest.mark.parametrize("steps", [1, 2])
def test_values_are_the_same_with_and_without_gradients(network, inputs, backward, steps):
    truth = AdversarialPNML(network, 0.1, steps)(inputs)
    defence = AdversarialPNML(network, 0.1, steps, backward=backward)
    x = inputs.clone().requires_grad_()
    with torch.no_grad():
        assert not defence(x).requires_grad
        torch.testing.assert_close(defence(x), truth)
    with torch.inference_mode():
        torch.testing.assert_close(defence(inputs.clone()), truth)
    found = defence(x)
    assert found.requires_grad
    torch.testing.assert_close(found.detach(), truth)


def test_the_answer_comes_in_the_dtype_of_the_network(make, inputs):
    single = AdversarialPNML(make(dtype=torch.float32), 0.1)
    x = inputs.clone().requires_grad_()  # double, as some attacks send
    assert {f(x).dtype for f in (single, single.probs, single.regret)} == {torch.float32}
    (slope,) = torch.autograd.grad(single(x).sum(), x)
    assert slope.dtype == torch.float64
    torch.testing.assert_close(single(x), single(x.float()))


def test_no_rows_give_no_scores(network, inputs):
    defence = AdversarialPNML(network, 0.1)
    assert defence(inputs[:0]).shape == (0, 5)
    assert defence.regret(inputs[:0]).shape == (0,)
    assert defence.refine(inputs[:0]).shape == (0, 5, 6)


@pytest.mark.parametrize("genie", ["own", "class"])
@pytest.mark.parametrize("backward", ["autograd", "identity", "soft"])
@pytest.mark.parametrize("limit", [1, 2000, 20000])
def test_a_memory_limit_changes_neither_values_nor_gradients(
    network, inputs, genie, backward, limit
):
    network.requires_grad_(True)
    weights = list(network.parameters())

    def both(limit):
        x = inputs.clone().requires_grad_()
        settings = {"genie": genie, "backward": backward, "max_memory": limit}
        scores = AdversarialPNML(network, 0.1, 2, **settings)(x)
        weighed = scores * torch.linspace(-1, 1, scores.numel()).view_as(scores)
        return scores, *torch.autograd.grad(weighed.sum(), [x, *weights])

    torch.testing.assert_close(both(limit), both(2**30))


class Kept:
    """Bytes that graphs keep alive, now and at most."""

    def __init__(self, network):
        self.weights = {weight.data_ptr() for weight in network.parameters()}
        self.now = self.most = 0

    def pack(self, tensor):
        box = Box(tensor.detach())
        if tensor.data_ptr() not in self.weights:
            size = tensor.numel() * tensor.element_size()
            self.now += size
            self.most = max(self.most, self.now)
            weakref.finalize(box, self.drop, size)
        return box

    def drop(self, size):
        self.now -= size


class Box:
    def __init__(self, tensor):
        self.tensor = tensor


@pytest.mark.parametrize("backward", ["identity", "soft"])
@pytest.mark.parametrize("classes", [4, 20])
def test_what_graphs_keep_stays_within_the_limit(make, backward, classes):
    network = make(classes)
    x = torch.rand(24, 6, dtype=torch.float64, requires_grad=True)

    def most(limit):
        kept = Kept(network)
        with torch.autograd.graph.saved_tensors_hooks(kept.pack, lambda box: box.tensor):
            scores = AdversarialPNML(network, 0.1, backward=backward, max_memory=limit)(x)
            torch.autograd.grad(scores.sum(), x)
        return kept.most

    limit = most(2**30) // 4
    assert most(limit) <= limit


def test_without_gradients_no_more_rows_run_at_once_than_fit(network, inputs):
    sizes = []
    handle = network.register_forward_hook(lambda _, args, __: sizes.append(len(args[0])))
    with torch.no_grad():
        AdversarialPNML(network, 0.1, max_memory=2500)(inputs.repeat(30, 1))
    handle.remove()
    assert max(sizes) < 10


def test_a_defence_can_be_copied_saved_and_printed(network, inputs):
    defence = AdversarialPNML(network, 0.1, 2)
    torch.testing.assert_close(copy.deepcopy(defence)(inputs), defence(inputs))
    assert set(defence.state_dict()) == {f"model.{name}" for name in network.state_dict()}
    assert "strength=0.1, steps=2, step_size=0.05" in repr(defence)


class Wrapped(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return {"loss": None, "logits": self.inner(x)}


def test_networks_that_answer_with_a_dict_are_read(network, inputs):
    truth = AdversarialPNML(network, 0.1)(inputs)
    torch.testing.assert_close(AdversarialPNML(Wrapped(network), 0.1)(inputs), truth)
