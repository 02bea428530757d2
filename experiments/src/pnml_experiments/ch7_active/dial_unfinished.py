"""Unfinished learning curves: how far each strategy and seed is, and what they show so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from pnml.active import LearningCurves
from pnml_experiments.ch7_active.dial import (
    Setting,
    accuracy_table,
    labels_table,
    paired_table,
    picks_table,
)
from pnml_experiments.framework.unfinished import Shown

_FEWEST = 2  # seeds, or there is no interval


def how_far(setting: Setting, pieces: Mapping[str, Any]) -> str:
    """How many rounds of each strategy and seed are among the finished pieces."""
    rounds = 1 + (setting.stop - setting.start) // setting.step
    said = "; ".join(
        f"seed {seed}: "
        + ", ".join(
            f"{rule.name} {_rounds(pieces, seed, rule.name)}" for rule in setting.strategies
        )
        for seed in setting.runs()
    )
    return f"Rounds of {rounds} that are finished: {said}."


def shown(found: LearningCurves, data: str, pool: str, levels: Sequence[float]) -> Shown:
    """Tables of what is finished; only accuracies that a strategy reached are listed."""
    best = 100 * max(found.band(name).mean.max() for name in found.accuracy)
    reached = [level for level in levels if level <= best]
    tables = [paired_table(found), accuracy_table(found)]
    if pool == "polluted":
        tables.insert(0, picks_table(found))
    if reached:
        tables.insert(0, labels_table(data, pool, reached, found))
    seeds = ", ".join(map(str, found.seeds))
    return Shown(f"up to {found.labels[-1]} labels, seeds {seeds}", tuple(tables))


def finished_curves(
    setting: Setting, pieces: Mapping[str, Any], known: int
) -> LearningCurves | None:
    """The curves of as many seeds and rounds as all strategies have finished.

    Fewer rounds of more seeds, or more of fewer: whichever is more rounds in all; none while only
    one seed has any. Rows of the pool from `known` on are out of distribution.
    """
    names = [rule.name for rule in setting.strategies]
    done = {seed: min(_rounds(pieces, seed, name) for name in names) for seed in setting.runs()}
    rounds_in_all, rounds = max((_in_all(done, each), each) for each in done.values())
    if rounds_in_all == 0:
        return None
    seeds = tuple(seed for seed, finished in done.items() if finished >= rounds)
    accuracy = {
        name: np.array([_accuracies(pieces, seed, name, rounds) for seed in seeds])
        for name in names
    }
    strange = {
        name: np.array([_strange(pieces, seed, name, rounds, known) for seed in seeds])
        for name in names
    }
    labels = setting.start + setting.step * np.arange(rounds)
    return LearningCurves(seeds, labels, accuracy, strange)


def _in_all(done: Mapping[int, int], rounds: int) -> int:
    """Rounds in all if every seed that has this many is cut there; 0 for too few seeds."""
    seeds = sum(finished >= rounds for finished in done.values())
    return seeds * rounds if seeds >= _FEWEST else 0


def _rounds(pieces: Mapping[str, Any], seed: int, name: str) -> int:
    """Finished rounds of one run; every round but the last also has picks."""
    start, end = f"{seed} {name} ", " accuracy"
    return sum(key.startswith(start) and key.endswith(end) for key in pieces)


def _accuracies(pieces: Mapping[str, Any], seed: int, name: str, rounds: int) -> list[float]:
    return [pieces[f"{seed} {name} {t} accuracy"] for t in range(rounds)]


def _strange(pieces: Mapping[str, Any], seed: int, name: str, rounds: int, known: int) -> list[int]:
    """Number of picks out of distribution before each round."""
    picks = [pieces[f"{seed} {name} {t} picks"] for t in range(rounds - 1)]
    return list(accumulate((sum(row >= known for row in each) for each in picks), initial=0))
