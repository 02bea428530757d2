"""Detectors by features against their formulas, written out row by row."""

from __future__ import annotations

from typing import NamedTuple

import mpmath as mp
import numpy as np
import pytest
import torch

from pnml.ood import FDBD, GEN, KNN, NCI, RMD, Mahalanobis, ViM
from sentences import assert_refused

HEADLESS = {"KNN": lambda **k: KNN(k=7), "Mahalanobis": Mahalanobis, "RMD": RMD}
ALL = {**HEADLESS, "ViM": ViM, "FDBD": FDBD, "NCI": NCI}


class Made(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    W: np.ndarray
    b: np.ndarray
    new: np.ndarray

    def logits(self, rows):
        return rows @ self.W.T + self.b


@pytest.fixture
def made(rng):
    y = np.arange(240) % 4
    mix = rng.normal(size=(6, 6))
    X = 3 * rng.normal(size=(4, 6))[y] + rng.normal(size=(240, 6)) @ mix + 20
    new = 20 + 5 * rng.normal(size=(15, 6))
    return Made(X, y, rng.normal(size=(4, 6)), rng.normal(size=4), new)


def built(name, made):
    detector = KNN(k=7) if name == "KNN" else ALL[name](weight=made.W, bias=made.b)
    return detector.fit_features(made.X, made.y)


def squared(x, rows):
    """Mahalanobis distance of x to the mean of some rows, given deviations of all rows."""
    centre, deviations = rows
    return (x - centre) @ np.linalg.solve(deviations.T @ deviations / len(deviations), x - centre)


def by_definition(name, made):
    means = [made.X[made.y == c].mean(axis=0) for c in range(4)]
    within = np.stack([x - means[c] for x, c in zip(made.X, made.y, strict=True)])
    middle = made.X.mean(axis=0)
    unit = [x / np.sqrt(sum(v * v for v in x)) for x in made.X]
    origin = np.linalg.lstsq(made.W, -made.b, rcond=None)[0]
    rest = np.linalg.svd(made.X - origin, full_matrices=True)[2][3:]
    usual = np.mean([np.linalg.norm(rest @ (x - origin)) for x in made.X])
    factor = np.mean([max(made.W @ x + made.b) for x in made.X]) / usual

    def score(x):
        z = made.W @ x + made.b
        best = int(np.argmax(z))
        if name == "KNN":
            u = x / np.sqrt(sum(v * v for v in x))
            return sorted(np.sqrt(sum((u - v) ** 2)) for v in unit)[6]
        if name in ("Mahalanobis", "RMD"):
            nearest = min(squared(x, (m, within)) for m in means)
            return nearest - (name == "RMD") * squared(x, (middle, made.X - middle))
        if name == "ViM":
            virtual = factor * np.linalg.norm(rest @ (x - origin))
            return virtual - float(mp.log(mp.fsum(mp.exp(v) for v in z)))
        away = np.linalg.norm(x - middle)
        if name == "FDBD":
            gaps = [
                abs(z[best] - z[c]) / np.linalg.norm(made.W[best] - made.W[c])
                for c in range(4)
                if c != best
            ]
            return -np.mean(gaps) / away
        return -(made.W[best] @ (x - middle)) / away - 1e-4 * sum(abs(v) for v in x)

    return np.array([score(x) for x in made.new])


@pytest.mark.parametrize("name", ALL)
def test_scores_are_their_formulas(name, made):
    # condition numbers up to 1e4 stand between the two ways of computing
    found = built(name, made).predict_features(made.new)
    np.testing.assert_allclose(found, by_definition(name, made), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ALL)
def test_splitting_the_rows_into_batches_changes_nothing(name, made):
    whole = built(name, made)
    batches = [(made.X[i : i + 37], made.y[i : i + 37]) for i in range(0, 240, 37)]
    head = {} if name == "KNN" else {"weight": made.W, "bias": made.b}
    parts = ALL[name](**head).fit(batches)
    np.testing.assert_allclose(
        parts.predict(made.new), whole.predict_features(made.new), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("name", ALL)
def test_both_doors_of_a_network_lead_to_the_same_score(name):
    torch.manual_seed(0)
    encoder = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Dropout(0.5), torch.nn.Tanh())
    network = torch.nn.Sequential(encoder, torch.nn.Linear(8, 3)).train()
    x, new = torch.randn(200, 3), torch.randn(9, 3)
    features = encoder.eval()(x).detach()
    labels = network.eval()(x).argmax(dim=1)
    network.train()
    by_inputs = KNN(network, k=7) if name == "KNN" else ALL[name](network)
    scores = by_inputs.fit(torch.utils.data.DataLoader(x, batch_size=64)).predict(new)
    assert network.training
    assert encoder[1].training
    assert scores.dtype == torch.float64
    head = {} if name == "KNN" else {"weight": network[1].weight, "bias": network[1].bias}
    by_features = ALL[name](**head).fit_features(features, labels)
    expected = by_features.predict_features(encoder.eval()(new).detach().numpy())
    # the network computes in float32, in batches of another size
    np.testing.assert_allclose(scores.numpy(), expected, rtol=1e-3, atol=1e-4)
    if head:
        as_encoder = ALL[name](encoder, **head).fit([(x, labels)])
        np.testing.assert_allclose(as_encoder.predict(new), expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", ALL)
def test_ordinary_rows_pass_at_the_level_and_margins_agree(name, made):
    detector = built(name, made)
    trusted = detector.trusted(made.X, level=0.9)
    if name != "KNN":  # whose training rows are compared without themselves
        assert 0.9 <= trusted.mean() < 0.9 + 1 / 200
    np.testing.assert_array_equal(
        detector.decision_function(made.new) >= 0, detector.trusted(made.new)
    )


def test_the_threshold_of_neighbours_leaves_each_training_row_out(made):
    detector = KNN(k=3).fit_features(made.X)
    left_out = [
        KNN(k=3).fit_features(np.delete(made.X, i, axis=0)).predict_features(made.X[i : i + 1])[0]
        for i in range(240)
    ]
    np.testing.assert_allclose(np.sort(detector.training_scores_), np.sort(left_out), atol=1e-12)


def test_near_duplicates_keep_the_digits_of_their_distance(rng):
    rows = rng.normal(size=(40, 5))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    step = np.cross(rows[0, :3], [1.0, 0, 0])
    near = rows[0] + 1e-7 * np.r_[step, 0, 0] / np.linalg.norm(step)
    found = KNN(k=1).fit_features(rows).predict_features(near[None])
    assert found[0] == pytest.approx(1e-7, rel=1e-6)


def test_a_sample_of_the_training_rows_bounds_what_neighbours_keep(made):
    detector = KNN(k=5, max_rows=50).fit([made.X[:100], made.X[100:]])
    assert detector.bank_.shape == (50, 6)
    unit = made.X / np.linalg.norm(made.X, axis=1, keepdims=True)
    assert all(np.isclose(unit, row, rtol=1e-12).all(axis=1).any() for row in detector.bank_)


@pytest.mark.parametrize("name", ["Mahalanobis", "RMD"])
def test_a_constant_feature_and_a_large_offset_change_nothing(name, made):
    plain = built(name, made).predict_features(made.new)
    wider = [np.hstack([rows + 1e4, np.full((len(rows), 1), 3.0)]) for rows in (made.X, made.new)]
    found = ALL[name]().fit_features(wider[0], made.y).predict_features(wider[1])
    # 1e4 beside a spread of 1 costs four digits of the rows themselves
    np.testing.assert_allclose(found, plain, rtol=1e-7, atol=1e-7)


def test_without_labels_the_classes_are_those_that_the_head_names(made):
    named = made.logits(made.X).argmax(axis=1)
    for detector in (Mahalanobis, RMD):
        given = detector().fit_features(made.X, named).predict_features(made.new)
        found = detector(weight=made.W, bias=made.b).fit_features(made.X).predict_features(made.new)
        np.testing.assert_allclose(found, given)


@pytest.mark.parametrize("top", [2, 4, 100])
def test_generalised_entropy_is_its_formula_even_where_probabilities_round_to_one(top, rng):
    logits = np.concatenate([rng.normal(size=(9, 4)), 100 * rng.normal(size=(9, 4))])
    expected = []
    for row in logits:
        with mp.workdps(400):
            total = mp.fsum(mp.exp(mp.mpf(float(z))) for z in row)
            p = sorted(mp.exp(mp.mpf(float(z))) / total for z in row)[-top:]
            expected.append(float(mp.fsum((v * (1 - v)) ** mp.mpf(0.1) for v in p)))
    np.testing.assert_allclose(GEN(top=top).predict_features(logits), expected, rtol=1e-12)
    found = GEN.score(torch.from_numpy(logits), top=top)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12)


def test_virtual_logits_order_rows_as_the_softmax_with_one_more_class(made):
    detector = built("ViM", made)
    outside = (made.new - detector.origin_) @ detector.residual_
    virtual = detector.factor_ * np.linalg.norm(outside, axis=1)
    logits = np.column_stack([made.logits(made.new), virtual])
    share = np.exp(virtual - logits.max(axis=1)) / np.exp(
        logits - logits.max(axis=1, keepdims=True)
    ).sum(axis=1)
    order = np.argsort(detector.predict_features(made.new))
    assert np.all(np.diff(share[order]) >= 0)


def rows(n=6, d=3):
    return np.random.default_rng(0).normal(size=(n, d))


HEAD = {"weight": np.eye(3)[:2], "bias": np.zeros(2)}


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: KNN(k=6).fit_features(rows()), "k is 6, but there are 6 training rows"),
        (lambda: KNN(k=0), "k is 0"),
        (lambda: KNN(k=2).fit_features(rows()).predict_features(rows(2, 4)), "4 columns"),
        (lambda: KNN(k=2).fit_features(rows() * np.nan), "6 rows of features are NaN"),
        (lambda: KNN(k=2).fit_features(rows()[0]), r"shape \(3,\), not \(n, d\)"),
        (lambda: KNN(k=2).fit_features([]), "shape|no rows"),
        (lambda: KNN(k=2).fit([]), "no rows to fit this KNN to"),
        (lambda: KNN(k=2).fit([rows(), rows(6, 4)]), "batch 1 have 4 columns, those before had 3"),
        (lambda: KNN(k=2).fit("rows"), "came as a str"),
        (lambda: KNN().predict_features(rows()), "has seen no training rows"),
        (lambda: RMD().fit_features(rows(), np.zeros(6)), "of one class"),
        (lambda: Mahalanobis().fit_features(rows(), np.arange(6)), "differ within a class"),
        (lambda: Mahalanobis().fit_features(rows()), "needs labels of the training rows, or"),
        (lambda: Mahalanobis().fit_features(rows(), np.zeros(5)), "one label for each row"),
        (lambda: ViM().fit_features(rows()), "ViM needs the head"),
        (lambda: ViM(**HEAD, dim=3).fit_features(rows()), "dim from 1 to 2"),
        (lambda: ViM(**HEAD, dim=1).fit_features(rows(1)), "within 1 dimensions"),
        (lambda: ViM(**HEAD).fit_features(rows(6, 4)), "4 columns, but the head takes 3"),
        (lambda: FDBD(weight=np.ones((1, 3))).fit_features(rows()), "one output"),
        (lambda: FDBD(weight=np.ones(3)), r"weight has shape \(3,\)"),
        (lambda: NCI(**HEAD, alpha=-1.0), "alpha is -1.0"),
        (lambda: NCI(bias=np.zeros(2)), "bias came without a weight"),
        (lambda: GEN(gamma=2.0), "gamma is 2.0"),
        (lambda: GEN(top=0), "top is 0"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(call, says):
    assert ". " not in assert_refused(call, says)
