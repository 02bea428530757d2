"""The attack finds what there is to find, within its ball, and the same each time."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from pnml.adversarial import (
    AdversarialPNML,
    AttackResult,
    detection_by_regret,
    pgd,
    targeted_apgd,
    worst_case,
)
from pnml.adversarial.attack_losses import label_margin, logit_ratio, margin

WIDE = (-10.0, 10.0)


@pytest.mark.parametrize("loss", ["dlr", "margin"])
@pytest.mark.parametrize("classes", [2, 3, 6])
def test_on_a_linear_network_it_fools_whatever_can_be_fooled(classes, loss):
    # A change of at most r in each entry lowers the label_margin over t by at most r‖w_y − w_t‖₁.
    torch.manual_seed(0)
    network = nn.Linear(8, classes).double().requires_grad_(False)
    x, radius = torch.randn(200, 8, dtype=torch.float64), 0.3
    y, w, z = network(x).argmax(dim=1), network.weight, network(x)
    reach = radius * (w[y][:, None] - w).abs().sum(dim=2)  # (n, C)
    leads = z.gather(1, y[:, None]) - z - reach
    least = leads.scatter(1, y[:, None], torch.inf).amin(dim=1)
    found = targeted_apgd(network, x, y, radius, steps=20, bounds=WIDE, loss=loss)
    assert found.fooled[least < -1e-9].all()
    assert not found.fooled[least > 1e-9].any()
    assert 0 < found.accuracy < 1
    if loss == "margin":  # the ratio is least elsewhere
        kept = ~found.fooled
        torch.testing.assert_close(found.margin[kept], least[kept], atol=1e-9, rtol=0)


def test_inputs_stay_in_the_ball_and_in_the_range(network, inputs):
    y = network(inputs).argmax(dim=1)
    found = targeted_apgd(network, inputs, y, 0.2, steps=10)
    assert (found.inputs - inputs).abs().max() <= 0.2 + 1e-12
    assert found.inputs.min() >= 0
    assert found.inputs.max() <= 1


def stepped(network, x, y, radius, bounds, steps, size):
    """Points of PGD from one input on, each by the gradient at the one before, until it falls."""
    path, slopes = [x], []
    for _ in range(steps):
        leaf = path[-1].clone().requires_grad_()
        loss = nn.functional.cross_entropy(network(leaf[None]), y[None])
        slopes.append(torch.autograd.grad(loss, leaf)[0].sign())
        moved = torch.clamp(path[-1] + size * slopes[-1], *bounds)
        path.append(torch.minimum(torch.maximum(moved, x - radius), x + radius))
        if network(path[-1][None]).argmax() != y:
            break
    return torch.stack(path), torch.stack(slopes)


def test_pgd_is_its_formula_with_the_gradient_at_the_current_point(make, inputs):
    """A row's result is where it is first misclassified, or else its least margin on the path."""
    network, bounds = make(4, scale=3.0), (0.1, 0.9)
    x = inputs.clamp(*bounds)
    y = network(x).argmax(dim=1)
    turned, places = 0, set()
    for size in (0.01, 0.15, 0.3):
        options = {"steps": 6, "step_size": size, "random_start": False, "bounds": bounds}
        found = pgd(network, x, y, 0.35, **options)
        for i, row in enumerate(x):
            path, slopes = stepped(network, row, y[i], 0.35, bounds, 6, size)
            place = int(label_margin(network(path), y[i].expand(len(path))).argmin())
            torch.testing.assert_close(found.inputs[i], path[place])
            turned += int((slopes != slopes[0]).any())
            places.add(place)
    assert turned  # else the gradient at the input would do as well
    assert {1, 6} <= places


def test_what_it_says_is_what_the_network_does(network, inputs):
    y = network(inputs).argmax(dim=1)
    found = targeted_apgd(network, inputs, y, 0.3, steps=10)
    scores = network(found.inputs)
    assert (found.fooled == (scores.argmax(dim=1) != y)).all()
    torch.testing.assert_close(found.margin, label_margin(scores, y))
    assert found.accuracy == pytest.approx(float((scores.argmax(dim=1) == y).double().mean()))


def test_a_seed_repeats_it_and_the_width_of_batches_does_not_matter(network, inputs):
    defence = AdversarialPNML(network, 0.05)
    y = defence(inputs).argmax(dim=1)
    first, again, narrow = (
        targeted_apgd(defence, inputs, y, 0.1, steps=4, seed=5, targets=2, rows_at_once=size)
        for size in (256, 256, 3)
    )
    assert (first.inputs == again.inputs).all()
    torch.testing.assert_close(narrow.inputs, first.inputs)
    other = targeted_apgd(defence, inputs, y, 0.1, steps=4, seed=6, targets=2)
    assert (first.inputs != other.inputs).any()


def test_rows_that_are_wrong_already_are_left_as_they_are(network, inputs):
    y = (network(inputs).argmax(dim=1) + 1) % 5
    found = targeted_apgd(network, inputs, y, 0.2, steps=3)
    assert found.fooled.all()
    assert (found.inputs == inputs).all()


def test_more_restarts_and_targets_never_do_less(network, inputs):
    y = network(inputs).argmax(dim=1)
    few = targeted_apgd(network, inputs, y, 0.1, steps=5, targets=1)
    many = targeted_apgd(network, inputs, y, 0.1, steps=5, restarts=3)
    assert (many.fooled | ~few.fooled).all()


def test_it_goes_through_the_defence_and_not_only_through_the_network(make):
    network = make(4, scale=3.0)
    x = torch.rand(40, 6, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    y = network(x).argmax(dim=1)
    static = targeted_apgd(network, x, y, 0.1, steps=12)
    for backward in ("autograd", "identity", "soft"):
        defence = AdversarialPNML(network, 0.1, backward=backward)
        through = targeted_apgd(defence, x, y, 0.1, steps=12)
        transferred = AttackResult.of(defence, static.inputs, y)
        assert worst_case(through, transferred).accuracy <= through.accuracy
        assert through.accuracy < transferred.accuracy


def test_an_own_loss_may_hide_from_the_regret(network, inputs):
    defence = AdversarialPNML(network, 0.1)
    y = defence(inputs).argmax(dim=1)

    def hidden(scores, labels, targets):
        return margin(scores, labels, targets) - 3 * scores.logsumexp(dim=1).relu()

    plain = targeted_apgd(defence, inputs, y, 0.0, steps=2, loss=hidden)
    assert (plain.inputs == inputs).all()
    found = targeted_apgd(defence, inputs, y, 0.2, steps=5, loss=hidden)
    assert found.inputs.shape == inputs.shape


def test_dlr_is_its_formula_and_minds_neither_shift_nor_scale():
    z = torch.randn(50, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    y, t = torch.arange(50) % 6, (torch.arange(50) + 1 + torch.arange(50) // 7 % 5) % 6
    found = logit_ratio(z, y, t)
    for i, row in enumerate(z.tolist()):
        first, _, third, fourth, *_ = sorted(row, reverse=True)
        truth = -(row[y[i]] - row[t[i]]) / (first - (third + fourth) / 2)
        assert float(found[i]) == pytest.approx(truth)
    torch.testing.assert_close(logit_ratio(7 * z - 3, y, t), found)


def test_with_three_classes_the_loss_is_the_margin_and_has_a_slope_for_every_target():
    # −(z₁ − z₃) / (z₁ − z₃) would be −1 wherever the target is last.
    z = torch.tensor([[3.0, 1.0, 0.0]], requires_grad=True)
    y, last = torch.tensor([0]), torch.tensor([2])
    found = logit_ratio(z, y, last)
    assert found.tolist() == margin(z, y, last).tolist() == [-3]
    (slope,) = torch.autograd.grad(found.sum(), z)
    assert slope.tolist() == [[-1, 0, 1]]


@pytest.mark.parametrize("learning", [False, True])
def test_scores_that_nobody_asks_about_have_a_slope_of_zero(network, inputs, learning):
    network.requires_grad_(learning)
    x = inputs.clone().requires_grad_()
    scores = AdversarialPNML(network, 0.1)(x)
    (none,) = torch.autograd.grad((0 * scores).sum(), x, retain_graph=True)
    assert (none == 0).all()
    (some,) = torch.autograd.grad(scores[2, 1], x)
    assert (some[2] != 0).any()
    assert (some[torch.arange(len(x)) != 2] == 0).all()


def test_the_worst_case_is_the_worst_of_each_sample():
    def attacked(fooled, margins, fill):
        return AttackResult(torch.full((3, 2), fill), torch.tensor(fooled), torch.tensor(margins))

    first = attacked([True, False, False], [-1.0, 2.0, 3.0], 1.0)
    second = attacked([True, False, True], [-2.0, 1.0, -0.5], 2.0)
    third = attacked([False, False, False], [0.5, 5.0, 9.0], 3.0)
    worst = worst_case(first, second, third)
    assert worst.fooled.tolist() == [True, False, True]
    assert worst.margin.tolist() == [-2.0, 1.0, -0.5]
    assert worst.inputs[:, 0].tolist() == [2.0, 2.0, 2.0]
    assert worst.accuracy == pytest.approx(1 / 3)
    assert worst_case(first).margin.tolist() == first.margin.tolist()


def test_detection_by_regret_ranks_pairs_of_clean_and_attacked_inputs(network, inputs):
    defence = AdversarialPNML(network, 0.1)
    attacked = targeted_apgd(defence, inputs, network(inputs).argmax(dim=1), 0.1, steps=5).inputs
    found = detection_by_regret(defence, inputs, attacked, rows_at_once=3)
    clean, strange = defence.regret(inputs).numpy(), defence.regret(attacked).numpy()
    np.testing.assert_allclose(found.clean, clean)
    np.testing.assert_allclose(found.attacked, strange)
    higher = np.mean(strange[:, None] > clean) + np.mean(strange[:, None] == clean) / 2
    assert found.metrics.auroc.value == pytest.approx(higher)


@pytest.fixture(scope="module")
def mnist():
    """The PGD-trained network of radius .3, and fifty images."""
    from pnml_experiments.framework.mnist import pixels, stored

    network = nn.Sequential(
        nn.Conv2d(1, 16, 4, 2, 1),
        nn.ReLU(),
        nn.Conv2d(16, 32, 4, 2, 1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(1568, 100),
        nn.ReLU(),
        nn.Linear(100, 10),
    )
    path = Path(os.environ["PNML_DATA"]) / "weights" / "mnist_cnn_pgd.pth"
    network.load_state_dict(torch.load(path, weights_only=True, map_location="cpu"))
    x = pixels("mnist/t10k-images-idx3-ubyte.gz", slice(50))
    y = torch.from_numpy(stored("mnist/t10k-labels-idx1-ubyte.gz")[:50].astype(int))
    return network.eval().requires_grad_(False), x, y


@pytest.mark.data
def test_on_mnist_the_defence_holds_against_transfer_and_falls_end_to_end(mnist):
    network, x, y = mnist
    static = targeted_apgd(network, x, y, 0.3, steps=30, targets=4)
    assert 0.8 <= static.accuracy <= 0.98
    defence = AdversarialPNML(network, 0.1, backward="identity")
    assert AttackResult.of(defence, x, y).accuracy >= 0.96
    transferred = AttackResult.of(defence, static.inputs, y)
    assert transferred.accuracy >= static.accuracy
    through = targeted_apgd(defence, x, y, 0.3, steps=20)
    assert through.accuracy <= 0.2
    easy = detection_by_regret(defence, x, static.inputs).metrics.auroc.value
    assert easy >= 0.8


@pytest.mark.data
@pytest.mark.slow
def test_the_defence_costs_what_its_passes_cost(mnist):
    import time

    network, x, _ = mnist
    x = x.repeat(6, 1, 1, 1)[:256]
    defence = AdversarialPNML(network, 0.1)

    def passes():
        with torch.no_grad():
            for _ in range(11):
                network(x)
        leaf = x.clone().requires_grad_()
        scores = network(leaf)
        for label in range(10):
            torch.autograd.grad(scores[:, label].sum(), leaf, retain_graph=True)

    def timed(work):
        start = time.perf_counter()
        with torch.no_grad() if work is ours else torch.enable_grad():
            work()
        return time.perf_counter() - start

    def ours():
        defence(x)

    passes(), ours()
    pairs = [(timed(passes), timed(ours)) for _ in range(7)]
    assert min(b for _, b in pairs) <= 1.3 * min(a for a, _ in pairs)
