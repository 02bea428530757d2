"""Rivals of the open-set table: their losses as their papers write them, row by row."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

from pnml_experiments.ch5_networks.open_set_rivals import (
    DISCREPANCY,
    ENTROPIC,
    LEAST_NORM,
    MARGIN,
    SPHERE,
    SPHERE_NORM,
    UNKNOWN,
    answers,
    as_arrays,
    discrepancy_loss,
    entropic_loss,
    from_arrays,
    norm_loss,
    trained_networks,
)

LABELS = [2, UNKNOWN, 0, UNKNOWN, 1]


@pytest.fixture
def logits(rng):
    return torch.from_numpy(rng.normal(size=(2, 5, 3)) * 3)


def shares(row):
    """Softmax of a few numbers, from its definition."""
    exps = [math.exp(value) for value in row]
    return [value / sum(exps) for value in exps]


def entropy(row):
    return -sum(p * math.log(p) for p in shares(row))


def test_the_entropic_loss_is_that_of_the_label_or_of_the_uniform_distribution(logits):
    expected = []
    for row, label in zip(logits[0].tolist(), LABELS, strict=True):
        logs = [math.log(p) for p in shares(row)]
        expected.append(-sum(logs) / 3 if label == UNKNOWN else -logs[label])
    found = entropic_loss(logits[0], torch.tensor(LABELS))
    assert found.item() == pytest.approx(sum(expected) / 5, rel=1e-12)


def test_known_features_pay_for_what_they_lack_and_unknown_ones_for_their_norm(rng):
    features = torch.from_numpy(rng.normal(size=(5, 4)) * 30)
    expected = []
    for row, label in zip(features.tolist(), LABELS, strict=True):
        norm = math.sqrt(sum(value**2 for value in row))
        expected.append(norm**2 if label == UNKNOWN else max(LEAST_NORM - norm, 0) ** 2)
    assert norm_loss(features, torch.tensor(LABELS)).item() == pytest.approx(
        sum(expected) / 5, rel=1e-12
    )
    assert norm_loss(features * 1e3, torch.tensor([0] * 5)).item() == 0


@pytest.mark.parametrize("labels", [LABELS, [UNKNOWN] * 5, [0, 1, 2, 0, 1]])
def test_two_heads_pay_for_labels_and_for_entropies_that_are_alike(logits, labels):
    one, two = logits.tolist()
    known = [i for i, label in enumerate(labels) if label != UNKNOWN]
    unknown = [i for i, label in enumerate(labels) if label == UNKNOWN]
    expected = 0.0
    for head in (one, two) if known else ():
        expected -= sum(math.log(shares(head[i])[labels[i]]) for i in known) / len(known)
    if unknown:
        apart = sum(entropy(one[i]) - entropy(two[i]) for i in unknown) / len(unknown)
        expected += max(MARGIN - apart, 0)
    found = discrepancy_loss(*logits, torch.tensor(labels))
    assert found.item() == pytest.approx(expected, rel=1e-12)


def test_trained_rivals_tell_the_unknown_rows_they_saw_from_digits():
    # "Digits" are one bright row out of ten, "letters" are bright columns.
    digits, letters = torch.zeros(200, 1, 28, 28), torch.zeros(200, 1, 28, 28)
    labels = torch.arange(200) % 10
    for i, label in enumerate(labels.tolist()):
        digits[i, 0, 2 * label + 3] = 1
        letters[i, 0, :, 2 * label + 3] = 1
    networks = trained_networks(digits, labels, letters, epochs=25, seed=0)
    known, unknown = answers(networks, digits), answers(networks, letters)
    assert list(known) == [ENTROPIC, SPHERE, SPHERE_NORM, DISCREPANCY]
    for name, mine in known.items():
        assert (mine.named == labels.numpy()).mean() == 1, name
        assert mine.confidence.min() > unknown[name].confidence.max(), name


def test_answers_are_read_back_as_they_were_written():
    images = torch.zeros(3, 1, 28, 28)
    networks = trained_networks(images, torch.arange(3), images, epochs=1, seed=0)
    found = answers(networks, images)
    again = from_arrays(as_arrays({"known": found, "unknown": {}}), "known")
    assert list(again) == list(found)
    for name, each in again.items():
        assert (each.confidence == found[name].confidence).all()
        assert (each.named == found[name].named).all()
