"""Networks, detectors and pictures of networks trust the same inputs: the rule of core/trust."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

from pnml.core.trust import Reference
from pnml.errors import InputError
from pnml.nn import FineTuning, LastLayerPNML, RefitLastLayerPNML
from pnml.ood import (
    MSP,
    ODIN,
    CosineSimilarity,
    Energy,
    Gram,
    MaxLogit,
    RegretDetector,
    with_pnml,
)
from pnml.plots import RegretDisplay

LEVELS = (0.3, 0.9, 0.99, 1.0)


@pytest.fixture
def confident(network):
    """Certain of everything: its regrets are tiny everywhere, and only the leverage can tell."""
    with torch.no_grad():
        network[2].weight.mul_(30.0)
    return network


@pytest.fixture
def seen(inputs):
    """Training inputs without one of their columns, so that inputs with it are new."""
    return inputs * torch.tensor([1.0, 1.0, 1.0, 1.0, 1.0, 0.0])


@pytest.fixture
def new(inputs):
    far = 40 * torch.randn(60, 6, generator=torch.Generator().manual_seed(2))
    return torch.cat([inputs[:60], 0.2 * inputs[60:120], far])


def by_hand(regrets, leverages, reference, level):
    """The rule, written out: at or below the quantiles of training rows, and finite."""
    known = np.isfinite(reference.regrets)
    verdict = np.isfinite(regrets)
    pairs = [(regrets, reference.regrets)]
    if reference.leverages is not None:
        known &= np.isfinite(reference.leverages)
        verdict = verdict & np.isfinite(leverages)
        pairs.append((leverages, reference.leverages))
    for values, usual in pairs:
        ordered = np.sort(usual[known])
        limit = ordered[int(np.ceil(level * len(ordered) - 1e-9)) - 1]
        verdict = verdict & (values <= limit)
    return verdict


def outputs(module, x):
    with torch.no_grad():
        out = module(x)
    leverage = getattr(out, "leverage", None)
    return out.regret.numpy(), None if leverage is None else leverage.numpy()


NETWORKS = {
    "classes": lambda net: LastLayerPNML(net),
    "own probabilities": lambda net: LastLayerPNML(net, scale=None),
    "no penalty": lambda net: LastLayerPNML(net, alpha=0.0),
    "labels": lambda net: LastLayerPNML(net, task="multilabel"),
    "numbers": lambda net: LastLayerPNML(net, task="regression"),
}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_trusts_by_its_regret_and_its_leverage(name, level, confident, seen, new):
    module = NETWORKS[name](confident).fit([seen])
    regrets, leverages = outputs(module, new)
    reference = module.reference_
    verdict = module.trusted(new, level=level).numpy()
    np.testing.assert_array_equal(verdict, reference.thresholds(level).trusts(regrets, leverages))
    np.testing.assert_array_equal(verdict, by_hand(regrets, leverages, reference, level))
    np.testing.assert_array_equal(reference.regrets, module.sample_regrets_)
    assert module.regret_threshold(level) == reference.thresholds(level).regret
    assert module.leverage_threshold(level) == reference.thresholds(level).leverage


@pytest.mark.parametrize("tuning", [None, FineTuning(epochs=1, batch_size=8)])
def test_a_refitted_network_trusts_by_its_regret(tuning, network, inputs):
    labels = network(inputs).argmax(dim=1)
    module = RefitLastLayerPNML(network, tuning=tuning, sample=12).fit([(inputs[:40], labels[:40])])
    new = torch.cat([inputs[40:50], 30 * inputs[50:55]])
    regrets, _ = outputs(module, new)
    for level in LEVELS:
        verdict = module.trusted(new, level=level).numpy()
        np.testing.assert_array_equal(verdict, by_hand(regrets, None, module.reference_, level))
        assert module.regret_threshold(level) == module.reference_.thresholds(level).regret


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("made_of", [LastLayerPNML, MSP, MaxLogit, Energy])
def test_a_regret_detector_gives_the_verdict_of_its_network(made_of, level, confident, seen, new):
    module = LastLayerPNML(confident).fit([seen])
    if made_of is LastLayerPNML:
        detector = RegretDetector(module)
    else:
        detector = with_pnml(made_of(confident), module)
    expected = module.trusted(new, level=level)
    assert torch.equal(detector.trusted(new, level=level), expected)
    assert torch.equal(detector.decision_function(new, level=level) >= 0, expected)
    np.testing.assert_array_equal(detector.trusted(new.numpy(), level=level), expected.numpy())
    assert detector.threshold(level) == module.regret_threshold(level)


def test_the_leverage_refuses_rows_whose_regret_says_nothing(confident, seen, new):
    """The verdict differs from that of the regret alone, and the margin stays the regret's."""
    module = LastLayerPNML(confident, scale=None).fit([seen])
    detector = RegretDetector(module)
    margin = detector.threshold() - detector.predict(new)
    by_leverage = (margin >= 0) & ~detector.trusted(new)
    assert by_leverage.sum() > 0.1 * len(new)
    found = detector.decision_function(new)
    assert torch.equal(found[~by_leverage], margin[~by_leverage])
    excess = torch.log1p(module(new).leverage) - np.log1p(module.leverage_threshold())
    torch.testing.assert_close(found[by_leverage], -excess[by_leverage].detach())


@pytest.mark.parametrize("level", LEVELS)
def test_odin_with_pnml_gives_the_verdict_on_moved_inputs(level, confident, seen, new):
    odin, module = ODIN(confident, epsilon=0.05), LastLayerPNML(confident).fit([seen])
    detector = with_pnml(odin, module)
    expected = module.trusted(odin.perturb(new), level=level)
    assert torch.equal(detector.trusted(new, level=level), expected)


@pytest.mark.parametrize("level", LEVELS)
def test_gram_with_pnml_trusts_by_raised_regret_and_leverage(level, confident, seen, new):
    detector = with_pnml(Gram(confident), alpha=0.1).fit(seen)
    scores = detector.predict(new).numpy()
    leverages = (detector.regret.pnml(new).leverage * detector.gram.standardised(new)).numpy()
    reference = Reference(detector.training_scores_, leverages=detector.training_leverages_)
    verdict = detector.trusted(new, level=level).numpy()
    np.testing.assert_array_equal(verdict, by_hand(scores, leverages, reference, level))
    margin = detector.decision_function(new, level=level).numpy()
    np.testing.assert_array_equal(verdict, margin >= 0)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("kind", [MSP, MaxLogit, Energy, ODIN, Gram, CosineSimilarity])
def test_a_detector_without_regret_trusts_by_the_quantile_of_its_scores(
    kind, level, network, seen, new
):
    if kind is CosineSimilarity:
        detector = kind(network[2].weight.detach(), network[:2]).fit([seen])
    else:
        detector = kind(network).fit([seen])
    scores, reference = detector.predict(new).numpy(), detector._reference()
    assert reference.leverages is None
    verdict = detector.trusted(new, level=level).numpy()
    np.testing.assert_array_equal(verdict, by_hand(scores, None, reference, level))
    np.testing.assert_array_equal(verdict, detector.decision_function(new, level=level) >= 0)
    assert detector.threshold(level) == reference.thresholds(level).regret


def test_an_infinite_score_is_trusted_by_no_detector():
    detector = MaxLogit().fit_features(np.array([[1.0, 0.0], [2.0, 0.0], [np.inf, 0.0]]))
    scores = np.array([-1.0, -np.inf, np.inf, np.nan])
    detector.predict = lambda x: scores
    np.testing.assert_array_equal(detector.trusted(None, level=1.0), [True, False, False, False])
    margin = detector.decision_function(None, level=1.0)
    np.testing.assert_array_equal(margin >= 0, [True, False, False, False])


@pytest.mark.parametrize("level", LEVELS)
def test_a_picture_of_a_network_has_its_verdicts(level, confident, seen, new):
    module = LastLayerPNML(confident).fit([seen])
    display = RegretDisplay.from_estimator(module, new, level=level)
    plt.close(display.figure_)
    thresholds = module.reference_.thresholds(level)
    np.testing.assert_array_equal(display.training, module.reference_.regrets)
    assert display.threshold == thresholds.regret
    regrets, leverages = outputs(module, new)
    np.testing.assert_array_equal(display.new, regrets)
    np.testing.assert_array_equal(display.trusted, thresholds.trusts(regrets, leverages))
    np.testing.assert_array_equal(display.trusted, module.trusted(new, level=level).numpy())


@pytest.mark.parametrize("level", [0, -0.1, 1.5, float("nan"), "most", None, True])
def test_levels_that_are_no_quantiles_are_refused_everywhere(level, network, inputs):
    module = LastLayerPNML(network).fit([inputs])
    for doing in (module.trusted, RegretDetector(module).trusted, MSP(network).fit(inputs).trusted):
        with pytest.raises(InputError, match=r"quantile of the training (regrets|scores)"):
            doing(inputs[:2], level=level)
    refit = RefitLastLayerPNML(network, sample=4)
    refit.fit([(inputs[:20], network(inputs[:20]).argmax(dim=1))])
    with pytest.raises(InputError, match="quantile of the training regrets"):
        refit.trusted(inputs[:2], level=level)
