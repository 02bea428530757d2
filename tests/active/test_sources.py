"""Models are functions of the input alone: not of the batch, the call or what came before."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from pnml import InputError  # noqa: E402
from pnml.active import Ensemble, LastLayerSamples, MCDropout, dial_select, logs_of  # noqa: E402
from pnml.nn import LastLayerPNML  # noqa: E402


def perceptron():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 3)
    )


class Images(nn.Module):
    """All kinds of dropout on feature maps, one of them used twice."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(1, 4, 3), nn.Conv2d(4, 4, 3)
        self.maps, self.lines = nn.Dropout2d(0.3), nn.Dropout1d(0.3)
        self.cubes, self.features = nn.Dropout3d(0.3), nn.FeatureAlphaDropout(0.2)
        self.alpha, self.units = nn.AlphaDropout(0.2), nn.Dropout(0.4, inplace=True)
        self.head = nn.Linear(4 * 16, 5)

    def forward(self, x):
        x = self.maps(self.first(x))
        x = self.features(self.maps(self.second(x)))
        x = self.cubes(x[..., None])[..., 0]
        x = self.lines(x.flatten(2)).flatten(1)
        return self.head(self.units(self.alpha(x)))


NETWORKS = {"perceptron": (perceptron, (6,)), "images": (Images, (1, 8, 8))}


@pytest.fixture(params=NETWORKS)
def network(request):
    torch.manual_seed(1)
    make, shape = NETWORKS[request.param]
    return make(), torch.randn(23, *shape)


def test_masks_are_shared_by_all_rows_in_any_batches(network):
    net, x = network
    models = MCDropout(net, n=5, seed=3)
    whole = models(x)
    for batch_size in (1, 7, 22):
        np.testing.assert_allclose(models(x, batch_size=batch_size), whole, atol=1e-5)
    alone = np.concatenate([models(x[i : i + 1]) for i in range(len(x))], axis=1)
    np.testing.assert_allclose(alone, whole, atol=1e-5)
    again = MCDropout(net, n=9, seed=3)([(x[:10], torch.zeros(10)), (x[10:], torch.zeros(13))])
    np.testing.assert_allclose(again[:5], whole, atol=1e-5)


def test_models_and_seeds_differ(network):
    net, x = network
    found = MCDropout(net, n=4)(x)
    assert all(not np.allclose(found[0], other, atol=1e-3) for other in found[1:])
    assert not np.allclose(MCDropout(net, n=4, seed=1)(x), found, atol=1e-3)


@pytest.mark.parametrize("p", [0.3, 1.0])
@pytest.mark.parametrize(
    "kind", [nn.Dropout, nn.Dropout1d, nn.AlphaDropout, nn.FeatureAlphaDropout]
)
def test_a_mask_drops_units_as_the_module_does_in_training(kind, p):
    module, seen = kind(p), []
    net = nn.Sequential(module, nn.Flatten(), nn.Linear(12, 2))
    net[1].register_forward_hook(lambda _, args, out: seen.append(args[0].clone()))
    MCDropout(net, n=2000)(torch.full((1, 3, 4), 2.0))
    ours, theirs = torch.cat(seen), module.train()(torch.full((2000, 3, 4), 2.0))
    dropped = []
    for values in (ours, theirs):
        constants = torch.unique(values)
        assert len(constants) == (2 if p < 1 else 1)
        dropped.append(values == constants[0])
    torch.testing.assert_close(torch.unique(ours), torch.unique(theirs))
    assert float(dropped[0].double().mean()) == pytest.approx(p, abs=0.03)
    whole = [bool((mask.all(dim=2) | ~mask.any(dim=2)).all()) for mask in dropped]
    assert whole[0] == whole[1]


def refuse(*_):
    raise KeyError("in the middle of a pass")


def test_the_network_is_left_as_it_was(network):
    net, x = network
    net.train()
    next(net.children()).eval()
    modes = [module.training for module in net.modules()]
    state = {name: value.clone() for name, value in net.state_dict().items()}
    generator, fused = torch.get_rng_state(), torch.backends.mha.get_fastpath_enabled()
    MCDropout(net, n=3)(x)
    with pytest.raises(RuntimeError):
        MCDropout(net, n=3)(torch.zeros(2, 99))
    handle = list(net.children())[-1].register_forward_pre_hook(refuse)
    with pytest.raises(KeyError):
        MCDropout(net, n=3)(x)
    handle.remove()
    assert [module.training for module in net.modules()] == modes
    assert all(torch.equal(value, state[name]) for name, value in net.state_dict().items())
    assert torch.equal(torch.get_rng_state(), generator)
    assert torch.backends.mha.get_fastpath_enabled() == fused
    assert not any(module._forward_hooks for module in net.modules())


def test_batch_norm_keeps_its_statistics_and_rows_do_not_touch():
    net = perceptron().train()
    x = torch.randn(8, 6)
    alone = MCDropout(net, n=3)(x[:1])
    strange = torch.cat([x[:1], 1000 * x[1:]])
    np.testing.assert_allclose(MCDropout(net, n=3)(strange)[:, :1], alone, atol=1e-5)


def test_temperature_divides_the_logits():
    net, x = perceptron(), torch.randn(4, 6)
    one, five = MCDropout(net, n=3)(x), MCDropout(net, n=3, temperature=5.0)(x)
    flat = one / 5 - np.log(np.exp(one / 5).sum(axis=-1, keepdims=True))
    np.testing.assert_allclose(five, flat, atol=1e-6)


def test_transformers_run_their_dropout_and_padding_does_not_change_masks():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.3, batch_first=True)

    class First(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.head = layer, nn.Linear(8, 3)

        def forward(self, x):
            return self.head(self.layer(x)[:, 0])

    net, x = First().eval(), torch.randn(5, 4, 8)
    found = MCDropout(net, n=4)(x)
    assert not np.allclose(found[0], found[1], atol=1e-3)
    np.testing.assert_allclose(MCDropout(net, n=4)(x, batch_size=2), found, atol=1e-5)


class Functional(nn.Module):
    def __init__(self, dropout=0.5):
        super().__init__()
        self.head, self.unused = nn.Linear(6, 3), nn.Dropout(dropout)

    def forward(self, x):
        return nn.functional.dropout(self.head(x), training=self.training)


def test_dropout_that_cannot_be_shared_is_told_of():
    x = torch.zeros(2, 6)
    with pytest.raises(InputError, match=r"F\.dropout, cannot be shared"):
        MCDropout(Functional(0.0))(x)
    with pytest.raises(InputError, match="ran none of them"):
        MCDropout(Functional())(x)
    with pytest.raises(InputError, match="is a function"):
        MCDropout(perceptron)
    for wrong in ({"n": 0}, {"temperature": 0.0}, {"seed": -1}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            MCDropout(perceptron(), **wrong)
    with pytest.raises(InputError, match="no inputs"):
        MCDropout(perceptron())(x[:0])
    with pytest.raises(InputError, match=r"shape \(2, 1\)"):
        MCDropout(nn.Sequential(nn.Dropout(), nn.Linear(6, 1)))(x)


class TestEnsemble:
    def test_networks_are_run_one_by_one_in_eval_mode(self):
        nets = [perceptron().train() for _ in range(3)]
        nets[1][-1].bias.data += 1
        x = torch.randn(9, 6)
        found = Ensemble(nets)(x, batch_size=4)
        assert found.shape == (3, 9, 3)
        with torch.no_grad():
            expected = torch.log_softmax(nets[1].eval()(x), dim=1)
        np.testing.assert_allclose(found[1], expected, atol=1e-6)
        assert nets[0].training
        assert nets[2][3].training

    def test_classifiers_are_asked_for_probabilities(self, rng):
        linear = pytest.importorskip("sklearn.linear_model")
        X, y = rng.normal(size=(60, 3)), np.arange(60) % 3
        models = [linear.LogisticRegression(C=c).fit(X, y) for c in (0.1, 1.0)]
        found = Ensemble(models)(X)
        np.testing.assert_allclose(np.exp(found[1]), models[1].predict_proba(X))
        warm = np.exp(Ensemble(models, temperature=2.0)(X)[0])
        root = np.sqrt(models[0].predict_proba(X))
        np.testing.assert_allclose(warm, root / root.sum(axis=1, keepdims=True))

    def test_what_is_no_ensemble_is_refused(self, rng):
        linear = pytest.importorskip("sklearn.linear_model")
        X = rng.normal(size=(20, 3))
        two, three = (linear.LogisticRegression().fit(X, np.arange(20) % k) for k in (2, 3))
        with pytest.raises(InputError, match="classes"):
            Ensemble([two, three])
        with pytest.raises(InputError, match="at least one model"):
            Ensemble([])
        with pytest.raises(InputError, match="Model 1 is a LogisticRegression"):
            Ensemble([perceptron(), two])(torch.zeros(2, 6))
        with pytest.raises(InputError, match="3 and 2 classes"):
            Ensemble([nn.Linear(6, 3), nn.Linear(6, 2)])(torch.zeros(2, 6))

    def test_probabilities_alone_will_do(self):
        p = [np.full((2, 4), 0.25), np.eye(4)[:2]]
        np.testing.assert_allclose(np.exp(logs_of(p)), p)


class TestLastLayer:
    @pytest.fixture
    def fitted(self):
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(6, 10), nn.ReLU(), nn.Linear(10, 3)).double()
        x = torch.randn(300, 6, dtype=torch.float64)
        return net, x

    @pytest.mark.parametrize("normalize", [True, False])
    def test_each_model_is_a_linear_head_on_the_same_features(self, fitted, normalize):
        net, x = fitted
        pnml = LastLayerPNML(net, normalize=normalize, bias_column=True, alpha=1.0).fit(x)
        found = LastLayerSamples(pnml, n=4)(x, batch_size=128)
        with torch.no_grad():
            features = np.column_stack([net[:2](x).numpy(), np.ones(300)])
        for logs in found:
            relative = logs[:, :2] - logs[:, 2:]
            fit = np.linalg.lstsq(features, relative, rcond=None)[0]
            np.testing.assert_allclose(features @ fit, relative, atol=1e-8)

    def test_logits_vary_as_the_root_of_the_leverage(self, fitted):
        net, x = fitted
        pnml = LastLayerPNML(net, normalize=False, alpha=1.0, regions=False).fit(x)
        leverage = pnml(x[:5]).leverage.detach().numpy()
        logs = LastLayerSamples(pnml, n=4000, spread=1.0)(x[:5])
        margin = logs[..., 0] - logs[..., 1]
        np.testing.assert_allclose(margin.var(axis=0), 2 * leverage, rtol=0.1)

    def test_they_are_reproducible_in_any_batches(self, fitted):
        net, x = fitted
        pnml = LastLayerPNML(net).fit(x)
        whole = LastLayerSamples(pnml, n=3, seed=7)(x)
        np.testing.assert_allclose(LastLayerSamples(pnml, n=5, seed=7)(x, batch_size=9)[:3], whole)
        assert not np.allclose(LastLayerSamples(pnml, n=3, seed=8)(x), whole)

    def test_a_covariance_is_needed(self, fitted):
        net, x = fitted
        with pytest.raises(InputError, match="LastLayerPNML"):
            LastLayerSamples(net)
        dead = LastLayerPNML(nn.Linear(6, 3), normalize=False, alpha=0.0).fit(x.float() * 0 + 1)
        with pytest.raises(InputError, match="pass alpha > 0"):
            LastLayerSamples(dead)(x.float())


@pytest.mark.parametrize("n", [1, 3, 16])
def test_on_trained_dropout_picks_are_those_of_the_literal_loops(n):
    from sklearn.datasets import load_digits

    import oracle

    X, y = load_digits(return_X_y=True)
    X, y = torch.tensor(X / 16, dtype=torch.float32), torch.tensor(y)
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.5), nn.Linear(64, 10))
    optimiser = torch.optim.Adam(net.parameters(), 1e-2)
    for _ in range(60):
        optimiser.zero_grad()
        nn.functional.cross_entropy(net(X[:60]), y[:60]).backward()
        optimiser.step()
    models = MCDropout(net, n=10)
    candidates, targets = models(X[100:125]), models(X[200:208])
    worst = oracle.dial_scores(candidates, targets).max(axis=1)
    expected = np.argsort(worst, kind="stable")[:n]
    np.testing.assert_array_equal(dial_select(candidates, targets, n), expected)
