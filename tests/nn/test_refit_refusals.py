"""Bad input to a refit is answered in one sentence that says what to do."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from pnml.errors import InputError
from pnml.nn import FineTuning, RefitLastLayerPNML

HEAD = nn.Linear(6, 4).requires_grad_(False)
X = torch.randn(20, 6, generator=torch.Generator().manual_seed(0))
Y = torch.arange(20) % 4


def fit(labels, rows=X):
    return RefitLastLayerPNML(HEAD, alpha=1.0).fit([(rows, labels)])


def with_nan():
    rows = X.clone()
    rows[3, 0] = torch.nan
    return rows


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 6), nn.Linear(6, 4)

    def forward(self, first, second):
        return self.b(self.a(first + second))


REFUSED = {
    "no labels": (lambda: RefitLastLayerPNML(HEAD).fit([X]), "Batch 0 has no labels"),
    "a tuple for a loader": (lambda: RefitLastLayerPNML(HEAD).fit((X, Y)), "Batch 0 has no labels"),
    "labels that are floats": (lambda: fit(Y.float()), "torch.float32 and shape .20,."),
    "labels that are one-hot": (lambda: fit(torch.eye(4)[Y].long()), r"shape \(20, 4\), but one"),
    "labels that are too few": (lambda: fit(Y[:9]), r"shape \(9,\)"),
    "labels that are words": (lambda: fit(["a"] * 20), "labels that are no numbers"),
    "unknown label": (lambda: fit(Y + 1), "labels from 1 to 4, but the network has 4 classes"),
    "negative label": (lambda: fit(Y - 1), "labels from -1 to 2"),
    "no rows": (lambda: fit(Y[:0], X[:0]), "nothing to fit"),
    "no batches": (lambda: RefitLastLayerPNML(HEAD).fit([]), "nothing to fit"),
    "one class": (
        lambda: RefitLastLayerPNML(nn.Linear(6, 1)).fit([(X, 0 * Y)]),
        "one output, .* needs two classes",
    ),
    "rows of one class": (lambda: fit(0 * Y + 2), "All training rows are of class 2"),
    "classes that can be told apart, without a penalty": (
        lambda: RefitLastLayerPNML(HEAD, alpha=0).fit([(4.0 * nn.functional.one_hot(Y, 6), Y)]),
        "log 4 = 1.386 everywhere; pass alpha above 0",
    ),
    "an input and a keyword": (
        lambda: fit(Y)(X, other=X),
        "beside the keyword other, .* by keywords, or as one dict",
    ),
    "words for features": (
        lambda: RefitLastLayerPNML(HEAD).fit_features([["a"] * 6], Y[:1]),
        "cannot be read as rows of equally many numbers",
    ),
    "NaN in training": (lambda: fit(Y, with_nan()), "Batch 0 gives features that are NaN .* row 3"),
    "NaN to score": (lambda: fit(Y)(with_nan()), "The input gives features that are NaN"),
    "features that are a row": (
        lambda: RefitLastLayerPNML(HEAD).fit_features(X[0], Y[:1]),
        "rows of features are needed",
    ),
    "features of another width": (
        lambda: RefitLastLayerPNML(HEAD).fit_features(X[:, :3], Y),
        "features have 3 columns, but the last layer takes 6",
    ),
    "head": (
        lambda: RefitLastLayerPNML.from_embeddings(np.eye(3), np.zeros(2), np.eye(3), [0, 1, 2]),
        r"weight has shape \(3, 3\) and the bias \(2,\)",
    ),
    "scoring before fit": (lambda: RefitLastLayerPNML(HEAD)(X), "seen no training rows"),
    "threshold before fit": (lambda: RefitLastLayerPNML(HEAD).regret_threshold(), "no training"),
    "nothing to score": (lambda: fit(Y).score([]), "nothing to score"),
    "alpha": (lambda: RefitLastLayerPNML(HEAD, alpha=-1), "alpha is -1"),
    "alpha that is a word": (lambda: RefitLastLayerPNML(HEAD, alpha="loo"), "alpha is 'loo'"),
    "alpha that is NaN": (lambda: RefitLastLayerPNML(HEAD, alpha=np.nan), "alpha is nan"),
    "alpha of fine-tuning": (
        lambda: RefitLastLayerPNML(HEAD, alpha=1.0, layers=2),
        r"alpha is 1.0, .*FineTuning\(weight_decay",
    ),
    "tol": (lambda: RefitLastLayerPNML(HEAD, tol=0), "tol is 0"),
    "negative tol": (lambda: RefitLastLayerPNML(HEAD, tol=-1), "tol is -1"),
    "layers": (lambda: RefitLastLayerPNML(HEAD, layers=0), "layers is 0"),
    "layers that are a word": (lambda: RefitLastLayerPNML(HEAD, layers="two"), "layers is 'two'"),
    "sample": (lambda: RefitLastLayerPNML(HEAD, sample=0), "sample is 0"),
    "tuning": (lambda: RefitLastLayerPNML(HEAD, tuning={"epochs": 3}), "tuning is a dict"),
    "epochs": (lambda: FineTuning(epochs=1.5), "epochs is 1.5"),
    "rate": (lambda: FineTuning(learning_rate=-1), "learning_rate is -1"),
    "too many layers": (
        lambda: RefitLastLayerPNML(HEAD, layers=2).fit([(X, Y)]),
        "layers is 2, but only 1 layers with weights ran",
    ),
    "a tail that is a function": (
        lambda: RefitLastLayerPNML(None, (nn.Identity(), lambda z: HEAD(z)), layers=2).fit(
            [(X, Y)]
        ),
        "is a function, but its weights are to be trained",
    ),
    "features for a model that is cut": (
        lambda: RefitLastLayerPNML(nn.Sequential(HEAD), layers=2).fit_features(X, Y),
        "Features alone do not tell",
    ),
    "inputs of several parts": (
        lambda: RefitLastLayerPNML(Twice(), layers=2).fit([({"first": X, "second": X}, Y)]),
        "pass layer=.front, tail., two modules",
    ),
    "positions for fine-tuning": (
        lambda: RefitLastLayerPNML(HEAD, layers="all").fit([(X[None], Y[None])]),
        r"logits have shape \(1, 20, 4\)",
    ),
    "inputs of several sizes": (
        lambda: RefitLastLayerPNML(
            nn.Sequential(
                nn.Conv2d(1, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2)
            ),
            layers="all",
        ).fit([(torch.zeros(1, 1, 8, 8), Y[:1]), (torch.zeros(1, 1, 9, 9), Y[:1])]),
        r"rows of shape \(1, 9, 9\), but those before have \(1, 8, 8\)",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_refused_in_one_sentence(case):
    act, message = REFUSED[case]
    with pytest.raises(InputError, match=message) as caught:
        act()
    said = str(caught.value)
    assert said.endswith((".", ")")) or '"' in said
    assert "\n" not in said


@pytest.mark.parametrize("level", [0, 1.5, "high", None])
def test_a_level_that_is_no_quantile_is_refused(level):
    with pytest.raises(InputError, match="pass a number above 0 and at most 1"):
        fit(Y).trusted(X, level=level)


def test_labels_of_an_output_are_checked():
    out = fit(Y)(X[:2])
    with pytest.raises(InputError, match="labels from 0 to 4"):
        out.log_loss(torch.tensor([0, 4]))
    with pytest.raises(InputError, match="one whole number for each"):
        out.log_loss(torch.tensor([0]))


def test_nothing_scored_is_an_empty_output():
    out = fit(Y)(X[:0])
    assert out.regret.shape == (0,)
    assert out.log_prob.shape == (0, 4)
