"""Feature sets with a last layer: two that are read, and one of any size that is made up."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

from benchmarks.ood_rivals import Trained
from benchmarks.timing import FloatArray

# Rows of the two sets that are read: the ordinary ones for the test, and outliers by name.
_OODS = ("cifar100_test", "svhn_test", "tiny_resize", "tiny_crop", "gaussian", "uniform")


@dataclass(frozen=True)
class FeatureSet:
    """Training features and their last layer, ordinary rows for the test, and outliers."""

    name: str
    made: Trained
    ind: FloatArray
    ood: Mapping[str, FloatArray]
    near: str  # the outliers that are most like the ordinary rows


def resnet20() -> FeatureSet | None:
    """ResNet-20 features of CIFAR-10 and of six other sets, with the network's own last layer."""
    file = _read("cifar10_resnet20")
    if file is None:
        return None
    made = Trained(
        file["f_cifar10_train"].astype(float),
        file["y_cifar10_train"].astype(np.intp),
        file["fc_weight"].astype(float),
        file["fc_bias"].astype(float),
    )
    ood = {name: file[f"f_{name}"].astype(float) for name in _OODS}
    test = file["f_cifar10_test"].astype(float)
    return FeatureSet("CIFAR-10, ResNet-20", made, test, ood, "cifar100_test")


def clinc150() -> FeatureSet | None:
    """Sentence embeddings of intents and of queries out of scope; a logistic regression on top."""
    file = _read("clinc150_minilm")
    if file is None:
        return None
    X, y = file["x_train"].astype(float), file["y_train"].astype(np.intp)
    head = LogisticRegression(C=10, max_iter=1000).fit(X, y)
    made = Trained(X, y, head.coef_, head.intercept_)
    test, ood = file["x_test"].astype(float), {"out of scope": file["x_oos_test"].astype(float)}
    return FeatureSet("CLINC150, MiniLM", made, test, ood, "out of scope")


@lru_cache(maxsize=2)
def made_up(rows: int, width: int, classes: int) -> tuple[Trained, FloatArray]:
    """Rectified clusters, one to a class, and a fifth as many new rows."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(classes, width))
    y = rng.integers(classes, size=rows)
    X = np.maximum(centres[y] + rng.normal(size=(rows, width)), 0)
    new = np.maximum(centres[rng.integers(classes, size=rows // 5)], 0) + rng.uniform(
        size=(rows // 5, width)
    )
    return Trained(X, y, centres / np.sqrt(width), np.zeros(classes)), new


def dead_units() -> tuple[Trained, FloatArray, FloatArray]:
    """Rows with 16 of 64 units at 0, new rows alike, and rows with nothing but those 16."""
    rng = np.random.default_rng(0)
    alive = np.arange(64) >= 16
    X, ind, ood = (np.maximum(rng.normal(size=(n, 64)), 0) for n in (5000, 1000, 1000))
    made = Trained(X * alive, rng.integers(10, size=5000), rng.normal(size=(10, 64)), np.zeros(10))
    return made, ind * alive, ood * ~alive


def _read(name: str) -> Mapping[str, np.ndarray] | None:
    folder = os.environ.get("PNML_DATA")
    path = Path(folder or "", "features", f"{name}.npz")
    return np.load(path) if folder and path.exists() else None
