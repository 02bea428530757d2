"""With regions, leverage and scale are those of a dense ridge with one constant for each class."""

from __future__ import annotations

import io

import numpy as np
import pytest
import torch
from scipy.special import logsumexp
from torch import nn

import oracle
from pnml.errors import InputError
from pnml.nn import LastLayerPNML
from pnml.nn.feature_regions import Regions, RegionSums
from pnml.nn.feature_rows import RowForm
from pnml.nn.feature_statistic import FeatureStatistic, StatisticBuilder


def rows_of(features, normalize=True):
    """Direction and log norm, or the features as they are."""
    if not normalize:
        return features
    norms = np.linalg.norm(features, axis=1, keepdims=True)
    return np.hstack([features / norms, np.log(norms)])


def design(rows, labels, mean, classes):
    """Rows less the mean of the training rows, then one column of ones for each class."""
    return np.hstack([rows - mean, np.eye(classes)[labels]])


def dense_leverage(X, new, alpha, width):
    """The leverage of a ridge on all columns, with a penalty of 1 on those of the classes."""
    penalty = np.r_[np.full(width, alpha), np.ones(X.shape[1] - width)]
    inverse = np.linalg.inv(X.T @ X + np.diag(penalty))
    return np.einsum("ij,jk,ik->i", new, inverse, new)


def trace_of_scatter(X, width):
    """tr S: what is left of the rows' squares when the constants have taken their part."""
    u, ones = X[:, :width], X[:, width:]
    projected = ones @ np.linalg.inv(ones.T @ ones + np.eye(ones.shape[1])) @ ones.T
    return float(np.trace(u.T @ (u - projected @ u)))


def problem(classes=4, rows=120, width=5, seed=0):
    rng = np.random.default_rng(seed)
    weight, bias = rng.normal(size=(classes, width)), rng.normal(size=classes)
    features = rng.normal(size=(rows, width)) + 2 * weight[rng.integers(classes, size=rows)]
    return features, weight, bias, rng


def named(features, weight, bias):
    return (features @ weight.T + bias).argmax(axis=1)


@pytest.mark.parametrize("classes", [1, 2, 4, 1000])  # of a thousand, most regions are empty
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("alpha", ["auto", 0.3])
def test_the_leverage_is_that_of_a_ridge_with_a_constant_for_each_class(classes, normalize, alpha):
    features, weight, bias, rng = problem(classes)
    new = 2 * rng.normal(size=(40, 5))
    settings = {"alpha": alpha, "normalize": normalize, "task": "multiclass"}
    m = LastLayerPNML.from_embeddings(weight, bias, features, **settings)
    rows, mine = rows_of(features, normalize), rows_of(new, normalize)
    mean, width = rows.mean(axis=0), rows.shape[1]
    X = design(rows, named(features, weight, bias), mean, classes)
    if alpha == "auto":
        alpha = 1e-6 * trace_of_scatter(X, width) / width
    # both solve systems with condition numbers up to 1e6
    assert m.alpha_ == pytest.approx(alpha, rel=1e-9)
    truth = dense_leverage(X, design(mine, named(new, weight, bias), mean, classes), alpha, width)
    np.testing.assert_allclose(m.score_features(new).leverage, truth, rtol=1e-7)
    if classes == 1000:
        empty = ~np.isin(named(new, weight, bias), named(features, weight, bias))
        assert empty.any()
        assert (m.score_features(new).leverage.numpy()[empty] > 1).all()


@pytest.mark.parametrize("alpha", [0.3, 1e-4, 0.0])
def test_rows_are_left_out_as_a_ridge_on_the_others_leaves_them(alpha):
    """Regions and mean are those of all rows."""
    features, weight, bias, _ = problem(rows=60)
    labels = named(features, weight, bias)
    m = LastLayerPNML.from_embeddings(weight, bias, features, alpha=alpha, scale=2.0)
    rows = rows_of(features)
    X = design(rows, labels, rows.mean(axis=0), 4)
    geometry = m._scorer().geometry
    at = [np.argmin(np.abs(geometry.sample_norms - n)) for n in np.linalg.norm(features, axis=1)]
    left = geometry.left_out[at]
    truth = [
        dense_leverage(np.delete(X, i, axis=0), X[[i]], alpha, rows.shape[1])[0] for i in range(60)
    ]
    np.testing.assert_allclose(left, truth, rtol=1e-7)
    regrets = m.sample_regrets_[at]
    for i in range(0, 60, 7):
        logits = 2.0 * weight @ rows[i, :5] + bias
        expected = float(oracle.single_layer_regret(logits, left[i]))
        assert regrets[i] == pytest.approx(expected, rel=1e-6)


def dprime(unknown, known):
    a, b = np.log(unknown), np.log(known)
    return (a.mean() - b.mean()) / np.sqrt((a.var() + b.var()) / 2)


def dprime_by_definition(features, weight, bias, scale):
    """Mean d′ over classes left out of rows, regions and head; each known row left out too."""
    logits = features @ weight.T + bias
    labels, rows, found = logits.argmax(axis=1), rows_of(features), []
    width = rows.shape[1]
    for gone in range(len(bias)):
        kept, known = np.flatnonzero(np.arange(len(bias)) != gone), labels != gone
        regions = kept[logits[:, kept].argmax(axis=1)]
        mean = rows[known].mean(axis=0)
        X = design(rows, regions, mean, len(bias))
        alpha = 1e-6 * trace_of_scatter(X[known], width) / width
        regrets = []
        for i, row in enumerate(X):
            others = X[known & (np.arange(len(rows)) != i)]
            leverage = dense_leverage(others, row[None], alpha, width)[0]
            z = (scale * weight @ rows[i, :-1] + bias)[kept]
            p = np.exp(z - logsumexp(z))
            genies = oracle.single_layer_genies(p, leverage / (1 + leverage))
            regrets.append(np.log(sum(genies)))
        regrets = np.array(regrets, dtype=float)
        found.append(dprime(regrets[~known], regrets[known]))
    return np.mean(found)


@pytest.mark.parametrize("seed", [0, 1])
def test_no_other_scale_separates_left_out_classes_further(seed):
    features, weight, bias, _ = problem(seed=seed)
    m = LastLayerPNML.from_embeddings(weight, bias, features)
    typical = np.sqrt(np.mean(np.sum(features**2, axis=1)))

    def quality(scale):
        return dprime_by_definition(features, weight, bias, scale)

    others = [quality(scale) for scale in typical * 2.0 ** -np.arange(0.0, 7.0, 2.0)]
    # the scale is the top of a parabola through steps of √2, which is that near to the best
    assert quality(m.scale_) >= max(others) - 1e-3
    assert max(others) > min(others) + 0.01  # there was something to choose
    assert 0 < m.scale_ <= typical * (1 + 1e-12)


def test_streams_far_from_the_origin_keep_their_digits():
    """Raw rows with a mean 1e7 times their spread: squares about the origin would lose them."""
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=4000)
    near = rng.normal(size=(4000, 4)) + 5 * np.eye(4)[labels]
    form = RowForm(4, normalize=False, bias=False, regions=3)
    builder = StatisticBuilder(FeatureStatistic.empty(form))
    for part in np.array_split(np.arange(4000), 9):
        builder.add(near[part] + 1e7, "A part", labels[part])
    merged = FeatureStatistic.empty(form)
    for part in np.array_split(np.arange(4000), 9):
        step = StatisticBuilder(FeatureStatistic.empty(form))
        step.add(near[part] + 1e7, "A part", labels[part])
        merged = merged + step.total()
    centred = near - np.stack([near[labels == c].mean(axis=0) for c in range(3)])[labels]
    # rows of size 1e7 are rounded to 1e-9, which changes their squares by 1e-8 at most
    for total in (builder.total(), merged):
        np.testing.assert_allclose(total.xx, centred.T @ centred, rtol=1e-8, atol=1e-5)
        np.testing.assert_array_equal(total.regions.counts, np.bincount(labels))


def test_parts_add_up_to_the_whole_in_any_order(network, inputs):
    whole = LastLayerPNML(network).fit(inputs)
    parts = [LastLayerPNML(network).fit(part) for part in inputs.split(70)]
    total = parts[3] + parts[0] + (parts[2] + parts[1] + parts[4])
    stream = LastLayerPNML(network)
    for part in inputs.split(70):
        stream.partial_fit(part)
    features = LastLayerPNML(network, "2").fit_features(network[:-1](inputs))
    for other in (total, stream, features):
        torch.testing.assert_close(other.statistic.region_means, whole.statistic.region_means)
        torch.testing.assert_close(other.statistic.region_counts, whole.statistic.region_counts)
        torch.testing.assert_close(other(inputs).leverage, whole(inputs).leverage)
        torch.testing.assert_close(other(inputs).regret, whole(inputs).regret, rtol=1e-6, atol=0)


def test_only_regions_with_rows_are_kept():
    sums = RegionSums(Regions.empty(30_000, 2))
    sums.centre(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 5.0]]), np.array([29_999, 7, 7]))
    regions, _ = sums.total()
    assert regions.ids.tolist() == [7, 29_999]
    np.testing.assert_allclose(regions.means, [[4.0, 4.5], [1.0, 2.0]])
    assert regions.centres.shape == (3, 2)


def test_features_of_zeros_are_never_trusted_and_change_no_other_row(network, inputs):
    features = network[:-1](inputs)
    plain = LastLayerPNML(network, "2", scale=2.0).fit_features(features)
    zeros = torch.cat([torch.zeros(5, 12), features, torch.zeros(4, 12)])
    m = LastLayerPNML(network, "2", scale=2.0, bias_column=True).fit_features(zeros)
    assert m.rows_ == 309
    torch.testing.assert_close(
        m.score_features(features).leverage, plain.score_features(features).leverage
    )
    assert torch.isinf(m.score_features(torch.zeros(2, 12)).leverage).all()
    assert np.isinf(m.reference_.leverages).sum() == 9
    assert m.thresholds(0.9).leverage == pytest.approx(plain.thresholds(0.9).leverage)
    for only in (torch.zeros(3, 12), features[:1]):
        lonely = LastLayerPNML(network, "2", scale=2.0).fit_features(only)
        assert not torch.isnan(lonely.score_features(features).regret).any()
        assert not torch.isnan(
            lonely.score_features(features.clone().requires_grad_()).regret
        ).any()


def test_tasks_that_name_no_class_have_no_regions(network, inputs):
    for task in ("multilabel", "regression"):
        m, plain = (
            LastLayerPNML(network, task=task, regions=regions).fit(inputs)
            for regions in (True, False)
        )
        torch.testing.assert_close(m(inputs).regret, plain(inputs).regret, rtol=0, atol=0)
    with pytest.raises(InputError, match="regions is 3; pass True or False"):
        LastLayerPNML(network, regions=3)


def test_networks_of_other_classes_do_not_add(inputs):
    torch.manual_seed(0)
    four, five = (LastLayerPNML(nn.Linear(6, classes)).fit(inputs) for classes in (4, 5))
    with pytest.raises(InputError, match=r"5 regions cannot be counted with .* 4 regions"):
        four + five


def test_a_state_dict_of_version_0_1_keeps_its_form(network, inputs):
    old = LastLayerPNML(network, regions=False).fit(inputs)
    state = old.state_dict()
    assert len(state["statistic.counts"]) == 3  # the keys and shapes of version 0.1
    assert not any("region" in name for name in state)
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    m = LastLayerPNML(network).fit(inputs[:50])  # with regions, until it is loaded
    m.load_state_dict(torch.load(file, weights_only=True))
    torch.testing.assert_close(m(inputs).regret, old(inputs).regret, rtol=0, atol=0)
    assert m.thresholds() == old.thresholds()
    assert len(state["statistic.counts"]) == 3  # what was passed in stays as it was
    more = m.partial_fit(inputs)
    assert more.rows_ == 600
    torch.testing.assert_close(more(inputs).leverage, old.partial_fit(inputs)(inputs).leverage)


def test_gradients_flow_within_a_region(network, inputs):
    network = network.double()
    for alpha in ("auto", 0.0):
        m = LastLayerPNML(network, alpha=alpha, scale=1.5).fit(inputs.double())
        x = inputs[:2].double().requires_grad_()
        assert torch.autograd.gradcheck(lambda x, m=m: (m(x).leverage, m(x).regret), (x,))
