"""ODIN against finite differences, and a step chosen as a loop over all steps would."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

from pnml.errors import InputError
from pnml.ood import MSP, ODIN


@pytest.fixture
def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3), torch.nn.Tanh(), torch.nn.Flatten(), torch.nn.Linear(64, 5)
    ).double()


@pytest.fixture
def images():
    return torch.randn(4, 3, 6, 6, generator=torch.Generator().manual_seed(1)).double()


def test_every_entry_moves_so_that_the_class_named_becomes_more_probable(network, images):
    std = [0.5, 1.0, 2.0]
    moved = ODIN(network, epsilon=0.01, std=std).perturb(images)
    step = (moved - images) / 0.01
    own = network(images).argmax(dim=1)
    for n, c, i, j in [(0, 0, 0, 0), (1, 1, 2, 3), (2, 2, 5, 5), (3, 0, 3, 1)]:
        rise = []
        for side in (-1e-4, 1e-4):
            nearby = images[n : n + 1].clone()
            nearby[0, c, i, j] += side
            rise.append(torch.log_softmax(network(nearby) / 1000, dim=1)[0, own[n]].item())
        assert step[n, c, i, j].item() == pytest.approx(np.sign(rise[1] - rise[0]) / std[c])


def test_the_score_is_the_softmax_at_the_temperature_of_the_moved_input(network, images):
    detector = ODIN(network, temperature=100.0, epsilon=0.02)
    p = torch.softmax(network(detector.perturb(images)) / 100.0, dim=1)
    np.testing.assert_allclose(detector.predict(images), 1 - p.max(dim=1).values.detach().numpy())


def test_without_step_and_temperature_it_is_the_softmax(network, images):
    detector = ODIN(network, temperature=1.0, epsilon=0.0)
    torch.testing.assert_close(detector.predict(images), MSP(network).predict(images))


def test_images_do_not_depend_on_their_neighbours_in_a_batch(network, images):
    detector = ODIN(network, epsilon=0.01)
    alone = torch.cat([detector.predict(image[None]) for image in images])
    torch.testing.assert_close(detector.predict(images), alone)


def test_parameters_get_no_gradients_and_inference_mode_is_no_obstacle(network, images):
    expected = ODIN(network).predict(images)
    with torch.inference_mode():
        torch.testing.assert_close(ODIN(network).predict(images.clone()), expected)
    assert all(p.grad is None for p in network.parameters())
    assert not images.requires_grad


def test_arrays_are_moved_as_tensors(network, images):
    moved = ODIN(network).perturb(images.numpy())
    np.testing.assert_array_equal(moved, ODIN(network).perturb(images).numpy())


def test_the_step_is_that_of_the_highest_auroc_on_the_validation_split(network):
    torch.manual_seed(2)
    ind, ood = torch.randn(40, 3, 6, 6).double(), 2 * torch.rand(40, 3, 6, 6).double()
    steps = [0.0, 0.05, 0.3, 1.0]
    tuned = ODIN(network).tuned(ind, ood, epsilons=steps)
    areas = []
    for epsilon in steps:
        at = ODIN(network, epsilon=epsilon)
        scores = torch.cat([at.predict(ind), at.predict(ood)])
        areas.append(roc_auc_score(np.r_[np.zeros(40), np.ones(40)], scores))
    assert tuned.epsilon == steps[int(np.argmax(areas))]
    np.testing.assert_allclose(list(tuned.choice_.seen.values()), areas)


def test_without_outliers_the_step_is_that_of_the_most_confident_ordinary_rows(network):
    torch.manual_seed(2)
    ind, steps = torch.randn(40, 3, 6, 6).double(), [0.3, 0.0, 0.05]
    tuned = ODIN(network).tuned(ind, epsilons=steps)
    means = {e: -ODIN(network, epsilon=e).predict(ind).mean().item() for e in steps}
    assert tuned.epsilon == max(means, key=means.get)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda net, x: ODIN(lambda x: x).predict(x), "needs the gradient"),
        (lambda net, x: ODIN(net).predict((255 * x).long()), "no floating-point"),
        (lambda net, x: ODIN(net, std=[1.0]).predict(x), "std has 1 numbers"),
        (lambda net, x: ODIN(net).tuned(x, epsilons=[]), "epsilons is empty"),
        (lambda net, x: ODIN(net).threshold(), "call fit"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(call, says, network, images):
    with pytest.raises(InputError, match=says):
        call(network, images)
