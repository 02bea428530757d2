"""Tables with a constant, a dead column, a sum and one-hot columns, and rows that break these."""

from __future__ import annotations

import numpy as np

CONSTANT, DEAD, SUM, HOT = 2, 3, 4, slice(5, 8)


def table(n, seed=0, offset=0.0, unit=1.0):
    """Rows (n, 8): x0, x1, a constant, a dead column, x0 + x1, and three one-hot columns."""
    rng = np.random.default_rng(seed)
    free = rng.normal(size=(n, 2))
    word = np.eye(3)[rng.integers(0, 3, n)]
    X = np.column_stack([free, np.full(n, 4.0), np.zeros(n), free.sum(axis=1), word])
    return X * unit + offset


def labels(X, task):
    """Numbers, or one of two classes, that the rows say something about."""
    rng = np.random.default_rng(1)
    spread = X[:, 0].std()
    signal = (X[:, 0] - X[:, 0].mean()) / spread + 0.5 * rng.normal(size=len(X))
    return signal if task == "regression" else np.where(signal > 0, "high", "low")


def broken(X, offset=0.0, unit=1.0):
    """Ordinary rows with one thing in them that no training row had, by its name."""
    changes = {}
    for name, columns, step in (
        ("a constant column changes", CONSTANT, 1.0),
        ("a dead column wakes", DEAD, 1.0),
        ("a dead column hardly wakes", DEAD, 1e-3),
        ("a sum is broken", SUM, 1.0),
        ("a sum is broken by little", SUM, -0.01),
    ):
        rows = X.copy()
        rows[:, columns] += step * unit
        changes[name] = rows
    none, two = X.copy(), X.copy()
    none[:, HOT] = offset
    two[:, HOT] = np.array([1.0, 1.0, 0.0]) * unit + offset
    return changes | {"no word": none, "two words": two}
