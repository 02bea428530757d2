"""The single-layer network: class probabilities and leverage → regret → pNML probabilities.

Log-probabilities come with the classes on the last axis, normalised as a log-softmax leaves them,
and one leverage for each row. numpy arrays and torch tensors alike; all sums are in float64 and
results are float64, since the regrets of confident rows differ below the round-off of float32.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import numpy as np
from array_api_compat import array_namespace, is_numpy_array
from array_api_compat import device as device_of

from pnml.core.arrays import Array, FloatArray

# Stands for −inf, since −inf times a leverage of 0 would be NaN.
_NEVER = -1e300
# A genie's log-probability below this is that of a class of probability 0.
_IMPOSSIBLE = -1e13
# A block of about this many numbers stays in cache from the first product to the last sum.
_BLOCK_NUMBERS = 2**14
# From this many classes on, the regret is computed with two exponentials for a class.
_MANY = 128
# Where the share of the genie's step is below this, they would lose digits.
_SMALL_PULL = 1e-5


@dataclass(frozen=True)
class Categorical:
    """Softmax pNML probabilities of the label of each row, and its regret."""

    log_prob: Array  # (n, C)  nats; the exponentials of a row sum to one
    regret: Array  # (n,)  nats

    @property
    def prob(self) -> Array:
        """Probabilities (n, C) of the classes."""
        return array_namespace(self.log_prob).exp(self.log_prob)


def log_softmax(logits: Array) -> Array:
    """Softmax: log-probabilities of the classes, in float64, from logits of any dtype.

    >>> log_softmax(np.array([[1e4, 0.0]]))
    array([[     0., -10000.]])
    """
    xp = array_namespace(logits)
    z = _float64(logits)
    z = z - xp.max(z, axis=-1, keepdims=True)
    return z - xp.log(_row_sums(xp.exp(z)))[..., None]


def sigmoid_log_probs(logits: Array) -> Array:
    """Log-probabilities (n, L, 2) of no and of yes for L yes-or-no labels, from logits (n, L)."""
    z = _float64(logits)
    xp = array_namespace(z)
    tail = xp.log1p(xp.exp(-xp.abs(z)))
    yes = (z - xp.abs(z)) / 2 - tail  # min(z, 0) with the gradient of the function at 0
    no = -(z + xp.abs(z)) / 2 - tail
    return xp.stack([no, yes], axis=-1)


def pull(leverage: Array) -> Array:
    """Share κ/(1 + κ), from 0 to 1, by which a row's own label moves its prediction. Eq. (F1).

    κ is the leverage; 1 if it is infinite. The softmax genie of a class of probability p raises its
    logit by this share of −log p.

    >>> pull(np.array([0.0, 1.0, np.inf]))
    array([0. , 0.5, 1. ])
    """
    xp = array_namespace(leverage)
    k = _float64(leverage)
    endless = xp.isinf(k)
    k = xp.where(endless, xp.zeros_like(k), k)  # so that gradients there are 0, not NaN
    return xp.where(endless, xp.ones_like(k), k / (1 + k))


def regret(log_p: Array, leverage: Array) -> Array:
    """Regret of each row of softmax probabilities, in nats: 0 ≤ Γ ≤ log((C+1)/2). Eq. (F3).

    `log_p` (n, C) are log-probabilities, `leverage` is (n,). Γ = log Σ_i genie_i, with genie_i the
    probability that the genie told class i gives it; even a Γ of 1e-15 has all its digits.

    >>> regret(np.log([[0.9, 0.1], [0.9, 0.1]]), np.array([0.1, 10.0])).round(3)
    array([0.021, 0.324])
    """
    log_p, leverage = _float64(log_p), _float64(leverage)
    if not is_numpy_array(log_p) or log_p.ndim != 2:
        return _Genies.of(log_p, leverage).regret
    out = np.empty(len(log_p))
    for part in _blocks(log_p):
        out[part] = _Genies.of(log_p[part], leverage[part]).regret
    return out


def regret_of_logits(logits: Array, leverage: Array) -> Array:
    """Regret of each row of a softmax, from logits (n, C) of any dtype, in nats. Eq. (F3).

    It is ``regret(log_softmax(logits), leverage)``. With 128 classes or more and numpy arrays it is
    computed faster, with two exponentials for a class, and within 1e-9 of that.

    >>> regret_of_logits(np.zeros((1, 1000)), np.array([0.1])).round(4)
    array([0.6271])
    """
    if not is_numpy_array(logits) or logits.ndim != 2 or logits.shape[1] < _MANY:
        return regret(log_softmax(logits), leverage)
    step = max(1, 2 * _BLOCK_NUMBERS // logits.shape[1])
    leverage, out = np.asarray(leverage, dtype=float), np.empty(len(logits))
    room = np.empty((2, min(step, len(logits)), logits.shape[1]))
    for start in range(0, len(logits), step):
        part = slice(start, start + step)
        z = room[0, : len(logits[part])]
        np.copyto(z, logits[part])
        out[part] = _regret_in_place(z, room[1, : len(z)], leverage[part])
    exact = ~(pull(leverage) >= _SMALL_PULL) | np.isinf(leverage)
    if exact.any():
        out[exact] = regret(log_softmax(logits[exact]), leverage[exact])
    return out


def _regret_in_place(z: FloatArray, p: FloatArray, leverage: FloatArray) -> FloatArray:
    """Regret of logits z (n, C), which are overwritten; p is room of the same shape.

    With r = pᵘ and a = r − p as in Eq. (F2), 1 − genie = (1 − p)/(1 + a) makes Eq. (F3) the sum of
    a (1 − p)/(1 + a). The difference r − p loses 1/g of the precision, and not more in the sum: of
    the one class whose log p is near 0, 1 − p is near 0 as well.
    """
    u = 1 / (1 + leverage)[:, None]
    with np.errstate(invalid="ignore", under="ignore"):  # NaN in, NaN out
        z -= z.max(axis=1, keepdims=True)
        np.exp(z, out=p)
        total = p.sum(axis=1, keepdims=True)
        p /= total
        z *= u
        z -= u * np.log(total)
        np.exp(z, out=z)
        z -= p
        np.subtract(1.0, p, out=p)
        p *= z
        z += 1.0
        p /= z
    gains: FloatArray = np.log1p(p.sum(axis=1))
    return gains


def genie_log_probs(log_p: Array, leverage: Array) -> Array:
    """Log-probability (n, C) of each class by the softmax genie that is told this class. Eq. (F2).

    From the model's log-probabilities `log_p` (n, C) and the leverage (n,) of the rows.
    """
    return _Genies.of(_float64(log_p), _float64(leverage)).log_probs


def predictive(log_p: Array, leverage: Array) -> Categorical:
    """The pNML probabilities of softmax classes, and the regret, of each row. Eq. (F4).

    From the model's log-probabilities `log_p` (n, C) and the leverage (n,) of the rows.

    >>> predictive(np.log([[0.9, 0.1]]), np.array([np.inf])).prob.round(3)
    array([[0.633, 0.367]])
    """
    log_p, leverage = _float64(log_p), _float64(leverage)
    if not is_numpy_array(log_p) or log_p.ndim != 2:
        return _Genies.of(log_p, leverage).predictive
    out = Categorical(np.empty(log_p.shape), np.empty(len(log_p)))
    for part in _blocks(log_p):
        part_predictive = _Genies.of(log_p[part], leverage[part]).predictive
        out.log_prob[part], out.regret[part] = part_predictive.log_prob, part_predictive.regret
    return out


def sigmoid_regret(logits: Array, leverage: Array) -> Array:
    """Regret (n,) of rows with L yes-or-no labels each, in nats, from logits (n, L). Eq. (F5).

    The labels share the leverage (n,) of their row, and their regrets add up.
    """
    log_p = sigmoid_log_probs(logits)
    n, labels, _ = log_p.shape
    xp = array_namespace(log_p)
    shared = xp.zeros_like(log_p[..., 0]) + _float64(leverage)[:, None]
    label_regrets = regret(xp.reshape(log_p, (n * labels, 2)), xp.reshape(shared, (n * labels,)))
    return xp.sum(xp.reshape(label_regrets, (n, labels)), axis=1)


@dataclass(frozen=True)
class _Genies:
    """One genie for each row and class, with u = 1/(1 + leverage) and g = 1 − u. Eq. (F2)."""

    log_room: Array  # (n, C)  u log p
    room: Array  # (n, C)  r = pᵘ
    lift: Array  # (n, C)  a = r (1 − p^g) = r − p, without cancellation

    @classmethod
    def of(cls, log_p: Array, leverage: Array) -> _Genies:
        xp = array_namespace(log_p)
        log_p = _finite(log_p)
        log_room = (1 / (1 + leverage))[..., None] * log_p
        room = xp.exp(log_room)
        return cls(log_room, room, -room * xp.expm1(pull(leverage)[..., None] * log_p))

    @property
    def regret(self) -> Array:
        """Γ = log(1 + Σ a (1 − genie)). Eq. (F3)."""
        gain = self.lift * (1 - self.room / (1 + self.lift))
        return array_namespace(gain).log1p(_row_sums(gain))

    @property
    def log_probs(self) -> Array:
        """log genie = u log p − log(1 + a). Eq. (F2)."""
        xp = array_namespace(self.lift)
        log_genie = self.log_room - xp.log1p(self.lift)
        return xp.where(log_genie < _IMPOSSIBLE, xp.full_like(log_genie, -np.inf), log_genie)

    @property
    def predictive(self) -> Categorical:
        regret = self.regret
        return Categorical(self.log_probs - regret[..., None], regret)


def _float64(values: Array) -> Array:
    xp = array_namespace(values)
    return xp.astype(values, xp.float64, copy=False)


def _finite(log_p: Array) -> Array:
    """The log-probabilities with −inf replaced by a finite number, where gradients are 0."""
    if is_numpy_array(log_p) and log_p.min(initial=0.0) >= _NEVER:
        return log_p  # reading is cheaper than copying
    return array_namespace(log_p).clip(log_p, _NEVER, None)


def _row_sums(values: Array) -> Array:
    """Sums over the last axis; as a product they are several times faster for a few classes."""
    xp = array_namespace(values)
    ones = xp.ones(values.shape[-1], dtype=values.dtype, device=device_of(values))
    return values @ ones


def _blocks(log_p: Array) -> Iterator[slice]:
    step = max(64, _BLOCK_NUMBERS // max(cast(int, log_p.shape[1]), 1))
    return (slice(start, start + step) for start in range(0, len(log_p), step))
