"""The guide to attacked inputs runs as it stands, and what it says of its example is so."""

from __future__ import annotations

import pytest

import pages

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """All that the snippets define."""
    return pages.run("adversarial.md", tmp_path_factory.mktemp("guide"))


def test_the_three_numbers_are_those_printed(names):
    assert names["made"].accuracy == pytest.approx(0.54, abs=0.04)
    assert names["transferred"].accuracy == pytest.approx(0.64, abs=0.04)
    assert names["end_to_end"].accuracy == pytest.approx(0.60, abs=0.04)


def test_an_attack_through_the_defence_does_more_harm_than_one_made_for_the_network(names):
    assert names["end_to_end"].accuracy < names["transferred"].accuracy
    assert names["found"].defended_accuracy.value <= names["found"].transferred_accuracy.value


def test_attacked_digits_have_the_higher_regret(names):
    assert names["seen"].metrics.auroc.value == pytest.approx(0.90, abs=0.03)
