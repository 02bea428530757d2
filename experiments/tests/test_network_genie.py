"""Genies of a whole network are the maxima that scipy finds, and Newton's step by hand."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from scipy.optimize import minimize
from torch import nn

from idx_files import write_idx
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.registry import find
from pnml_experiments.framework.stored_files import EMNIST, FASHION_TEST, MNIST
from pnml_experiments.studies import network_genie_subjects as subjects
from pnml_experiments.studies import network_genies as genies
from pnml_experiments.studies.network_genie_methods import ACNML, AUTO, METHODS, OWN
from pnml_experiments.studies.network_genie_rivals import HeadPosterior, averaged, head_curvature


@pytest.fixture
def tiny():
    """A network of 2 inputs, 3 hidden units and 3 labels, some inputs, and precisions."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 3))
        network.requires_grad_(False)
        return network.eval(), 2 * torch.randn(6, 2), 1 + torch.rand(21)


def log_probs(theta, x):
    """Log-probabilities of the tiny network by hand."""
    W, b, V, c = theta[:6].reshape(3, 2), theta[6:9], theta[9:18].reshape(3, 3), theta[18:]
    z = V @ np.tanh(W @ x + b) + c
    return z - np.log(np.sum(np.exp(z - z.max()))) - z.max()


def by_scipy(mean, precision, x, label):
    """Log-probability of a label by the network that maximises it under the posterior."""

    def loss(theta):
        return -log_probs(theta, x)[label] + 0.5 * np.sum(precision * (theta - mean) ** 2)

    # the tiny network's objective has one maximum near the trained weights
    best = minimize(loss, mean, method="BFGS", options={"gtol": 1e-7})
    return log_probs(best.x, x)[label]


def test_genies_after_enough_steps_are_the_maxima_that_scipy_finds(tiny):
    network, inputs, precision = tiny
    inputs = inputs[:3]
    found = genies.acnml(genies.Posterior.of(network, precision), inputs, steps=150)
    mean = genies.flat_weights(network).numpy().astype(float)
    for i, x in enumerate(inputs.numpy().astype(float)):
        best = [by_scipy(mean, precision.numpy().astype(float), x, y) for y in range(3)]
        # steps are in float32, and stop where it sees no rise: √eps in the weights, eps in the sum
        total = np.sum(np.exp(best))
        assert float(found.excess[i]) == pytest.approx(total - 1, abs=2e-4)
        np.testing.assert_allclose(found.log_prob[i].exp(), np.exp(best) / total, atol=2e-4)


def test_influence_is_one_step_of_newton_with_the_precision_as_hessian(tiny):
    network, inputs, precision = tiny
    found = genies.influence(genies.Posterior.of(network, precision), inputs)
    mean = genies.flat_weights(network).numpy().astype(float)
    for i, x in enumerate(inputs.numpy().astype(float)):
        log_genie = []
        for label in range(3):
            slope = np.array(
                [
                    (log_probs(mean + e, x)[label] - log_probs(mean - e, x)[label]) / 2e-6
                    for e in 1e-6 * np.eye(21)
                ]
            )
            log_genie.append(log_probs(mean + slope / precision.numpy(), x)[label])
        # float32 against differences of 1e-6, both good to about six digits
        assert float(found.excess[i]) == pytest.approx(np.exp(log_genie).sum() - 1, abs=1e-5)


def test_linearised_genies_are_those_of_a_network_that_is_linear(tiny):
    _, inputs, _ = tiny
    head = nn.Linear(2, 3).requires_grad_(False).eval()
    posterior = genies.Posterior.of(head, torch.linspace(0.05, 1.0, 9))
    exact = genies.acnml(posterior, inputs, steps=200)
    found = genies.linearised(posterior, inputs)
    # the ascent stops at the round-off of float32
    np.testing.assert_allclose(found.excess, exact.excess, atol=3e-4)
    np.testing.assert_allclose(found.log_prob.exp(), exact.log_prob.exp(), atol=3e-4)


def test_no_genie_is_below_the_network_and_a_wider_posterior_has_more_hindsight(tiny):
    network, inputs, precision = tiny
    posterior = genies.Posterior.of(network, precision)
    for steps in (1, 2, 5):
        assert (genies.acnml(posterior, inputs, steps=steps).excess >= 0).all()
    near, wide = (
        genies.acnml(genies.Posterior.of(network, precision * c), inputs, steps=60).excess
        for c in (1, 0.25)
    )
    assert (near < wide).all()


def test_fisher_is_the_expected_square_of_the_slopes(tiny):
    network, inputs, _ = tiny
    mean = genies.flat_weights(network).numpy().astype(float)
    expected = np.zeros(21)
    for x in inputs.numpy().astype(float):
        p = np.exp(log_probs(mean, x))
        for k, e in enumerate(1e-6 * np.eye(21)):
            slope = (log_probs(mean + e, x) - log_probs(mean - e, x)) / 2e-6
            expected[k] += p @ slope**2 / len(inputs)
    np.testing.assert_allclose(genies.fisher(network, inputs), expected, atol=1e-5)


def test_the_curvature_of_the_head_is_the_hessian_of_its_loss(tiny):
    network, inputs, _ = tiny
    rows = torch.cat([network[:-1](inputs), torch.ones(6, 1)], dim=1).double()
    weight = torch.cat([network[-1].weight, network[-1].bias[:, None]], dim=1).double()

    def loss(weight):
        return -(rows @ weight.T).log_softmax(dim=1)[:, 0].sum()  # the label plays no part

    hessian = torch.autograd.functional.hessian(loss, weight)
    found = head_curvature(network, inputs)
    np.testing.assert_allclose(found, hessian, atol=1e-6)  # features are float32
    posterior = HeadPosterior.of(network, found, 0.5)
    logits, covariance = posterior.logits(inputs)
    inverse = torch.linalg.inv(hessian.reshape(12, 12) + 0.5 * torch.eye(12))
    for i in range(6):
        slopes = torch.kron(torch.eye(3).double(), rows[i][None])
        np.testing.assert_allclose(covariance[i], slopes @ inverse @ slopes.T, atol=1e-5)
    # genies are where the fixed point of the definition is: v = e − softmax(z + A v)
    best = genies.log_genies(logits, covariance)
    for i, y in ((0, 0), (3, 2)):
        z, A, e = logits[i], covariance[i], torch.eye(3)[y].double()
        v = torch.zeros(3).double()
        for _ in range(20_000):
            v = v + 0.02 * (e - (z + A @ v).softmax(dim=0) - v)
        assert float(best[i, y]) == pytest.approx(
            float((z + A @ v).log_softmax(dim=0)[y]), abs=1e-8
        )


def test_networks_that_agree_have_no_mutual_information():
    logits = torch.randn(5, 4, generator=torch.Generator().manual_seed(0))
    mean, apart = averaged([logits, logits])
    np.testing.assert_allclose(mean, logits.double().softmax(dim=1))
    np.testing.assert_allclose(apart, 0.0, atol=1e-12)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A data folder with a few images of noise, ten of each digit and of two letters."""
    folder, rng = tmp_path_factory.mktemp("genie"), np.random.default_rng(0)

    def images(n):
        return rng.integers(0, 256, size=(n, 28, 28), dtype=np.uint8)

    labels = (np.arange(60) % 10).astype(np.uint8)
    for name, path in (MNIST | {"clothes": FASHION_TEST}).items():
        write_idx(folder / "data" / path, labels if "labels" in name else images(60))
    (folder / "data" / EMNIST).parent.mkdir()
    np.savez(folder / "data" / EMNIST, x_test=images(30), y_test=np.arange(30) % 12)
    return folder


def run_in(folder, told):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PNML_DATA", str(folder / "data"))
        sizes = subjects.Sizes({40: 8}, (0, 1), held=6, known=9, unknown=4, few=3, draws=5)
        patch.setattr(subjects, "SIZES", {"small": sizes})
        out = Output(folder / "here", folder / "cache", "stamp")
        return find("network-genie").run("small", out, lambda *done: told.append(done))


def test_the_study_judges_every_method_ends_with_the_verdict_and_goes_on(folder, monkeypatch):
    told = []
    first = run_in(folder, told)
    assert told[-1] == (2 * len(METHODS), 2 * len(METHODS))
    assert {row.labels["method"] for row in first.tables[0].rows} == set(METHODS)
    for table in first.tables:
        for row in table.rows:
            assert row.ours.low <= row.ours.value <= row.ours.high
    assert first.tables[-1].title == "Verdict"
    assert "becomes a class" in first.tables[-1].about
    # with its automatic scale the last layer has the same probabilities and another regret
    losses = {
        (row.labels["method"], row.labels["number"]): row.ours.value for row in first.tables[0].rows
    }
    assert losses[OWN, "log-loss, nats"] == losses[AUTO, "log-loss, nats"]
    for name in (ACNML, "softmax"):
        monkeypatch.setitem(METHODS, name, pytest.fail)
    assert run_in(folder, []).tables == first.tables


@pytest.mark.data
def test_letters_are_not_digits(data_dir):
    sizes = subjects.Sizes({40: 8}, (0,), held=6, known=9, unknown=37, few=3, draws=5)
    rows = subjects.judged_rows(sizes)
    assert {name: place.stop - place.start for name, place in rows.places.items()} == {
        "digits": 9,
        "clothes": 37,
        "letters": 37,
    }
    few = rows.some(3)
    np.testing.assert_array_equal(few.labels, rows.labels[[0, 3, 6]])
    assert torch.equal(few.images[:3], rows.images[[0, 3, 6]])
