"""An evaluation computes the outputs on clean inputs once, and measures memory once per shape."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from pnml import adversarial
from pnml.adversarial import AdversarialPNML, AttackBudget, evaluate_defence
from pnml.adversarial import evaluation as evaluation_module
from pnml.adversarial.batch_memory import MemoryProbe
from pnml.errors import InputError

BUDGET = replace(
    AttackBudget.small(), steps=3, square_queries=0, joint_steps=2, joint_abstain=(0.05, 0.3)
)


@pytest.fixture
def points(make):
    network = make(4, scale=3.0)
    x = torch.rand(12, 6, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    return network, x, network(x).argmax(dim=1)


def same_rows(batch, x):
    """How many rows of a batch are clean inputs."""
    return int((batch[:, None] == x).flatten(2).all(dim=2).any(dim=1).sum())


def test_the_clean_batch_goes_through_the_defence_once(points, monkeypatch):
    network, x, y = points
    passes = []
    scores = AdversarialPNML._scores

    def counted(self, batch):
        passes.append((len(batch), same_rows(batch.detach(), x)))
        return scores(self, batch)

    monkeypatch.setattr(AdversarialPNML, "_scores", counted)
    monkeypatch.setattr(evaluation_module, "_cost", lambda defence, x: 1.0)  # only times passes
    report = evaluate_defence(AdversarialPNML(network, 0.1), x, y, 0.02, budget=BUDGET)
    assert {"clean", "transferred"} <= {outcome.name for outcome in report.defended}
    assert sum(rows == clean == len(x) for rows, clean in passes) == 1


def test_memory_is_measured_once_for_each_shape_and_defence(points, monkeypatch):
    network, x, y = points
    measured = []
    of = MemoryProbe.of.__func__

    def counted(cls, run, weights, rows):
        measured.append(tuple(rows.shape[1:]))
        return of(cls, run, weights, rows)

    monkeypatch.setattr(MemoryProbe, "of", classmethod(counted))
    defence = AdversarialPNML(network, 0.1)
    evaluate_defence(defence, x, y, 0.05, budget=BUDGET)
    assert measured == [(6,)]
    defence(x[:3])
    defence.with_(strength=0.2, backward="soft")(x)
    assert measured == [(6,)]
    defence.with_(genie="class")(x)
    assert measured == [(6,), (6,)]


def test_a_network_that_changes_is_measured_again(make):
    network = make(4)
    x = torch.rand(3, 6, dtype=torch.float64)
    defence = AdversarialPNML(network, 0.1)
    assert defence(x).shape == (3, 4)
    network[2] = torch.nn.Linear(16, 7).double()
    assert defence(x).shape == (3, 7)
    assert defence.float()(x.float()).dtype == torch.float32


def test_a_new_number_of_classes_that_no_weight_shows_is_refused(make):
    class Cut(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.network, self.classes = make(5), 3

        def forward(self, x):
            return self.network(x)[:, : self.classes]

    network, x = Cut(), torch.rand(3, 6, dtype=torch.float64)
    defence = AdversarialPNML(network, 0.1)
    assert defence(x).shape == (3, 3)
    network.classes = 5
    with pytest.raises(InputError, match="gives 5 classes, but gave 3 before"):
        defence(x)


@pytest.mark.parametrize(
    ("old", "new"), [("Attacked", "AttackResult"), ("JointlyAttacked", "JointAttackResult")]
)
def test_old_names_still_work_and_say_when_they_go(old, new):
    with pytest.warns(DeprecationWarning, match=rf"{old} is now .*{new}; .* removed in 0\.4"):
        assert getattr(adversarial, old) is getattr(adversarial, new)
