"""Fine-tuned genies are those of one plain training run for every label."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from torch import nn

from pnml.nn import FineTuning, RefitLastLayerPNML
from pnml.nn.refit.cut_model import cut_model

HOW = FineTuning(epochs=2, learning_rate=0.05, batch_size=16, seed=3)
X = torch.randn(40, 1, 6, 6, generator=torch.Generator().manual_seed(0))
Y = torch.arange(40) % 3
NEW = torch.randn(3, 1, 6, 6, generator=torch.Generator().manual_seed(1))


def convolutions():
    """Four layers with weights, and two batch normalisations that have seen something."""
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(1, 3, 3),
        nn.BatchNorm2d(3),
        nn.ReLU(),
        nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()),
        nn.Dropout(0.5),
        nn.Flatten(),
        nn.Linear(16, 5),
        nn.ReLU(),
        nn.Linear(5, 3),
    )
    net(torch.randn(50, 1, 6, 6))
    return net.eval()


# Names of the weights that are trained, by the number of layers.
TRAINED = {
    1: ("8.",),
    2: ("6.", "8."),
    3: ("3.0.", "6.", "8."),
    "all": ("0.", "3.0.", "6.", "8."),
}


def genie_by_definition(net, names, rows, labels, x, c, how):
    """Log-probability of label c after a plain training run with row x and that label."""
    tuned = copy.deepcopy(net).eval()
    for name, weight in tuned.named_parameters():
        weight.requires_grad_(name.startswith(names))
    chosen = [weight for weight in tuned.parameters() if weight.requires_grad]
    descent = torch.optim.SGD(
        chosen, lr=how.learning_rate, momentum=how.momentum, weight_decay=how.weight_decay
    )
    everything, all_labels = torch.cat([rows, x[None]]), torch.cat([labels, torch.tensor([c])])
    chance = torch.Generator().manual_seed(how.seed)
    for _ in range(how.epochs):
        order = torch.randperm(len(everything), generator=chance)
        for start in range(0, len(order), how.batch_size):
            batch = order[start : start + how.batch_size]
            descent.zero_grad()
            nn.functional.cross_entropy(tuned(everything[batch]), all_labels[batch]).backward()
            descent.step()
    with torch.no_grad():
        return float(tuned(x[None]).double().log_softmax(dim=1)[0, c])


def expected_genies(net, names, rows, labels, new, how=HOW):
    classes = net(new).shape[1]
    found = [
        [genie_by_definition(net, names, rows, labels, x, c, how) for c in range(classes)]
        for x in new
    ]
    return np.array(found)


@pytest.mark.parametrize("layers", list(TRAINED))
def test_genies_are_plain_training_runs(layers):
    net = convolutions()
    out = RefitLastLayerPNML(net, layers=layers, tuning=HOW).fit([(X, Y)])(NEW)
    expected = expected_genies(net, TRAINED[layers], X, Y, NEW)
    np.testing.assert_allclose(out.log_genie, expected, atol=2e-4)
    np.testing.assert_allclose(
        out.regret, np.maximum(np.log(np.exp(expected).sum(axis=1)), 0), atol=2e-4
    )
    assert bool(out.error.isnan().all())
    assert not bool(out.converged.any())
    torch.testing.assert_close(out.logits, net(NEW))


class Branching(nn.Module):
    """The same layers in a model that is no chain."""

    def __init__(self):
        super().__init__()
        self.net = convolutions()

    def forward(self, x):
        return self.net(x) + 0.0


def test_every_door_gives_the_same_genies():
    net = convolutions()
    expected = RefitLastLayerPNML(net, layers=2, tuning=HOW).fit([(X, Y)])(NEW).log_genie
    branching, pair = Branching().eval(), (net[:4], net[4:])
    doors = {
        "no chain": RefitLastLayerPNML(branching, layers=2, tuning=HOW).fit([(X, Y)])(NEW),
        "pair": RefitLastLayerPNML(None, pair, layers=2, tuning=HOW).fit([(X, Y)])(NEW),
        "rows": RefitLastLayerPNML(None, pair, layers=2, tuning=HOW)
        .fit_features(net[:4](X), Y)
        .score_features(net[:4](NEW)),
        "batches": RefitLastLayerPNML(net, layers=2, tuning=HOW)
        .fit([(X[:7], Y[:7]), (X[7:], Y[7:])])
        .score([NEW[:1], NEW[1:]]),
    }
    for name, out in doors.items():
        np.testing.assert_allclose(out.log_genie, expected, atol=1e-4, err_msg=name)


def test_networks_trained_side_by_side_do_not_touch_each_other(monkeypatch):
    m = RefitLastLayerPNML(convolutions(), layers="all", tuning=HOW).fit([(X, Y)])
    together = m(NEW).log_genie
    monkeypatch.setattr("pnml.nn.refit.fine_tuning._NUMBERS", 1)
    np.testing.assert_allclose(m(NEW).log_genie, together, atol=1e-4)
    np.testing.assert_allclose(m(NEW[1:2]).log_genie, together[1:2], atol=1e-4)


class LooksAtValues(nn.Module):
    """A layer that vmap cannot follow."""

    def forward(self, x):
        return x if float(x.detach().abs().sum()) >= 0 else -x


def test_layers_that_look_at_values_are_trained_in_turn():
    net = nn.Sequential(*convolutions(), LooksAtValues())
    expected = RefitLastLayerPNML(convolutions(), layers=2, tuning=HOW).fit([(X, Y)])(NEW)
    found = RefitLastLayerPNML(net, "8", layers=2, tuning=HOW).fit([(X, Y)])(NEW)
    np.testing.assert_allclose(found.log_genie, expected.log_genie, atol=1e-4)


def test_the_network_stays_as_it_is():
    net = convolutions().train()
    before = copy.deepcopy(net.state_dict())
    RefitLastLayerPNML(net, layers="all", tuning=HOW).fit([(X, Y)])(NEW)
    assert net.training
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())
    assert all(weight.grad is None and weight.requires_grad for weight in net.parameters())


def test_no_training_gives_the_network_itself():
    net = convolutions()
    how = FineTuning(epochs=0)
    out = RefitLastLayerPNML(net, layers=2, tuning=how).fit([(X, Y)])(NEW)
    np.testing.assert_allclose(out.log_genie, net(NEW).detach().log_softmax(1), atol=1e-6)
    np.testing.assert_allclose(out.regret, 0, atol=1e-6)


def test_a_row_left_out_is_trained_with_the_others_and_every_label():
    net = convolutions()
    m = RefitLastLayerPNML(net, layers=2, tuning=HOW, sample=2).fit([(X, Y)])
    drawn = np.sort(np.random.default_rng(0).permutation(40)[:2])
    rest = torch.arange(40) != int(drawn[0])
    expected = expected_genies(net, TRAINED[2], X[rest], Y[rest], X[~rest])
    assert m.sample_regrets_[0] == pytest.approx(max(np.log(np.exp(expected).sum()), 0), abs=2e-4)
    assert m.trusted(NEW, level=1.0).shape == (3,)
    assert m.alpha_ is None
    assert m.rows_ == 40


def test_a_chain_is_cut_where_its_trained_layers_begin():
    net = convolutions()
    cut = cut_model(net, 2, NEW)
    assert cut.front(NEW).shape == (3, 16)
    assert sorted(cut.tunable) == ["0.bias", "0.weight", "2.bias", "2.weight"]
    cut = cut_model(net, "all", NEW)
    assert torch.equal(cut.front(NEW), NEW)
    assert len(cut.tunable) == 8


def test_shared_weights_are_never_in_the_front():
    shared = nn.Linear(4, 4)
    net = nn.Sequential(nn.Linear(4, 4), shared, nn.ReLU(), shared, nn.Linear(4, 3))
    x = torch.randn(5, 4)
    assert len(list(cut_model(net, 2, x).front)) == 1
    assert len(list(cut_model(net, 1, x).front)) == 4


def test_attention_is_one_layer_with_the_weights_it_borrows():
    class Attending(nn.Module):
        def __init__(self):
            super().__init__()
            self.attend = nn.MultiheadAttention(4, 2, batch_first=True)
            self.head = nn.Linear(4, 3)

        def forward(self, x):
            return self.head(self.attend(x, x, x, need_weights=False)[0].mean(dim=1))

    net, x = Attending().eval(), torch.randn(5, 2, 4)
    assert len(cut_model(net, 1, x).tunable) == 2
    assert len(cut_model(net, 2, x).tunable) == 2 + 4


def test_finished_rows_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr("pnml.nn.refit.checkpoint._SECONDS", 0.0)
    m = RefitLastLayerPNML(convolutions(), layers=2, tuning=HOW).fit([(X, Y)])
    path = tmp_path / "rows.npz"
    first = m.score([NEW], checkpoint=path)
    monkeypatch.setattr("pnml.nn.refit.fine_tuning.FineTuned.refit", None)
    again = m.score([NEW], checkpoint=path)
    assert torch.equal(first.log_genie, again.log_genie)
