"""Learning curves: accuracy of a model after each round of labels that a strategy picks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from pnml.active.checks import IntArray, as_array
from pnml.active.curve_results import LearningCurves
from pnml.active.strategies import Round, Strategy, strategies_of
from pnml.active.trained_model import dropout_models, features_of, predicted_labels
from pnml.core.arrays import FloatArray
from pnml.errors import InputError
from pnml.runtime.checks import check_count, check_seed
from pnml.runtime.fingerprint import fingerprint
from pnml.runtime.journal import Journal, JournalKind
from pnml.runtime.progress import Progress, reporting

STRATEGIES = ("random", "core-set", "BALD", "EPIG", "DIAL")
# Streams of random numbers of a seed.
_START, _CANDIDATES, _TARGETS, _TRAINING = range(4)
_JOURNAL = JournalKind(
    unwritable="{path} cannot be written ({reason}); name a file in a folder that is there.",
    foreign="{path} holds something else than the rounds of a learning curve; name another file.",
    other=(
        "{path} holds rounds of a run with other data or settings; name another file, or delete "
        "this one."
    ),
)

Train = Callable[[Any, Any, int], Any]  # inputs, labels, seed → model
# model, temperature, seed → function from inputs to log-probabilities (M, n, C)
Models = Callable[[Any, float, int], Callable[[Any], FloatArray]]


class Log(Protocol):
    """Store of the computed values of a learning curve by key, such as a `Journal`."""

    def piece(self, key: str, compute: Callable[[], Any]) -> Any:
        """The JSON value stored under `key`; `compute()` gives it if there is none yet."""
        ...


@dataclass(frozen=True)
class _Task:
    """Data and sizes of a learning curve."""

    train: Train
    inputs: Any  # the pool; rows from `known` on are out of distribution
    labels: Any  # of the rows before `known`
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
    """Learning curve: accuracy of a model after every round of labels a strategy picks.

    In each round the model is trained from scratch on the labels so far and tested; then the
    strategy picks `step` rows from a sample of candidates. All random numbers depend on the seed
    and the round only, so all strategies start with the same labels and see the same candidates
    (except those already labelled), targets and dropout masks.

    Parameters
    ----------
    train : callable
        From inputs, labels and a seed to a trained model: a PyTorch network that gives logits, or
        an object with ``predict``. Its random numbers must depend on the seed only.
    x, y : arrays or tensors (n, ...) and (n,)
        The pool and its labels, which are revealed when a row is picked.
    x_test, y_test : arrays or tensors
        Rows on which accuracy is measured. Targets are sampled from them, without labels.
    x_ood : array or tensor, optional
        Rows of the pool that belong to no class. Picking one costs a label, but does not help
        training.
    strategies : sequence of str or Strategy
        Names (random, core-set, entropy, margin, BALD, EPIG, UAL, DIAL; "DIAL, batch") or
        strategies.
    seeds : sequence of int, default=(0, 1, 2)
        Each seed is a run of all strategies.
    start, stop, step : int, default=10, 100, 1
        Labels at the start (balanced over classes), at the end, and in each round.
    candidates, targets : int, default=512
        Rows of the pool and of the test rows sampled in each round.
    models : callable, optional
        From model, temperature and seed to a function that gives log-probabilities (M, n, C); by
        default a hundred samples of `MCDropout`.
    features : callable, optional
        From model and inputs to the features (n, d) for core-set; by default the input of a
        network's last layer.
    log : path, optional
        File of JSON lines with every finished round. An interrupted run resumes from it, and more
        strategies, seeds or labels can be added later.
    stamp : str, optional
        Anything else that the results depend on, such as the settings of `train`; a log with
        another stamp is refused.
    progress : callable, bool or None
        A function of (done, total) rounds, or whether to show a bar; None shows one on a terminal.

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
    rules = strategies_of(strategies)
    checked_seeds = tuple(check_seed(seed) for seed in seeds)
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
    journal = _log(log, stamp, task)
    runs: dict[str, list[tuple[FloatArray, IntArray]]] = {rule.name: [] for rule in rules}
    total = len(checked_seeds) * len(rules) * len(sizes)
    with reporting(progress, total, "Learning") as advance:
        for seed in checked_seeds:
            for rule in rules:
                runs[rule.name].append(_run(task, rule, seed, len(sizes), journal, advance))
    accuracy = {name: np.stack([run[0] for run in by_seed]) for name, by_seed in runs.items()}
    strange = {name: np.stack([run[1] for run in by_seed]) for name, by_seed in runs.items()}
    return LearningCurves(checked_seeds, sizes, accuracy, strange)


def _run(
    task: _Task,
    rule: Strategy,
    seed: int,
    rounds: int,
    log: Log,
    advance: Callable[[int], None],
) -> tuple[FloatArray, IntArray]:
    """Accuracy (R,) and number of picks out of distribution so far (R,), of one run."""
    bought = _first_rows(task, seed)
    accuracy, strange = np.empty(rounds), np.empty(rounds, dtype=np.intp)
    for t in range(rounds):
        current = _CurrentRound(task, seed, t, bought)
        strange[t] = np.count_nonzero(bought >= task.known)
        accuracy[t] = log.piece(f"{seed} {rule.name} {t} accuracy", current.accuracy)
        if t < rounds - 1:
            picks = log.piece(f"{seed} {rule.name} {t} picks", partial(current.picks, rule))
            bought = np.append(bought, np.array(picks, dtype=np.intp))
        advance(1)
    return accuracy, strange


@dataclass(frozen=True)
class _CurrentRound:
    """A round of one strategy; the model is trained only if a result is missing in the log."""

    task: _Task
    seed: int
    number: int
    bought: IntArray

    @cached_property
    def model(self) -> Any:
        rows = self.bought[self.bought < self.task.known]
        return self.task.train(self.task.inputs[rows], self.task.labels[rows], self._training)

    def accuracy(self) -> float:
        labels = predicted_labels(self.model, self.task.test)
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
        rows: list[int] = offered[picked].tolist()
        return rows

    @property
    def _training(self) -> int:
        return int(self._rng(_TRAINING).integers(2**31))

    def _round(self, offered: IntArray) -> Round:
        task = self.task
        targets = self._rng(_TARGETS).permutation(len(task.test))[: task.targets]
        return Round(
            candidates=task.inputs[offered],
            targets=task.test[targets],
            bought=task.inputs[self.bought],
            models=lambda temperature: task.models(self.model, temperature, self._training),
            features=partial(task.features, self.model),
        )

    def _offered(self) -> IntArray:
        """Rows of the pool; the same for all strategies, except those already labelled."""
        order = self._rng(_CANDIDATES).permutation(len(self.task.inputs))
        left = order[~np.isin(order, self.bought)]
        return left[: max(self.task.candidates, self.task.step)]

    def _rng(self, stream: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, stream, self.number])


def _first_rows(task: _Task, seed: int) -> IntArray:
    """Known rows, balanced over classes, in random order."""
    order = np.random.default_rng([seed, _START]).permutation(task.known)
    labels = as_array(task.labels, "labels")[order]
    rank = np.empty(len(order), dtype=np.intp)  # rank within its class
    for label in np.unique(labels):
        of_label = np.flatnonzero(labels == label)
        rank[of_label] = np.arange(len(of_label))
    return order[np.argsort(rank, kind="stable")[: task.start]]


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
        return Journal(None, {}, _JOURNAL)
    if not isinstance(log, str | Path):
        return log
    numbers = f"{task.start} {task.step} {task.candidates} {task.targets} {task.known}"
    data = (task.inputs, task.labels, task.test, task.test_labels)
    arrays = (as_array(values, "inputs") for values in data)
    return Journal(log, {"stamp": fingerprint(*arrays, numbers, stamp)}, _JOURNAL)


def _checked(
    x: Any, y: Any, x_test: Any, y_test: Any, x_ood: Any
) -> tuple[Any, Any, npt.NDArray[Any]]:
    """The whole pool, the labels of its known rows, and the test labels."""
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
