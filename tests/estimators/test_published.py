"""Published numbers on the distribution-shift sets, where the data are at hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from pnml import PNMLRegressor


def shifted(folder, name):
    """Rows standardised on the training part; targets as they are."""
    data = np.load(folder / "shift" / f"{name}.npz")
    scaler = StandardScaler().fit(data["X_train"])
    X, X_new = scaler.transform(data["X_train"]), scaler.transform(data["X_test"])
    return X, data["y_train"].ravel(), X_new, data["y_test"].ravel()


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "printed"),
    [("wine", 1.012), ("parkinson", 12.792), ("fire", 82.715), ("fertility", 0.399)],
)
def test_least_squares_has_the_printed_error_on_shifted_sets(name, printed, data_dir):
    X, y, X_new, y_new = shifted(data_dir, name)
    error = np.sqrt(np.mean((PNMLRegressor().fit(X, y).predict(X_new) - y_new) ** 2))
    assert error == pytest.approx(printed, abs=6e-4)


@pytest.mark.data
def test_regret_tells_red_wine_from_the_white_it_was_trained_on(data_dir):
    X, y, X_new, _ = shifted(data_dir, "wine")
    model = PNMLRegressor().fit(X, y)
    white, red = model.loo_.regrets, model.regret(X_new)
    labels = np.repeat([0, 1], [len(white), len(red)])
    assert roc_auc_score(labels, np.concatenate([white, red])) == pytest.approx(0.986, abs=1e-3)
    assert np.mean(red > np.quantile(white, 0.9)) > 0.99
    assert model.trusted(X_new).mean() < model.trusted(X).mean() / 2
