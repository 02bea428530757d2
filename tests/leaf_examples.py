"""Small tables for trees, and the checks that every leaf map passes."""

from __future__ import annotations

import numpy as np


def table(n=200, seed=0):
    """Rows, a target, and three classes of it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=n) / 10
    return X, y, (y > -0.5).astype(int) + (y > 0.5)


def with_gaps(X, seed=0):
    gap = np.random.default_rng(seed).random(X.shape) < 0.1
    return np.where(gap, np.nan, X)


def check_ids(leaves, leaf):
    """Every leaf is one of its tree's, and together they are all that are counted."""
    assert leaf.dtype == np.int64
    assert leaf.flags.c_contiguous
    assert leaves.ends.dtype == np.int64
    assert leaf.shape[1] == len(leaves.ends) - 1
    assert np.all(leaf >= leaves.ends[:-1])
    assert np.all(leaf < leaves.ends[1:])
    assert len(leaves.branches.leaves) == leaves.ends[-1]


def check_same_parts(leaf, truth):
    """The two numberings put the same rows together in every tree."""
    assert leaf.shape == truth.shape
    for ours, theirs in zip(leaf.T, truth.T, strict=True):
        pairs = {*zip(ours.tolist(), theirs.tolist(), strict=True)}
        assert len(pairs) == len(set(ours.tolist())) == len(set(theirs.tolist()))
