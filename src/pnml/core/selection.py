"""Penalty and noise by pooled leave-one-out log-loss: one rule for every learner here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated

import numpy as np
import numpy.typing as npt

from pnml.core import leave_one_out
from pnml.core.arrays import FloatArray
from pnml.core.conditions import NOT_NEGATIVE
from pnml.core.later import Later
from pnml.core.leave_one_out import FoldBlocks, Learner, LeaveOneOut, Path

FoldsAt = Callable[[FloatArray], FoldBlocks]  # the folds of a target at some penalties

_PENALTIES = 100


@dataclass(frozen=True)
class Choice:
    """Penalty and noise variance, as given or as selected, and the leave-one-out results there."""

    alpha: Annotated[float, NOT_NEGATIVE]  # penalty on large coefficients
    noise_variance: Annotated[float, NOT_NEGATIVE]
    loo: LeaveOneOut

    @classmethod
    def with_later(cls, alpha: float, noise_variance: float, loo: Later[LeaveOneOut]) -> Choice:
        """A choice whose leave-one-out results are computed at their first use."""
        choice = object.__new__(cls)
        vars(choice).update(alpha=alpha, noise_variance=noise_variance, _later=loo)
        return choice

    if not TYPE_CHECKING:  # an attribute that is misspelt stays an error of type

        def __getattr__(self, name: str) -> LeaveOneOut:
            if name != "loo" or "_later" not in vars(self):
                raise AttributeError(f"A Choice has no attribute {name!r}.", name=name, obj=self)
            loo = vars(self)["_later"].value
            vars(self)["loo"] = loo
            return loo


def select(
    folds: FoldsAt,
    learner: Learner,
    alpha: float | None,
    noise_variance: float | None,
    *,
    h2: FloatArray,
    interpolates: bool,
    floor: float,
    exact_noise: Callable[[float], float] | None = None,
    later: bool = False,
) -> Choice:
    """Choice of penalty `alpha` and noise variance; None is selected by leave-one-out. Eq. (V3).

    The penalty has the smallest mean log-loss of rows left out, by `folds(alphas)`. If the class
    `interpolates` the rows, so that the loss hardly depends on small penalties, it is the largest
    one within a standard error of that loss.

    `h2` (r,) are the eigenvalues that set the scale of the penalties, `floor` the least noise
    variance; `exact_noise`, if given, computes the best noise variance at a penalty without the
    rows. With `later` the leave-one-out results at the choice are computed at their first use;
    until then the rows of `folds` must not change.
    """
    path = None
    if alpha is None:
        settings = [(folds, noise_variance, floor)]
        path, best = shared_penalty(settings, learner, penalties(h2, interpolates), interpolates)
        alpha = float(path.alphas[best])
    if noise_variance is None and exact_noise is not None:
        noise_variance = max(exact_noise(alpha), floor)
    elif noise_variance is None:
        at_alpha = leave_one_out.pooled(folds(np.array([alpha])), learner, None, floor)
        noise_variance = float(at_alpha.noise_variance[0])
    at_choice = partial(_left_out, folds, alpha, learner, noise_variance, path)
    if later:
        return Choice.with_later(alpha, noise_variance, Later(at_choice))
    return Choice(alpha, noise_variance, at_choice())


def _left_out(
    folds: FoldsAt, alpha: float, learner: Learner, noise_variance: float, path: Path | None
) -> LeaveOneOut:
    return leave_one_out.leave_one_out(folds(np.array([alpha])), learner, noise_variance, path)


def shared_penalty(
    targets: Sequence[tuple[FoldsAt, float | None, float]],
    learner: Learner,
    alphas: FloatArray,
    interpolates: bool,
) -> tuple[Path, int]:
    """One penalty for several targets: Path of their mean loss, and its index there. Eq. (V3).

    Each target is a triple: its folds as a function of penalties, its noise variance (None: the
    best one at each penalty) and the least noise variance. The penalties are `alphas` (L,). If the
    class `interpolates` the rows, the largest one within a standard error of the least loss is
    taken. Noise variances in the Path are those of the first target.
    """
    paths = [
        leave_one_out.pooled(folds(alphas), learner, noise, floor)
        for folds, noise, floor in targets
    ]
    loss = np.mean([path.log_loss for path in paths], axis=0)
    path = replace(paths[0], log_loss=loss)
    best = path.best()
    if interpolates:
        left_out = [
            leave_one_out.leave_one_out(
                folds(alphas[[best]]), learner, float(own.noise_variance[best])
            )
            for (folds, _, _), own in zip(targets, paths, strict=True)
        ]
        losses = np.mean([loo.log_losses for loo in left_out], axis=0)
        best = path.cautious(replace(left_out[0], log_losses=losses).standard_error)
    return path, best


def penalties(h2: FloatArray, interpolates: bool) -> FloatArray:
    """Penalties (100,) to select from, from negligible to dominant beside eigenvalues `h2`.

    They begin lower if the class `interpolates` the rows.
    """
    largest = float(h2.max(initial=0.0)) or 1.0
    smallest = min(float(h2.min(initial=np.inf)), largest)
    # interpolation goes on until the noise meets its floor, but below round-off folds are noise
    low = max(1e-6 * smallest, 1e-12 * largest) if interpolates else 1e-3 * smallest
    return np.geomspace(low, 1e2 * largest, _PENALTIES)


def some_rows(n: int, most: int) -> npt.NDArray[np.intp]:
    """Indices of at most `most` of n rows, ascending, drawn at random with a fixed seed.

    The first rows would not do, since tables are often sorted.
    """
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, size=most, replace=False))
