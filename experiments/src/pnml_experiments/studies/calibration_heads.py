"""Linear heads with known test rows, and the probabilities and scores that they give to rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from pnml.core.arrays import FloatArray
from pnml.core.softmax import Categorical, log_softmax, predictive
from pnml.estimators.classifier import PNMLClassifier
from pnml_experiments.framework.data import arrays, data_path, is_here
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.stored_files import CLINC, RESNET20
from pnml_experiments.studies.uci_draws import standardised

SEED = 0
SOFTMAX, TEMPERATURE, FRESH = "softmax", "temperature", "temperature, other test rows"
PNML, UNIT, REFITTED = "pNML", "pNML, scale 1", "pNML, refitted"
REGRET, UNIT_REGRET, LEVERAGE, DOUBT = "regret", "regret, scale 1", "leverage", "1 − confidence"
_ITERATIONS = 5_000
_CLINC_PENALTY = 10.0  # C of the logistic regression on sentences

Labels = npt.NDArray[np.intp]
# Rows (n, d) → probabilities and regret.
Judge = Callable[[FloatArray], Categorical]


@dataclass(frozen=True)
class Head:
    """A trained linear head, the rows it was trained with, and rows to judge it by."""

    weight: FloatArray  # (C, d)
    bias: FloatArray  # (C,)
    train: FloatArray  # (n, d)
    test: FloatArray  # (m, d)
    labels: Labels  # (m,)
    held: tuple[FloatArray, Labels]  # logits (k, C) and labels (k,) that the temperature is from
    back: Callable[[FloatArray], FloatArray]  # noisy rows → where rows can be
    pnml: PNMLClassifier | None = None  # of a logistic regression; that of a network is made of it
    seen: bool = False  # whether the temperature is from rows that the head was trained with
    refitted: Judge | None = None  # the same with genies trained to the end, of two classes

    def logits(self, rows: FloatArray) -> FloatArray:
        """Logits (n, C) of rows."""
        return np.asarray(rows @ self.weight.T + self.bias)

    def noisy(self, strength: float) -> FloatArray:
        """Test rows with normal noise of so many standard deviations of each training column."""
        noise = np.random.default_rng(SEED).normal(size=self.test.shape)
        rows = self.test + strength * self.train.std(axis=0) * noise
        return self.back(rows) if strength else self.test


@dataclass(frozen=True)
class Judged:
    """What the methods say of rows."""

    probs: Mapping[str, FloatArray]  # method → (m, C)
    scores: Mapping[str, FloatArray]  # score → (m,), high where a row is doubted


def judged(head: Head) -> Callable[[FloatArray], Judged]:
    """What turns rows (m, d), test rows or noisy ones in the same order, into what is said."""
    from pnml.nn import LastLayerPNML

    layer = LastLayerPNML.from_embeddings(head.weight, head.bias, head.train)
    unit = LastLayerPNML.from_embeddings(
        head.weight, head.bias, head.train, scale=1.0, regions=False
    )
    held = temperature(*head.held)
    fresh = np.empty((len(head.labels), 1))  # of each half of the test rows from the other
    own = head.logits(head.test)
    for half in (0, 1):
        fresh[half::2] = temperature(own[1 - half :: 2], head.labels[1 - half :: 2])

    def judge(rows: FloatArray) -> Judged:
        z, at_one = head.logits(rows), unit.score_features(rows)
        scaled = predictive(log_softmax(head.logits(_unit(rows))), at_one.leverage.numpy())
        mine = _own(head, layer, rows)
        probs = {
            SOFTMAX: np.exp(log_softmax(z)),
            TEMPERATURE: np.exp(log_softmax(z / held)),
            FRESH: np.exp(log_softmax(z / fresh)),
            PNML: mine.probs,
            UNIT: scaled.prob,
        }
        if head.refitted is not None:
            probs[REFITTED] = head.refitted(rows).prob
        scores = {
            REGRET: mine.regret,
            UNIT_REGRET: at_one.regret.numpy(),
            LEVERAGE: mine.leverage,
            DOUBT: 1 - probs[SOFTMAX].max(axis=1),
        }
        return Judged(probs, scores)

    return judge


class _Own(NamedTuple):
    probs: FloatArray  # (m, C)
    regret: FloatArray  # (m,)
    leverage: FloatArray  # (m,)


def _own(head: Head, layer: Any, rows: FloatArray) -> _Own:
    """What pNML says with its defaults."""
    if head.pnml is None:
        found = layer.score_features(rows)
        return _Own(*(one.numpy() for one in (found.probs, found.regret, found.leverage)))
    said = head.pnml.predict_dist(rows)
    return _Own(said.prob, said.regret, head.pnml.spectrum_.leverage(rows, head.pnml.alpha_))


def temperature(logits: FloatArray, labels: Labels) -> float:
    """What logits (n, C) must be divided by for the least log-loss of labels (n,).

    >>> z = np.log([[0.9, 0.1]] * 4)  # right three times of four, so a confidence of 0.75 is meant
    >>> T = temperature(z, np.array([0, 0, 0, 1]))
    >>> np.exp(log_softmax(z / T))[0].round(3)
    array([0.75, 0.25])
    """

    def loss(log_t: float) -> float:
        log_p = log_softmax(logits * np.exp(-log_t))
        return -float(np.mean(log_p[np.arange(len(labels)), labels]))

    return float(np.exp(minimize_scalar(loss, bounds=(-5.0, 5.0), method="bounded").x))


def _two_columns(values: FloatArray) -> FloatArray:
    """One output of two classes, or its weight, as two outputs with the same softmax."""
    return np.stack([-values / 2, values / 2])


def _logistic(penalty: float) -> LogisticRegression:
    return LogisticRegression(C=penalty, max_iter=_ITERATIONS)


def logistic_head(
    train: FloatArray, given: Labels, test: FloatArray, labels: Labels, penalty: float
) -> Head:
    """A logistic regression, and logits of training rows by fits to the other four fifths."""
    fit = _logistic(penalty)
    pnml = PNMLClassifier(fit).fit(train, given)
    weight, bias = pnml.estimator_.coef_, pnml.estimator_.intercept_
    out = cross_val_predict(fit, train, given, cv=5, method="decision_function")
    if len(bias) == 1:
        weight, bias, out = _two_columns(weight[0]), _two_columns(bias[0]), _two_columns(out).T
    return Head(weight, bias, train, test, labels, (out, given), lambda rows: rows, pnml)


def _halves(
    X: FloatArray, y: Labels, most: int | None
) -> tuple[FloatArray, Labels, FloatArray, Labels]:
    order = np.random.default_rng(SEED).permutation(len(y))
    train, test = np.split(order, [len(y) // 2])
    return X[train], y[train], X[test[:most]], y[test[:most]]


def breast_cancer(penalty: float, most: int | None) -> Head:
    """Half of the rows for training, the others for test; columns in training units."""
    X, y = load_breast_cancer(return_X_y=True)
    train, given, test, labels = _halves(X, y, most)
    test, train = standardised(test, train), standardised(train, train)
    head = logistic_head(train, given, test, labels, penalty)
    exact = PNMLClassifier(_logistic(penalty), method="refit").fit(train, given)
    return replace(head, refitted=exact.predict_dist)


def digits(penalty: float, most: int | None) -> Head:
    """Half of the rows for training, the others for test; pixels from 0 to 1."""
    X, y = load_digits(return_X_y=True)
    train, given, test, labels = _halves(X / 16, y, most)
    head = logistic_head(train, given, test, labels, penalty)
    return replace(head, back=lambda rows: np.clip(rows, 0.0, 1.0))


def clinc(train: int | None, most: int | None, out: Output) -> Head | None:
    """Sentences as unit vectors; the temperature is from the published validation rows."""
    if not is_here(CLINC):
        return None
    stored = arrays(CLINC)
    step = 1 if train is None else len(stored["x_train"]) // train  # rows come sorted by intent
    rows, given = stored["x_train"][::step].astype(float), stored["y_train"][::step].astype(int)

    def fitted() -> dict[str, npt.NDArray[Any]]:
        fit = _logistic(_CLINC_PENALTY).fit(rows, given)
        return {"weight": fit.coef_, "bias": fit.intercept_}

    told = (data_path(CLINC), f"C={_CLINC_PENALTY} step={step}")
    weight, bias = (out.arrays("clinc150-calibration", told, fitted)[k] for k in ("weight", "bias"))
    chosen = np.random.default_rng(SEED).permutation(len(stored["x_test"]))[:most]
    held = stored["x_val"].astype(float) @ weight.T + bias, stored["y_val"].astype(np.intp)
    test, labels = stored["x_test"][chosen].astype(float), stored["y_test"][chosen].astype(np.intp)
    return Head(weight, bias, rows, test, labels, held, _unit)


def _unit(rows: FloatArray) -> FloatArray:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def resnet20(train: int | None, most: int | None) -> Head | None:
    """Stored features of CIFAR-10; the network has seen all training rows."""
    if not is_here(RESNET20):
        return None
    stored = arrays(RESNET20)
    weight, bias = stored["fc_weight"].astype(float), stored["fc_bias"].astype(float)
    rows = stored["f_cifar10_train"][:train].astype(float)
    held = rows @ weight.T + bias, stored["y_cifar10_train"][:train].astype(np.intp)
    test = stored["f_cifar10_test"][:most].astype(float)
    labels = stored["y_cifar10_test"][:most].astype(np.intp)
    # features are means of what a ReLU lets through
    return Head(weight, bias, rows, test, labels, held, lambda z: np.maximum(z, 0.0), seen=True)
