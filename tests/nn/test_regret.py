"""What LastLayerPNML says of a row is what the definition says."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score
from torch import nn

import oracle
from pnml.nn import LastLayerPNML


def hidden(network, x):
    return network[:-1](x).detach().double().numpy()


def unit(rows):
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(norms > 0, norms, 1.0)


def leverage_by_svd(rows, new, alpha):
    """Σ a²/(h² + α) + b²/α from the SVD of the rows themselves."""
    _, h, Vt = np.linalg.svd(rows, full_matrices=len(rows) < rows.shape[1])
    h2 = np.zeros(len(Vt))
    h2[: len(h)] = h**2
    a = new @ Vt.T
    return (a * a / (h2 + alpha)).sum(axis=1)


@pytest.mark.parametrize("scale", [1.0, 3.0, None])
def test_leverage_regret_and_probabilities_are_the_definition(network, inputs, scale):
    m = LastLayerPNML(network, alpha=0.01, scale=scale, regions=False).fit(
        [inputs[:100], inputs[100:]]
    )
    new = 2 * torch.randn(5, 6)
    out = m(new)
    phi, weight, bias = (
        hidden(network, new),
        network[-1].weight.detach().double().numpy(),
        network[-1].bias.detach().double().numpy(),
    )
    leverage = leverage_by_svd(unit(hidden(network, inputs)), unit(phi), 0.01)
    np.testing.assert_allclose(out.leverage, leverage, rtol=1e-9)
    own = phi @ weight.T + bias
    judged = own if scale is None else scale * unit(phi) @ weight.T + bias
    truth = [oracle.single_layer_regret(z, h) for z, h in zip(judged, leverage, strict=True)]
    np.testing.assert_allclose(out.regret, np.array(truth, dtype=float), rtol=1e-5)
    p = np.exp(own - np.logaddexp.reduce(own, axis=1)[:, None])
    pulls = leverage / (1 + leverage)
    genies = np.array([oracle.single_layer_genies(*row) for row in zip(p, pulls, strict=True)])
    np.testing.assert_allclose(
        out.probs.detach(), genies / genies.sum(axis=1, keepdims=True), rtol=1e-5
    )
    assert out.logits.shape == (5, 4)
    assert out.features.shape == (5, 12)


def test_a_bias_is_one_more_column_of_ones(network, inputs):
    m = LastLayerPNML(network, alpha=0.1, bias_column=True, regions=False).fit(inputs)
    rows, new = (np.c_[unit(hidden(network, x)), np.ones(len(x))] for x in (inputs, inputs[:9] * 3))
    np.testing.assert_allclose(
        m(inputs[:9] * 3).leverage, leverage_by_svd(rows, new, 0.1), rtol=1e-9
    )


def test_rows_in_dead_units_are_the_least_familiar():
    rng = np.random.default_rng(0)
    seen = np.abs(rng.normal(size=(5000, 64)))
    seen[:, 48:] = 0
    unseen = np.zeros((500, 64))
    unseen[:, 48:] = np.abs(rng.normal(size=(500, 16)))
    weight, bias = rng.normal(size=(10, 64)), rng.normal(size=10)
    m = LastLayerPNML.from_embeddings(weight, bias, seen)
    known, unknown = (m.score_features(x).regret.numpy() for x in (seen[:500], unseen))
    labels = np.r_[np.zeros(500), np.ones(500)]
    assert roc_auc_score(labels, np.r_[known, unknown]) == 1.0
    assert not m.trusted(torch.from_numpy(unseen)).any()
    assert m.trusted(torch.from_numpy(seen)).double().mean() > 0.97


@pytest.mark.parametrize("alpha", ["auto", 0.0, 1e-9])
def test_singular_values_down_to_1e_5_leave_five_digits_of_the_leverage(alpha):
    rng = np.random.default_rng(0)
    U, V = np.linalg.qr(rng.normal(size=(5000, 64)))[0], np.linalg.qr(rng.normal(size=(64, 64)))[0]
    rows = (U * np.logspace(0, -5, 64)) @ V.T
    head = rng.normal(size=(10, 64))
    m = LastLayerPNML.from_embeddings(head, None, rows, alpha=alpha, regions=False)
    truth = leverage_by_svd(unit(rows), unit(rows[:200]), m.alpha_)
    np.testing.assert_allclose(m.score_features(rows[:200]).leverage, truth, rtol=1e-5)


@pytest.mark.parametrize("share", [1e-3, 1e-8, 1e-10, 1e-14])
@pytest.mark.parametrize("normalize", [True, False])
def test_every_penalty_leaves_rows_out_as_the_svd_of_the_others_does(share, normalize):
    """Penalties that clear the round-off go another way than those that do not."""
    rng = np.random.default_rng(0)
    rows = np.c_[rng.normal(size=(60, 5)) * [1.0, 1.0, 30.0, 0.1, 1.0], np.zeros((60, 2))]
    rows[0, 6] = 3.0  # alone in its direction
    used = unit(rows) if normalize else rows
    alpha = share * np.sum(used**2)
    head = rng.normal(size=(3, 7))
    m = LastLayerPNML.from_embeddings(
        head, None, rows, alpha=alpha, normalize=normalize, regions=False
    )
    np.testing.assert_allclose(
        m.score_features(rows).leverage,
        leverage_by_svd(used, used, alpha),
        rtol=1e-7,
    )
    left = m._scorer().geometry.left_out
    norms = m._scorer().geometry.sample_norms
    for i in range(1, 60):
        truth = leverage_by_svd(np.delete(used, i, axis=0), used[[i]], alpha)[0]
        at = np.argmin(np.abs(norms - np.linalg.norm(rows[i])))
        assert left[at] == pytest.approx(truth, rel=1e-6)
    alone = left[np.argmin(np.abs(norms - np.linalg.norm(rows[0])))]
    assert alone == pytest.approx(used[0, 6] ** 2 / alpha, rel=0.1)


def test_features_never_seen_have_infinite_leverage_without_a_penalty():
    rows = np.c_[np.random.default_rng(0).normal(size=(50, 3)), np.zeros(50)]
    m = LastLayerPNML.from_embeddings(np.eye(4), None, rows, alpha=0)
    out = m.score_features(np.array([[1.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 1e-3]]))
    assert torch.isinf(out.leverage).tolist() == [False, True]
    assert float(out.regret[1]) <= np.log(2.5) + 1e-12
    assert m.trusted(out.features).tolist() == [True, False]


def test_features_that_are_all_zero_have_no_direction_and_are_never_familiar(network, inputs):
    m = LastLayerPNML(network).fit(inputs)
    out = m.score_features(torch.zeros(1, 12))
    assert torch.isinf(out.leverage).all()
    assert out.regret > m(inputs).regret.median()
    assert torch.isfinite(m.score_features(torch.ones(1, 12)).leverage).all()


def test_float32_and_float64_networks_rank_confident_rows_the_same():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 10)).requires_grad_(False)
    with torch.no_grad():
        net[-1].weight *= 60  # sure of most rows
    train, new = torch.randn(2000, 20), torch.randn(1000, 20)
    single = LastLayerPNML(net, scale=4.0).fit(train)(new)
    double = LastLayerPNML(copy.deepcopy(net).double(), scale=4.0).fit(train.double())(new.double())
    sure = double.logits.softmax(-1).amax(-1) > 0.99
    assert sure.sum() > 500
    assert double.regret[sure].median() < 1e-3
    ranks = spearmanr(single.regret[sure].detach(), double.regret[sure].detach())
    assert ranks.statistic >= 0.999999
    own = [
        LastLayerPNML(n, scale=None).fit(x)(z).regret[sure].detach()
        for n, x, z in (
            (net, train, new),
            (copy.deepcopy(net).double(), train.double(), new.double()),
        )
    ]
    assert spearmanr(*own).statistic >= 0.999999


def test_gradients_through_the_regret_are_those_of_finite_differences(network, inputs):
    network = network.double()
    for scale in (1.5, None):
        m = LastLayerPNML(network, scale=scale).fit(inputs.double())
        x = torch.randn(2, 6, dtype=torch.float64, requires_grad=True)
        assert torch.autograd.gradcheck(lambda x, m=m: m(x).regret, (x,))
        assert torch.autograd.gradcheck(lambda x, m=m: m(x).log_prob, (x,))


def test_with_or_without_a_graph_the_numbers_are_the_same(network, inputs):
    for settings in (
        {},
        {"normalize": False},
        {"bias_column": True},
        {"scale": 2.0, "normalize": False},
    ):
        m = LastLayerPNML(network, **settings).fit(inputs)
        with torch.no_grad():
            plain = m(inputs)
        graph = m(inputs.clone().requires_grad_())
        assert graph.regret.requires_grad
        assert not plain.regret.requires_grad
        for name in ("leverage", "regret", "log_prob"):
            a, b = getattr(plain, name), getattr(graph, name).detach()
            torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-12)


def test_features_and_inputs_give_the_same_answers(network, inputs):
    m = LastLayerPNML(network).fit(inputs)
    again = LastLayerPNML(network, layer="2").fit_features(network[:-1](inputs))
    alone = LastLayerPNML.from_embeddings(
        network[-1].weight.detach(), network[-1].bias.detach(), network[:-1](inputs).detach()
    )
    out = m(inputs)
    for other in (
        again.score_features(out.features),
        alone(out.features),
        m.score_features(out.features),
    ):
        torch.testing.assert_close(other.regret, out.regret.detach())
        torch.testing.assert_close(other.log_prob.float(), out.log_prob.detach().float())


def test_each_position_of_a_sequence_is_a_row(network, inputs):
    m = LastLayerPNML(network).fit(inputs.reshape(30, 10, 6))
    flat = LastLayerPNML(network).fit(inputs)
    out = m(inputs[:20].reshape(4, 5, 6))
    assert m.rows_ == 300
    assert out.regret.shape == out.leverage.shape == (4, 5)
    assert out.probs.shape == out.logits.shape == (4, 5, 4)
    torch.testing.assert_close(out.regret.flatten(), flat(inputs[:20]).regret)
    labels = torch.zeros(4, 5, dtype=torch.long)
    torch.testing.assert_close(out.log_loss(labels), -out.log_prob[..., 0])


def test_a_convolution_of_one_pixel_is_a_head_of_every_pixel():
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 5, 1)
    ).requires_grad_(False)
    x = torch.randn(6, 3, 7, 4)
    m = LastLayerPNML(net).fit(x)
    out = m(x)
    assert m.rows_ == 6 * 28
    assert out.regret.shape == (6, 7, 4)
    assert out.probs.shape == (6, 7, 4, 5)
    torch.testing.assert_close(out.logits.movedim(-1, 1), net(x))
    last = m(x.to(memory_format=torch.channels_last))
    torch.testing.assert_close(last.regret, out.regret)


def test_the_regrets_of_independent_labels_add_up(network, inputs):
    m = LastLayerPNML(network, task="multilabel", scale=None).fit(inputs)
    out = m(inputs[:7])
    parts = 0.0
    for label in range(4):
        z = out.logits[:, label].detach().double()
        pair = torch.stack([torch.zeros_like(z), z], dim=1)
        parts += np.array(
            [
                oracle.single_layer_regret(row, float(h))
                for row, h in zip(pair.numpy(), out.leverage.numpy(), strict=True)
            ],
            dtype=float,
        )
    np.testing.assert_allclose(out.regret.detach(), parts, rtol=1e-6)
    own = out.logits.sigmoid()
    assert out.probs.shape == (7, 4)
    assert bool(((out.probs - 0.5).abs() <= (own - 0.5).abs() + 1e-7).all())  # nearer to a half
    one = LastLayerPNML(nn.Linear(6, 1), task="multilabel").fit(inputs)
    assert one(inputs).probs.shape == (300, 1)
    assert one.scale_ == pytest.approx(inputs.norm(dim=1).square().mean().sqrt())


def test_a_regression_head_gets_the_gaussian_regret_of_its_raw_features(inputs):
    net = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 1)).requires_grad_(False)
    m = LastLayerPNML(net, task="regression", alpha=0.3).fit(inputs)
    out = m(4 * inputs[:9])
    rows, new = (
        np.c_[net[:-1](x).detach().double().numpy(), np.ones(len(x))]
        for x in (inputs, 4 * inputs[:9])
    )
    np.testing.assert_allclose(
        out.regret.detach(), np.log1p(leverage_by_svd(rows, new, 0.3)), rtol=1e-6
    )
    assert out.log_prob is None
    assert out.probs is None
    assert m.scale_ is None
    y = np.random.default_rng(0).normal(size=300)
    exact = oracle.ridge_normaliser(rows, y, new[0], 0.3, 1.0, intercept=False)
    assert float(out.regret[0]) == pytest.approx(np.log(exact), abs=1e-6)
    assert m.trusted(inputs).double().mean() > 0.95


def test_the_threshold_is_a_quantile_of_regrets_of_rows_left_out(network, inputs):
    m = LastLayerPNML(network, scale=2.0, alpha=1e-3, regions=False).fit(inputs)
    features = unit(hidden(network, inputs))
    weight, bias = (p.detach().double().numpy() for p in network[-1].parameters())
    regrets = []
    for i in range(300):
        others = np.delete(features, i, axis=0)
        h = leverage_by_svd(others, features[[i]], 1e-3)[0]
        regrets.append(float(oracle.single_layer_regret(2.0 * weight @ features[i] + bias, h)))
    assert np.sort(m.sample_regrets_) == pytest.approx(np.sort(regrets), rel=1e-6)
    for level in (0.5, 0.9, 0.99, 1.0):
        limit = np.quantile(regrets, level, method="inverted_cdf")
        assert m.regret_threshold(level) == pytest.approx(limit, rel=1e-6)
    out = m(inputs)
    usual = (out.regret <= m.regret_threshold(0.9)) & (out.leverage <= m.leverage_threshold(0.9))
    assert torch.equal(m.trusted(inputs, level=0.9), usual)
    assert 0.75 < usual.double().mean() < 0.95


def test_a_network_that_is_sure_of_everything_is_not_trusted_far_from_training():
    rng = np.random.default_rng(0)
    rows = np.c_[rng.normal(size=(2000, 8)), 0.01 * rng.normal(size=(2000, 2))]
    m = LastLayerPNML.from_embeddings(1e4 * rng.normal(size=(3, 10)), None, rows, scale=1.0)
    far = np.c_[rng.normal(size=(50, 8)), rng.normal(size=(50, 2))]
    out = m.score_features(far)
    assert (out.regret <= m.regret_threshold()).any()  # sure, and so without regret
    assert not m.trusted(torch.from_numpy(far)).any()


def test_half_and_bfloat16_networks_are_counted_in_float64(network, inputs):
    truth = LastLayerPNML(network, scale=2.0).fit(inputs)(inputs).regret.detach()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        m = LastLayerPNML(network, scale=2.0).fit(inputs)
        out = m(inputs)
    assert out.logits.dtype == torch.bfloat16
    assert out.regret.dtype == torch.float64
    assert spearmanr(out.regret.detach(), truth).statistic > 0.95
    low = copy.deepcopy(network).bfloat16()
    out = LastLayerPNML(low, scale=2.0).fit(inputs.bfloat16())(inputs.bfloat16())
    assert spearmanr(out.regret.detach(), truth).statistic > 0.95
