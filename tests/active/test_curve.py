"""Learning curves: one seed is one world for all strategies, and a run can go on."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from pnml import InputError
from pnml.active import (
    LearningCurves,
    Strategy,
    active_learning_curve,
    bald_scores,
    by_dial,
    dial_select,
    entropy_scores,
    epig_scores,
    k_center,
    margin_scores,
    ual_scores,
)
from pnml.active.curve_results import band_of
from pnml.runtime.fingerprint import fingerprint


def with_zeros(logp):
    """The same, but for some labels that a model excludes."""
    p = np.exp(logp)
    p[0, 0, 0] = p[1, 1, 1] = 0
    with np.errstate(divide="ignore"):
        return np.log(p / p.sum(axis=-1, keepdims=True))


def xlogx(p):
    return 0.0 if p == 0 else p * np.log(p)


@pytest.fixture(params=[False, True], ids=["", "zeros"])
def pair(request, drawn):
    candidates, targets = drawn(6, 7, 3), drawn(6, 5, 3)
    return (with_zeros(candidates), with_zeros(targets)) if request.param else (candidates, targets)


def test_entropy_and_margin_are_those_of_the_mean_over_models(pair):
    p = np.exp(pair[0])
    for i in range(7):
        mean = [sum(p[m, i, c] for m in range(6)) / 6 for c in range(3)]
        assert entropy_scores(pair[0])[i] == pytest.approx(-sum(map(xlogx, mean)))
        first, second = sorted(mean, reverse=True)[:2]
        assert margin_scores(pair[0])[i] == pytest.approx(second - first)


def test_bald_is_the_information_of_label_and_model(pair):
    p = np.exp(pair[0])
    for i in range(7):
        total = 0.0
        for m in range(6):
            for c in range(3):
                if p[m, i, c] > 0:
                    total += p[m, i, c] / 6 * np.log(p[m, i, c] / p[:, i, c].mean())
        assert bald_scores(pair[0])[i] == pytest.approx(total)


def test_epig_is_the_mean_information_of_a_pair_of_labels(pair):
    p, q = np.exp(pair[0]), np.exp(pair[1])
    found = epig_scores(*pair)
    for i in range(7):
        total = 0.0
        for k in range(5):
            for a in range(3):
                for b in range(3):
                    joint = sum(p[m, i, a] * q[m, k, b] for m in range(6)) / 6
                    apart = p[:, i, a].mean() * q[:, k, b].mean()
                    total += joint * np.log(joint / apart) if joint > 0 else 0.0
        assert found[i] == pytest.approx(total / 5)


def test_epig_is_the_same_in_blocks(drawn, monkeypatch):
    pair = drawn(4, 9, 3), drawn(4, 5, 3)
    whole = epig_scores(*pair)
    monkeypatch.setattr("pnml.active.acquisition._BLOCK_NUMBERS", 100)
    np.testing.assert_allclose(epig_scores(*pair), whole)


def test_models_that_agree_leave_nothing_to_learn(drawn):
    same, others = np.repeat(drawn(1, 4, 3), 5, axis=0), np.repeat(drawn(1, 6, 3), 5, axis=0)
    np.testing.assert_allclose(bald_scores(same), 0, atol=1e-12)
    np.testing.assert_allclose(epig_scores(same, others), 0, atol=1e-12)


@pytest.mark.parametrize("centers", [0, 1, 4])
def test_core_set_takes_the_farthest_from_all_centers_in_turn(rng, centers):
    x, held = rng.normal(size=(12, 3)), list(rng.normal(size=(centers, 3)))
    left = list(range(12))
    expected = []
    for _ in range(5):
        far = [min((np.linalg.norm(x[i] - c) for c in held), default=np.inf) for i in left]
        expected.append(left.pop(int(np.argmax(far))))
        held.append(x[expected[-1]])
    assert k_center(x, np.reshape(held[:centers], (centers, 3)), 5).tolist() == expected


def test_core_set_of_equal_rows_takes_each_once():
    assert sorted(k_center(np.zeros((4, 2)), np.zeros((1, 2)), 4)) == [0, 1, 2, 3]


class Centroids:
    """The class of the nearest mean; counts how often it was fitted, and to what."""

    fits: list[tuple[bytes, int]] = []

    def __init__(self, x, y, seed):
        Centroids.fits.append((x.tobytes(), seed))
        self.classes = np.unique(y)
        self.means = np.array([x[y == c].mean(axis=0) for c in self.classes])

    def predict(self, x):
        return self.classes[self._distances(x, self.means).argmin(axis=1)]

    @staticmethod
    def _distances(x, means):
        return ((x[:, None] - means) ** 2).sum(axis=-1)

    def logs(self, x, temperature, seed):
        rng = np.random.default_rng(seed)
        logits = np.stack(
            [
                -self._distances(x, self.means + rng.normal(size=self.means.shape)) / temperature
                for _ in range(6)
            ]
        )
        return logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)


def models(model, temperature, seed):
    return lambda x: model.logs(x, temperature, seed)


@pytest.fixture
def world(rng):
    """Three clouds of points, and some far from all of them."""
    y = np.arange(90) % 3
    x = 2.0 * np.eye(3)[y] + rng.normal(size=(90, 3))
    Centroids.fits = []
    data = {"x": x[:60], "y": y[:60], "x_test": x[60:], "y_test": y[60:]}
    return data | {"x_ood": rng.normal(size=(40, 3)) - 9.0}


def run(world, **changes):
    settings = {
        "seeds": [3, 4],
        "start": 6,
        "stop": 16,
        "step": 2,
        "candidates": 20,
        "targets": 10,
        "models": models,
        "progress": False,
        "strategies": ["random", "core-set", "entropy", "margin", "BALD", "EPIG", "DIAL"],
    }
    return active_learning_curve(Centroids, **world, **(settings | changes))


def watching(seen, name="watch"):
    """A strategy that picks the first candidates and keeps what it was shown."""

    def pick(shown, n):
        seen.append(shown)
        return np.arange(n)

    return Strategy(name, pick)


def test_all_strategies_begin_alike_and_see_the_same(world):
    one, two = [], []
    found = run(world, strategies=[watching(one, "one"), watching(two, "two")], seeds=[0])
    assert found.accuracy["one"].tolist() == found.accuracy["two"].tolist()
    for a, b in zip(one, two, strict=True):
        for name in ("candidates", "targets", "bought"):
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    assert not np.array_equal(one[0].targets, one[1].targets)
    assert Centroids.fits[:6] == Centroids.fits[6:]  # the same rows with the same seeds
    assert len({seed for _, seed in Centroids.fits}) == 6


def test_what_others_bought_changes_few_candidates(world):
    first, last = [], []

    def pick_last(shown, n):
        last.append(shown)
        return np.arange(len(shown.candidates))[-n:]

    run(world, strategies=[watching(first), Strategy("last", pick_last)], seeds=[0])
    for t, (a, b) in enumerate(zip(first, last, strict=True)):
        rows = [{row.tobytes() for row in shown.candidates} for shown in (a, b)]
        assert len(rows[0] & rows[1]) >= 20 - 2 * t  # all but what one of them has bought


def test_the_first_labels_are_even_over_classes(world):
    seen = []
    run(world, strategies=[watching(seen)], seeds=range(5), start=7, step=1, stop=8)
    labels = {row.tobytes(): label for row, label in zip(world["x"], world["y"], strict=True)}
    for shown in seen:
        counts = np.bincount([labels[row.tobytes()] for row in shown.bought])
        assert sorted(counts) == [2, 2, 3]


def test_a_strange_pick_costs_a_label_and_is_not_trained_on(world):
    seen, fitted = [], []

    def train(x, y, seed):
        fitted.append(x)
        return Centroids(x, y, seed)

    strange = Strategy("strange", lambda shown, n: np.argsort(shown.candidates.sum(axis=1))[:n])
    settings = {"seeds": [0], "start": 6, "stop": 16, "step": 2, "candidates": 20}
    found = active_learning_curve(
        train, **world, **settings, strategies=[strange, watching(seen)], models=models
    )
    assert found.strange["strange"].tolist() == [[0, 2, 4, 6, 8, 10]]
    assert [len(x) for x in fitted[:6]] == [6] * 6
    assert found.strange_share("strange").mean.tolist() == [0, 1, 1, 1, 1, 1]
    for shown, x in zip(seen, fitted[6:], strict=False):
        strangers = int((shown.bought.sum(axis=1) < -15).sum())
        assert len(x) == len(shown.bought) - strangers
        assert (x.sum(axis=1) > -15).all()


def test_without_strange_rows_there_are_no_strange_picks(world):
    del world["x_ood"]
    found = run(world)
    assert all((count == 0).all() for count in found.strange.values())
    assert found.labels.tolist() == [6, 8, 10, 12, 14, 16]


def test_dial_picks_what_the_criterion_says(world):
    seen, picked = [], []
    rule = by_dial(3.0)

    def pick(shown, n):
        seen.append(shown)
        picked.append(rule.pick(shown, n))
        return picked[-1]

    run(world, strategies=[Strategy("dial", pick)], seeds=[0])
    for shown, rows in zip(seen, picked, strict=True):
        logs = shown.logp_candidates(3.0), shown.logp_targets(3.0)
        np.testing.assert_array_equal(rows, dial_select(*logs, 2))


def interrupted_after(fits):
    def train(x, y, seed):
        if len(Centroids.fits) == fits:
            raise KeyboardInterrupt
        return Centroids(x, y, seed)

    return train


def test_an_interrupted_run_goes_on_where_it_stopped(world, tmp_path):
    whole = run(world)
    total, path = len(Centroids.fits), tmp_path / "log.jsonl"
    Centroids.fits = []
    settings = {"seeds": [3, 4], "start": 6, "stop": 16, "step": 2, "candidates": 20, "targets": 10}
    settings |= {"strategies": list(whole.accuracy), "models": models, "log": path}
    with pytest.raises(KeyboardInterrupt):
        active_learning_curve(interrupted_after(30), **world, **settings)
    with path.open("ab") as file:
        file.write(b'{"piece": "cut sho')
    Centroids.fits = []
    found = run(world, log=path)
    assert len(Centroids.fits) == total - 30
    same(found, whole)
    Centroids.fits = []
    same(run(world, log=str(path)), whole)
    assert Centroids.fits == []


def same(found, expected):
    assert found.labels.tolist() == expected.labels.tolist()
    for name, values in expected.accuracy.items():
        np.testing.assert_array_equal(found.accuracy[name], values)
        np.testing.assert_array_equal(found.strange[name], expected.strange[name])


def test_more_labels_seeds_and_strategies_can_be_asked_for_later(world, tmp_path):
    path = tmp_path / "log.jsonl"
    run(world, log=path, strategies=["BALD"], seeds=[3], stop=10)
    Centroids.fits = []
    same(found := run(world, log=path), run(world))
    assert len(Centroids.fits) == 2 * found.accuracy["BALD"].size * 7 - 2
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert "stamp" in lines[0]
    assert len({line["piece"] for line in lines[1:]}) == len(lines) - 1


@pytest.mark.parametrize("change", [{"stamp": "other"}, {"candidates": 19}, {"step": 1}])
def test_a_log_of_another_run_is_refused(world, tmp_path, change):
    path = tmp_path / "log.jsonl"
    run(world, log=path, strategies=["random"], stop=8)
    with pytest.raises(InputError) as error:
        run(world, log=path, strategies=["random"], stop=8, **change)
    one_sentence(error, "other data or settings")
    world["y_test"] = world["y_test"][::-1].copy()
    with pytest.raises(InputError):
        run(world, log=path, strategies=["random"], stop=8)


def test_a_log_that_is_something_else_is_refused(world, tmp_path):
    (tmp_path / "notes.txt").write_text("Dear diary,\n")
    for path, named in ((tmp_path / "notes.txt", "something else"), (tmp_path / "a" / "b", "a/b")):
        with pytest.raises(InputError) as error:
            run(world, log=path, strategies=["random"], stop=8)
        one_sentence(error, named)


def test_fingerprints_know_values_shapes_and_words():
    x = np.arange(6.0)
    prints = [(x,), (x.reshape(2, 3),), (x + 1,), (x.astype(np.float32),), (x, "a"), (x, "b")]
    assert len({fingerprint(*values) for values in prints}) == len(prints)


def test_progress_is_told_of_every_round(world):
    told = []
    run(world, progress=lambda done, total: told.append((done, total)), strategies=["random"])
    assert told == [(i, 12) for i in range(1, 13)]


@pytest.fixture
def curves(rng):
    accuracy = {name: np.sort(rng.random((4, 9)), axis=1) for name in ("DIAL", "random")}
    strange = {name: np.cumsum(rng.integers(0, 2, (4, 9)), axis=1) for name in accuracy}
    return LearningCurves((0, 1, 2, 3), 5 * np.arange(1, 10), accuracy, strange)


def test_intervals_are_students(curves):
    band = curves.band("DIAL")
    values = curves.accuracy["DIAL"]
    low, high = stats.t.interval(0.95, 3, values.mean(axis=0), stats.sem(values, axis=0))
    np.testing.assert_allclose(band, (values.mean(axis=0), low, high))
    assert np.isnan(band_of(values[:1]).low).all()


def test_labels_to_reach_are_the_first_with_that_mean(curves):
    levels = [0.1, 0.4, 0.6, 1.01]
    for name, found in curves.labels_to_reach(levels).items():
        band = curves.band(name)
        for level, estimate in zip(levels, found, strict=True):
            for values, expected in zip((band.mean, band.high, band.low), estimate, strict=True):
                there = [n for n, v in zip(curves.labels, values, strict=True) if v >= level]
                assert expected == min(there, default=np.inf)
            assert estimate.low <= estimate.value <= estimate.high


def test_gains_are_paired_by_seed(curves):
    means = {name: values.mean(axis=1) for name, values in curves.accuracy.items()}
    gain = curves.gain_over("random")["DIAL"]
    difference = means["DIAL"] - means["random"]
    low, high = stats.t.interval(0.95, 3, difference.mean(), stats.sem(difference))
    assert tuple(gain) == pytest.approx((difference.mean(), low, high))
    assert curves.mean_accuracy()["DIAL"].value == pytest.approx(means["DIAL"].mean())
    with pytest.raises(InputError) as error:
        curves.gain_over("BALD")
    one_sentence(error, "no curve of 'BALD'")


BAD = {
    "unknown strategy": ({"strategies": ["DAIL"]}, "did you mean 'DIAL'"),
    "no strategy": ({"strategies": []}, "no strategies"),
    "same name": ({"strategies": ["DIAL", by_dial(1.0)]}, "two strategies of the name DIAL"),
    "start": ({"start": 61}, "only 60"),
    "stop": ({"stop": 101}, "only 100"),
    "order": ({"stop": 5}, "starts with 6"),
    "step": ({"step": 0}, "step is 0"),
    "seed": ({"seeds": [-1]}, "seed is -1"),
    "picks": ({"strategies": [Strategy("bad", lambda shown, n: np.zeros(n, int))]}, "all differ"),
    "far": ({"strategies": [Strategy("bad", lambda shown, n: np.arange(n) + 99)]}, "picked [99"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_run_is_refused_in_a_sentence(world, case):
    changes, named = BAD[case]
    with pytest.raises(InputError) as error:
        run(world, **changes)
    one_sentence(error, named)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"y": np.zeros(3)}, "60 but have 3 labels"),
        ({"x_test": np.zeros((0, 3)), "y_test": np.zeros(0)}, "at least one"),
        ({"x": [[0.0] * 3] * 60}, "list"),
        ({"x_ood": np.zeros((5, 4))}, "shape (4,)"),
    ],
)
def test_data_that_does_not_fit(world, changes, named):
    with pytest.raises(InputError) as error:
        run(world | changes)
    one_sentence(error, named)


def test_a_model_without_dropout_needs_a_source(world):
    with pytest.raises(InputError) as error:
        active_learning_curve(Centroids, **world, strategies=["BALD"], progress=False)
    one_sentence(error, "pass models=")


def test_features_that_do_not_fit():
    for arguments, named in (
        ((np.zeros(3), np.zeros((1, 3))), "shape (3,)"),
        ((np.zeros((3, 2)), np.zeros((1, 3))), "2 features but the centers 3"),
        ((np.full((3, 2), np.nan), np.zeros((1, 2))), "NaN"),
    ):
        with pytest.raises(InputError) as error:
            k_center(*arguments)
        one_sentence(error, named)


def one_sentence(error, named):
    text = str(error.value)
    assert named in text
    assert re.search(r"[.?]$", text)
    assert not re.search(r"[.!?] [A-Z]", text), text
    assert "\n" not in text


def network(x, y, seed):
    torch = pytest.importorskip("torch")
    torch.manual_seed(seed)
    layers = [torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Dropout(0.5), torch.nn.Linear(8, 3)]
    net = torch.nn.Sequential(*layers)
    descent = torch.optim.Adam(net.parameters(), lr=0.05)
    for _ in range(20):
        descent.zero_grad()
        torch.nn.functional.cross_entropy(net(x), y).backward()
        descent.step()
    return net


def test_networks_need_nothing_but_training(world):
    torch = pytest.importorskip("torch")
    tensors = {name: torch.from_numpy(values) for name, values in world.items()}
    tensors |= {name: tensors[name].float() for name in tensors if name.startswith("x")}
    settings = {"seeds": [0], "stop": 12, "candidates": 20, "targets": 10, "progress": False}
    seen = []
    found = active_learning_curve(
        network, **tensors, **settings, strategies=["DIAL", "core-set", watching(seen)]
    )
    again = active_learning_curve(network, **tensors, **settings, strategies=["DIAL"])
    assert found.accuracy["DIAL"].tolist() == again.accuracy["DIAL"].tolist()
    assert found.accuracy["DIAL"][0, -1] > 0.4
    shown = seen[0]
    assert shown.logp_candidates().shape == (100, 20, 3)
    assert shown.features(shown.candidates).shape == (20, 8)


def test_a_display_shows_means_and_intervals(curves):
    plt = pytest.importorskip("matplotlib.pyplot")
    from pnml.plots import ActiveLearningDisplay

    display = ActiveLearningDisplay.from_curves(curves, line_kw={"DIAL": {"c": "black"}})
    band = curves.band("DIAL")
    np.testing.assert_array_equal(display.lines_["DIAL"].get_ydata(), band.mean)
    assert display.lines_["DIAL"].get_color() == "black"
    corners = display.areas_["DIAL"].get_paths()[0].vertices
    assert corners[:, 1].max() == pytest.approx(band.high.max())
    shares = ActiveLearningDisplay.of_strange_picks(curves, ax=display.ax_)
    assert shares.figure_ is display.figure_
    np.testing.assert_array_equal(
        shares.lines_["random"].get_ydata(), curves.strange_share("random").mean
    )
    alone = {name: values[:1] for name, values in curves.accuracy.items()}
    one = LearningCurves((0,), curves.labels, alone, alone)
    assert ActiveLearningDisplay.from_curves(one).areas_ == {}
    plt.close("all")


class Nearest:
    """Predicts the label of the nearest training row."""

    def __init__(self, X, y, seed):
        self.X, self.y = X, y

    def predict(self, X):
        return self.y[np.abs(X[:, None] - self.X).sum(axis=2).argmin(axis=1)]


def test_a_log_of_the_first_release_is_resumed(tmp_path):
    log = tmp_path / "curve.jsonl"
    log.write_bytes(Path(__file__).with_name("learning_curve_0_1.jsonl").read_bytes())
    before = log.read_bytes()
    X, y = np.arange(12.0)[:, None], np.arange(12) // 6
    settings = {"strategies": ["random", "core-set"], "seeds": [0], "start": 2, "stop": 5}

    def run(log):
        return active_learning_curve(
            Nearest, X, y, X + 0.25, y, **settings, log=log, stamp="nearest", progress=False
        )

    resumed, again = run(log), run(tmp_path / "new.jsonl")
    assert log.read_bytes() == before == (tmp_path / "new.jsonl").read_bytes()
    assert resumed.accuracy["core-set"].tolist() == again.accuracy["core-set"].tolist()


def entropy(p):
    return -sum(value * np.log(value) for value in p if value > 0)


def test_ual_is_what_targets_tell_of_the_model_after_a_label(pair):
    a, b = (np.exp(np.asarray(part, dtype=float)) for part in pair)
    M, N, C = a.shape
    expected = np.zeros(N)
    for i in range(N):
        for k in range(b.shape[1]):
            for j in range(C):
                label = np.mean(a[:, i, j])  # probability of this label of the candidate
                weights = a[:, i, j] / (M * label)  # of the models, once it is known
                mixed = sum(weights[m] * b[m, k] for m in range(M))
                left = entropy(mixed) - sum(weights[m] * entropy(b[m, k]) for m in range(M))
                expected[i] -= label * left / b.shape[1]
    np.testing.assert_allclose(ual_scores(*pair), expected, atol=1e-6)  # float32 members


def test_ual_and_epig_differ_by_what_the_targets_tell_now(pair):
    less = epig_scores(*pair) - ual_scores(*pair)
    np.testing.assert_allclose(less, np.mean(bald_scores(pair[1])), rtol=1e-9)
