"""DIAL and other criteria as one would write them down first."""

from __future__ import annotations

import numba
import numpy as np

from benchmarks.timing import FloatArray


@numba.njit
def literal_scores(candidates: FloatArray, targets: FloatArray) -> FloatArray:
    """Scores (N, C) by six loops, compiled; models are on the last axis, where they are scanned."""
    N, C, M = candidates.shape
    scores = np.zeros((N, C))
    for i in range(N):
        for j in range(C):
            for k in range(len(targets)):
                normaliser = 0.0
                for c in range(C):
                    best, winner = -np.inf, 0
                    for m in range(M):
                        total = targets[k, c, m] + candidates[i, j, m]
                        if total > best:
                            best, winner = total, m
                    normaliser += np.exp(targets[k, c, winner])
                scores[i, j] += np.log(normaliser)
    return scores


@numba.njit
def max_plus(a: FloatArray, b: FloatArray, out: FloatArray) -> None:
    """Add max over m of a[r, m] + b[m, k] to out (R, L): the product without the winner.

    Four rows and three m at a time, as our kernel has them; R is a multiple of four.
    """
    M, L = b.shape
    best = np.empty((4, L))
    b0, b1, b2, b3 = best[0], best[1], best[2], best[3]
    for r in range(0, len(a), 4):
        for k in range(L):
            b0[k], b1[k] = a[r, 0] + b[0, k], a[r + 1, 0] + b[0, k]
            b2[k], b3[k] = a[r + 2, 0] + b[0, k], a[r + 3, 0] + b[0, k]
        m = 1
        while m + 3 <= M:
            a00, a01, a02 = a[r, m], a[r, m + 1], a[r, m + 2]
            a10, a11, a12 = a[r + 1, m], a[r + 1, m + 1], a[r + 1, m + 2]
            a20, a21, a22 = a[r + 2, m], a[r + 2, m + 1], a[r + 2, m + 2]
            a30, a31, a32 = a[r + 3, m], a[r + 3, m + 1], a[r + 3, m + 2]
            for k in range(L):
                x, y, z = b[m, k], b[m + 1, k], b[m + 2, k]
                b0[k] = max(max(a00 + x, a01 + y), max(a02 + z, b0[k]))
                b1[k] = max(max(a10 + x, a11 + y), max(a12 + z, b1[k]))
                b2[k] = max(max(a20 + x, a21 + y), max(a22 + z, b2[k]))
                b3[k] = max(max(a30 + x, a31 + y), max(a32 + z, b3[k]))
            m += 3
        while m < M:
            for k in range(L):
                b0[k], b1[k] = max(a[r, m] + b[m, k], b0[k]), max(a[r + 1, m] + b[m, k], b1[k])
                b2[k] = max(a[r + 2, m] + b[m, k], b2[k])
                b3[k] = max(a[r + 3, m] + b[m, k], b3[k])
            m += 1
        for k in range(L):
            out[r, k] += b0[k]
            out[r + 1, k] += b1[k]
            out[r + 2, k] += b2[k]
            out[r + 3, k] += b3[k]


def max_plus_scores(candidates: FloatArray, targets: FloatArray, lanes: int = 128) -> FloatArray:
    """All maxima (N, C) summed: what no way of finding the winners too can beat."""
    M, N, C = candidates.shape
    a = np.ascontiguousarray(candidates.transpose(1, 2, 0)).reshape(N * C, M)
    rows = a[: len(a) // 4 * 4]
    found = np.zeros(len(rows))
    for start in range(0, targets.shape[1], lanes):
        part = targets[:, start : start + lanes]
        blocks = [np.ascontiguousarray(part[:, :, c]) for c in range(C)]
        for row in range(0, len(rows), 256):
            some = rows[row : row + 256]
            out = np.zeros((len(some), part.shape[1]))
            for b in blocks:
                max_plus(some, b, out)
            found[row : row + 256] += out.sum(axis=1)
    return found


def dense_scores(candidates: FloatArray, targets: FloatArray) -> FloatArray:
    """Scores (N, C) with all sums (M, N, C, K, C) held at once, as the published code does."""
    totals = candidates[:, :, :, None, None] + targets[:, None, None]
    winner = totals.argmax(axis=0)  # (N, C, K, C)
    K, C = targets.shape[1:]
    p = np.exp(targets)[winner, np.arange(K)[:, None], np.arange(C)]
    return np.log(p.sum(axis=-1)).sum(axis=-1)


def bald(candidates: FloatArray) -> FloatArray:
    """Mutual information (N,) of a candidate's label and the model."""
    p = np.exp(candidates)
    return _entropy(p.mean(axis=0)) - _entropy(p).mean(axis=0)


def epig(candidates: FloatArray, targets: FloatArray) -> FloatArray:
    """Expected information (N,) of a candidate's label on those of the targets."""
    M, N, C = candidates.shape
    p, q = np.exp(candidates).reshape(M, -1), np.exp(targets).reshape(M, -1)
    joint = (p.T @ q / M).reshape(N, C, -1, C)
    apart = p.mean(axis=0).reshape(N, C, 1, 1) * q.mean(axis=0).reshape(1, 1, -1, C)
    return (joint * (np.log(joint) - np.log(apart))).sum(axis=(1, 3)).mean(axis=1)


def _entropy(p: FloatArray) -> FloatArray:
    return -(p * np.log(p)).sum(axis=-1)
