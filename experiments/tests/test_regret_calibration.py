"""The study of calibration says what a few lines of numpy say of the same rows."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("torch")

from pnml_experiments.framework.output import Output
from pnml_experiments.framework.registry import find
from pnml_experiments.studies import calibration_heads as heads
from pnml_experiments.studies import regret_calibration as study
from pnml_experiments.studies.calibration_findings import EXTRA, RANK, findings
from pnml_experiments.studies.calibration_heads import (
    FRESH,
    LEVERAGE,
    PNML,
    REGRET,
    SOFTMAX,
    TEMPERATURE,
    UNIT,
    judged,
    logistic_head,
    temperature,
)
from pnml_experiments.studies.regret_calibration import (
    Drawn,
    Sizes,
    gaps,
    like_pairs,
    mean_told,
    measured,
)


def softmax(z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def one_step(p, leverage):
    """Genies p^u/(1 − p + p^u) with u = 1/(1 + κ), and their normaliser."""
    told = p ** (1 / (1 + leverage))[:, None]
    told = told / (1 - p + told)
    return told / told.sum(axis=1, keepdims=True), np.log(told.sum(axis=1))


@pytest.fixture
def head(rng):
    X = rng.normal(size=(70, 4))
    y = np.argmax(X[:, :3] + rng.normal(size=(70, 3)), axis=1)
    return logistic_head(X[:40], y[:40], X[40:], y[40:], 2.0)


def test_numbers_of_probabilities_are_those_of_loops(rng):
    z = 3 * rng.normal(size=(101, 4))
    p, y = softmax(z), rng.integers(4, size=101)
    order = sorted(range(101), key=lambda i: p[i].max())
    starts = [k * 101 // study.BINS for k in range(study.BINS + 1)]
    ece = loss = brier = surer = right = 0.0
    for a, b in zip(starts, starts[1:], strict=False):
        some = order[a:b]
        ece += abs(sum(p[i].max() - (p[i].argmax() == y[i]) for i in some)) / 101
    for i in range(101):
        loss -= np.log(p[i, y[i]]) / 101
        brier += sum((p[i, c] - (c == y[i])) ** 2 for c in range(4)) / 101
        right += (p[i].argmax() == y[i]) / 101
        surer += p[i].max() / 101
    np.testing.assert_allclose(measured(p, y), [ece, surer - right, loss, brier, right])


def test_groups_and_pairs_are_those_of_loops(rng):
    score, confidence = rng.normal(size=200), rng.uniform(0.3, 1, size=200)
    right = (rng.uniform(size=200) < 0.7).astype(float)
    rows = sorted(zip(score, confidence, right, strict=True))
    by_hand = [sum(c - r for _, c, r in rows[k : k + 20]) / 20 for k in range(0, 200, 20)]
    np.testing.assert_allclose(gaps(score, confidence, right), by_hand, atol=1e-12)
    rows, more = sorted(zip(confidence, score, right, strict=True)), []
    for (c, s, r), (d, t, q) in zip(rows[::2], rows[1::2], strict=True):
        more.append((c - r) - (d - q) if s > t else (d - q) - (c - r))
    np.testing.assert_allclose(like_pairs(score, confidence, right), more)


def test_a_score_that_names_the_wrong_rows_beats_confidence_and_others_do_not(rng):
    confidence = rng.uniform(0.5, 1, size=20_000)
    right = (rng.uniform(size=20_000) < 0.8 * confidence).astype(float)
    assert mean_told(like_pairs(1 - right, confidence, right))[1] > 0.3
    for score in (rng.normal(size=20_000), 1 - confidence):
        _, low, high = mean_told(like_pairs(score, confidence, right))
        assert low - 0.01 <= 0 <= high + 0.01


def test_the_interval_of_the_mean_of_pairs_is_that_of_pairs_drawn_again(rng):
    values = rng.normal(size=300)
    again = values[rng.integers(300, size=(4_000, 300))].mean(axis=1)
    value, low, high = mean_told(values)
    assert value == pytest.approx(values.mean())
    assert (high - low) / 2 == pytest.approx(1.96 * again.std(), rel=0.05)


def test_the_temperature_has_the_least_log_loss(rng):
    z, y = 4 * rng.normal(size=(300, 3)), rng.integers(3, size=300)
    y[:200] = z[:200].argmax(axis=1)
    T = temperature(z, y)
    # where the log-loss is least in 1/T, the mean logit of the labels is the one expected
    expected = np.sum(softmax(z / T) * z, axis=1).mean()
    assert expected == pytest.approx(z[np.arange(300), y].mean(), abs=1e-3)
    losses = [-np.log(softmax(z / t)[np.arange(300), y]).mean() for t in (T / 1.05, T, T * 1.05)]
    assert losses[1] == min(losses)


def test_pnml_is_that_of_leverages_by_hand(head):
    said, X = judged(head)(head.test), head.train
    mean, C = X.mean(axis=0), 2.0
    inverse = np.linalg.inv((X - mean).T @ (X - mean) + np.eye(4) / C)
    far = 1 / 40 + np.einsum("nd,de,ne->n", head.test - mean, inverse, head.test - mean)
    p = softmax(head.test @ head.weight.T + head.bias)
    np.testing.assert_allclose(said.probs[SOFTMAX], p)
    np.testing.assert_allclose(said.scores[LEVERAGE], far, rtol=1e-9)
    probs, regret = one_step(p, far)
    np.testing.assert_allclose(said.probs[PNML], probs, rtol=1e-8)
    np.testing.assert_allclose(said.scores[REGRET], regret, rtol=1e-6)
    unit, seen = (A / np.linalg.norm(A, axis=1, keepdims=True) for A in (head.test, X))
    inverse = np.linalg.inv(seen.T @ seen + 1e-8 * 40 * np.eye(4))
    far = np.einsum("nd,de,ne->n", unit, inverse, unit)
    probs, _ = one_step(softmax(unit @ head.weight.T + head.bias), far)
    np.testing.assert_allclose(said.probs[UNIT], probs, rtol=1e-8)


def test_pnml_makes_any_two_classes_more_alike(head):
    said = judged(head)(head.noisy(2.0))
    p, q = (np.sort(said.probs[name], axis=1) for name in (SOFTMAX, PNML))
    assert (np.diff(np.log(q), axis=1) <= np.diff(np.log(p), axis=1) + 1e-9).all()
    assert (q[:, -1] < p[:, -1]).all()


def test_no_row_sees_its_own_label_in_its_temperature(head):
    from dataclasses import replace

    said = judged(head)(head.test)
    told = head.labels.copy()
    told[::2] = (told[::2] + 1) % 3
    again = judged(replace(head, labels=told))(head.test)
    np.testing.assert_array_equal(said.probs[FRESH][::2], again.probs[FRESH][::2])
    assert not np.allclose(said.probs[FRESH][1::2], again.probs[FRESH][1::2])
    np.testing.assert_array_equal(said.probs[TEMPERATURE], again.probs[TEMPERATURE])


def test_held_out_logits_are_of_fits_that_have_not_seen_the_row(head):
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold

    out, given = head.held
    for seen, rest in StratifiedKFold(5).split(head.train, given):
        fit = LogisticRegression(C=2.0, max_iter=5_000).fit(head.train[seen], given[seen])
        np.testing.assert_allclose(out[rest], fit.decision_function(head.train[rest]))


def test_two_classes_have_the_probabilities_of_the_logistic_regression():
    head = heads.breast_cancer(1.0, 30)
    p = softmax(head.logits(head.test))
    np.testing.assert_allclose(p, head.pnml.estimator_.predict_proba(head.test), atol=1e-12)
    exact, step = head.refitted(head.test), head.pnml.predict_dist(head.test)
    assert np.mean(exact.regret) > np.mean(step.regret)


def test_noise_has_its_strength_and_rows_stay_where_rows_can_be():
    head = heads.digits(1.0, None)
    assert head.noisy(0.0) is head.test
    rows = head.noisy(0.5)
    assert rows.min() >= 0
    assert rows.max() <= 1
    free = heads.breast_cancer(1.0, None)
    moved = (free.noisy(0.5) - free.test) / free.train.std(axis=0)
    assert moved.std() == pytest.approx(0.5, rel=0.05)


def test_the_interval_of_a_mean_is_that_of_the_textbook_and_differences_are_paired(rng):
    values, n = rng.normal(size=400), 400
    draws = rng.integers(n, size=(2_000, n))
    a = Drawn.of(lambda at: values[at].mean(), draws)
    ((value, low, high),) = a.told()
    assert value == values.mean()
    assert (high - low) / 2 == pytest.approx(1.96 * values.std() / np.sqrt(n), rel=0.06)
    b = Drawn.of(lambda at: values[at].mean() - 1, draws)
    np.testing.assert_allclose((a - b).told(), [[1, 1, 1]])
    assert a.told(value, value) == [[value, value, value]]


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    monkeypatch.delenv("PNML_DATA", raising=False)
    monkeypatch.setattr(study, "SIZES", {"small": Sizes(200, 40, 4)})
    return tmp_path


def run(folder, told=None):
    out = Output(folder / "here", folder / "cache", "stamp")
    tell = (lambda *_: None) if told is None else (lambda *done: told.append(done))
    return find("regret-calibration").run("small", out, tell)


def test_the_study_runs_without_data_draws_and_goes_on(tiny, monkeypatch):
    told = []
    first = run(tiny, told)
    assert told[-1][0] == told[-1][1]
    sets = {row.labels["set"] for row in first.tables[0].rows}
    assert sets == {f"{name} C={c}" for name in ("breast cancer", "digits") for c in (1, 100)}
    for table in first.tables:
        for row in table.rows:
            assert row.ours.low <= row.ours.value <= row.ours.high
    assert first.figures[0].draw().axes is not None
    monkeypatch.setattr(study, "_one", pytest.fail)
    assert run(tiny).tables == first.tables


def test_stored_features_add_sets(tiny, monkeypatch, rng):
    folder = tiny / "data"
    (folder / "features").mkdir(parents=True)
    y, t = np.arange(60) % 3, np.arange(40) % 3
    X, T = np.abs(rng.normal(size=(60, 5))) + np.eye(5)[y], np.abs(rng.normal(size=(40, 5)))
    np.savez(
        folder / "features" / "cifar10_resnet20.npz",
        fc_weight=rng.normal(size=(3, 5)),
        fc_bias=np.zeros(3),
        f_cifar10_train=X,
        y_cifar10_train=y,
        f_cifar10_test=T,
        y_cifar10_test=t,
    )
    parts = {"train": (X, np.sort(y)), "val": (T, t), "test": (T, t)}
    unit = {f"x_{k}": A / np.linalg.norm(A, axis=1)[:, None] for k, (A, _) in parts.items()}
    labels = {f"y_{k}": b for k, (_, b) in parts.items()}
    np.savez(folder / "features" / "clinc150_minilm.npz", **unit, **labels)
    monkeypatch.setenv("PNML_DATA", str(folder))
    monkeypatch.setattr(study, "SIZES", {"small": Sizes(60, 40, 4)})
    wanted = {name: study.SETS[name] for name in ("CLINC150", "CIFAR-10")}
    monkeypatch.setattr(study, "SETS", wanted)
    found = run(tiny)
    assert {row.labels["set"] for row in found.tables[0].rows} == set(wanted)
    sentences = heads.clinc(60, 40, Output(tiny / "o", tiny / "c", "s"))
    np.testing.assert_allclose(np.linalg.norm(sentences.noisy(1.0), axis=1), 1.0)
    assert heads.resnet20(60, 40).noisy(2.0).min() >= 0


def made(difference, gap):
    """What is found where all numbers are the same: a difference of the ECE and a gap."""
    near = [difference, difference - 0.001, difference + 0.001]
    gaps = [gap, gap - 0.001, gap + 0.001]
    methods = {name: {"ECE": [0.1, 0.0, 0.2], "confidence less accuracy": gaps} for name in ALL}
    score = {RANK: gaps, EXTRA: gaps, "groups": [gaps] * 10}
    flag = {
        "regret": gaps,
        "1 − confidence": gaps,
        "gap by regret, of two of like confidence": gaps,
    }
    shift = {f"{PNML} less {name}": near for name in (SOFTMAX, FRESH)}
    pairs = {f"{PNML} less {name}": {"ECE": near} for name in (SOFTMAX, TEMPERATURE, FRESH)}
    return {
        "known": {"methods": methods, "pairs": pairs},
        "order": {"regret": score, "1 − confidence": score},
        "shift": dict.fromkeys(("0", "0.5", "1", "2"), shift),
        "flags": {"0.5": flag, "1": flag, "2": flag},
        "about": {"leverage": 0.1, "seen": False},
    }


ALL = (SOFTMAX, TEMPERATURE, FRESH, PNML)


@pytest.mark.parametrize(
    ("differences", "answer"),
    [((-0.1, -0.1), "Yes"), ((-0.1, 0.0), "In part"), ((-0.1, 0.2), "No"), ((0.0, 0.0), "No")],
)
def test_the_answer_follows_from_the_numbers(differences, answer):
    found = {f"set {k}": made(d, 0.25) for k, d in enumerate(differences)}
    first, why, *_ = findings(deepcopy(found))
    assert f"**Does pNML calibrate? {answer}.**" in first
    assert "too sure on set 0 (+0.250), set 1 (+0.250) and too cautious on none" in why


def test_a_difference_that_the_interval_hides_is_not_named():
    found = {"a": made(-0.0005, 0.25), "b": made(0.5, 0.25)}
    first, _, _, noise, _ = findings(found)
    assert "lower than that of softmax on none and higher on b (+0.500)" in first
    assert "at strength 2, lower on none and higher on b (+0.500)" in noise
