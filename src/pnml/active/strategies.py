"""Strategies that pick some of a round's candidates, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np

from pnml.active.acquisition import (
    bald_scores,
    best_of,
    entropy_scores,
    epig_scores,
    k_center,
    margin_scores,
    ual_scores,
)
from pnml.active.checks import IntArray
from pnml.active.dial import dial_select, dial_select_batch
from pnml.core.arrays import FloatArray
from pnml.errors import InputError

# Default temperature of DIAL.
DIAL_TEMPERATURE = 5.0


@dataclass(frozen=True)
class Round:
    """One round of active learning as a strategy sees it: candidates, targets, labelled rows.

    Candidates are the rows that can be labelled, targets the rows that are to be predicted.

    >>> logs = np.log([[[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]], [[0.8, 0.2], [0.3, 0.7], [0.1, 0.9]]])
    >>> data = Round(np.arange(3), np.arange(3), np.arange(1), lambda t: lambda x: logs[:, x], None)
    >>> data.logp_candidates().shape
    (2, 3, 2)
    """

    candidates: Any  # inputs (N, ...), in random order
    targets: Any  # inputs (K, ...)
    bought: Any  # inputs (L, ...) labelled so far
    models: Callable[[float], Callable[[Any], FloatArray]]  # temperature → inputs → (M, n, C)
    features: Callable[[Any], FloatArray]  # inputs → (n, d)

    def logp_candidates(self, temperature: float = 1.0) -> FloatArray:
        """Log-probabilities (M, N, C) of the N candidates by M models, at a temperature."""
        return self.models(temperature)(self.candidates)

    def logp_targets(self, temperature: float = 1.0) -> FloatArray:
        """Log-probabilities (M, K, C) of the K targets by the same models, at a temperature."""
        return self.models(temperature)(self.targets)


@dataclass(frozen=True)
class Strategy:
    """A strategy: a name, and a rule that picks positions (n,) among a round's candidates.

    `pick` takes the `Round` and n.

    >>> last = Strategy("the last", lambda data, n: np.arange(len(data.candidates))[-n:])
    >>> last.pick(Round(np.zeros((5, 1)), None, None, None, None), 2)
    array([3, 4])
    """

    name: str
    pick: Callable[[Round, int], IntArray]


def at_random(name: str = "random") -> Strategy:
    """Strategy that picks random candidates.

    >>> at_random().pick(Round(np.zeros((5, 1)), None, None, None, None), 2)
    array([0, 1])
    """
    return Strategy(name, lambda data, n: np.arange(n))


def by_core_set(name: str = "core-set") -> Strategy:
    """Strategy that picks candidates far from all labelled rows, by features. Eq. (I24).

    >>> rows = np.array([[0.0], [1.0], [5.0]])
    >>> data = Round(rows, rows, rows[:1], None, lambda x: x)
    >>> by_core_set().pick(data, 1)
    array([2])
    """

    def pick(data: Round, n: int) -> IntArray:
        return k_center(data.features(data.candidates), data.features(data.bought), n)

    return Strategy(name, pick)


def by_entropy(name: str = "entropy") -> Strategy:
    """Strategy that picks candidates with the most uncertain label. Eq. (I20).

    >>> logs = np.log([[[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]], [[0.8, 0.2], [0.3, 0.7], [0.1, 0.9]]])
    >>> data = Round(np.arange(3), np.arange(3), np.arange(1), lambda t: lambda x: logs[:, x], None)
    >>> by_entropy().pick(data, 1)
    array([1])
    """
    return Strategy(name, lambda data, n: best_of(entropy_scores(data.logp_candidates()), n))


def by_margin(name: str = "margin") -> Strategy:
    """Strategy that picks candidates whose two most probable labels are closest. Eq. (I21).

    >>> logs = np.log([[[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]], [[0.8, 0.2], [0.3, 0.7], [0.1, 0.9]]])
    >>> data = Round(np.arange(3), np.arange(3), np.arange(1), lambda t: lambda x: logs[:, x], None)
    >>> by_margin().pick(data, 1)
    array([1])
    """
    return Strategy(name, lambda data, n: best_of(margin_scores(data.logp_candidates()), n))


def by_bald(name: str = "BALD") -> Strategy:
    """Strategy that picks candidates whose label tells most about the model. Eq. (I22).

    >>> logs = np.log([[[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]], [[0.8, 0.2], [0.3, 0.7], [0.1, 0.9]]])
    >>> data = Round(np.arange(3), np.arange(3), np.arange(1), lambda t: lambda x: logs[:, x], None)
    >>> by_bald().pick(data, 1)
    array([1])
    """
    return Strategy(name, lambda data, n: best_of(bald_scores(data.logp_candidates()), n))


def by_epig(name: str = "EPIG") -> Strategy:
    """Strategy that picks candidates whose label tells most about the targets' labels. Eq. (I23).

    >>> logs = np.log([[[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]], [[0.8, 0.2], [0.3, 0.7], [0.1, 0.9]]])
    >>> data = Round(np.arange(3), np.arange(3), np.arange(1), lambda t: lambda x: logs[:, x], None)
    >>> by_epig().pick(data, 1)
    array([1])
    """

    def pick(data: Round, n: int) -> IntArray:
        return best_of(epig_scores(data.logp_candidates(), data.logp_targets()), n)

    return Strategy(name, pick)


def by_ual(name: str = "UAL") -> Strategy:
    """Strategy that picks candidates after which targets tell least about the model. Eq. (I26).

    After the label of the candidate, the labels of the targets would say least more about the
    model.

    >>> logs = np.log([[[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]], [[0.8, 0.2], [0.3, 0.7], [0.1, 0.9]]])
    >>> data = Round(np.arange(3), np.arange(3), np.arange(1), lambda t: lambda x: logs[:, x], None)
    >>> by_ual().pick(data, 1)
    array([1])
    """

    def pick(data: Round, n: int) -> IntArray:
        return best_of(ual_scores(data.logp_candidates(), data.logp_targets()), n)

    return Strategy(name, pick)


def by_dial(temperature: float = DIAL_TEMPERATURE, name: str = "DIAL") -> Strategy:
    """Strategy that picks candidates whose worst label lowers the targets' regret most. Eq. (I3).

    The worst label is the one that lowers it least. Logits are divided by the temperature.

    >>> logs = np.log([[[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]], [[0.8, 0.2], [0.3, 0.7], [0.1, 0.9]]])
    >>> data = Round(np.arange(3), np.arange(3), np.arange(1), lambda t: lambda x: logs[:, x], None)
    >>> by_dial().pick(data, 1)
    array([0])
    """
    return _dial_strategy(name, temperature, dial_select)


def by_dial_batch(temperature: float = DIAL_TEMPERATURE, name: str = "DIAL, batch") -> Strategy:
    """Strategy that picks as `by_dial`, each pick given the earlier ones. Eq. (I5).

    >>> logs = np.log([[[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]], [[0.8, 0.2], [0.3, 0.7], [0.1, 0.9]]])
    >>> data = Round(np.arange(3), np.arange(3), np.arange(1), lambda t: lambda x: logs[:, x], None)
    >>> by_dial_batch().pick(data, 1)
    array([0])
    """
    return _dial_strategy(name, temperature, dial_select_batch)


def _dial_strategy(name: str, temperature: float, select: Callable[..., IntArray]) -> Strategy:
    def pick(data: Round, n: int) -> IntArray:
        logs = data.logp_candidates(temperature), data.logp_targets(temperature)
        return select(*logs, n, progress=False)

    return Strategy(name, pick)


NAMED = {
    strategy.name: strategy
    for strategy in (
        at_random(),
        by_core_set(),
        by_entropy(),
        by_margin(),
        by_bald(),
        by_epig(),
        by_ual(),
        by_dial(),
        by_dial_batch(),
    )
}


def strategies_of(given: Sequence[str | Strategy]) -> tuple[Strategy, ...]:
    """Tuple of strategies, from names or objects; raises InputError for unknown or equal names.

    >>> [strategy.name for strategy in strategies_of(["BALD", by_dial(1.0, "DIAL, T = 1")])]
    ['BALD', 'DIAL, T = 1']
    """
    if isinstance(given, str | Strategy):
        given = [given]
    strategies = tuple(rule if isinstance(rule, Strategy) else _named(rule) for rule in given)
    names = [strategy.name for strategy in strategies]
    twice = next((name for name in names if names.count(name) > 1), None)
    if not strategies or twice is not None:
        what = "no strategies" if twice is None else f"two strategies of the name {twice}"
        raise InputError(
            f"There are {what}, but curves are told apart by name; pass at least one, each with "
            "a name of its own."
        )
    return strategies


def _named(name: Any) -> Strategy:
    if name not in NAMED:
        similar = get_close_matches(str(name), NAMED, n=1)
        hint = f"did you mean {similar[0]!r}?" if similar else f"pass one of {', '.join(NAMED)}."
        raise InputError(f"There is no strategy {name!r}; {hint}")
    return NAMED[name]
