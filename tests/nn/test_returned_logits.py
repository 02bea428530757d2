"""The layer that is found gives the logits that the network returns, or the network is refused."""

from __future__ import annotations

import copy
import warnings

import pytest
import torch
from torch import nn
from torch.nn import functional

from pnml.errors import ConditionWarning, InputError
from pnml.nn import LastLayerPNML, network_fingerprint

# Logits of float32 products in another order, or merged first, differ in their last digits.
CLOSE = {"rtol": 1e-4, "atol": 1e-5}


def truth(features, weight, bias, seen, **settings):
    """Regrets of features by a head alone: what hand-taken features and weights give."""
    return LastLayerPNML.from_embeddings(weight, bias, seen, **settings)(features).regret


def assert_right(m, x, features, logits, weight, bias):
    """Features and logits are the network's own, and the regret is that of these features."""
    out = m(x)
    torch.testing.assert_close(out.features, features, **CLOSE)
    torch.testing.assert_close(out.logits, logits, **CLOSE)
    torch.testing.assert_close(out.probs.sum(-1), torch.ones_like(out.regret))
    flat = features.reshape(-1, features.shape[-1])
    expected = truth(flat, weight, bias, flat)
    torch.testing.assert_close(out.regret.reshape(-1), expected, rtol=2e-3, atol=1e-8)


class Base(nn.Module):
    """A body of tokens, and a head that subclasses use."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.body = nn.Linear(6, 12)
        self.head = nn.Linear(12, 4)
        self.second = nn.Linear(12, 4)
        self.requires_grad_(False)

    def features(self, x):
        return torch.tanh(self.body(x))


class Averaged(Base):
    def forward(self, x):
        phi = self.features(x)
        return (self.head(phi) + self.second(phi)) / 2


class Scaled(Base):
    def forward(self, x):
        return self.head(self.features(x)) / 2.5


class ScaledInPlace(Base):
    def forward(self, x):
        return self.head(self.features(x)).div_(2.5)


class ScaledSoftmax(Base):
    def forward(self, x):
        return (self.head(self.features(x)) / 2.5).softmax(-1)


class ScaledByInput(Base):
    def forward(self, x):
        return self.head(self.features(x)) * x[:, :1].exp()


class Sigmoid(Base):
    def forward(self, x):
        return self.head(self.features(x)).sigmoid()


class Capped(Base):
    def forward(self, x):
        return torch.tanh(self.head(self.features(x)))


class Slice(Base):
    """A view of the logits of all tokens shares their storage."""

    def forward(self, x):
        return self.head(self.features(x))[:, 0]


class LastToken(Base):
    """As decoders classify: by the last token that is not padding (all zeros)."""

    def forward(self, x):
        logits = self.head(self.features(x))
        last = ((x != 0).any(-1) * torch.arange(x.shape[1])).argmax(1)
        return logits[torch.arange(len(x)), last]


class MeanToken(Base):
    def forward(self, x):
        real = (x != 0).any(-1, keepdim=True).float()
        return functional.log_softmax((self.head(self.features(x)) * real).sum(1) / real.sum(1), 1)


class Flattened(Base):
    def forward(self, x):
        return self.head(self.features(x)).transpose(1, 2).contiguous()


class Adapter(nn.Module):
    """base(x) + s·B A x, as LoRA has it."""

    def __init__(self, base, rank=2):
        super().__init__()
        self.base = base
        self.a = nn.Linear(base.in_features, rank, bias=False)
        self.b = nn.Linear(rank, base.out_features, bias=False)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return self.base(x) + 0.5 * self.b(self.a(self.drop(x)))


class SubclassedAdapter(nn.Linear):
    def forward(self, x):
        return super().forward(x) + x[..., :1] - x[..., 1:2] * torch.arange(4.0)


class Adapted(Base):
    def __init__(self, kind="module"):
        super().__init__()
        self.head = Adapter(self.head) if kind == "module" else SubclassedAdapter(12, 4)
        self.requires_grad_(False)

    def forward(self, x):
        return self.head(self.features(x))


class AdaptedLogs(Adapted):
    def forward(self, x):
        return super().forward(x).log_softmax(-1)


@pytest.fixture
def tokens():
    x = torch.randn(60, 5, 6, generator=torch.Generator().manual_seed(1))
    for row in range(60):
        x[row, 1 + row % 5 :] = 0.0
    return x


@pytest.mark.parametrize("cls", [Averaged, ScaledByInput, Capped])
def test_logits_of_no_layer_are_refused(cls, inputs):
    with pytest.raises(
        InputError, match=r"not the logits of its layer .* layer=\(features, head\)"
    ):
        LastLayerPNML(cls()).fit(inputs)


@pytest.mark.parametrize("cls", [Averaged, ScaledByInput, Capped])
def test_a_refused_network_is_right_by_two_functions_or_a_name(cls, inputs):
    net = cls()
    m = LastLayerPNML(net, layer=(net.features, net.head)).fit(inputs)
    phi = net.features(inputs)
    assert_right(m, inputs, phi, net.head(phi), net.head.weight, net.head.bias)
    named = LastLayerPNML(net, layer="head").fit(inputs)
    torch.testing.assert_close(named(inputs).regret, m(inputs).regret)


@pytest.mark.parametrize("cls", [Scaled, ScaledInPlace, ScaledSoftmax])
def test_a_scale_after_the_head_is_part_of_it(cls, inputs):
    net = cls()
    phi = net.features(inputs)
    weight, bias = net.head.weight / 2.5, net.head.bias / 2.5
    m = LastLayerPNML(net).fit([inputs[:100], inputs[100:]])
    assert_right(m, inputs, phi, net.head(phi) / 2.5, weight, bias)
    own = LastLayerPNML(net, scale=None).fit(inputs)
    expected = truth(phi, weight, bias, phi, scale=None)
    torch.testing.assert_close(own(inputs).regret, expected, rtol=1e-3, atol=1e-8)
    torch.testing.assert_close(own.score_features(phi).regret, expected, rtol=1e-3, atol=1e-8)


def test_a_scale_that_one_row_shows_is_not_believed(inputs):
    with pytest.raises(InputError, match="too few rows to tell which; pass a larger batch first"):
        LastLayerPNML(Scaled()).fit([inputs[:1], inputs])


def test_a_batch_without_rows_decides_nothing(inputs):
    net = Scaled()
    m = LastLayerPNML(net).fit([inputs[:0], inputs])
    torch.testing.assert_close(m(inputs).logits, net(inputs))


def test_sigmoids_are_labels_and_no_classes(inputs):
    with pytest.raises(InputError, match=r'returns sigmoids of 4 outputs, .* task="multilabel"'):
        LastLayerPNML(Sigmoid()).fit(inputs)
    net = Sigmoid()
    out = LastLayerPNML(net, task="multilabel").fit(inputs)(inputs)
    torch.testing.assert_close(out.logits, net.head(net.features(inputs)))


@pytest.mark.parametrize("cls", [Slice, LastToken, MeanToken])
def test_positions_pooled_after_the_head_are_pooled_before_it(cls, tokens):
    net = cls()
    phi, real = net.features(tokens), (tokens != 0).any(-1, keepdim=True).float()
    if cls is MeanToken:
        pooled = (phi * real).sum(1) / real.sum(1)
    else:
        last = torch.zeros(60).long() if cls is Slice else real[..., 0].sum(1).long() - 1
        pooled = phi[torch.arange(60), last]
    m = LastLayerPNML(net).fit(tokens.split(25))
    assert m.rows_ == 60
    logits = net.head(pooled)
    assert_right(m, tokens, pooled, logits, net.head.weight, net.head.bias)
    with torch.inference_mode():
        torch.testing.assert_close(m(tokens).logits, logits, **CLOSE)
    named = LastLayerPNML(net, layer="head").fit(tokens)
    torch.testing.assert_close(named(tokens).regret, m(tokens).regret, rtol=1e-6, atol=0)


@pytest.mark.parametrize("layer", [None, "head"])
def test_a_first_batch_of_one_token_does_not_hide_that_tokens_are_pooled(layer, tokens):
    whole = LastLayerPNML(LastToken(), layer).fit(tokens)
    m = LastLayerPNML(LastToken(), layer).fit([tokens[:20, :1], tokens[20:]])
    assert m.rows_ == 60
    assert m(tokens[:, :1]).regret.shape == (60,)
    torch.testing.assert_close(m(tokens).features, whole(tokens).features)


def test_gradients_flow_through_pooled_positions_as_through_the_network(tokens):
    net = LastToken().requires_grad_(True)
    m = LastLayerPNML(net, scale=None).fit(tokens)
    x, y = (tokens[:9].clone().requires_grad_() for _ in range(2))
    m(x).logits.sum().backward()
    net(y).sum().backward()
    torch.testing.assert_close(x.grad, y.grad)
    assert torch.is_grad_enabled()
    with torch.no_grad():
        m(tokens)
        assert not torch.is_grad_enabled()


def test_padding_whose_features_are_nan_does_not_count(tokens):
    class Broken(LastToken):
        def features(self, x):
            return super().features(x).masked_fill((x == 0).all(-1, keepdim=True), torch.nan)

    net = LastToken()
    out = LastLayerPNML(Broken()).fit(tokens)(tokens)
    torch.testing.assert_close(out.logits, net(tokens), **CLOSE)


def test_logits_with_classes_in_the_middle_are_the_same_logits(tokens):
    net = Flattened()
    out = LastLayerPNML(net).fit(tokens)(tokens)
    torch.testing.assert_close(out.logits, net(tokens).transpose(1, 2))


def test_a_convolution_of_one_pixel_with_global_pooling_has_a_score_for_each_image():
    torch.manual_seed(0)
    conv = nn.Sequential(nn.Conv2d(3, 8, 3), nn.Tanh(), nn.Conv2d(8, 5, 1))
    net = nn.Sequential(conv, nn.AdaptiveAvgPool2d(1), nn.Flatten()).requires_grad_(False)
    x = torch.randn(40, 3, 6, 6, generator=torch.Generator().manual_seed(1))
    phi = conv[:2](x).mean((2, 3))
    m = LastLayerPNML(net).fit(x)
    assert m(x).regret.shape == (40,)
    assert_right(m, x, phi, net(x), conv[2].weight[..., 0, 0], conv[2].bias)


def test_a_convolution_of_one_pixel_after_pooling_has_a_score_for_each_image():
    """What is returned is a view of the layer's output, with its two axes of one pixel left out."""
    torch.manual_seed(0)
    body = nn.Sequential(nn.Conv2d(3, 8, 3), nn.Tanh(), nn.AdaptiveAvgPool2d(1))
    net = nn.Sequential(body, nn.Conv2d(8, 5, 1), nn.Flatten()).requires_grad_(False)
    x = torch.randn(40, 3, 6, 6, generator=torch.Generator().manual_seed(1))
    m = LastLayerPNML(net).fit(x)
    assert m(x).regret.shape == (40,)
    assert_right(m, x, body(x)[..., 0, 0], net(x), net[1].weight[..., 0, 0], net[1].bias)


@pytest.mark.parametrize("trained", [False, True])
@pytest.mark.parametrize("cls", [Adapted, AdaptedLogs])
def test_an_adapter_beside_the_head_is_merged(cls, trained, inputs):
    net = cls()
    if not trained:
        net.head.b.weight.zero_()
    phi, head = net.features(inputs), net.head
    weight = head.base.weight + 0.5 * head.b.weight @ head.a.weight
    m = LastLayerPNML(net.train()).fit(inputs)
    logits = functional.linear(phi, weight, head.base.bias)
    assert_right(m, inputs, phi, logits, weight, head.base.bias)


def test_an_adapter_that_learns_later_is_followed_where_the_module_is_named(inputs):
    net = Adapted()
    m = LastLayerPNML(net, layer="head", scale=None).fit(inputs)
    net.head.b.weight.mul_(-3.0)
    with pytest.warns(ConditionWarning, match="not those that the training rows"):
        after = m(inputs)
    torch.testing.assert_close(after.logits, net.eval()(inputs), **CLOSE)
    features, given = after.features, m.score_features(after.features)
    torch.testing.assert_close(given.logits.float(), net.head(features), **CLOSE)


def test_a_linear_layer_that_computes_something_else_is_merged_if_it_is_linear(inputs):
    net = Adapted("subclass")
    out = LastLayerPNML(net).fit(inputs)(inputs)
    again = LastLayerPNML(net, "head").fit(inputs).score_features(out.features)
    torch.testing.assert_close(again.logits.float(), net(inputs), **CLOSE)

    class Rounded(nn.Linear):
        def forward(self, x):
            return super().forward(x).round()

    net.head = Rounded(12, 4)
    for layer in (None, "head"):
        with pytest.raises(InputError, match=r"layer=\(features, head\)"):
            LastLayerPNML(net, layer).fit(inputs)


class QuestionAnswering(nn.Module):
    """As many tokens as features: a layer of that width looks like the head."""

    def __init__(self):
        super().__init__()
        self.body, self.qa = nn.Linear(6, 12), nn.Linear(12, 2)

    def forward(self, x):
        starts, ends = self.qa(torch.tanh(self.body(x))).split(1, -1)
        return {"start": starts.squeeze(-1).contiguous(), "end": ends.squeeze(-1).contiguous()}


def test_positions_that_are_classes_are_refused():
    for length in (12, 5):
        with pytest.raises(InputError, match=r"returns the shape .* and"):
            LastLayerPNML(QuestionAnswering()).fit(torch.randn(9, length, 6))


def test_a_network_that_returns_no_tensor_is_refused_unless_the_layer_is_named(inputs):
    class Hidden(Base):
        def forward(self, x):
            return lambda: self.head(self.features(x))

    class Kept(Base):
        def forward(self, x):
            self.kept = self.head(self.features(x))

    with pytest.raises(InputError, match="No linear layer ran"):
        LastLayerPNML(nn.Identity()).fit(inputs)
    with pytest.raises(InputError, match="returns no tensor that can be found"):
        LastLayerPNML(Kept()).fit(inputs)
    assert LastLayerPNML(Kept(), "head").fit(inputs)(inputs).regret.shape == (300,)


def test_modules_of_different_networks_do_not_add(network, inputs):
    other = copy.deepcopy(network)
    one = LastLayerPNML(network).fit(inputs[:100])
    twin = LastLayerPNML(other).fit(inputs[100:])
    assert (one + twin).rows_ == 300
    assert (one + LastLayerPNML(copy.deepcopy(network).half().float()).fit(inputs)).rows_ == 400
    with torch.no_grad():
        other[2].weight[0, 0] += 1e-4
    with pytest.raises(InputError, match=r"last layers of different weights, .* same network"):
        one + LastLayerPNML(other).fit(inputs[100:])


def change(m, way):
    if way == "in place":
        with torch.no_grad():
            m.model[2].weight[0, 0] += 1e-3
    else:
        m.model.load_state_dict({k: v + 1e-3 for k, v in m.model.state_dict().items()})


@pytest.mark.parametrize("way", ["in place", "load_state_dict"])
def test_weights_that_changed_after_the_fit_are_told_of_once(way, network, inputs):
    m = LastLayerPNML(network).fit(inputs)
    again = LastLayerPNML(copy.deepcopy(network))
    again.load_state_dict(m.state_dict())
    for module in (m, again):
        module(inputs)
        change(module, way)
        with pytest.warns(ConditionWarning, match="another network; call fit again") as told:
            module(inputs), module.trusted(inputs), module.score_features(torch.ones(1, 12))
        assert len(told) == 1
        module.fit(inputs)
        module(inputs)


def test_a_changed_extractor_is_told_of_and_does_not_add(inputs):
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(5, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Linear(12, 3))
    x = torch.randn(300, 5)
    changes = {
        "a weight": lambda net: torch.no_grad()(net[0].weight.view(-1)[7].add_)(1e-5),
        "a running mean": lambda net: net.train()(x + 1),
        "a weight of another file": lambda net: net.load_state_dict(
            {k: v + (k == "0.bias") for k, v in net.state_dict().items()}
        ),
    }
    for change in changes.values():
        m = LastLayerPNML(copy.deepcopy(network)).fit(x)
        again = LastLayerPNML(copy.deepcopy(network))
        again.load_state_dict(m.state_dict())
        for module in (m, again):
            module(x)
            change(module.model)
            with pytest.warns(ConditionWarning, match="before the last layer are not") as told:
                module(x), module(x)
            assert len(told) == 1
        with pytest.raises(InputError, match=r"differ before the last layer, .* same network"):
            LastLayerPNML(network).fit(x) + LastLayerPNML(m.model).fit(x)


def test_an_unchanged_network_is_read_once(network, inputs, monkeypatch):
    m = LastLayerPNML(network).fit(inputs)
    reads, read = [], network_fingerprint.sums_of
    monkeypatch.setattr(network_fingerprint, "sums_of", lambda w: reads.append(w) or read(w))
    m(inputs), m.trusted(inputs), m.score([inputs])
    assert not reads
    with torch.no_grad():
        next(network.parameters()).add_(1.0)
    with pytest.warns(ConditionWarning):
        m(inputs)
    assert reads  # a changed one is read again, so that the test can see a reading


def test_casts_copies_and_states_of_before_are_the_same_weights(network, inputs):
    m = LastLayerPNML(network).fit(inputs)
    state = m.state_dict()
    state.pop("fingerprint.digests")
    state.pop("fingerprint.others")
    old = LastLayerPNML(copy.deepcopy(network))
    old.load_state_dict(state)
    copied = copy.deepcopy(m)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        copied(inputs), old(inputs)
        copied.double()(inputs.double())
        copied.half()
        copied.score_features(torch.ones(1, 12))
        copied.bfloat16()
        old.bfloat16()(inputs.bfloat16())


def quantised(net):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch moves it to another package
        return torch.ao.quantization.quantize_dynamic(net, {nn.Linear})


def wide():
    return nn.Sequential(nn.Conv2d(3, 4, 1), nn.ReLU(), nn.Conv2d(4, 5, 3))


def scripted(net):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.jit.script(net)


def exported(net, x):
    return torch.export.export(net, (x,))


SEALED = {
    "quantised": (lambda net, x: (quantised(net), x), "quantised Linear, .* before quantisation"),
    "scripted": (lambda net, x: (scripted(net), x), "scripted by torch.jit, .* scripted from"),
    "exported": (lambda net, x: (exported(net, x), x), "exported by torch.export, .* from"),
    "exported module": (lambda net, x: (exported(net, x).module(), x), "exported by torch.export"),
    "convolution": (
        lambda net, x: (wide(), torch.randn(2, 3, 5, 5)),
        r'"2" is a convolution of 3×3 pixels, .* torch.nn.functional.unfold',
    ),
    "convolution of a line": (
        lambda net, x: (nn.Sequential(nn.Linear(6, 6), nn.Conv1d(300, 2, 1)), x),
        '"1" is a Conv1d, but linear layers',
    ),
}


@pytest.mark.parametrize("kind", SEALED)
def test_networks_without_layers_to_see_are_refused_each_with_a_remedy(kind, network, inputs):
    make, message = SEALED[kind]
    net, x = make(network, inputs)
    with pytest.raises(InputError, match=message) as caught:
        LastLayerPNML(net).fit(x)
    assert "\n" not in str(caught.value)
    assert "pass" in str(caught.value)


def test_patches_of_a_wide_convolution_are_features_by_two_functions():
    """What the sentence about wide convolutions tells to do is right."""
    torch.manual_seed(0)
    net = wide().requires_grad_(False)
    x = torch.randn(9, 3, 5, 5)

    def features(x):
        return functional.unfold(net[:2](x), 3).movedim(1, -1)

    head = nn.Linear(36, 5)
    head.weight, head.bias = nn.Parameter(net[2].weight.flatten(1)), net[2].bias
    out = LastLayerPNML(net, layer=(features, head)).fit(x)(x)
    torch.testing.assert_close(out.logits, net(x).flatten(2).movedim(1, -1), **CLOSE)


def test_a_traced_graph_that_calls_layers_is_fine(network, inputs):
    out = LastLayerPNML(torch.fx.symbolic_trace(network)).fit(inputs)(inputs)
    torch.testing.assert_close(out.logits, network(inputs))
