"""Scores of logits against their definitions; two doors to the same formula."""

from __future__ import annotations

from types import SimpleNamespace

import mpmath as mp
import numpy as np
import pytest
import torch

from pnml.ood import MSP, Energy, MaxLogit
from sentences import assert_refused

DETECTORS = [MSP, MaxLogit, Energy]


@pytest.fixture
def logits(rng):
    return np.concatenate([rng.normal(size=(20, 5)), 300 * rng.normal(size=(20, 5))])


@pytest.fixture
def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 4))


def exactly(row):
    with mp.workdps(400):
        total = mp.fsum(mp.exp(mp.mpf(float(z))) for z in row)
        return 1 - mp.exp(mp.mpf(float(max(row)))) / total, -mp.log(total)


def test_scores_are_their_definitions(logits):
    left, energy = zip(*map(exactly, logits), strict=True)
    np.testing.assert_allclose(MSP.score(logits), np.array(left, dtype=float), rtol=1e-12)
    np.testing.assert_allclose(Energy.score(logits), np.array(energy, dtype=float), rtol=1e-12)
    np.testing.assert_array_equal(MaxLogit.score(logits), -logits.max(axis=1))


def test_rows_whose_probability_rounds_to_one_are_still_ranked():
    scores = MSP.score(np.array([[50.0, 0.0], [60.0, 0.0], [700.0, 0.0]]))
    assert scores[0] > scores[1] > scores[2] > 0


def test_the_temperature_of_the_energy_divides_the_logits(logits):
    np.testing.assert_allclose(Energy.score(logits, 10.0), 10 * Energy.score(logits / 10))
    np.testing.assert_array_equal(
        Energy(temperature=10.0).predict_features(logits), Energy.score(logits, 10.0)
    )


@pytest.mark.parametrize("detector", DETECTORS)
def test_tensors_score_as_arrays_and_stay_tensors(detector, logits):
    found = detector.score(torch.from_numpy(logits))
    assert found.dtype == torch.float64
    np.testing.assert_allclose(found.numpy(), detector.score(logits), rtol=1e-14)
    half = detector.score(torch.from_numpy(logits).float())
    np.testing.assert_allclose(half.numpy(), detector.score(logits), rtol=1e-2, atol=1e-30)


@pytest.mark.parametrize("detector", DETECTORS)
def test_both_doors_lead_to_the_same_score(detector, network, rng):
    x = torch.from_numpy(rng.normal(size=(6, 3))).float()
    expected = detector().predict_features(network.eval()(x).detach())
    for inputs in (x, x.numpy(), x.double().numpy()):
        found = detector(network)(inputs)
        assert isinstance(found, type(inputs))
        np.testing.assert_allclose(np.asarray(found), expected.numpy(), rtol=1e-5)


def test_the_network_is_left_as_it_was(network, rng):
    network.train()
    network[0].eval()
    MSP(network).predict(torch.randn(4, 3))
    assert [m.training for m in network] == [False, True, True]
    assert network.training
    assert all(p.grad is None and p.requires_grad for p in network.parameters())


def test_networks_may_take_dicts_and_return_objects(network):
    class Wrapped(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = network

        def forward(self, pixels):
            return SimpleNamespace(logits=self.inner(pixels))

    x = torch.randn(4, 3)
    expected = MSP(network).predict(x)
    torch.testing.assert_close(MSP(Wrapped()).predict({"pixels": x}), expected)


@pytest.mark.parametrize("detector", DETECTORS)
@pytest.mark.parametrize("level", [0.5, 0.9, 0.99, 1.0])
def test_the_threshold_lets_the_asked_share_of_training_rows_pass(detector, level, network, rng):
    x = torch.from_numpy(rng.normal(size=(317, 3))).float()
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(x, torch.zeros(317)), batch_size=50
    )
    fitted = detector(network).fit(loader)
    passed = fitted.trusted(x, level=level).double().mean()
    assert level <= passed < level + 1 / 300
    margin = fitted.decision_function(x, level=level)
    torch.testing.assert_close(margin >= 0, fitted.trusted(x, level=level))
    torch.testing.assert_close(fitted.score_samples(x), -fitted.predict(x))
    logits = network.eval()(x).detach()
    again = detector().fit_features(logits, torch.zeros(317)).threshold(level)
    assert again == pytest.approx(fitted.threshold(level), rel=1e-5)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: MSP().predict(torch.zeros(2, 3)), "no network"),
        (lambda: MSP().threshold(), "has seen no training rows"),
        (lambda: MSP().fit_features(np.zeros((3, 2))).threshold(0.0), "level is 0.0"),
        (lambda: MSP().fit_features([]), "no rows in the training set"),
        (lambda: MSP(torch.nn.Flatten(0)).predict(torch.zeros(2, 3)), r"shape \(6,\)"),
        (lambda: MSP(lambda x: x).fit(3), "came as a int"),
        (lambda: Energy(temperature=0), "temperature is 0"),
        (lambda: Energy(temperature=np.nan), "temperature is nan"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(call, says):
    assert ". " not in assert_refused(call, says)
