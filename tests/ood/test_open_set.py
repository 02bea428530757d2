"""Open sets: the table says what the definitions say, whatever the scores came as."""

from __future__ import annotations

import dataclasses
import io

import numpy as np
import pytest
import torch

from pnml.errors import InputError
from pnml.metrics import ccr_at_fpr, oscr_area, oscr_curve
from pnml.metrics.open_set import _area_and_rates, _Places, open_set_metrics
from pnml.ood import MSP, CosineSimilarity, Energy, evaluate_open_set

FPR = (0.1, 0.2, 0.6, 0.8, 1.0)


def head(rows):
    return rows


def area_by_pairs(known, right, unknown):
    """Mean over pairs of known and unknown rows, by the definition."""
    k, u = np.asarray(known)[:, None], np.asarray(unknown)[None]
    return float(np.mean(np.asarray(right)[:, None] * ((k > u) + 0.5 * (k == u))))


def rate_by_thresholds(known, right, unknown, level):
    """Best share of known rows answered correctly over all thresholds that let in no more."""
    bars = [*known, *unknown, np.inf]
    allowed = [t for t in bars if np.mean(unknown >= t) <= level]
    return max((float(np.mean(right & (known >= t))) for t in allowed), default=0.0)


@pytest.fixture
def logits(rng):
    labels = rng.integers(3, size=150)
    known = 3 * np.eye(3)[labels] + rng.normal(size=(150, 3))
    unknown = {"flat": rng.normal(size=(80, 3)), "odd": 1 + rng.normal(size=(60, 3))}
    return known, labels, unknown


@pytest.fixture
def table(logits):
    known, labels, unknown = logits
    return evaluate_open_set(
        {"Max-prob": MSP(head), "Energy": Energy(head)},
        known.argmax(axis=1),
        labels,
        known=known,
        unknown=unknown,
    )


@pytest.mark.parametrize("ties", [False, True])
def test_area_and_rates_are_those_of_the_definition(rng, ties):
    known, unknown = rng.normal(1, 1, 40), rng.normal(0, 1, 30)
    if ties:
        known, unknown = known.round(), unknown.round()
    right = rng.random(40) < 0.8
    found = open_set_metrics(known, right, unknown)
    assert found.area.value == pytest.approx(area_by_pairs(known, right, unknown), abs=1e-12)
    for level, estimate in zip(FPR, found.ccr, strict=True):
        expected = rate_by_thresholds(known, right, unknown, level)
        assert estimate.value == pytest.approx(expected, abs=1e-12)
    assert found.ccr[-1].value == np.mean(right)


@pytest.mark.parametrize("ties", [False, True])
def test_rows_drawn_again_are_judged_as_the_metrics_judge_them(rng, ties):
    known, unknown = rng.normal(1, 1, 30), rng.normal(0, 1, 20)
    if ties:
        known, unknown = known.round(), unknown.round()
    right = rng.random(30) < 0.7
    places = _Places.of(known, right, unknown)
    for _ in range(20):
        i, j = rng.integers(30, size=30), rng.integers(20, size=20)
        counts = [
            np.bincount(place, minlength=places.levels)[None, : places.levels].astype(float)
            for place in (places.known[i], places.unknown[j])
        ]
        found = _area_and_rates(*counts, 30, 20, FPR)[0]
        rows = known[i], right[i], unknown[j]
        expected = [oscr_area(*rows), *ccr_at_fpr(*rows, fpr=FPR)]
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_intervals_cover_the_true_area_as_often_as_they_say(rng):
    # known rows N(1, 1), nine of ten right, against N(0, 1): P(S > S') = Φ(1/√2)
    from scipy.stats import norm

    truth = 0.9 * norm.cdf(1 / np.sqrt(2))
    hits = 0
    for seed in range(200):
        rows = rng.normal(1, 1, 100), rng.random(100) < 0.9, rng.normal(0, 1, 80)
        area = open_set_metrics(*rows, resamples=100, seed=seed, confidence=0.9).area
        hits += area.low <= truth <= area.high
    assert 0.83 <= hits / 200 <= 0.96  # three standard errors, and the percentile's own bias


def test_scores_of_the_same_rows_see_the_same_draws(rng):
    known, unknown = rng.normal(1, 1, 200), rng.normal(0, 1, 150)
    right = rng.random(200) < 0.9
    one = open_set_metrics(known, right, unknown, seed=3)
    # a rising function of a score is the same score, however many rows tie nowhere else
    other = open_set_metrics(np.exp(known), right, np.exp(unknown), seed=3)
    assert one == other
    # coarser scores have fewer levels, so larger blocks: the draws must not depend on that
    accuracy = open_set_metrics(np.zeros(200), right, np.zeros(150), seed=3).ccr[-1]
    assert accuracy == one.ccr[-1]


def test_every_cell_is_what_the_metrics_say_of_the_scores(table, logits):
    known, labels, unknown = logits
    right = known.argmax(axis=1) == labels
    assert table.scores == ("Max-prob", "Energy")
    assert table.unknowns == ("flat", "odd")
    for name, detector in {"Max-prob": MSP(head), "Energy": Energy(head)}.items():
        for each, rows in unknown.items():
            s_known, s_unknown = -detector.predict(known), -detector.predict(rows)
            found = table[name, each]
            assert found == open_set_metrics(s_known, right, s_unknown)
            curve = oscr_curve(s_known, right, s_unknown)
            np.testing.assert_array_equal(found.curve.ccr, curve.ccr)
    mean = np.mean([table["Energy", each].area.value for each in unknown])
    assert table.mean()["Energy"] == pytest.approx(mean)
    assert [(row.rows_known, row.rows_unknown) for row in table.rows[:2]] == [(150, 80), (150, 60)]


def test_scores_at_hand_tensors_and_loaders_give_the_same_table(table, logits):
    known, labels, unknown = logits
    msp = MSP(head)
    pair = (-msp.predict(known), {each: -msp.predict(rows) for each, rows in unknown.items()})
    at_hand = evaluate_open_set({"Max-prob": pair}, known.argmax(axis=1), labels)
    loader = ((torch.from_numpy(part), None) for part in np.array_split(known, 4))
    streamed = evaluate_open_set(
        {"Max-prob": msp, "again": msp},
        torch.from_numpy(known).argmax(dim=1),
        torch.from_numpy(labels),
        known=loader,
        unknown={each: torch.from_numpy(rows) for each, rows in unknown.items()},
    )
    for each in unknown:
        assert at_hand["Max-prob", each] == table["Max-prob", each]
        assert streamed["Max-prob", each] == table["Max-prob", each]
        assert streamed["again", each] == table["Max-prob", each]


def test_each_score_may_come_with_its_own_classifier(logits):
    known, labels, unknown = logits
    names = np.array(["cat", "dog", "owl"])
    always_right, always_wrong = names[labels], names[(labels + 1) % 3]
    table = evaluate_open_set(
        {"good": MSP(head), "bad": MSP(head)},
        {"good": always_right, "bad": always_wrong},
        names[labels],
        known=known,
        unknown=unknown,
    )
    assert table["good", "flat"].ccr[-1].value == 1
    assert table["bad", "flat"].area == (0, 0, 0)


def test_the_table_can_be_read_in_every_form(table):
    frame = table.to_pandas()
    at = frame.set_index(["score", "unknown"]).loc[("Energy", "odd")]
    assert tuple(at[["area", "area_low", "area_high"]]) == table["Energy", "odd"].area
    assert tuple(at[["ccr_at_0.1", "ccr_at_0.1_low"]]) == table["Energy", "odd"].ccr[0][:2]
    assert at["rows_unknown"] == 60
    lines = table.to_markdown().splitlines()
    assert lines[0].startswith("| unknown | score | OSCR area | CCR at FPR 0.1 |")
    assert [line.split(" | ")[:2] for line in lines[2:]] == [
        ["| flat", "Max-prob"],
        ["| flat", "Energy"],
        ["| odd", "Max-prob"],
        ["| odd", "Energy"],
    ]
    best = max(table[name, "odd"].area.value for name in table.scores)
    assert f"**{100 * best:.2f} [" in table.to_markdown()
    assert "**" not in str(table)
    assert f"{100 * best:.2f} [" in str(table)
    assert table._repr_markdown_() == table.to_markdown()
    with pytest.raises(dataclasses.FrozenInstanceError):
        table.rows = ()
    with pytest.raises(KeyError):
        table["Energy", "nowhere"]


def test_rich_draws_the_table_where_it_is_installed(table):
    console = pytest.importorskip("rich.console")
    page = io.StringIO()
    console.Console(file=page, width=160).print(table)
    value = table["Max-prob", "flat"].area
    assert f"{100 * value.value:.2f} [{100 * value.low:.1f}," in page.getvalue()


ROWS = np.eye(2)
PAIR = ([1.0, 0.5], {"x": [0.0]})


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: evaluate_open_set({}, [0], [0]), "scores must be a dict"),
        (lambda: evaluate_open_set([MSP(head)], [0], [0]), "scores must be a dict"),
        (lambda: evaluate_open_set({"a": 3}, [0], [0]), "'a' is a int, neither"),
        (lambda: evaluate_open_set({"a": MSP(head)}, [0], [0]), "'a' needs inputs"),
        (lambda: evaluate_open_set({"a": MSP(head)}, [0], [0], known=ROWS), "'a' needs inputs"),
        (lambda: evaluate_open_set({"a": ([1.0],)}, [0], [0]), "no pair of scores"),
        (lambda: evaluate_open_set({"a": ([1.0], [0.0])}, [0], [0]), "no pair of scores"),
        (lambda: evaluate_open_set({"a": ([1.0], {})}, [0], [0]), "of one at least"),
        (
            lambda: evaluate_open_set({"a": PAIR, "b": ([1.0, 2.0], {"y": [0.0]})}, [0, 1], [0, 1]),
            "'b' has scores of the unknown sets",
        ),
        (lambda: evaluate_open_set({"a": PAIR}, [0], [0, 1]), r"predicted classes have shape \(1,"),
        (lambda: evaluate_open_set({"a": PAIR}, [0, 1], [0]), r"labels \(1,"),
        (lambda: evaluate_open_set({"a": PAIR}, {"b": [0, 1]}, [0, 1]), "dict without 'a'"),
        (lambda: evaluate_open_set({"a": (1.0, {"x": [0.0]})}, [0], [0]), "'a' of known rows"),
        (
            lambda: evaluate_open_set({"a": ([1.0], {"x": [np.nan]})}, [0], [0]),
            "unknown rows 'x' holds 1 NaN",
        ),
        (lambda: evaluate_open_set({"a": PAIR}, [0, 1], [0, 1], fpr=(1.5,)), "no rate"),
        (lambda: evaluate_open_set({"a": PAIR}, [0, 1], [0, 1], resamples=0), "resamples is 0"),
        (lambda: evaluate_open_set({"a": PAIR}, [0, 1], [0, 1], confidence=95), "confidence is"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(call, says):
    with pytest.raises(InputError, match=says):
        call()


def cosines(features, directions):
    """Largest cosine of each row by the definition."""
    return [
        max(f @ w / np.linalg.norm(f) / np.linalg.norm(w) for w in directions) for f in features
    ]


def test_the_cosine_is_that_of_the_nearest_direction(rng):
    features, directions = rng.normal(size=(20, 4)), rng.normal(size=(3, 4))
    detector = CosineSimilarity(directions)
    found = detector.predict_features(features)
    np.testing.assert_allclose(found, -np.array(cosines(features, directions)), atol=1e-12)
    tensor = detector.predict_features(torch.from_numpy(features).float())
    assert tensor.dtype == torch.float64
    np.testing.assert_allclose(tensor.numpy(), found, atol=1e-6)


@pytest.mark.parametrize("size", [1e-300, 1e-5, 7.0, 1e300])
def test_lengths_of_features_play_no_part(rng, size):
    features, directions = rng.normal(size=(20, 4)), rng.normal(size=(3, 4))
    detector, scaled = CosineSimilarity(directions), CosineSimilarity(size * directions)
    expected = detector.predict_features(features)
    np.testing.assert_allclose(detector.predict_features(size * features), expected, atol=1e-12)
    np.testing.assert_allclose(scaled.predict_features(features), expected, atol=1e-12)


def test_a_row_of_zeros_is_at_a_right_angle_to_everything():
    assert CosineSimilarity(np.eye(2)).predict_features(np.zeros((1, 2))) == 0
    assert CosineSimilarity(np.zeros((1, 2))).predict_features(np.ones((1, 2))) == 0


def test_class_means_are_directions_too(rng):
    features, labels = rng.normal(size=(30, 4)), rng.integers(3, size=30)
    means = [features[labels == c].mean(axis=0) for c in range(3)]
    detector = CosineSimilarity.of_class_means(features, labels)
    found = detector.predict_features(features)
    np.testing.assert_allclose(found, -np.array(cosines(features, means)), atol=1e-12)


def test_inputs_go_through_the_network_and_training_rows_set_the_threshold(rng):
    torch.manual_seed(0)
    body, last = torch.nn.Linear(4, 6), torch.nn.Linear(6, 3)
    inputs = torch.randn(50, 4)
    detector = CosineSimilarity(last.weight, body).fit([inputs])
    by_features = detector.predict_features(body(inputs).detach())
    np.testing.assert_allclose(detector.predict(inputs), by_features, atol=1e-12)
    assert float(detector.trusted(inputs, level=0.9).double().mean()) == pytest.approx(0.9)
    again = CosineSimilarity(last.weight).fit_features(body(inputs).detach())
    assert again.threshold(0.9) == pytest.approx(detector.threshold(0.9))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: CosineSimilarity(np.ones(3)), r"directions have shape \(3,\)"),
        (lambda: CosineSimilarity(np.full((2, 2), np.nan)), "not finite"),
        (lambda: CosineSimilarity(np.eye(2)).predict_features(np.ones((1, 3))), "3 columns"),
        (lambda: CosineSimilarity(np.eye(2)).predict(np.ones((1, 2))), "no network"),
        (lambda: CosineSimilarity(np.eye(2)).threshold(), "no threshold"),
        (lambda: CosineSimilarity.of_class_means(np.eye(2), [0]), r"labels \(1,\)"),
    ],
)
def test_cosines_refuse_bad_input_in_one_sentence(call, says):
    with pytest.raises(InputError, match=says):
        call()
