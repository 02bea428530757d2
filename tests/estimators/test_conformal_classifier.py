"""Sets of classes: the definition in loops, coverage by simulation, groups, and bad input."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from pnml import (
    ConditionWarning,
    ConformalClassifier,
    ConformalRegressor,
    InputError,
    PNMLClassifier,
    PNMLRegressor,
    TrustedClassifier,
    load,
    make_pipeline,
    save,
)
from pnml.core import conformal_sets
from pnml.estimators.calibration_rows import split_rows


def rows(n, rng, classes=4):
    """Rows, and classes drawn from a linear softmax."""
    X = rng.standard_t(4, size=(n, 3))
    z = X @ (1.5 * np.random.default_rng(7).normal(size=(3, classes)))
    p = np.exp(z - z.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    return X, (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)


class Drawn(PNMLClassifier):
    """A stand-in of a fitted classifier: rows are log-probabilities and regrets themselves."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.n_features_in_ = X.shape[1]
        return self

    classes_ = None

    def predict_log_proba(self, X):
        return X[:, :-1]

    def regret(self, X):
        return X[:, -1]


def drawn_rows(n, rng, classes=4):
    """Rows of `Drawn`, and labels that are likelier where it gives them a large probability."""
    z = 2 * rng.normal(size=(n, classes))
    log_p = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
    y = (np.exp(log_p).cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    return np.column_stack([log_p, rng.exponential(size=n)]), y


def score_of(score, p, regret, label):
    """The definition, for one row."""
    if score == "lac":
        return -np.log(p[label] * np.sqrt(np.exp(regret)))
    return sum(q for q in p if q > p[label])


@pytest.mark.parametrize("score", ["lac", "aps"])
@pytest.mark.parametrize("by_class", [False, True])
@pytest.mark.parametrize("grouped", [False, True])
def test_sets_are_those_of_the_definition(score, by_class, grouped, rng):
    X, y = rows(160, rng)
    new = rows(30, rng)[0]
    groups = np.where(X[:, 0] > 0, "a", "b") if grouped else None
    new_groups = np.where(new[:, 0] > 0, "a", "b") if grouped else None
    model = ConformalClassifier(
        conformity_score=score, class_conditional=by_class, calibration_size=0.5, random_state=3
    ).fit(X, y, groups)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConditionWarning)
        sets = model.predict_set(new, 0.8, new_groups)
    fitted = {tuple(row) for row in _rows_of(model, X, y, groups)}
    held = [i for i in range(160) if i not in {i for (i,) in fitted}]
    p, regret = model.predict_proba(X), model.regret(X)
    q, new_regret = model.predict_proba(new), model.regret(new)
    for i in range(len(new)):
        for c in range(4):
            same = [
                j
                for j in held
                if (not by_class or y[j] == c) and (not grouped or groups[j] == new_groups[i])
            ]
            scores = sorted(score_of(score, p[j], regret[j], y[j]) for j in same)
            rank = int(np.ceil((len(scores) + 1) * 0.8 - 1e-9))
            limit = scores[rank - 1] if rank <= len(scores) else np.inf
            mine = score_of(score, q[i], new_regret[i], c)
            if abs(mine - limit) > 1e-9:  # sums of probabilities may differ in the last digit
                assert sets[i, c] == (mine <= limit)


def _rows_of(model, X, y, groups):
    """Rows that the classifier inside was fitted to: it answers alike when fitted to them."""
    strata = None
    if groups is not None:
        strata = np.unique(groups, return_inverse=True)[1]
    if model.class_conditional:
        strata = y if strata is None else strata * 4 + y
    proper, _ = split_rows(len(X), 0.5, strata, 3)
    again = PNMLClassifier().fit(X[proper], y[proper])
    np.testing.assert_array_equal(again.regret(X), model.regret(X))
    return proper[:, None]


def test_classes_of_equal_probability_are_in_a_set_together():
    log_p = np.log([[0.25, 0.25, 0.25, 0.25], [0.4, 0.2, 0.2, 0.2]])
    scores = conformal_sets.cumulative(log_p)
    np.testing.assert_allclose(scores, [[0, 0, 0, 0], [0, 0.4, 0.4, 0.4]], atol=1e-15)


def covered(score, by_class, grouped, rounds, seed):
    """Rates at which sets hold the label: over all rows, of each class, of each group."""
    rng = np.random.default_rng(seed)
    hits, cells = [], {}
    for _ in range(rounds):
        X, y = drawn_rows(265, rng)
        new, truth = drawn_rows(80, rng)
        # the second group is noisier than the first
        second, new_second = rng.random(265) < 0.5, rng.random(80) < 0.5
        y[second] = np.where(rng.random(second.sum()) < 0.3, 0, y[second])
        truth[new_second] = np.where(rng.random(new_second.sum()) < 0.3, 0, truth[new_second])
        model = ConformalClassifier(
            Drawn(),
            conformity_score=score,
            class_conditional=by_class,
            calibration_size=0.8,
            random_state=0,
        )
        model.fit(X, y, second if grouped else None)
        sets = model.predict_set(new, 0.9, new_second if grouped else None)
        hit = sets[np.arange(80), truth]
        hits.append(hit.mean())
        for c in range(4):
            cells.setdefault(("class", c), []).extend(hit[truth == c])
        for g in (False, True):
            cells.setdefault(("group", g), []).extend(hit[new_second == g])
    return np.mean(hits), {name: np.mean(them) for name, them in cells.items()}


@pytest.mark.filterwarnings("ignore::pnml.errors.ConditionWarning")
@pytest.mark.parametrize(
    ("score", "by_class", "grouped"),
    [("lac", False, False), ("aps", False, False), ("lac", True, False), ("lac", False, True)],
)
def test_sets_cover_at_the_stated_rate(score, by_class, grouped):
    """Exactly ⌈(n+1)·0.9⌉/(n+1) in expectation; 60 rounds of 80 rows tell it to ±1.3 %."""
    overall, cells = covered(score, by_class, grouped, rounds=60, seed=5)
    assert 0.88 < overall < 0.93
    if by_class:
        assert all(0.86 < rate < 0.95 for (kind, _), rate in cells.items() if kind == "class")
    if grouped:
        assert all(0.87 < rate < 0.935 for (kind, _), rate in cells.items() if kind == "group")
    if not (by_class or grouped):  # what the other two are for
        assert cells["group", True] < 0.89 < cells["group", False]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pnml.errors.ConditionWarning")
@pytest.mark.parametrize("score", ["lac", "aps"])
@pytest.mark.parametrize(("by_class", "grouped"), [(False, False), (True, False), (False, True)])
def test_coverage_over_2000_simulations_is_within_a_hundredth(score, by_class, grouped):
    overall, cells = covered(score, by_class, grouped, rounds=2000, seed=11)
    assert overall == pytest.approx(0.9, abs=0.01)
    kinds = {"class": by_class, "group": grouped}
    # a class has some 54 scores, so that rank/(n+1) alone is up to 0.01 above
    for (kind, _), rate in cells.items():
        assert not kinds[kind] or rate == pytest.approx(0.905, abs=0.015)


@pytest.mark.peers
def test_sets_are_at_most_those_of_mapie_on_the_same_rows():
    """With the regret set to 0 the sets of "lac" are MAPIE's; with it they are no larger."""
    classification = pytest.importorskip("mapie.classification")
    rng, ours, theirs, adaptive, by_mapie = np.random.default_rng(2), [], [], [], []
    for _ in range(12):
        X, y = rows(200, rng)
        new = rows(200, rng)[0]
        model = ConformalClassifier(calibration_size=0.5, random_state=0).fit(X, y)
        aps = ConformalClassifier(conformity_score="aps", calibration_size=0.5, random_state=0).fit(
            X, y
        )
        held = split_rows(200, 0.5, None, 0)[1]

        def split(score, model=model, X=X, y=y, new=new, held=held):
            peer = classification.SplitConformalClassifier(
                FrozenEstimator(model.estimator_),
                confidence_level=0.9,
                conformity_score=score,
                prefit=True,
                random_state=0,
            )
            return peer.conformalize(X[held], y[held]).predict_set(new)[1][:, :, 0]

        ours.append(model.predict_set(new).sum(axis=1).mean())
        adaptive.append(aps.predict_set(new).sum(axis=1).mean())
        theirs.append(split("lac").sum(axis=1).mean())
        by_mapie.append(split("aps").sum(axis=1).mean())
    assert np.mean(ours) <= np.mean(theirs) + 0.002
    assert np.mean(adaptive) <= np.mean(by_mapie)


def test_a_table_a_pipeline_and_a_file_answer_alike(rng, tmp_path):
    X, y = rows(120, rng)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["word"] = np.where(y > 1, "up", "down")
    inside = TrustedClassifier(RandomForestClassifier(8, random_state=0), cv=2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        words = ConformalClassifier(inside, random_state=0).fit(frame, y)
        assert words.predict_set(frame.iloc[:5]).shape == (5, 4)
    scaled = ConformalClassifier(make_pipeline(StandardScaler(), PNMLClassifier()), random_state=0)
    groups = np.where(X[:, 0] > 0, 3, 1)
    scaled.fit(X, np.array(list("wxyz"))[y], groups)
    save(scaled, tmp_path / "model.pnml")
    again = load(tmp_path / "model.pnml")
    for coverage in (0.5, 0.8, 0.9):
        np.testing.assert_array_equal(
            again.predict_set(X, coverage, groups), scaled.predict_set(X, coverage, groups)
        )
    assert "regret" in dir(scaled)


def test_groups_that_cannot_be_judged_are_refused(rng):
    X, y = rows(80, rng)
    site = np.where(X[:, 0] > 0, "north", "south")
    for model, target in (
        (ConformalClassifier(random_state=0), y),
        (ConformalRegressor(), y * 1.0),
    ):
        ask = "predict_set" if hasattr(model, "predict_set") else "predict_interval"
        model.fit(X, target, groups=site)
        with pytest.raises(
            InputError, match="groups holds 'east', of which no row was seen in cal"
        ):
            getattr(model, ask)(X[:2], 0.5, ["north", "east"])
        with pytest.raises(InputError, match="calibrated by groups, but groups is None"):
            getattr(model, ask)(X[:2], 0.5)
        with pytest.raises(InputError, match="X has 2 rows but groups has 1"):
            getattr(model, ask)(X[:2], 0.5, ["north"])
        with pytest.raises(InputError, match="missing values or a mix of types"):
            model.fit(X, target, groups=[None, *site[1:]])
        model.fit(X, target)  # forgets the groups
        assert "_groups" not in vars(model)
        with pytest.raises(InputError, match="fitted without groups"):
            getattr(model, ask)(X[:2], 0.5, site[:2])
    with pytest.raises(InputError, match=r"method=\"jackknife\+\" covers all rows together"):
        ConformalRegressor(method="jackknife+").fit(X, y * 1.0, groups=site)


def test_intervals_of_groups_are_those_of_each_group_alone(rng):
    X, new = rng.normal(size=(200, 2)), rng.normal(size=(20, 2))
    site, new_site = rng.integers(3, size=200), rng.integers(3, size=20)
    y = X[:, 0] + (1 + 3 * site) * rng.normal(size=200)
    model = ConformalRegressor(PNMLRegressor(), calibration_size=0.5, random_state=1)
    model.fit(X, y, groups=site)
    held = split_rows(200, 0.5, site, 1)[1]
    inner = model.estimator_
    for i, (low, high) in enumerate(model.predict_interval(new, 0.8, new_site)):
        own = held[site[held] == new_site[i]]
        scale = np.exp(inner.regret(X[own]) / 2)
        scores = np.sort(np.abs(y[own] - inner.predict(X[own])) / scale)
        q = scores[int(np.ceil((len(own) + 1) * 0.8 - 1e-9)) - 1]
        half = q * np.exp(inner.regret(new[i : i + 1])[0] / 2)
        centre = inner.predict(new[i : i + 1])[0]
        np.testing.assert_allclose([low, high], [centre - half, centre + half], rtol=1e-9)
    assert not hasattr(model, "predict_dist")


def test_too_few_rows_are_said_and_named(rng):
    X, y = rows(60, rng, classes=2)
    site = np.array(["north"] * 57 + ["south"] * 3)
    model = ConformalClassifier(random_state=0).fit(X, y, groups=site)
    with pytest.warns(ConditionWarning, match="in group 'south' hold every class, since 0.9"):
        assert model.predict_set(X[-2:], 0.9, site[-2:]).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict_set(X[:2], 0.9, site[:2])  # enough rows of the group that is asked about
    regressor = ConformalRegressor(random_state=0).fit(X, X[:, 0] + y, groups=site)
    with pytest.warns(ConditionWarning, match="intervals in group 'south' are infinite"):
        assert np.isinf(regressor.predict_interval(X[-2:], 0.9, site[-2:])).all()
    rare = np.where(np.arange(60) < 3, 2, y)
    by_class = ConformalClassifier(class_conditional=True, random_state=0).fit(X, rare)
    with pytest.warns(ConditionWarning, match="always hold class 2, since"):
        assert by_class.predict_set(X, 0.9)[:, 2].all()


def test_what_a_conformal_classifier_cannot_use_is_refused(rng):
    X, y = rows(40, rng, classes=2)
    with pytest.raises(InputError, match="estimator is a LogisticRegression, which has no prob"):
        ConformalClassifier(LogisticRegression()).fit(X, y)
    with pytest.raises(
        InputError, match='conformity_score is \'raps\', which is none of "lac", "aps"'
    ):
        ConformalClassifier(conformity_score="raps").fit(X, y)
    with pytest.raises(InputError, match="class_conditional is 1"):
        ConformalClassifier(class_conditional=1).fit(X, y)
    for size in (0, 1, "half", None):
        with pytest.raises(InputError, match="calibration_size is"):
            ConformalClassifier(calibration_size=size).fit(X, y)
    with pytest.raises(InputError, match="one class only"):
        ConformalClassifier().fit(X, np.zeros(40, dtype=int))
    single = np.where(np.arange(40) == split_rows(40, 0.25, None, 0)[1][0], 9, y)
    with pytest.raises(InputError, match=r"All rows of class 9 were held back"):
        ConformalClassifier(random_state=0).fit(X, single)
    model = ConformalClassifier().fit(X, y)
    for coverage in (0, 1, "most", np.nan):
        with pytest.raises(InputError, match="coverage is"):
            model.predict_set(X, coverage)
