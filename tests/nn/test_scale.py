"""The scale that training rows choose is the one that tells left-out classes best."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.special import logsumexp
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.neural_network import MLPClassifier

import oracle
from pnml.nn import LastLayerPNML


def clusters(classes=4, rows=30, width=5, seed=0, spread=1.5):
    """Features of classes, and a head that knows their means."""
    rng = np.random.default_rng(seed)
    means = spread * rng.normal(size=(classes, width))
    features = np.repeat(means, rows, axis=0) + rng.normal(size=(classes * rows, width))
    return features, means, -0.5 * np.sum(means**2, axis=1)


def unit(features):
    return features / np.linalg.norm(features, axis=1, keepdims=True)


def regret(logits, leverage):
    p = np.exp(logits - logsumexp(logits))
    return np.log(sum(oracle.single_layer_genies(p, leverage / (1 + leverage))))


def separation_by_definition(features, weight, bias, scale, share):
    """Mean AUROC over classes left out of the rows and of the head, each known row left out too."""
    labels = (features @ weight.T + bias).argmax(axis=1)
    rows = unit(features)
    found = []
    for gone in range(len(bias)):
        kept, known = np.arange(len(bias)) != gone, labels != gone
        alpha = share * known.sum()
        regrets = []
        for i, row in enumerate(rows):
            others = rows[known & (np.arange(len(rows)) != i)]
            P = np.linalg.inv(others.T @ others + alpha * np.eye(rows.shape[1]))
            regrets.append(regret((scale * weight @ row + bias)[kept], row @ P @ row))
        found.append(roc_auc_score(~known, regrets))
    return np.mean(found)


@pytest.mark.parametrize("seed", [0, 1, 2])  # the best is at the end, inside, inside
def test_no_other_scale_tells_left_out_classes_better(seed):
    features, weight, bias = clusters(seed=seed)
    m = LastLayerPNML.from_embeddings(weight, bias, features, regions=False)
    typical = np.sqrt(np.mean(np.sum(features**2, axis=1)))
    share = m.alpha_ / len(features)

    def quality(scale):
        return separation_by_definition(features, weight, bias, scale, share)

    others = [quality(scale) for scale in typical * 2.0 ** -np.arange(7.0)]
    assert quality(m.scale_) >= max(others) - 1e-3
    assert max(others) > others[0] + 0.01  # there was something to choose
    assert 0 < m.scale_ <= typical * (1 + 1e-12)


def test_units_of_the_features_do_not_matter():
    features, weight, bias = clusters(seed=1)
    m = LastLayerPNML.from_embeddings(weight, bias, features)
    other = LastLayerPNML.from_embeddings(weight / 8, bias, 8 * features)
    assert other.scale_ == pytest.approx(8 * m.scale_, rel=1e-9)
    torch.testing.assert_close(
        other.score_features(8 * features).regret, m.score_features(features).regret
    )


def test_the_same_rows_choose_the_same_scale_in_any_order():
    features, weight, bias = clusters(classes=12, rows=20)
    m = LastLayerPNML.from_embeddings(weight, bias, features)
    turned = LastLayerPNML.from_embeddings(weight, bias, features[::-1].copy())
    assert turned.scale_ == pytest.approx(m.scale_, rel=1e-6)


def test_two_classes_leave_the_network_at_its_own_norm():
    features, weight, bias = clusters(classes=2)
    m = LastLayerPNML.from_embeddings(weight, bias, features)
    assert m.scale_ == pytest.approx(np.sqrt(np.mean(np.sum(features**2, axis=1))))
    lonely = LastLayerPNML.from_embeddings(weight, bias, features[:1])  # nothing to compare
    assert np.isfinite(lonely.scale_)


def test_scales_that_were_asked_for_are_used():
    features, weight, bias = clusters()
    for scale in (1, 1.0, 0.3, None):
        m = LastLayerPNML.from_embeddings(weight, bias, features, scale=scale)
        assert m.scale_ == scale
    raw = LastLayerPNML.from_embeddings(weight, bias, features, normalize=False)
    assert raw.scale_ is None


def test_wide_features_and_many_classes_are_chosen_for_in_bounded_time():
    rng = np.random.default_rng(0)
    features = np.maximum(rng.normal(size=(700, 1200)), 0)
    m = LastLayerPNML.from_embeddings(rng.normal(size=(1000, 1200)), None, features)
    assert 0 < m.scale_ <= np.sqrt(np.mean(np.sum(features**2, axis=1))) * (1 + 1e-12)
    assert np.isfinite(m.regret_threshold())


def mean_auroc(m, known, unknown):
    inside = m.score_features(known).regret.numpy()
    found = [
        roc_auc_score(
            np.r_[np.zeros(len(inside)), np.ones(len(rows))],
            np.r_[inside, m.score_features(rows).regret.numpy()],
        )
        for rows in unknown
    ]
    return 100 * np.mean(found)


def test_digits_never_seen_are_told_at_least_as_well_as_at_fixed_scales():
    X, y = load_digits(return_X_y=True)
    X, inside = X / 16, y < 7
    known, unknown = X[inside], [X[~inside]]
    net = MLPClassifier((64,), max_iter=60, tol=1e-2, random_state=0).fit(
        known[:800], y[inside][:800]
    )

    def features(rows):
        return np.maximum(rows @ net.coefs_[0] + net.intercepts_[0], 0)

    def quality(scale):
        m = LastLayerPNML.from_embeddings(
            net.coefs_[1].T, net.intercepts_[1], features(known[:800]), scale=scale
        )
        return mean_auroc(m, features(known[800:]), [features(rows) for rows in unknown])

    automatic = quality("auto")
    assert automatic > quality(1.0) + 1
    assert automatic > quality(None) - 0.5
    assert automatic > 90


@pytest.mark.data
def test_image_features_reach_what_no_scale_by_hand_does(data_dir):
    data = np.load(data_dir / "features" / "cifar10_resnet20.npz")
    weight, bias = data["fc_weight"], data["fc_bias"]
    sets = {
        name[2:]: data[name].astype(np.float32)
        for name in data
        if name.startswith("f_") and "cifar10_" not in name
    }
    m = LastLayerPNML.from_embeddings(weight, bias, data["f_cifar10_train"].astype(np.float32))
    known = data["f_cifar10_test"].astype(np.float32)
    quality = mean_auroc(m, known, sets.values())
    logits = {k: v @ weight.T + bias for k, v in (sets | {"known": known}).items()}

    def rival(score):
        labels = [np.r_[np.zeros(len(known)), np.ones(len(rows))] for rows in sets.values()]
        scores = [np.r_[score(logits["known"]), score(logits[name])] for name in sets]
        return 100 * np.mean([roc_auc_score(*pair) for pair in zip(labels, scores, strict=True)])

    sure = rival(lambda z: -(z - logsumexp(z, axis=1, keepdims=True)).max(axis=1))
    energy = rival(lambda z: -logsumexp(z, axis=1))
    assert quality >= 94.0
    assert quality >= max(sure, energy) + 5
    assert mean_auroc(m, known, [sets["cifar100_test"]]) >= 88.5


@pytest.mark.data
def test_sentence_embeddings_keep_their_own_scale(data_dir):
    data = np.load(data_dir / "features" / "clinc150_minilm.npz")
    train = data["x_train"].astype(float)
    head = LogisticRegression(C=10, max_iter=1000).fit(train, data["y_train"])
    m = LastLayerPNML.from_embeddings(head.coef_, head.intercept_, train)
    assert m.scale_ == pytest.approx(1.0, rel=1e-3)
    assert mean_auroc(m, data["x_test"].astype(float), [data["x_oos_test"].astype(float)]) >= 97.3
