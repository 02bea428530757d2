"""The refitted last layer is pNML by its definition, whatever door its rows come in by."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp
from torch import nn

import child
from pnml.errors import InputError
from pnml.nn import RefitLastLayerPNML
from pnml.nn.refit.penalty_choice import chosen_penalty, held_out
from pnml.nn.refit.refit_output import Genies


def layer_by_definition(X, y, classes, alpha):
    """Weights (C, d + 1), bias last, that minimise Σ CE + ½ alpha ‖W‖²."""
    rows, truth = np.column_stack([X, np.ones(len(X))]), np.eye(classes)[y]

    def objective(flat):
        W = flat.reshape(classes, -1)
        log_p = log_softmax(rows @ W.T, axis=1)
        slope = (np.exp(log_p) - truth).T @ rows
        slope[:, :-1] += alpha * W[:, :-1]
        return -np.sum(log_p * truth) + 0.5 * alpha * np.sum(W[:, :-1] ** 2), slope.ravel()

    start = np.zeros(classes * rows.shape[1])
    options = {"maxiter": 5000, "ftol": 1e-16, "gtol": 1e-9, "maxcor": 30}
    found = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
    return found.x.reshape(classes, -1)


def genies_by_definition(X, y, x, classes, alpha):
    """Log-probability of each label by the layer trained with that label."""
    found = []
    for c in range(classes):
        W = layer_by_definition(np.vstack([X, x]), np.append(y, c), classes, alpha)
        found.append(log_softmax(W @ np.append(x, 1.0))[c])
    return np.array(found)


@pytest.fixture
def few(inputs):
    """Sixty training rows and labels that go with them in part."""
    noise = torch.randn(60, 4, generator=torch.Generator().manual_seed(2))
    return inputs[:60], (inputs[:60, :4] + noise).argmax(dim=1)


def features_of(network, inputs):
    return network[:2](inputs).double().numpy()


def test_genies_are_refits_of_the_last_layer(network, few, inputs):
    m = RefitLastLayerPNML(network, alpha=1.0, tol=1e-5).fit([few])
    out = m(inputs[200:203])
    X, y = features_of(network, few[0]), few[1].numpy()
    for i, x in enumerate(features_of(network, inputs[200:203])):
        expected = genies_by_definition(X, y, x, 4, 1.0)
        np.testing.assert_allclose(out.log_genie[i].exp(), np.exp(expected), atol=1e-4)
        assert float(out.regret[i]) == pytest.approx(logsumexp(expected), abs=2e-5)
    assert bool(out.converged.all())
    assert bool((out.error <= 1e-5).all())
    np.testing.assert_allclose(out.probs.sum(dim=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(out.log_prob, out.log_genie - out.regret[:, None], atol=1e-9)
    torch.testing.assert_close(out.logits, network(inputs[200:203]))


def test_a_label_without_training_rows_is_fitted_by_the_row_alone(network, few, inputs):
    X, y = features_of(network, few[0]), few[1].clone()
    y[y == 1] = 0
    y[y == 3] = 2
    out = RefitLastLayerPNML(network, alpha=1.0, tol=1e-5).fit([(few[0], y)])(inputs[200:202])
    shown = (y.numpy() == 2).astype(int)
    for i, x in enumerate(features_of(network, inputs[200:202])):
        pair = genies_by_definition(X, shown, x, 2, 1.0)
        new = genies_by_definition(X, shown, x, 3, 1.0)[2]
        expected = np.exp([pair[0], new, pair[1], new])
        np.testing.assert_allclose(out.log_genie[i].exp(), expected, atol=2e-5)
        assert float(out.regret[i]) == pytest.approx(np.log(expected.sum()), abs=2e-5)


def test_every_door_gives_the_same_refits(network, few, inputs):
    new = inputs[200:205]
    expected = RefitLastLayerPNML(network, alpha=0.5).fit([few])(new).regret
    X, F = torch.from_numpy(features_of(network, few[0])), network[:2](new)
    head = network[2]
    halves = [(few[0][:31], few[1][:31]), (few[0][31:], few[1][31:])]
    doors = {
        "batches": RefitLastLayerPNML(network, alpha=0.5).fit(halves)(new),
        "named": RefitLastLayerPNML(network, "2", alpha=0.5).fit([few])(new),
        "pair": RefitLastLayerPNML(None, (network[:2], head), alpha=0.5).fit([few])(new),
        "features": RefitLastLayerPNML(network, alpha=0.5).fit_features(X, few[1])(new),
        "embeddings": RefitLastLayerPNML.from_embeddings(
            head.weight, head.bias, X, few[1], alpha=0.5
        )(F),
        "score": RefitLastLayerPNML(network, alpha=0.5).fit([few]).score([new[:2], new[2:]]),
        "score_features": RefitLastLayerPNML(network, alpha=0.5).fit([few]).score_features(F),
    }
    for name, out in doors.items():
        np.testing.assert_allclose(out.regret, expected, atol=1e-4, err_msg=name)


def test_the_network_stays_as_it_is(network, few):
    network.train()
    before = {name: value.clone() for name, value in network.state_dict().items()}
    m = RefitLastLayerPNML(network, alpha=1.0, sample=3).fit([few])
    m.trusted(few[0][:3])
    assert network.training
    for name, value in network.state_dict().items():
        assert torch.equal(value, before[name])


def test_positions_are_judged_one_by_one(few, network):
    x, y = few[0].reshape(12, 5, 6), few[1].reshape(12, 5)
    m = RefitLastLayerPNML(network, alpha=1.0).fit([(x, y)])
    out = m(x[:2])
    assert out.regret.shape == (2, 5)
    assert out.log_genie.shape == (2, 5, 4)
    flat = RefitLastLayerPNML(network, alpha=1.0).fit([few])(few[0][:10])
    np.testing.assert_allclose(out.regret.flatten(), flat.regret, atol=2e-4)
    assert out.log_loss(y[:2]).shape == (2, 5)


def test_dicts_carry_their_labels(few, network):
    class Told(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = network

        def forward(self, values):
            return self.net(values)

    batch = {"values": few[0], "labels": few[1]}
    m = RefitLastLayerPNML(Told(), alpha=1.0).fit([batch])
    expected = RefitLastLayerPNML(network, alpha=1.0).fit([few])
    np.testing.assert_allclose(m(values=few[0][:3]).regret, expected(few[0][:3]).regret, atol=1e-5)


def test_the_threshold_is_that_of_training_rows_left_out(network, few):
    m = RefitLastLayerPNML(network, alpha=1.0, sample=60, tol=1e-5).fit([few])
    X, y = features_of(network, few[0]), few[1].numpy()
    for i in (0, 17):
        rest = np.arange(60) != i
        expected = logsumexp(genies_by_definition(X[rest], y[rest], X[i], 4, 1.0))
        assert m.sample_regrets_[i] == pytest.approx(expected, abs=5e-5)
    assert m.regret_threshold(1.0) == m.sample_regrets_.max()
    assert np.mean(m.sample_regrets_ <= m.regret_threshold(0.9)) >= 0.9
    assert not bool(m.trusted(100 * torch.ones(1, 6), level=0.5))


def test_a_row_alone_in_its_class_is_not_left_out(network, inputs):
    labels = torch.tensor([0] * 9 + [1] * 9 + [2])
    m = RefitLastLayerPNML(network, alpha=1.0).fit([(inputs[:19], labels)])
    assert len(m.sample_regrets_) == 18
    X = features_of(network, inputs[:19])
    rest = np.arange(19) != 4
    y = labels.numpy()[rest]
    old = genies_by_definition(X[rest], y, X[4], 3, 1.0)
    new = genies_by_definition(X[rest], y, X[4], 4, 1.0)[3]
    assert m.sample_regrets_[4] == pytest.approx(logsumexp([*old, new]), abs=2e-4)
    alone = RefitLastLayerPNML(network, alpha=1.0).fit([(inputs[:3], labels[[0, 9, 18]])])
    assert alone.regret_threshold() == -np.inf
    assert not bool(alone.trusted(inputs[:3]).any())


def test_unfamiliar_rows_have_the_larger_regret(network, few):
    m = RefitLastLayerPNML(network).fit([few])
    near, far = m(few[0][:10]).regret, m(10 * few[0].flip(1)[:10]).regret
    assert float(far.mean()) > float(near.mean())
    assert float(far.max()) <= np.log(4) + 1e-6
    assert bool((m(few[0][:2]).relative_regret <= 1).all())


def test_the_strength_is_the_best_on_rows_held_out(rng):
    X = rng.normal(size=(300, 20)) * 3
    noise, clear = rng.integers(3, size=300), (X @ rng.normal(size=(20, 3))).argmax(axis=1)
    assert chosen_penalty(X, noise, 3) > 10 * chosen_penalty(X, clear, 3)


def test_the_strength_follows_the_unit_of_the_features(rng):
    X, labels = rng.normal(size=(120, 4)), rng.integers(3, size=120)
    assert chosen_penalty(10 * X, labels, 3) == pytest.approx(100 * chosen_penalty(X, labels, 3))


def test_no_class_is_held_out_whole(rng):
    labels = np.repeat(np.arange(6), [1, 2, 3, 4, 50, 0])
    held = held_out(labels, 6)
    kept = np.bincount(labels[~held], minlength=6)
    assert np.all(kept[:5] > 0)
    assert held.sum() == 0 + 0 + 1 + 1 + 16


def test_genies_of_an_unfinished_training_have_no_negative_regret():
    found = Genies.uncertified(np.log([[0.5, 0.49], [0.9, 0.4]]))
    assert found.regret[0] == 0
    assert found.regret[1] == pytest.approx(np.log(1.3))
    assert not found.converged.any()


class Stop(Exception):
    pass


def interrupted(m, after):
    """A module whose refits stop with an exception after so many chunks."""
    real, done = m._fitted.refit, []

    class Stopping:
        rows_at_once = 2
        depends_on = m._fitted.depends_on

        def refit(self, rows):
            if len(done) == after:
                raise Stop
            done.append(len(rows))
            return real(rows)

    m._fitted = Stopping()
    return m, done


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr("pnml.nn.refit.checkpoint._SECONDS", 0.0)


def test_an_interrupted_run_goes_on_with_the_same_result(network, few, inputs, tmp_path, at_once):
    path, new = tmp_path / "rows.npz", inputs[200:209]

    def fresh(after):
        return interrupted(RefitLastLayerPNML(network, alpha=1.0).fit([few]), after)

    whole = fresh(99)[0].score([new])
    m, done = fresh(2)
    with pytest.raises(Stop):
        m.score([new], checkpoint=path)
    assert done == [2, 2]
    m, done = fresh(99)
    again = m.score([new], checkpoint=path)
    assert done == [2, 2, 1]
    m, done = fresh(99)
    third = m.score([new], checkpoint=path)
    assert done == []
    for out in (again, third):
        for name in ("log_genie", "regret", "error", "converged", "logits", "features"):
            assert torch.equal(getattr(out, name), getattr(whole, name)), name
    assert [file.name for file in tmp_path.iterdir()] == ["rows.npz"]


def test_a_killed_process_leaves_its_finished_rows(tmp_path):
    path = tmp_path / "rows.npz"
    code = textwrap.dedent(
        """
        import os, sys, torch
        from pnml.nn.refit import checkpoint
        from pnml.nn.refit.refit_settings import FineTuning
        from pnml.nn import RefitLastLayerPNML
        torch.manual_seed(0)
        net, x = torch.nn.Linear(3, 2), torch.randn(90, 3)
        m = RefitLastLayerPNML(net, tuning=FineTuning(epochs=1)).fit([(x[:8], torch.arange(8) % 2)])
        """
    )
    dying = textwrap.dedent(
        """
        checkpoint._SECONDS, add = 0.0, checkpoint.Checkpoint.add
        checkpoint.Checkpoint.add = lambda self, part: (add(self, part), os._exit(9))
        m.score([x], checkpoint=sys.argv[1])
        """
    )
    done = child.python(code + dying, path)
    assert done.returncode == 9
    with np.load(path, allow_pickle=False) as stored:
        assert len(stored["regret"]) == 40
    here = {}
    exec(code, here)
    again, whole = here["m"].score([here["x"]], checkpoint=path), here["m"].score([here["x"]])
    assert torch.equal(again.log_genie, whole.log_genie)


def test_a_checkpoint_of_something_else_is_refused(network, few, inputs, tmp_path):
    path, new = tmp_path / "rows.npz", inputs[200:202]
    m = RefitLastLayerPNML(network, alpha=1.0).fit([few])
    m.score([new], checkpoint=path)
    other = RefitLastLayerPNML(network, alpha=2.0).fit([few])
    for act in (
        lambda: m.score([inputs[210:212]], checkpoint=path),
        lambda: other.score([new], checkpoint=path),
    ):
        with pytest.raises(InputError, match="other rows, another network or other settings"):
            act()
    path.write_bytes(b"PK nothing")
    with pytest.raises(InputError, match="no checkpoint of a refit"):
        m.score([new], checkpoint=path)
    with pytest.raises(InputError, match="Cannot write"):
        m.score([new], checkpoint=tmp_path / "nowhere" / "rows.npz")


def test_a_bar_is_shown_where_it_is_asked_for(network, few, inputs, capfd):
    pytest.importorskip("rich")
    m = RefitLastLayerPNML(network, alpha=1.0).fit([few], progress=True)
    m.score([inputs[200:202]], progress=True)
    assert "Refitting for every label" in capfd.readouterr().err


@pytest.mark.parametrize("kind", ["frame", "reversed", "list"])
def test_features_of_every_kind_are_read_alike(kind):
    rng = np.random.default_rng(3)
    phi, labels = rng.normal(size=(30, 4)), np.arange(30) % 3
    head = torch.nn.Linear(4, 3).double().requires_grad_(False)

    def as_kind(values):
        if kind == "frame":
            return pytest.importorskip("pandas").DataFrame(values, columns=list("abcd"))
        return values[::-1].copy()[::-1] if kind == "reversed" else values.tolist()

    expected = RefitLastLayerPNML(head, alpha=1.0).fit_features(phi, labels).score_features(phi[:3])
    found = RefitLastLayerPNML(head, alpha=1.0).fit_features(as_kind(phi), labels)
    torch.testing.assert_close(found.score_features(as_kind(phi[:3])).regret, expected.regret)
