"""The genie in its C logits alone, with the rest of the objective approximated by a parabola."""

from __future__ import annotations

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.core.softmax import log_softmax

_STEPS, _HALVINGS = 50, 30
_SETTLED = 1e-9


def fixed_point(
    logits: FloatArray, reach: FloatArray, target: FloatArray, own: FloatArray
) -> FloatArray:
    """Fixed point u (P, C) of u = target − own·softmax(logits + A u), by Newton. Eq. (H5).

    u is the pull of one added row and label on the C logits of that row, for P rows with a label,
    if the rest of the objective is approximated by a parabola. It gives the first step of a refit.

    Parameters
    ----------
    logits : array (P, C)
        Of the rows, before the label is added.
    reach : array (P, C, C)
        A: change of these logits per unit of pull.
    target, own : arrays (P, C) and (P,)
        One-hot label and 1 for a new row; new minus old one-hot label and 0 for a training row.

    Examples
    --------
    >>> one = np.ones(1)
    >>> fixed_point(np.zeros((1, 2)), np.eye(2)[None], np.eye(2)[:1], one).round(3)
    array([[ 0.337, -0.337]])
    """
    u = np.zeros_like(logits)
    if not np.any(own):
        return target.copy()
    eye = np.eye(logits.shape[1])
    merit = _merit(u, logits, reach, target, own)
    for _ in range(_STEPS):
        q = np.exp(log_softmax(logits + _times(reach, u)))
        rest = u + own[:, None] * q - target
        if np.abs(rest).max() < _SETTLED:
            break
        S = own[:, None, None] * (q[:, :, None] * eye - q[:, :, None] * q[:, None, :])
        step = np.linalg.solve(eye + S @ reach, -rest[..., None])[..., 0]
        length = np.ones(len(u))
        for _ in range(_HALVINGS):
            new_merit = _merit(u + length[:, None] * step, logits, reach, target, own)
            worse = ~(new_merit <= merit + 1e-12 * np.abs(merit))
            if not worse.any():
                break
            length[worse] *= 0.5
        u = u + length[:, None] * step
        merit = new_merit
    return u


def _times(reach: FloatArray, u: FloatArray) -> FloatArray:
    return np.asarray((reach @ u[..., None])[..., 0])


def _merit(
    u: FloatArray, logits: FloatArray, reach: FloatArray, target: FloatArray, own: FloatArray
) -> FloatArray:
    """½ uᵀAu + own·LSE(z) − ⟨z, target⟩ at z = logits + A u; the fixed point minimises it."""
    moved = _times(reach, u)
    z = logits + moved
    top = z.max(axis=1)
    lse = top + np.log(np.sum(np.exp(z - top[:, None]), axis=1))
    value: FloatArray = 0.5 * np.sum(u * moved, axis=1) + own * lse - np.sum(z * target, axis=1)
    return value
