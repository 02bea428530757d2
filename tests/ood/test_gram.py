"""Gram against the matrices it never makes, row by row."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from pnml.errors import InputError
from pnml.ood import Gram
from pnml.ood.gram_row_sums import row_sums


@pytest.fixture
def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Conv2d(2, 3, 3),
        torch.nn.ReLU(),
        torch.nn.Conv2d(3, 4, 2),
        torch.nn.Flatten(),
        torch.nn.Linear(36, 3),
    )


@pytest.fixture
def images():
    return torch.randn(60, 2, 6, 6, generator=torch.Generator().manual_seed(1))


def by_definition(maps, p):
    """Row sums of the p-th root of F^p (F^p)ᵀ, one map at a time."""
    out = []
    for one in maps.double().numpy():
        F = one.reshape(len(one), -1) ** p
        sums = (F @ F.T).sum(axis=1)
        out.append(np.sign(sums) * np.abs(sums) ** (1 / p))
    return np.array(out)


def maps_of(network, x):
    first = network[0](x)
    return [first.detach(), network[2](network[1](first)).detach()]


def test_row_sums_are_those_of_the_gram_matrices(images):
    found = row_sums(images.double(), range(1, 11)).numpy()
    for k, p in enumerate(range(1, 11)):
        np.testing.assert_allclose(found[:, k], by_definition(images, p), rtol=1e-9, atol=1e-12)


def largest_rounding(p, channels, positions):
    """Largest relative error of a sum of order p in float32, whatever the order of the additions.

    Two powers of p - 1 products each, a sum over the channels and one over the positions of a
    block: each operation rounds once, by half an epsilon. Blocks are added in float64.
    """
    in_a_block = min(positions, max(1, 2**16 // channels))
    return (2 * p + channels + in_a_block) * np.finfo(np.float32).eps / 2


@pytest.mark.parametrize("shape", [(7, 24, 8, 8), (5, 3, 300, 300), (9, 40), (2, 70_000)])
def test_single_precision_is_wrong_by_no_more_than_its_roundings(shape):
    maps = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    found = row_sums(maps, range(1, 11)).numpy()
    flat = maps.reshape(*shape[:2], -1).double().numpy()
    for k, p in enumerate(range(1, 11)):
        F = flat**p
        exact = np.einsum("ncx,nx->nc", F, F.sum(axis=1))
        summed = np.einsum("ncx,nx->nc", np.abs(F), np.abs(F).sum(axis=1))
        wrong = np.sign(found[:, k]) * np.abs(found[:, k]) ** p - exact
        assert np.max(np.abs(wrong) / summed) < largest_rounding(p, *flat.shape[1:])


def test_sums_over_many_positions_are_in_double_precision():
    # A block sums at most 2**16 products of at most 15**2, which is below 2**24, so float32 is
    # exact in any order; the whole sum is beyond 2**25, where float32 knows only multiples of 4.
    generator = torch.Generator().manual_seed(0)
    maps = torch.randint(9, 16, (2, 3, 300, 300), generator=generator)
    exact = torch.einsum("ncij,nij->nc", maps, maps.sum(dim=1)).double()
    assert exact.min() > 2**25
    assert (exact % 4 != 0).any()
    found = row_sums(maps.float(), [1])[:, 0]
    torch.testing.assert_close(found, exact, rtol=1e-14, atol=0)  # the root is of float64


def test_weak_channels_keep_their_digits_in_single_precision(images):
    size = torch.tensor([1.0, 1e-3])[:, None, None]
    weak = (images.abs() + 0.1) * size
    found = row_sums(weak, range(1, 11)).numpy()
    for k, p in enumerate(range(1, 11)):
        rtol = largest_rounding(p, 2, 36) / p  # a root of order p divides the error by p
        np.testing.assert_allclose(found[:, k], by_definition(weak, p), rtol=rtol)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_maps_of_half_precision_are_looked_at_in_single(images, dtype):
    short = images.to(dtype)
    torch.testing.assert_close(row_sums(short, [1, 10]), row_sums(short.float(), [1, 10]))


def test_orders_may_be_left_out_and_large_features_do_not_overflow(images):
    huge = 1e30 * images.double()
    found = row_sums(huge, [2, 5, 10]).numpy() / 1e60
    expected = [by_definition(images, p) for p in (2, 5, 10)]
    np.testing.assert_allclose(found, np.stack(expected, axis=1), rtol=1e-9, atol=1e-12)
    assert not row_sums(torch.zeros(1, 2, 3), [1, 10]).any()
    assert row_sums(torch.zeros(0, 2, 3), [1, 10]).shape == (0, 2, 2)


def test_deviations_are_those_of_a_loop_over_rows(network, images):
    train, held, new = images[:40], images[40:50], 2 * images[50:]
    detector = Gram(network, orders=[1, 3]).fit(train, validation=held)
    named = network(train).argmax(dim=1).numpy()
    new = new[np.isin(network(new).argmax(dim=1).numpy(), named)]
    expected = []
    for x in new:
        p = torch.softmax(network(x[None]), dim=1).detach().double().numpy()[0]
        devs = []
        for maps, own in zip(maps_of(network, train), maps_of(network, x[None]), strict=True):
            total = 0.0
            for order in (1, 3):
                seen = by_definition(maps, order)[named == p.argmax()]
                for v, low, high in zip(
                    by_definition(own, order)[0], seen.min(axis=0), seen.max(axis=0), strict=True
                ):
                    total += max(low - v, 0) / abs(low + 1e-6) + max(v - high, 0) / abs(high + 1e-6)
            devs.append(total / p.max())
        expected.append(devs)
    np.testing.assert_allclose(detector.deviations(new), expected, rtol=1e-4)
    assert np.max(expected) > 0
    usual = detector.deviations(held).numpy()
    assert usual.shape == (10, 2)
    score = np.mean(detector.deviations(new).numpy() / (usual.mean(axis=0) + 1e-8), axis=1)
    np.testing.assert_allclose(detector.predict(new), score, rtol=1e-6)
    spread = usual.std(axis=0, ddof=1)
    z = np.mean(detector.deviations(new).numpy() / np.where(spread > 0, spread, 1), axis=1)
    np.testing.assert_allclose(detector.standardised(new), z, rtol=1e-6)


def test_every_row_keeps_its_own_deviation_whatever_its_neighbours(network, images):
    detector = Gram(network).fit(images[:40], validation=images[40:50])
    new = 3 * images[50:]
    assert len(set(network(new).argmax(dim=1).tolist())) > 1
    order = torch.randperm(len(new), generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(detector.predict(new[order]), detector.predict(new)[order])
    alone = torch.cat([detector.predict(x[None]) for x in new])
    torch.testing.assert_close(detector.predict(new), alone, rtol=1e-4, atol=1e-6)


def test_training_rows_do_not_deviate_and_every_tenth_is_held_out(network, images):
    detector = Gram(network)
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(images, torch.zeros(60)), batch_size=7
    )
    detector.fit(loader)
    held = np.arange(60) % 10 == 9
    deviations = detector.deviations(images).numpy()
    np.testing.assert_allclose(deviations[~held], 0.0, atol=1e-4)
    np.testing.assert_allclose(detector.validation_, deviations[held], rtol=1e-3, atol=1e-5)
    assert detector.threshold(1.0) == pytest.approx(detector._reference().regrets.max())


def test_a_class_never_named_in_training_is_an_outlier(network, images):
    named = network(images).argmax(dim=1)
    common = int(named.mode().values)
    train = images[named == common]
    detector = Gram(network).fit(train[2:], validation=train[:2])
    strange = images[named != common]
    assert torch.isinf(detector.predict(strange)).all()
    assert not detector.trusted(strange, level=1.0).any()
    assert torch.isfinite(detector.predict(train)).all()


def test_layers_may_be_named_or_given_and_networks_without_convolutions_work(network, images):
    by_name = Gram(network, layers=["2"]).fit(images)
    by_module = Gram(network, layers=[network[2]]).fit(images)
    torch.testing.assert_close(by_name.predict(3 * images), by_module.predict(3 * images))
    dense = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.ReLU(), torch.nn.Linear(6, 2))
    rows = torch.randn(50, 4)
    assert Gram(dense).fit(rows).deviations(rows.numpy()).shape == (50, 1)
    assert all(len(m._forward_hooks) == 0 for m in network.modules())


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda net, x: Gram(net).predict(x), "no bounds yet"),
        (lambda net, x: Gram(net).fit(x[:5]), "fewer than 10 rows"),
        (lambda net, x: Gram(net, orders=[2, 1]), "rising order"),
        (lambda net, x: Gram(net, orders=[]), "rising order"),
        (lambda net, x: Gram(net, layers=["conv"]).fit(x), "no layer named 'conv'"),
        (lambda net, x: Gram(net[4]).fit(torch.zeros(20, 36)), "no convolution"),
        (lambda net, x: Gram(lambda x: x).fit(x), "looks into the layers"),
        (lambda net, x: Gram(net).fit([{"x": x}]), "cannot be split"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(call, says, network, images):
    with pytest.raises(InputError, match=says):
        call(network, images)
