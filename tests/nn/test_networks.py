"""Networks of every make: the last layer is found, inputs are taken, nothing is left changed."""

from __future__ import annotations

import copy
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

from pnml.errors import InputError
from pnml.nn import LastLayerPNML


class Body(nn.Module):
    """One body, and heads that subclasses call."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.b = nn.Linear(12, 4)  # registered before it runs
        self.a = nn.Linear(6, 12)
        self.c = nn.Linear(12, 3)
        self.requires_grad_(False)

    def body(self, x):
        return torch.tanh(self.a(x))


class Plain(Body):
    def forward(self, x):
        return self.b(self.body(x))


class Softmaxed(Body):
    def forward(self, x):
        return functional.log_softmax(self.b(self.body(x)), dim=-1)


class WithFeatures(Body):
    def forward(self, x):
        phi = self.a(x)
        return self.b(phi).squeeze(1), phi


class TwoHeads(Body):
    def forward(self, x):
        phi = self.body(x)
        return {"one": self.b(phi), "two": self.c(phi)}


class Auxiliary(Body):
    """The layer that runs last is not the one that is returned."""

    def forward(self, x):
        phi = self.body(x)
        logits = self.b(phi)
        self.seen = float(self.c(phi).sum())
        return logits


class HuggingFace(Body):
    """Keywords in, an object with logits out, and a loss if there are labels."""

    def forward(self, ids=None, mask=None, labels=None):
        assert labels is None
        phi = self.body(ids * mask)
        return SimpleNamespace(logits=self.b(phi), hidden=(phi,))


class OneDict(Body):
    def forward(self, batch):
        return {
            "logits": self.b(self.body(batch["pixels"])),
            "other": self.c(self.body(batch["pixels"])),
        }


class TwoInputs(Body):
    def forward(self, left, right):
        return self.b(self.body(left + right))


class OnePair(Body):
    def forward(self, pair):
        left, right = pair
        return self.b(self.body(left + right))


def features_of(net, x):
    return net.body(x)


@pytest.mark.parametrize("cls", [Plain, Softmaxed, Auxiliary])
def test_the_layer_whose_output_is_returned_is_found(cls, inputs):
    net = cls()
    out = LastLayerPNML(net).fit(inputs)(inputs)
    torch.testing.assert_close(out.features, features_of(net, inputs))
    torch.testing.assert_close(out.logits, net.b(features_of(net, inputs)))


def test_features_that_are_returned_too_are_not_taken_for_a_head(inputs):
    net = WithFeatures()
    out = LastLayerPNML(net).fit(inputs)(inputs)
    torch.testing.assert_close(out.features, net.a(inputs))


def test_two_heads_are_refused_and_either_can_be_named(inputs):
    net = TwoHeads()
    with pytest.raises(InputError, match=r'2 layers, "b" and "c", .* pass .* layer="c"'):
        LastLayerPNML(net).fit(inputs)
    for layer, classes in (("b", 4), (net.c, 3)):
        assert LastLayerPNML(net, layer).fit(inputs)(inputs).logits.shape == (300, classes)


class Upsampled(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Conv2d(3, 8, 1)
        self.head = nn.Conv2d(8, 5, 1)

    def forward(self, x):
        return functional.interpolate(self.head(torch.relu(self.body(x))), scale_factor=2)


def test_a_head_of_pixels_is_found_where_its_output_is_made_larger():
    out = LastLayerPNML(Upsampled()).fit(torch.randn(9, 3, 4, 4))(torch.randn(2, 3, 4, 4))
    assert out.logits.shape == (2, 4, 4, 5)
    assert out.regret.shape == (2, 4, 4)


def test_two_functions_do_where_there_is_no_layer(inputs):
    net = Plain()
    whole = LastLayerPNML(net).fit(inputs)
    for head in (net.b, lambda phi: net.b(phi)):
        m = LastLayerPNML(None, layer=(net.body, head)).fit(inputs)
        assert m.scale_ == pytest.approx(whole.scale_, rel=1e-4)
        torch.testing.assert_close(m(inputs).regret, whole(inputs).regret, rtol=1e-3, atol=1e-9)
        torch.testing.assert_close(m(inputs).logits, whole(inputs).logits)


def test_methods_of_a_network_run_in_its_eval_mode(inputs):
    class Dropped(Body):
        def body(self, x):
            return functional.dropout(self.a(x), training=self.training)

    net = Dropped().train()
    for model in (net, None):
        m = LastLayerPNML(model, layer=(net.body, net.b)).fit(inputs)
        torch.testing.assert_close(m(inputs).features, net.a(inputs))
        assert net.training


def test_arrays_come_in_the_dtype_of_the_network(network, inputs):
    expected = LastLayerPNML(network).fit(inputs)(inputs).regret
    for rows in (inputs.numpy(), inputs.double().numpy(), inputs.flip(0).numpy()[::-1]):
        torch.testing.assert_close(LastLayerPNML(network).fit(rows)(rows).regret, expected)


def test_features_of_any_make_are_the_same_features(network, inputs):
    features = network[:2](inputs).double().numpy()
    expected = LastLayerPNML(network, "2").fit_features(features).score_features(features).regret
    fixed = features.copy()
    fixed.flags.writeable = False
    backwards = features[::-1].copy()[::-1]
    for rows in (fixed, backwards, features.tolist(), features.astype(object)):
        m = LastLayerPNML(network, "2").fit_features(rows)
        torch.testing.assert_close(m.score_features(rows).regret, expected)


def test_dicts_and_tuples_are_taken_as_the_network_takes_them(inputs):
    plain = LastLayerPNML(Plain()).fit(inputs)
    ones, labels = torch.ones(300, 1), torch.zeros(300)
    half = inputs / 2
    cases = [
        (HuggingFace(), {"ids": inputs, "mask": ones, "labels": labels}),
        (OneDict(), {"pixels": inputs, "labels": labels}),
        (TwoInputs(), ((half, half), labels)),
        (OnePair(), ([half, half], labels)),
        (Plain(), [inputs, labels]),
        (Plain(), inputs.numpy()),
    ]
    for net, batch in cases:
        out = LastLayerPNML(net).fit([batch])(batch)
        torch.testing.assert_close(out.regret, plain(inputs).regret)
    m = LastLayerPNML(HuggingFace()).fit([cases[0][1]])
    torch.testing.assert_close(m(ids=inputs, mask=ones).regret, plain(inputs).regret)


def test_of_a_batch_tuple_the_first_element_is_the_input(network, inputs):
    loader = DataLoader(TensorDataset(inputs, torch.zeros(300), torch.ones(300)), batch_size=64)
    torch.testing.assert_close(
        LastLayerPNML(network).fit(loader)((inputs, None)).regret,
        LastLayerPNML(network).fit(inputs)(inputs).regret,
    )


def test_compiled_networks_are_watched_too(network, inputs):
    plain = LastLayerPNML(network).fit(inputs)(inputs).regret
    torch._dynamo.reset()
    compiled = torch.compile(network, backend="eager")
    compiled(inputs)
    torch.testing.assert_close(LastLayerPNML(compiled).fit(inputs)(inputs).regret, plain)
    inside = copy.deepcopy(network)
    inside.compile(backend="eager")
    inside(inputs)
    torch.testing.assert_close(LastLayerPNML(inside).fit(inputs)(inputs).regret, plain)
    parallel = nn.DataParallel(network)
    torch.testing.assert_close(LastLayerPNML(parallel).fit(inputs)(inputs).regret, plain)


def test_modes_gradients_and_hooks_are_left_as_they_were(inputs):
    net = nn.Sequential(
        nn.Linear(6, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Dropout(0.5), nn.Linear(12, 4)
    )
    net.train()
    net[1].eval()
    net[0].requires_grad_(False)
    before = copy.deepcopy(net.state_dict())
    m = LastLayerPNML(net).fit(inputs)
    out = m(inputs)
    assert [part.training for part in net.modules()] == [True, True, False, True, True, True]
    assert [p.requires_grad for p in net.parameters()] == [False, False, True, True, True, True]
    assert all(p.grad is None for p in net.parameters())
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())
    assert not any(part._forward_hooks for part in net.modules())
    torch.testing.assert_close(out.logits, copy.deepcopy(net).eval()(inputs))
    torch.testing.assert_close(m(inputs).regret, out.regret)  # no dropout in it
    with pytest.raises(InputError):
        m.fit(inputs[:, :1].long())
    assert net.training
    assert not net[1].training


def test_fitting_keeps_no_graph_and_scoring_follows_the_user(inputs):
    net = Plain().requires_grad_(True)
    m = LastLayerPNML(net).fit(inputs)
    assert m(inputs).regret.requires_grad
    with torch.no_grad():
        assert not m(inputs).regret.requires_grad
    m(inputs).regret.sum().backward()
    assert net.a.weight.grad.abs().sum() > 0


def test_a_bar_is_shown_where_asked_for(network, inputs, capsys):
    LastLayerPNML(network).fit([inputs], progress=False)
    LastLayerPNML(network).fit([inputs])  # not a terminal
    assert capsys.readouterr().err == ""
    m = LastLayerPNML(network).fit((b for b in inputs.split(50)), progress=True)
    assert m.rows_ == 300
    assert "Counting training features" in capsys.readouterr().err


def test_the_rows_of_a_stream_of_any_batch_size_are_the_same_rows(network, inputs):
    whole = LastLayerPNML(network).fit([inputs])
    for size in (1, 7, 300):
        m = LastLayerPNML(network).fit(inputs.split(size))
        # one product of all rows, whatever the batches
        np.testing.assert_allclose(m.statistic.xx, whole.statistic.xx, rtol=1e-5, atol=1e-6)
        assert m.rows_ == 300
        assert m.regret_threshold() == pytest.approx(whole.regret_threshold(), rel=1e-3)


def test_no_rows_have_no_regrets(network, inputs):
    m = LastLayerPNML(network).fit([inputs[:0], inputs[:1], inputs[1:1], inputs[1:]])
    assert m.rows_ == 300
    out = m(inputs[:0])
    assert (out.regret.shape, out.probs.shape, out.logits.shape) == ((0,), (0, 4), (0, 4))
    assert m.trusted(inputs[:0]).shape == (0,)


def test_a_stream_without_a_length_has_a_bar_too(network, inputs, capsys):
    class Stream(IterableDataset):
        def __iter__(self):
            return iter(inputs)

    m = LastLayerPNML(network).fit(DataLoader(Stream(), batch_size=50), progress=True)
    assert m.rows_ == 300
    assert "Counting training features" in capsys.readouterr().err


def test_threads_do_not_see_each_other(inputs):
    net = nn.Sequential(nn.Linear(6, 12), nn.Dropout(0.5), nn.Linear(12, 4)).train()
    m = LastLayerPNML(net).fit(inputs)
    expected = m(inputs).regret
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: m(inputs).regret, range(200)):
            # Kernels may share the work out differently, which moves last digits of float32;
            # dropout that another thread had switched on would move every regret visibly.
            torch.testing.assert_close(found, expected, rtol=1e-5, atol=0)
    assert all(part.training for part in net.modules())


def test_what_is_fitted_in_inference_mode_is_of_use_outside(network, inputs):
    with torch.inference_mode():
        m = LastLayerPNML(network).fit(inputs)
        regret = m(inputs).regret
        rows, norms = m._scorer().geometry.statistic.form.of_tensor(torch.ones(2, 12))
        m._scorer().geometry.leverage_of_tensor(rows, norms, torch.zeros(2, dtype=torch.long))
    asked = inputs.clone().requires_grad_()
    out = m(asked)
    torch.testing.assert_close(out.regret, regret.clone())
    out.regret.sum().backward()
    assert asked.grad.isfinite().all()
    again = LastLayerPNML(network).fit(inputs[:9])
    with torch.inference_mode():
        again.fit(inputs)  # its scale is chosen outside
    torch.testing.assert_close(again(inputs).regret, regret.clone())
    m.load_state_dict(again.state_dict())


def test_a_loaded_module_finds_its_layer_when_it_is_asked_whom_to_trust():
    net = nn.Sequential(nn.Linear(12, 12), nn.ReLU(), nn.Linear(12, 4))  # the width is no help
    x = torch.randn(100, 12, generator=torch.Generator().manual_seed(2))
    m = LastLayerPNML(net).fit(x)
    again = LastLayerPNML(net)
    again.load_state_dict(m.state_dict())
    assert torch.equal(again.trusted(x), m.trusted(x))


def test_a_module_adds_to_modules_only(network, inputs):
    with pytest.raises(TypeError, match="unsupported operand"):
        LastLayerPNML(network).fit(inputs) + 1


def test_no_regret_is_more_than_the_logarithm_of_the_number_of_answers(network, inputs):
    for task, answers in (("multiclass", 4), ("multilabel", 2**4)):
        out = LastLayerPNML(network, task=task).fit(inputs[:5])(1e3 * inputs)
        torch.testing.assert_close(out.relative_regret, out.regret / np.log(answers))
        assert out.relative_regret.max() < 1
