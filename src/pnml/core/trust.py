"""The one place where a regret becomes a verdict: trusted, or not.

Leave-one-out on the training rows shows which regrets (and, for classifiers and networks,
which leverages) are usual. A new row is trusted if it passes neither threshold. A row whose regret
or leverage is infinite, that has a value unseen in training, or that breaks a linear relation of
the training rows (`pnml.core.relations`) is never trusted.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import array_namespace

from pnml.core.arrays import Array, FloatArray
from pnml.errors import InputError

# Share of the training rows whose regret, each row left out, is at most the threshold.
DEFAULT_LEVEL = 0.99
_ROUND_OFF = 1e-9  # of a share of rows, and of 1 − level


def check_level(level: Any, of: str = "training regrets") -> float:
    """`level` as a float; raises InputError unless it is a number above 0 and at most 1.

    `of` says in the message what the level is a quantile of.

    >>> check_level(0.9)
    0.9
    """
    number = isinstance(level, Real) and not isinstance(level, bool | np.bool_)
    if not number or not 0 < level <= 1:
        raise InputError(
            f"level is {level!r}, but it is a quantile of the {of}; "
            "pass a number above 0 and at most 1, for instance level=0.99."
        )
    return float(level)


class Evidence(NamedTuple):
    """Evidence on n rows, each (n,), from which `Thresholds.trusts` says which are trusted."""

    regret: Any  # nats
    leverage: Any = None  # None: the leverage is not used
    never_seen: Any = None  # whether a row has a value unseen in training; None: no row has one
    excess: Any = None  # distance beyond the training ranges, in their widths; None: not used
    # Share of training rows, each left out, that break the relations of columns which a row breaks:
    # 0 where a constant column changes, inf where the row keeps all; None: no relation is known.
    broken: Any = None


@dataclass(frozen=True)
class Thresholds:
    """Largest regret, leverage and excess of trusted rows. Eqs. (F8), (T20) and (X2).

    Excess is the distance of a row beyond the training ranges of its columns, in their widths.
    """

    regret: float  # nats; −inf where no training row has a finite regret
    leverage: float = np.inf  # inf: the leverage is not used
    excess: float = np.inf  # inf: the excess is not used
    # A relation of columns counts if at most this share of the training rows break it, left out.
    broken: float = 0.0

    def trusts(
        self,
        regret: Array,
        leverage: Array | None = None,
        never_seen: Array | None = None,
        excess: Array | None = None,
        broken: Array | None = None,
    ) -> Any:
        """Whether each row is trusted: booleans of the shape and kind of `regret`.

        The arguments are the fields of `Evidence`; those that are None are not tested.

        >>> Thresholds(0.5).trusts(np.array([0.4, 0.5, 0.6, np.inf]))
        array([ True,  True, False, False])
        """
        trusted = self._passes(regret, self.regret)
        if leverage is not None:
            trusted = trusted & self._passes(leverage, self.leverage)
        if excess is not None:
            trusted = trusted & self._passes(excess, self.excess)
        if broken is not None:
            trusted = trusted & (broken > self.broken + _ROUND_OFF)
        return trusted if never_seen is None else trusted & ~never_seen

    @staticmethod
    def _passes(values: Array, limit: float) -> Any:
        # an infinite value is not trusted, even where the threshold itself is infinite
        return array_namespace(values).isfinite(values) & (values <= limit)


@dataclass(frozen=True)
class Reference:
    """Reference of trust: left-out regrets of training rows to compare new rows with.

    >>> Reference(np.arange(100.0)).thresholds(0.9).regret
    89.0
    """

    regrets: FloatArray  # (n,) nats
    weights: FloatArray | None = None  # (n,) copies of each row; None: one of each
    leverages: FloatArray | None = None  # (n,) if the leverage is used
    excesses: FloatArray | None = None  # (n,) if the excess is used

    def thresholds(self, level: float = DEFAULT_LEVEL) -> Thresholds:
        """Thresholds that a share `level` of training rows do not exceed. Eqs. (F8) and (T20).

        That share keeps to each threshold alone; if `excesses` are given, to all of them together.
        Rows of infinite regret, leverage or excess do not count.
        """
        level = check_level(level)
        if self.excesses is not None:
            return self._shared(level, self.excesses)
        weights = np.ones(len(self.regrets)) if self.weights is None else self.weights
        counts = np.isfinite(self.regrets) & (weights > 0)
        if self.leverages is None:
            regret = _quantile(self.regrets[counts], level, weights[counts])
            return Thresholds(regret, broken=1 - level)
        counts &= np.isfinite(self.leverages)
        return Thresholds(
            _quantile(self.regrets[counts], level, weights[counts]),
            _quantile(self.leverages[counts], level, weights[counts]),
            broken=1 - level,
        )

    def _shared(self, level: float, excesses: FloatArray) -> Thresholds:
        """Thresholds at one quantile, chosen so that a share `level` of the rows passes all."""
        weights = np.ones(len(self.regrets)) if self.weights is None else self.weights
        tests = [self.regrets, excesses]
        if self.leverages is not None:
            tests.append(self.leverages)
        counts = np.all(np.isfinite(tests), axis=0) & (weights > 0)
        values, w = [test[counts] for test in tests], weights[counts]
        ranks = np.max([_ranks(test, w) for test in values], axis=0)
        passes = ranks <= _quantile(ranks, level, w)
        regret, excess, *leverage = (_largest(test[passes]) for test in values)
        return Thresholds(regret, leverage[0] if leverage else np.inf, excess, 1 - level)

    def trusted_share(self, level: float = DEFAULT_LEVEL) -> float:
        """Share of the training rows that are trusted themselves, each left out."""
        limits = self.thresholds(level)
        trusted = limits.trusts(self.regrets, self.leverages, None, self.excesses)
        return float(np.average(trusted, weights=self.weights))


def _quantile(values: FloatArray, level: float, weights: FloatArray) -> float:
    """The smallest value that a share `level` of the weight does not exceed; −inf without any."""
    if not len(values):
        return -np.inf
    return float(np.quantile(values, level, method="inverted_cdf", weights=weights))


def _ranks(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Share of the weight of values that are smaller, for each value; equal values share it."""
    order, place = np.unique(values, return_inverse=True)
    mass = np.bincount(place, weights, len(order))
    out: FloatArray = ((np.cumsum(mass) - mass) / weights.sum())[place]
    return out


def _largest(values: FloatArray) -> float:
    return float(values.max(initial=-np.inf))
