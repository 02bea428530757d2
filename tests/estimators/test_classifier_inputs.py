"""What a classifier is given, and how it refuses what it cannot use."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import LinearSVC

from pnml import PNMLClassifier
from sentences import assert_refused


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
    "one class": (lambda X, y: PNMLClassifier().fit(X, 0 * y), r"one class only \(0\)"),
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
    "another method": (lambda X, y: PNMLClassifier(method="magic").fit(X, y), 'method="refit"'),
    "a method that is no word": (
        lambda X, y: PNMLClassifier(method=["refit"]).fit(X, y),
        "method is",
    ),
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
    assert_refused(lambda: run(*three), words)
