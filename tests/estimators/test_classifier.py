"""The classifier against the definition of its parts: refits, deletion, mpmath."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

import oracle
from pnml import InputError, PNMLClassifier


@pytest.fixture
def three(rng):
    """Rows of three classes that overlap."""
    y = np.repeat([0, 1, 2], 20)
    return rng.normal(size=(60, 3)) + 1.5 * y[:, None] * [1.0, 0.0, -1.0] + [3.0, 0.0, 0.0], y


def logits(model, x):
    """Logits of a fitted logistic regression, from its coefficients."""
    z = model.coef_ @ x + model.intercept_
    return np.append(0.0, z) if len(z) == 1 else z


def leverage_by_refit(X, x, alpha, intercept, weights=None):
    pull = oracle.pull_by_refit(X, x, alpha, intercept, weights)
    return pull / (1 - pull)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("alpha", [0.0, 0.3, "auto"])
def test_regret_is_the_definition_with_a_refit_for_the_leverage(three, alpha, classes, weighted):
    X, y = three[0][three[1] < classes], three[1][three[1] < classes]
    rng = np.random.default_rng(5)
    w = rng.uniform(0.5, 3, size=len(X)) if weighted else None
    model = PNMLClassifier(LogisticRegression(C=0.25), alpha=alpha).fit(X, y, sample_weight=w)
    base = LogisticRegression(C=0.25).fit(X, y, sample_weight=w)
    penalty = 4.0 if alpha == "auto" else alpha
    assert model.alpha_ == penalty
    for x in 3 * rng.normal(size=(6, 3)):
        h = leverage_by_refit(X, x, penalty, True, w)
        truth = oracle.single_layer_regret(logits(base, x), h)
        assert model.regret(x[None])[0] == pytest.approx(truth, rel=1e-9)
        p = [float(v) for v in oracle.class_probabilities_in_digits(logits(base, x))]
        genies = np.array(oracle.single_layer_genies(p, h / (1 + h)))
        np.testing.assert_allclose(model.predict_proba(x[None])[0], genies / genies.sum())


def test_rows_of_unit_norm_have_no_bias_and_no_centre(three):
    X, y = three
    x = np.array([2.0, -1.0, 4.0])
    model = PNMLClassifier(alpha=0.5, normalize=True).fit(X, y)
    U = X / np.linalg.norm(X, axis=1, keepdims=True)
    h = leverage_by_refit(U, x / np.linalg.norm(x), 0.5, False)
    truth = oracle.single_layer_regret(logits(LogisticRegression().fit(X, y), x), h)
    assert model.regret(x[None])[0] == pytest.approx(truth, rel=1e-9)
    assert np.isfinite(model.regret(np.zeros((1, 3))))[0]


def test_without_a_penalty_of_its_own_a_millionth_of_each_column_is_taken(three):
    X, y = three
    X = X * [1e5, 1.0, 1e-5]  # trees do not mind the units of a column, and nor must we
    forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    model = PNMLClassifier(RandomForestClassifier(5, random_state=0)).fit(X, y)
    unit = np.linalg.norm(X - X.mean(0), axis=0)
    for x in X[::10] * 1.5:
        h = leverage_by_refit(X / unit, x / unit, 1e-6, True)
        with np.errstate(divide="ignore"):
            log_p = np.log(forest.predict_proba(x[None])[0])
        assert model.regret(x[None])[0] == pytest.approx(
            oracle.single_layer_regret(log_p, h), rel=1e-8
        )


@pytest.mark.parametrize("alpha", [0.0, 0.7])
def test_left_out_leverage_is_that_among_the_other_rows(three, alpha):
    X, y = three
    model = PNMLClassifier(alpha=alpha).fit(X, y)
    for i in range(0, 60, 7):
        h = leverage_by_refit(np.delete(X, i, 0), X[i], alpha, True)
        truth = oracle.single_layer_regret(logits(model.estimator_, X[i]), h)
        assert model.loo_.leverages[i] == pytest.approx(h, rel=1e-9)
        assert model.loo_.regrets[i] == pytest.approx(truth, rel=1e-9)
        p = [float(v) for v in oracle.class_probabilities_in_digits(logits(model.estimator_, X[i]))]
        genies = np.array(oracle.single_layer_genies(p, h / (1 + h)))
        loss = -np.log(genies[y[i]] / genies.sum())
        assert model.loo_.log_losses[i] == pytest.approx(loss, rel=1e-9)
    assert model.loo_.log_loss == pytest.approx(model.loo_.log_losses.mean())


def test_of_a_heavy_row_one_copy_is_left_out(three):
    X, y = three
    w = np.ones(60)
    w[0], w[1], w[2] = 3.0, 0.5, 0.0
    model = PNMLClassifier(alpha=0.2).fit(X, y, sample_weight=w)
    for i, rest in ((0, 2.0), (1, 0.0), (3, 0.0)):
        without = w.copy()
        without[i] = rest
        used = without > 0
        h = leverage_by_refit(X[used], X[i], 0.2, True, without[used])
        assert model.loo_.leverages[i] == pytest.approx(h, rel=1e-9)


def test_a_row_of_no_weight_is_as_good_as_absent(three):
    X, y = three
    w = np.ones(60)
    w[::4] = 0
    options = {"estimator": LogisticRegression(tol=1e-12, max_iter=1000)}
    with_zeros = PNMLClassifier(**options).fit(X, y, sample_weight=w)
    without = PNMLClassifier(**options).fit(X[w > 0], y[w > 0])
    np.testing.assert_allclose(with_zeros.regret(2 * X), without.regret(2 * X), rtol=1e-6)
    assert with_zeros.loo_.threshold(0.9) == pytest.approx(without.loo_.threshold(0.9), rel=1e-6)


@pytest.mark.parametrize("alpha", [0.0, "auto"])
def test_a_direction_never_seen_raises_the_regret_and_costs_the_trust(rng, alpha):
    town = rng.integers(0, 3, size=90)
    X = np.column_stack([rng.normal(size=90), np.eye(4)[town]])  # nobody from the fourth town
    y = (X[:, 0] + 0.5 * rng.normal(size=90) > 0).astype(int)
    model = PNMLClassifier(alpha=alpha).fit(X, y)
    known, new = np.append(1.5, np.eye(4)[0])[None], np.append(1.5, np.eye(4)[3])[None]
    assert model.regret(new)[0] > 5 * model.regret(known)[0]
    assert model.trusted(known)[0]
    assert not model.trusted(new)[0]
    probabilities = model.predict_proba(np.vstack([known, new]))
    assert probabilities.max(axis=1)[1] < probabilities.max(axis=1)[0]
    assert model.explain(new)[0, 4] > 100 * model.explain(known)[0, 4]


def test_infinite_leverage_has_the_largest_regret_that_there_is_and_no_trust(rng):
    X = np.column_stack([rng.normal(size=40), np.zeros(40)])
    X[0, 1] = 1.0  # alone in its direction, and so of no use for the threshold
    y = (X[:, 0] > 0).astype(int)
    model = PNMLClassifier(alpha=0.0).fit(X, y)
    assert np.isinf(model.loo_.leverages[0])
    assert np.isfinite(model.loo_.leverages[1:]).all()
    assert model.loo_.regrets[0] > model.loo_.threshold(1.0)
    never = PNMLClassifier(alpha=0.0).fit(X[1:], y[1:])
    p = np.exp(never.estimator_.predict_log_proba([[0.5, 1.0]])[0])
    assert never.regret([[0.5, 1.0]])[0] == pytest.approx(np.log(np.sum(1 / (2 - p))), rel=1e-9)
    assert not never.trusted([[0.5, 1.0]], level=1.0)[0]
    assert np.isinf(never.explain([[0.5, 1.0]])[0, 1])


DATA = [load_iris, load_wine, load_breast_cancer]
BASES = [
    make_pipeline(StandardScaler(), LogisticRegression()),
    RandomForestClassifier(30, random_state=0),
    GaussianNB(),
]


@pytest.mark.parametrize("load", DATA)
@pytest.mark.parametrize("base", BASES, ids=["logistic", "forest", "bayes"])
def test_on_real_tables_it_predicts_as_before_and_knows_strange_rows(load, base):
    X, y = load(return_X_y=True)
    X_train, X_test, y_train, _ = train_test_split(X, y, random_state=0, stratify=y)
    model = PNMLClassifier(base).fit(X_train, y_train)
    before = clone(base).fit(X_train, y_train)
    np.testing.assert_array_equal(model.predict(X_test), before.predict(X_test))
    assert model.score(X_test, before.predict(X_test)) == 1.0
    strange = X_test + 10 * X_train.std(axis=0)
    assert model.trusted(X_test).mean() > 0.85
    assert model.trusted(strange).mean() < 0.05  # however sure the classifier inside is
    bound = np.log((len(model.classes_) + 1) / 2)
    assert np.all(model.regret(strange) <= bound + 1e-12)
    np.testing.assert_allclose(
        model.relative_regret(X_test), model.regret(X_test) / np.log(len(model.classes_))
    )


def test_what_is_returned_hangs_together(three):
    X, y = three
    labels = np.array(["low", "mid", "high"])[y]
    model = PNMLClassifier().fit(X, labels)
    p = model.predict_proba(X)
    assert model.classes_.tolist() == ["high", "low", "mid"]
    assert p.shape == (60, 3)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-14)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), p, rtol=1e-14)
    np.testing.assert_array_equal(model.predict(X), model.classes_[p.argmax(axis=1)])
    shares = model.explain(X)
    assert np.all(shares >= 0)
    leverage = model.spectrum_.leverage(X, model.alpha_)
    np.testing.assert_allclose(shares.sum(axis=1), leverage - 1 / 60, rtol=1e-10)


def test_confident_rows_of_two_classes_are_still_told_apart():
    X = np.linspace(-3, 3, 40)[:, None]
    model = PNMLClassifier(LogisticRegression(C=1e4, max_iter=1000)).fit(X, X[:, 0] > 0)
    far = np.array([[20.0], [21.0], [22.0]])
    assert np.all(model.estimator_.predict_proba(far)[:, 0] == 0)  # 1 − p has run out of digits
    for x, found in zip(far, model.regret(far), strict=True):
        h = leverage_by_refit(X, x, 1e-4, True)
        truth = oracle.single_layer_regret(logits(model.estimator_, x), h)
        assert found == pytest.approx(truth, rel=1e-9)


def test_rows_in_single_precision_get_regrets_in_single_precision(three):
    X, y = three
    model = PNMLClassifier().fit(X.astype(np.float32), y)
    assert model.regret(X.astype(np.float32)).dtype == np.float32
    assert model.explain(X.astype(np.float32)).dtype == np.float32
    assert model.predict_proba(X.astype(np.float32)).dtype == np.float64
    np.testing.assert_allclose(model.regret(X), PNMLClassifier().fit(X, y).regret(X), rtol=1e-4)


@pytest.fixture
def table(rng):
    """A table with numbers, gaps and words."""
    n = 120
    frame = pd.DataFrame(
        {
            "age": rng.normal(50, 10, size=n),
            "dose": rng.normal(size=n),
            "town": rng.choice(["Ghent", "Turin"], size=n),
        }
    )
    y = np.where(frame["dose"] + 0.5 * rng.normal(size=n) > 0, "ill", "well")
    frame.loc[3, "age"] = np.nan
    return frame, y


def pipeline(sparse=False):
    encode = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["age", "dose"]),
        (OneHotEncoder(sparse_output=sparse), ["town"]),
        sparse_threshold=1.0 if sparse else 0.0,
    )
    return make_pipeline(encode, LogisticRegression())


def test_of_a_pipeline_the_last_step_decides_what_a_row_looks_like(table):
    X, y = table
    model = PNMLClassifier(pipeline()).fit(X, y)
    steps = clone(pipeline()).fit(X, y)
    by_hand = PNMLClassifier().fit(steps[:-1].transform(X), y)
    np.testing.assert_allclose(model.regret(X), by_hand.regret(steps[:-1].transform(X)), rtol=1e-9)
    assert model.feature_names_in_.tolist() == ["age", "dose", "town"]
    assert model.n_features_in_ == 3
    assert model.explain(X).shape == (120, 4)
    assert [name.split("__")[-1] for name in model.explain_names_] == [
        "age",
        "dose",
        "town_Ghent",
        "town_Turin",
    ]
    assert model.set_params(estimator__logisticregression__C=2.0).estimator[-1].C == 2.0


def test_sparse_features_are_the_same_features(table):
    X, y = table
    dense, sparse = (PNMLClassifier(pipeline(sparse=s)).fit(X, y) for s in (False, True))
    np.testing.assert_allclose(sparse.regret(X), dense.regret(X), rtol=1e-6)


def test_steps_that_name_no_features_get_numbered_ones(three):
    X, y = three
    model = PNMLClassifier(make_pipeline(FunctionTransformer(np.tanh), GaussianNB())).fit(X, y)
    assert model.explain_names_.tolist() == ["x0", "x1", "x2"]
    alone = PNMLClassifier(make_pipeline(make_pipeline(GaussianNB()))).fit(X, y)
    assert alone.explain(X).shape == X.shape


def test_weights_reach_the_last_step_of_a_pipeline(three):
    X, y = three
    w = np.random.default_rng(1).integers(1, 4, size=60).astype(float)
    steps = make_pipeline(FunctionTransformer(), LogisticRegression(tol=1e-10))
    model = PNMLClassifier(steps).fit(X, y, sample_weight=w)
    plain = PNMLClassifier(LogisticRegression(tol=1e-10)).fit(X, y, sample_weight=w)
    np.testing.assert_allclose(model.regret(X), plain.regret(X), rtol=1e-12)


def test_a_frame_stays_a_frame_for_the_classifier_inside(three):
    X, y = three
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    inside = make_pipeline(make_column_transformer(("passthrough", ["a", "c"])), GaussianNB())
    model = PNMLClassifier(CalibratedClassifierCV(inside)).fit(frame, y)
    assert model.explain_names_.tolist() == ["a", "b", "c"]
    assert model.regret(frame).shape == (60,)
    with pytest.raises(InputError, match="feature names should match"):
        model.regret(frame[["b", "a", "c"]])


def test_a_fitted_classifier_goes_in_frozen(three):
    X, y = three
    base = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    frozen = PNMLClassifier(FrozenEstimator(base)).fit(X[:50], y[:50])
    assert frozen.estimator_.estimator[-1] is base[-1]
    assert frozen.classes_.tolist() == [0, 1, 2]
    with pytest.raises(InputError, match="not among the classes"):
        PNMLClassifier(FrozenEstimator(base)).fit(X, y + 1)


def test_its_settings_can_be_searched(three):
    X, y = three
    search = GridSearchCV(PNMLClassifier(LogisticRegression()), {"estimator__C": [0.1, 1.0]}, cv=3)
    assert search.fit(X, y).best_estimator_.regret(X).shape == (60,)


class Shy(ClassifierMixin, BaseEstimator):
    """A classifier whose fit takes no weights, and whose classes may have probability 0."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        p = np.zeros((len(X), len(self.classes_)))
        p[:, 0] = 1.0
        return p


def test_classes_of_probability_0_stay_at_0(three):
    X, y = three
    model = PNMLClassifier(Shy()).fit(X, y)
    assert model.predict_proba(X[:1]).tolist() == [[1.0, 0.0, 0.0]]
    assert model.predict_log_proba(X[:1])[0, 1] == -np.inf
    assert model.regret(X[:1])[0] == 0
    assert model.loo_.log_losses[-1] == np.inf
    neighbours = PNMLClassifier(KNeighborsClassifier(3)).fit(X, y)
    assert np.isfinite(neighbours.regret(X)).all()


BAD = {
    "no probabilities": (lambda X, y: PNMLClassifier(LinearSVC()).fit(X, y), "Calibrated"),
    "a regressor": (lambda X, y: PNMLClassifier(Ridge()).fit(X, y), "Ridge without predict_proba"),
    "one class": (lambda X, y: PNMLClassifier().fit(X, 0 * y), "one class only"),
    "one class that counts": (
        lambda X, y: PNMLClassifier().fit(X, y, sample_weight=(y == 1) * 1.0),
        "one class only",
    ),
    "amounts": (lambda X, y: PNMLClassifier().fit(X, y + 0.5), "Unknown label type"),
    "a label that is no number": (
        lambda X, y: PNMLClassifier().fit(X, np.where(y == 1, np.inf, y)),
        "Input y contains infinity .* .row 20.",
    ),
    "a missing label": (
        lambda X, y: PNMLClassifier().fit(X, np.where(y == 1, np.nan, y)),
        "Input y contains NaN .row 20.",
    ),
    "several labels": (lambda X, y: PNMLClassifier().fit(X, np.c_[y, y]), "1d array"),
    "no labels": (lambda X, y: PNMLClassifier().fit(X, None), "requires y to be passed"),
    "fewer labels": (lambda X, y: PNMLClassifier().fit(X, y[1:]), "60 rows but y has 59"),
    "another method": (lambda X, y: PNMLClassifier(method="refit").fit(X, y), 'method="analytic"'),
    "a negative penalty": (lambda X, y: PNMLClassifier(alpha=-1).fit(X, y), "at least 0"),
    "a word as penalty": (lambda X, y: PNMLClassifier(alpha="loo").fit(X, y), '"auto"'),
    "a number as flag": (lambda X, y: PNMLClassifier(normalize=1).fit(X, y), "True or False"),
    "weights": (
        lambda X, y: PNMLClassifier(Shy()).fit(X, y, sample_weight=np.ones(60)),
        "Shy counts every row once",
    ),
    "a gap": (lambda X, y: PNMLClassifier().fit(np.where(X[4, 1] == X, np.nan, X), y), "row 4"),
    "a gap later": (
        lambda X, y: PNMLClassifier().fit(X, y).regret([[0.0, np.nan, 1.0]]),
        "column 1",
    ),
    "a gap in a pipeline": (
        lambda X, y: (
            PNMLClassifier(make_pipeline(FunctionTransformer(), Shy()))
            .fit(X, y)
            .regret([[0.0, np.nan, 1.0]])
        ),
        "X after the first steps contains NaN",
    ),
    "one row as a vector": (
        lambda X, y: (
            PNMLClassifier(make_pipeline(FunctionTransformer(), Shy())).fit(X, y).regret(X[0])
        ),
        "Reshape your data",
    ),
    "other columns": (
        lambda X, y: (
            PNMLClassifier(make_pipeline(FunctionTransformer(), Shy())).fit(X, y).regret(X[:, 1:])
        ),
        "same columns as in fit",
    ),
    "fewer labels for a pipeline": (
        lambda X, y: PNMLClassifier(make_pipeline(FunctionTransformer(), Shy())).fit(X, y[1:]),
        "60 rows but y has 59",
    ),
    "no such quantile": (lambda X, y: PNMLClassifier().fit(X, y).trusted(X, level=2), "quantile"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_gets_one_sentence_that_says_what_to_do(name, three):
    run, words = BAD[name]
    with pytest.raises(InputError, match=words) as caught:
        run(*three)
    assert str(caught.value).endswith(".")
