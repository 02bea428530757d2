"""Every registered learner under array API dispatch; run as a program by `stack_rows`."""

from __future__ import annotations

import warnings

import numpy as np
import sklearn
import torch
from sklearn.model_selection import cross_val_score

import pnml
from pnml.estimators.registry import every_learner


def rows(task, n=60):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 3))
    signal = X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=n)
    return X, (signal if task == "regression" else (signal > 0).astype(np.int64))


def questions(model):
    asked = ["predict", "regret", "trusted", "explain"]
    optional = ("predict_proba", "predict_interval", "expected_error")
    return asked + [name for name in optional if hasattr(model, name)]


def check(entry):
    X, y = rows(entry.task)
    truth = entry.make().fit(X, y)
    tensor, labels = torch.from_numpy(X), torch.from_numpy(y)
    with sklearn.config_context(array_api_dispatch=True):
        model = entry.make().fit(tensor, labels)
        for name in questions(truth):
            found, wanted = getattr(model, name)(tensor[:9]), getattr(truth, name)(X[:9])
            assert isinstance(found, torch.Tensor), (entry.name, name)
            assert found.device == tensor.device
            np.testing.assert_allclose(
                found.numpy(), wanted, rtol=1e-6, atol=1e-9, err_msg=f"{entry.name} {name}"
            )
        # float32 and a tensor with a gradient go in, too
        single = tensor[:9].float()
        found, wanted = model.regret(single.requires_grad_()), truth.regret(single.detach().numpy())
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-5, atol=1e-6)


def check_a_search():
    """Scores of scikit-learn compare predictions with labels that are tensors."""
    X, y = rows("regression")
    with sklearn.config_context(array_api_dispatch=True):
        tensors = torch.from_numpy(X), torch.from_numpy(y)
        found = cross_val_score(pnml.PNMLRegressor(), *tensors, cv=3)
    np.testing.assert_allclose(found, cross_val_score(pnml.PNMLRegressor(), X, y, cv=3))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for entry in every_learner().values():
        check(entry)
    check_a_search()
