"""Learning curves: how accurate a model gets, label by label, when a strategy picks the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pnml.active.candidates import IntArray
from pnml.active.checks import as_array, check_count, check_seed
from pnml.active.curve_log import Forgetful, LineLog, Log, fingerprint
from pnml.active.curve_results import LearningCurves
from pnml.active.progress import Progress, reporting
from pnml.active.strategies import Round, Strategy, chosen
from pnml.active.trained import dropout_models, features_of, predicted
from pnml.core.arrays import FloatArray
from pnml.errors import InputError

STRATEGIES = ("random", "core-set", "BALD", "EPIG", "DIAL")
# What a seed is split into.
_START, _CANDIDATES, _TARGETS, _TRAINING = range(4)

Train = Callable[[Any, Any, int], Any]  # inputs, labels, seed → model
# model, temperature, seed → what gives log-probabilities (M, n, C) of inputs
Models = Callable[[Any, float, int], Callable[[Any], FloatArray]]


@dataclass(frozen=True)
class _Task:
    """Data and sizes of a run."""

    train: Train
    inputs: Any  # the pool; rows from `known` on are out of distribution
    labels: Any  # of the known rows
    test: Any
    test_labels: npt.NDArray[Any]
    models: Models
    features: Callable[[Any, Any], FloatArray]
    start: int
    step: int
    candidates: int
    targets: int

    @property
    def known(self) -> int:
        return len(self.labels)


def active_learning_curve(
    train: Train,
    x: Any,
    y: Any,
    x_test: Any,
    y_test: Any,
    *,
    x_ood: Any = None,
    strategies: Sequence[str | Strategy] = STRATEGIES,
    seeds: Sequence[int] = (0, 1, 2),
    start: int = 10,
    stop: int = 100,
    step: int = 1,
    candidates: int = 512,
    targets: int = 512,
    models: Models = dropout_models,
    features: Callable[[Any, Any], FloatArray] = features_of,
    log: Log | str | Path | None = None,
    stamp: str = "",
    progress: Progress = None,
) -> LearningCurves:
    """Accuracy of a model after every round of labels that each strategy asks for.

    In a round the model is trained from scratch on the labels so far and tested; then the
    strategy picks `step` of a few candidates from the pool. Everything random is a function of the
    seed and the round alone, so that strategies begin with the same labels, see the same
    candidates (but for those they have bought), the same targets and the same dropout masks.

    Parameters
    ----------
    train : callable
        From inputs, labels and a seed to a trained model: a PyTorch network that gives logits, or
        anything with ``predict``. It must take its randomness from the seed.
    x, y : arrays or tensors (n, ...) and (n,)
        The pool and its labels, which are looked up when they are bought.
    x_test, y_test : arrays or tensors
        Rows on which accuracy is measured. Targets are drawn from them, without labels.
    x_ood : array or tensor, optional
        Rows of the pool that are of no class. To pick one costs a label, but it is not trained on.
    strategies : sequence of str or Strategy
        Names (random, core-set, entropy, margin, BALD, EPIG, DIAL; "DIAL, batch") or strategies.
    seeds : sequence of int, default=(0, 1, 2)
        Each is a run of all strategies; all of one before the next.
    start, stop, step : int, default=10, 100, 1
        Labels at first, as evenly over classes as can be, at last, and to buy in each round.
    candidates, targets : int, default=512
        How many rows of the pool and of the test rows are drawn for each round.
    models : callable, optional
        From model, temperature and seed to a source of log-probabilities (M, n, C); by default
        a hundred passes of `MCDropout`.
    features : callable, optional
        From model and inputs to the features (n, d) of core-set; by default what the last layer of
        a network sees.
    log : path, optional
        File of JSON lines to which every round is written; a run that was interrupted goes on
        after the last of them, and more strategies, seeds or labels may be asked for.
    stamp : str, optional
        What else the numbers depend on, such as the settings of `train`: a log with another stamp
        is refused.
    progress : callable, bool or None
        A function of (done, total) rounds, or whether a bar is shown; None shows one on a terminal.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from pnml.active import Ensemble
    >>> X, y = load_iris(return_X_y=True)
    >>> def train(X, y, seed):
    ...     return RandomForestClassifier(5, random_state=seed % 2**32).fit(X, y)
    >>> def models(forest, temperature, seed):
    ...     return Ensemble(forest.estimators_, temperature)
    >>> curves = active_learning_curve(
    ...     train,
    ...     X[::2],
    ...     y[::2],
    ...     X[1::2],
    ...     y[1::2],
    ...     start=3,
    ...     stop=5,
    ...     models=models,
    ...     seeds=[0, 1],
    ...     strategies=["random", "BALD"],
    ... )
    >>> curves.labels, curves.accuracy["BALD"].shape
    (array([3, 4, 5]), (2, 3))
    """
    rules = chosen(strategies)
    sown = tuple(check_seed(seed) for seed in seeds)
    pool, labels, truth = _checked(x, y, x_test, y_test, x_ood)
    task = _Task(
        train=train,
        inputs=pool,
        labels=labels,
        test=x_test,
        test_labels=truth,
        models=models,
        features=features,
        start=check_count("start", start, len(labels), "labelled rows in the pool"),
        step=check_count("step", step),
        candidates=check_count("candidates", candidates),
        targets=check_count("targets", targets),
    )
    sizes = _sizes(task, stop)
    held = _log(log, stamp, task)
    done: dict[str, list[tuple[FloatArray, IntArray]]] = {rule.name: [] for rule in rules}
    total = len(sown) * len(rules) * len(sizes)
    with reporting(progress, total, "Learning") as advance:
        for seed in sown:
            for rule in rules:
                done[rule.name].append(_run(task, rule, seed, len(sizes), held, advance))
    accuracy = {name: np.stack([found[0] for found in each]) for name, each in done.items()}
    strange = {name: np.stack([found[1] for found in each]) for name, each in done.items()}
    return LearningCurves(sown, sizes, accuracy, strange)


def _run(
    task: _Task,
    rule: Strategy,
    seed: int,
    rounds: int,
    log: Log,
    advance: Callable[[int], None],
) -> tuple[FloatArray, IntArray]:
    """Accuracy (R,), and picks out of distribution so far (R,), of one strategy and seed."""
    bought = _first_rows(task, seed)
    accuracy, strange = np.empty(rounds), np.empty(rounds, dtype=np.intp)
    for t in range(rounds):
        now = _Now(task, seed, t, bought)
        strange[t] = np.count_nonzero(bought >= task.known)
        accuracy[t] = log.piece(f"{seed} {rule.name} {t} accuracy", now.accuracy)
        if t < rounds - 1:
            picks = log.piece(f"{seed} {rule.name} {t} picks", partial(now.picks, rule))
            bought = np.append(bought, np.array(picks, dtype=np.intp))
        advance(1)
    return accuracy, strange


@dataclass(frozen=True)
class _Now:
    """A round of a run; the model is trained when something is asked for that is not known."""

    task: _Task
    seed: int
    number: int
    bought: IntArray

    @cached_property
    def model(self) -> Any:
        rows = self.bought[self.bought < self.task.known]
        return self.task.train(self.task.inputs[rows], self.task.labels[rows], self._training)

    def accuracy(self) -> float:
        labels = predicted(self.model, self.task.test)
        return float(np.mean(labels == self.task.test_labels))

    def picks(self, rule: Strategy) -> list[int]:
        offered = self._offered()
        picked = np.asarray(rule.pick(self._round(offered), self.task.step))
        fits = picked.shape == (self.task.step,) and picked.dtype.kind in "iu"
        if not fits or len(set(picked.tolist()) & set(range(len(offered)))) < self.task.step:
            raise InputError(
                f"The strategy {rule.name} picked {picked.tolist()} of {len(offered)} candidates, "
                f"but {self.task.step} positions, all different, are needed; return such."
            )
        found: list[int] = offered[picked].tolist()
        return found

    @property
    def _training(self) -> int:
        return int(self._chance(_TRAINING).integers(2**31))

    def _round(self, offered: IntArray) -> Round:
        task = self.task
        asked = self._chance(_TARGETS).permutation(len(task.test))[: task.targets]
        return Round(
            candidates=task.inputs[offered],
            targets=task.test[asked],
            bought=task.inputs[self.bought],
            models=lambda temperature: task.models(self.model, temperature, self._training),
            features=partial(task.features, self.model),
        )

    def _offered(self) -> IntArray:
        """Rows of the pool; the same for all strategies but for those they have bought."""
        order = self._chance(_CANDIDATES).permutation(len(self.task.inputs))
        left = order[~np.isin(order, self.bought)]
        return left[: max(self.task.candidates, self.task.step)]

    def _chance(self, what: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, what, self.number])


def _first_rows(task: _Task, seed: int) -> IntArray:
    """Known rows, as evenly over classes as can be, in random order."""
    order = np.random.default_rng([seed, _START]).permutation(task.known)
    labels = as_array(task.labels, "labels")[order]
    turn = np.empty(len(order), dtype=np.intp)  # the how-manieth of its class
    for label in np.unique(labels):
        of_label = np.flatnonzero(labels == label)
        turn[of_label] = np.arange(len(of_label))
    return order[np.argsort(turn, kind="stable")[: task.start]]


def _sizes(task: _Task, stop: int) -> IntArray:
    """Labels paid for in each round (R,)."""
    stop = check_count("stop", stop, len(task.inputs), "rows in the pool")
    if stop < task.start:
        raise InputError(
            f"stop is {stop} but the run starts with {task.start} labels; pass a larger stop."
        )
    return np.arange(task.start, stop + 1, task.step)


def _log(log: Log | str | Path | None, stamp: str, task: _Task) -> Log:
    if log is None:
        return Forgetful()
    if not isinstance(log, str | Path):
        return log
    numbers = f"{task.start} {task.step} {task.candidates} {task.targets} {task.known}"
    data = (task.inputs, task.labels, task.test, task.test_labels)
    return LineLog(Path(log), fingerprint(*data, numbers, stamp))


def _checked(
    x: Any, y: Any, x_test: Any, y_test: Any, x_ood: Any
) -> tuple[Any, Any, npt.NDArray[Any]]:
    """The whole pool, the labels of its known rows, and those of the test rows."""
    for rows, labels, name in ((x, y, "pool"), (x_test, y_test, "test rows")):
        if not all(hasattr(part, "shape") for part in (rows, labels)):
            raise InputError(
                f"The {name} came as {type(rows).__name__} and {type(labels).__name__}, but arrays "
                "or tensors are needed; convert them."
            )
        if len(rows) != len(labels) or len(rows) == 0:
            raise InputError(
                f"The {name} are {len(rows)} but have {len(labels)} labels; pass one for each, "
                "and at least one."
            )
    truth = as_array(y_test, "labels")
    if x_ood is None:
        return x, y, truth
    if tuple(x_ood.shape[1:]) != tuple(x.shape[1:]):
        raise InputError(
            f"The rows out of distribution have shape {tuple(x_ood.shape[1:])}, those of the pool "
            f"{tuple(x.shape[1:])}; bring both to one shape."
        )
    return _joined(x, x_ood), y, truth


def _joined(x: Any, more: Any) -> Any:
    if isinstance(x, np.ndarray):
        return np.concatenate([x, as_array(more, "rows out of distribution")])
    import torch

    return torch.cat([x, torch.as_tensor(more, dtype=x.dtype, device=x.device)])
