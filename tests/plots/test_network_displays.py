"""Classifiers and networks in pictures: new rows lie beside those of training."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from drawing import curve, png
from pnml import InputError, PNMLClassifier
from pnml.plots import RegretDisplay, ReliabilityDisplay, SpectrumDisplay

torch = pytest.importorskip("torch")

from pnml.nn import LastLayerPNML  # noqa: E402


@pytest.fixture
def labelled(rng):
    X = rng.normal(size=(90, 4)) * [3.0, 1.0, 0.3, 0.1] + 2.0
    return X, (X[:, 0] + rng.normal(size=90) > 2).astype(int)


@pytest.fixture
def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))


@pytest.fixture
def inputs():
    return torch.randn(300, 6, generator=torch.Generator().manual_seed(1))


def energy_by_hand(seen, new, centre):
    """Mean squared coordinates of new rows along the directions of those seen."""
    V = np.linalg.svd(seen - centre, full_matrices=False)[2]
    return np.mean(((new - centre) @ V.T) ** 2, axis=0)


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_new_rows_of_a_classifier_lie_in_the_spectrum_of_its_training_rows(labelled, ax):
    X, y = labelled
    model = PNMLClassifier(alpha=0.5).fit(X, y)
    display = SpectrumDisplay.from_estimator(model, 2 * X, ax=ax)
    truth = energy_by_hand(X, 2 * X, X.mean(axis=0))
    np.testing.assert_allclose(curve(display.energy_line_)[1], np.sqrt(90 * truth), rtol=1e-8)
    assert curve(display.penalty_line_)[1] == pytest.approx(np.sqrt(0.5))
    again = SpectrumDisplay.from_estimator(model, X, ax=ax)
    np.testing.assert_allclose(curve(again.energy_line_)[1], again.singular_values, rtol=1e-8)


def test_rows_of_unit_norm_are_drawn_as_such(labelled, ax):
    X, y = labelled
    model = PNMLClassifier(alpha=0.5, normalize=True).fit(X, y)
    display = SpectrumDisplay.from_estimator(model, 2 * X[:9] + 1, ax=ax)
    truth = energy_by_hand(unit(X), unit(2 * X[:9] + 1), np.zeros(4))
    np.testing.assert_allclose(display.energy, truth, rtol=1e-8)


def test_rows_of_a_pipeline_inside_a_classifier_are_those_of_its_last_step(labelled, ax):
    X, y = labelled
    steps = make_pipeline(StandardScaler(), LogisticRegression())
    inside = SpectrumDisplay.from_estimator(PNMLClassifier(steps).fit(X, y), 3 * X, ax=ax)
    outer = make_pipeline(StandardScaler(), PNMLClassifier()).fit(X, y)
    np.testing.assert_allclose(
        inside.energy, SpectrumDisplay.from_estimator(outer, 3 * X, ax=ax).energy, rtol=1e-8
    )


def test_regrets_of_a_classifier_lie_beside_those_of_its_training_rows(labelled, ax):
    X, y = labelled
    model = PNMLClassifier().fit(X, y)
    display = RegretDisplay.from_estimator(model, 9 * X, level=0.9, ax=ax)
    np.testing.assert_array_equal(curve(display.line_)[0][1:], np.unique(model.regret(9 * X)))
    training = curve(display.training_line_)[0][1:]
    np.testing.assert_array_equal(training, np.unique(model.loo_.regrets))
    assert display.threshold == model.loo_.threshold(0.9)


def test_regrets_of_inputs_lie_beside_those_of_sampled_training_rows(network, inputs, ax):
    module = LastLayerPNML(network).fit(inputs)
    new = 3 * inputs[:50]
    display = RegretDisplay.from_estimator(module, new, level=0.9, ax=ax)
    regrets = module(new).regret.detach().numpy()
    np.testing.assert_allclose(curve(display.line_)[0][1:], np.unique(regrets), rtol=1e-12)
    training = curve(display.training_line_)[0][1:]
    np.testing.assert_array_equal(training, np.unique(module.sample_regrets_))
    assert display.threshold == module.regret_threshold(0.9)
    assert display.line_.get_label().startswith("LastLayerPNML: new rows (n = 50")
    assert network.training


def test_features_of_inputs_lie_in_the_spectrum_of_those_counted(network, inputs, ax):
    module = LastLayerPNML(network, alpha=0.5).fit(inputs)
    display = SpectrumDisplay.from_estimator(module, 2 * inputs[:50], ax=ax)
    seen, new = (unit(network[:2](x).detach().double().numpy()) for x in (inputs, 2 * inputs[:50]))
    values = np.linalg.svd(seen, compute_uv=False)
    np.testing.assert_allclose(curve(display.line_)[1], values, rtol=1e-6)
    np.testing.assert_allclose(
        display.energy, energy_by_hand(seen, new, np.zeros(8)), rtol=1e-5, atol=1e-9
    )
    spent = np.sum(values**2 / (values**2 + 0.5))
    assert display.degrees_of_freedom == pytest.approx(spent, rel=1e-6)
    assert display.weight == 300
    png(display.figure_)


@pytest.mark.parametrize("display", [RegretDisplay, SpectrumDisplay])
def test_a_loader_draws_what_one_batch_draws(display, network, inputs, ax):
    module = LastLayerPNML(network).fit(inputs)
    loader = [(inputs[:7], None), (inputs[7:50].numpy(), None)]
    parts = display.from_estimator(module, loader, ax=ax)
    whole = display.from_estimator(module, inputs[:50], ax=ax)
    for name in ("new", "energy"):
        if hasattr(whole, name):
            np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), rtol=1e-6)


def test_features_outside_all_directions_are_told(ax):
    seen = torch.eye(4)[torch.arange(200) % 3]
    ridge, plain = (
        LastLayerPNML.from_embeddings(torch.eye(4), None, seen, alpha=alpha) for alpha in (1, 0)
    )
    display = SpectrumDisplay.from_estimator(ridge, torch.eye(4), ax=ax)
    assert display.outside == pytest.approx(0.25)
    regrets = RegretDisplay.from_estimator(plain, torch.eye(4))
    assert np.isinf(regrets.new).tolist() == [False, False, False, True]


def test_heads_that_judge_every_position_draw_every_position(ax):
    torch.manual_seed(0)
    module = LastLayerPNML(torch.nn.Linear(4, 3)).fit(torch.randn(20, 5, 4))
    x = torch.randn(6, 5, 4)
    assert RegretDisplay.from_estimator(module, x, ax=ax).new.shape == (30,)
    assert np.isfinite(SpectrumDisplay.from_estimator(module, x, ax=ax).energy).all()


def test_networks_that_cannot_be_drawn_are_refused_in_one_sentence(network, inputs):
    module = LastLayerPNML(network)
    for display in (RegretDisplay, SpectrumDisplay):
        with pytest.raises(InputError, match="has seen no training rows"):
            display.from_estimator(module, inputs)
        with pytest.raises(InputError, match=r"no rows|shape \(0,\)"):
            display.from_estimator(LastLayerPNML(network).fit(inputs), [])
    with pytest.raises(InputError, match="LastLayerPNML, which has no probabilities"):
        ReliabilityDisplay.from_estimator(module, inputs, np.zeros(300))
    assert not plt.get_fignums()
