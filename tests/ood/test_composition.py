"""Baselines with pNML against the same thing written out, row by row."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch

from pnml.errors import ConditionWarning, InputError
from pnml.nn import LastLayerPNML
from pnml.ood import MSP, ODIN, Energy, Gram, MaxLogit, RegretDetector, with_pnml


@pytest.fixture
def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Conv2d(2, 4, 3),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(64, 8),
        torch.nn.Tanh(),
        torch.nn.Linear(8, 3),
    ).double()


@pytest.fixture
def images():
    return torch.randn(200, 2, 6, 6, generator=torch.Generator().manual_seed(1)).double()


@pytest.mark.parametrize("baseline", [MSP, MaxLogit, Energy])
def test_scores_of_logits_become_the_regret_on_the_same_network(baseline, network, images):
    composed = with_pnml(baseline(network), scale=2.0).fit([images])
    expected = RegretDetector(network, scale=2.0).fit([images]).predict(images)
    torch.testing.assert_close(composed.predict(images), expected)


def test_odin_becomes_the_regret_of_moved_inputs_among_training_inputs_left_alone(network, images):
    odin = ODIN(network, epsilon=0.05)
    composed = with_pnml(odin).fit([images])
    plain = LastLayerPNML(network).fit([images])
    new = images[:20] + 0.3
    expected = plain(odin.perturb(new)).regret.detach()
    torch.testing.assert_close(composed.predict(new), expected)
    assert not torch.allclose(composed.predict(new), plain(new).regret)
    assert composed.threshold(0.9) == plain.regret_threshold(0.9)
    np.testing.assert_allclose(composed.predict(new.numpy()), expected)


@pytest.mark.parametrize("scale", [1.5, None])
def test_gram_scales_the_features_of_each_row_by_its_own_deviation(network, images, scale):
    """The root of the deviation times the unit features, put into xᵀPx as it stands."""
    gram = Gram(network)
    composed = with_pnml(gram, scale=scale, alpha=0.1, regions=False).fit([images])
    new = 2 * images[:30]
    features = network[:5](images).detach().numpy()
    unit = features / np.linalg.norm(features, axis=1, keepdims=True)
    P = np.linalg.inv(unit.T @ unit + 0.1 * np.eye(8))
    W, b = network[5].weight.detach().numpy(), network[5].bias.detach().numpy()
    spread = gram.validation_.std(axis=0, ddof=1)
    expected = []
    for x in new:
        deviation = np.mean(gram.deviations(x[None])[0].numpy() / np.where(spread > 0, spread, 1))
        phi = network[:5](x[None]).detach().numpy()[0]
        direction = phi / np.linalg.norm(phi)
        row = direction * np.sqrt(deviation)
        kappa = row @ P @ row
        z = W @ (phi if scale is None else scale * direction) + b
        p = np.exp(z) / np.exp(z).sum()
        expected.append(np.log(np.sum(p / (p + p ** (kappa / (1 + kappa)) * (1 - p)))))
    assert np.max(expected) > 0
    np.testing.assert_allclose(composed.predict(new), expected, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(composed.predict(new.numpy()), expected, rtol=1e-6, atol=1e-12)


def test_the_threshold_of_gram_comes_from_rows_that_it_held_out(network, images):
    gram = Gram(network)
    composed = with_pnml(gram, scale=1.0, alpha=0.1, regions=False)
    composed.fit([images[:100], images[100:]])
    held = images[9::10]
    pnml = composed.regret.pnml
    expected = []
    for i, x in enumerate(held):
        others = torch.cat([images[: 10 * i + 9], images[10 * i + 10 :]])
        without = LastLayerPNML(network, scale=1.0, alpha=0.1, regions=False).fit([others])
        kappa = without(x[None]).leverage * gram.standardised(x[None])
        unit = torch.nn.functional.normalize(network[:5](x[None]), dim=1)
        p = torch.softmax(network[5](unit), dim=1)
        g = (kappa / (1 + kappa))[:, None]
        expected.append(torch.log((p / (p + p**g * (1 - p))).sum()).item())
    np.testing.assert_allclose(composed.training_scores_, expected, rtol=1e-6, atol=1e-12)
    assert composed.threshold(1.0) == pytest.approx(max(expected))
    assert pnml.rows_ == 200


def test_compositions_share_what_is_fitted_already(network, images):
    pnml = LastLayerPNML(network).fit([images])
    gram = Gram(network).fit([images])
    fresh = with_pnml(Gram(network)).fit([images])
    shared = with_pnml(gram, pnml).fit([images])
    torch.testing.assert_close(shared.predict(2 * images), fresh.predict(2 * images))
    assert shared.threshold() == pytest.approx(fresh.threshold())
    assert with_pnml(MSP(network), pnml).pnml is pnml


def test_a_gram_that_was_fitted_to_the_rows_of_the_threshold_is_warned_of(network, images):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # fitted to the same rows, it held out these
        with_pnml(Gram(network).fit([images])).fit([images])
    others = torch.randn(50, 2, 6, 6, generator=torch.Generator().manual_seed(3)).double()
    gram = Gram(network).fit([images], validation=[others])
    with pytest.warns(ConditionWarning, match="pass a Gram detector that is not fitted"):
        with_pnml(gram).fit([images])


def test_rows_do_not_depend_on_the_order_of_their_batch(network, images):
    composed = with_pnml(Gram(network)).fit([images])
    new = 2 * images[:40]
    assert len(set(network(new).argmax(dim=1).tolist())) > 1
    order = torch.randperm(40, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(composed.predict(new[order]), composed.predict(new)[order])


def test_what_cannot_be_composed_is_refused(network, images):
    with pytest.raises(InputError, match="no way known to put pNML on a RegretDetector"):
        with_pnml(RegretDetector(network))
    with pytest.raises(InputError, match="has no network"):
        with_pnml(MSP())
    with pytest.raises(InputError, match="seen no training rows"):
        with_pnml(Gram(network)).threshold()
    with pytest.raises(InputError, match="is a generator, which gives its batches once"):
        with_pnml(Gram(network)).fit(part for part in images.split(50))
