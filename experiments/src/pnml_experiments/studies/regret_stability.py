"""Whether a small regret means that the prediction hardly moves when a training row is left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.stats import spearmanr
from sklearn.ensemble import RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from pnml.core.arrays import FloatArray
from pnml.estimators.classifier import PNMLClassifier
from pnml.estimators.regressor import PNMLRegressor
from pnml.estimators.tree_regressor import PNMLTreeRegressor
from pnml_experiments.framework.colours import COLOURS
from pnml_experiments.framework.experiment import Experiment, Progress, Scale, counted
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.result import Figure, Result, Row, Table
from pnml_experiments.framework.stored_files import UCI
from pnml_experiments.studies.uci_draws import (
    INTERVAL,
    Draw,
    drawn,
    over_splits,
    sets_here,
    splits_of,
)
from pnml_experiments.studies.uci_learners import chosen_kernel

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure

EXPERIMENT = Experiment(
    id="regret-stability",
    chapter=8,
    title="Regret, and what leaving a row out moves",
    minutes=(0.7, 7.0),
    extras=("plots",),
    needs=("uci-small",),
    uses=("uci",),
    beyond=True,
)

_TREES, _LEAF = 30, 5
_ROOM = 1e-4  # beyond a bound, for what solvers leave
NUMBERS = {
    "new": "rank correlation, new rows",
    "own": "rank correlation, own row",
    "share": "rank correlation, own row, share of its error",
    "within": "share of own moves within the bound",
}
_ABOUT = (
    "Every learner is trained again without each of its rows. New rows: regret against the root "
    "of the summed squares of the moves there. Own row: regret of a training row by the others "
    "against the move of its own prediction, and against that move over the error of the "
    "prediction without the row (of a classifier: over the probability missing for its label). "
    "Within the bound: moves of a row's own prediction that are no larger than its regret allows "
    f"by Eqs. (J1) and (J4), with {_ROOM:g} of room for what solvers leave; all of them where the "
    "statement is a theorem. Single sets: new rows alone."
)
_REMARKS = (
    (
        "Exact for linear, ridge and kernel regression and for frozen trees, Eq. (J1): leaving row "
        "i out moves its own prediction by 1 − exp(−Γ) of the error that is made without it. For "
        "any class of models, Eq. (J4): told a label, its probability rises by at most exp(Γ) − 1, "
        "and over all labels by exactly that. So a small regret means a small move, whatever the "
        "label; a large one means that some label moves the prediction."
    ),
    (
        "At a new row, Eq. (J3): the squared moves sum to at most exp(Γ) − 1 times the largest "
        "squared left-out error. The converse fails there: a far row of which a classifier is sure "
        "has a large regret, since its label would move it, though no training row does."
    ),
    (
        "The forest is grown again from the same bootstrap samples, without the row; its regret "
        "counts with the splits kept, so it knows nothing of their moves. The one-step classifier "
        "has a regret of its own, of which the theorem says nothing. Labels of the classifiers "
        "are whether the target is above its median."
    ),
    "The thesis asks the question among its open ones and has no table on it.",
)

Mask = npt.NDArray[np.bool_]
# A learner of a draw: from the rows that are kept to a model.
Fit = Callable[[Mask], Any]


@dataclass(frozen=True)
class Sizes:
    """Sets, splits, and rows of each."""

    sets: tuple[str, ...]
    splits: int
    train: int
    test: int


SIZES = {"small": Sizes(tuple(UCI)[:3], 2, 40, 60), "full": Sizes(tuple(UCI), 3, 80, 150)}


@dataclass(frozen=True)
class Moves:
    """What leaving each training row out has done."""

    regret: FloatArray  # (m,)  of new rows, nats
    move: FloatArray  # (m,)  root of the summed squares of the moves there
    own_regret: FloatArray  # (n,)  of the training rows, each by the others
    own_move: FloatArray  # (n,)  prediction of a row's label with it, less without it
    own_error: FloatArray  # (n,)  error of the prediction without it
    bound: FloatArray  # (n,)  what the regret allows the own move to be

    def numbers(self) -> dict[str, float]:
        """Rank correlations, and the share of own moves within their bounds."""
        share = np.abs(self.own_move) / np.maximum(np.abs(self.own_error), 1e-300)
        return {
            "new": _rank(self.regret, self.move),
            "own": _rank(self.own_regret, np.abs(self.own_move)),
            "share": _rank(self.own_regret, share),
            "within": float(np.mean(np.abs(self.own_move) <= self.bound + _ROOM)),
        }


def _rank(a: FloatArray, b: FloatArray) -> float:
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return 0.0
    return float(spearmanr(a, b).statistic)


def own_share(regret: FloatArray) -> FloatArray:
    """Share of its left-out error by which a row moves its own prediction. Eq. (J1).

    >>> own_share(np.log([1.0, 2.0]))
    array([0. , 0.5])
    """
    return -np.expm1(-regret)


def probability_bound(regret: FloatArray) -> FloatArray:
    """Most that the probability of a label can rise when it is told, for any class. Eq. (J4).

    >>> probability_bound(np.log([1.0, 1.25]))
    array([0.  , 0.25])
    """
    return np.expm1(regret)


def move_bound(regret: FloatArray, error: float) -> FloatArray:
    """Most that the moves at a row can be, from the largest left-out error. Eq. (J3).

    >>> move_bound(np.log([1.0, 5.0]), 2.0)
    array([0., 4.])
    """
    return error * np.sqrt(np.expm1(regret))


def regression_moves(fit: Fit, draw: Draw) -> Moves:
    """Moves of a regressor, by training it again without each row."""
    n = len(draw.y)
    whole = fit(np.ones(n, dtype=bool))
    fitted, there = whole.predict(draw.X), whole.predict(draw.new)
    own_regret, without, moves = np.empty(n), np.empty(n), np.empty((n, len(there)))
    for i in range(n):
        model = fit(np.arange(n) != i)
        own_regret[i] = model.regret(draw.X[[i]])[0]
        without[i] = model.predict(draw.X[[i]])[0]
        moves[i] = there - model.predict(draw.new)
    error = draw.y - without
    return Moves(
        whole.regret(draw.new),
        np.sqrt(np.sum(moves**2, axis=0)),
        own_regret,
        fitted - without,
        error,
        own_share(own_regret) * np.abs(error),
    )


def classifier_moves(method: Literal["analytic", "refit"], draw: Draw) -> Moves:
    """Moves of the probabilities of a logistic regression, by training it again."""
    labels = (draw.y > np.median(draw.y)).astype(int)
    n = len(labels)

    def fit(keep: Mask) -> PNMLClassifier:
        inside = LogisticRegression(max_iter=1_000, tol=1e-8)
        return PNMLClassifier(inside, method=method).fit(draw.X[keep], labels[keep])

    whole = fit(np.ones(n, dtype=bool))
    fitted = whole.estimator_.predict_proba(draw.X)[np.arange(n), labels]
    there = whole.estimator_.predict_proba(draw.new)[:, 1]
    own_regret, without, moves = np.empty(n), np.empty(n), np.empty((n, len(there)))
    for i in range(n):
        model = fit(np.arange(n) != i)
        own_regret[i] = model.regret(draw.X[[i]])[0]
        without[i] = model.estimator_.predict_proba(draw.X[[i]])[0, labels[i]]
        moves[i] = there - model.estimator_.predict_proba(draw.new)[:, 1]
    return Moves(
        whole.regret(draw.new),
        np.sqrt(np.sum(moves**2, axis=0)),
        own_regret,
        fitted - without,
        1 - without,
        probability_bound(own_regret),
    )


def _linear(draw: Draw) -> Moves:
    alpha = PNMLRegressor(alpha="loo").fit(draw.X, draw.y).alpha_
    model = partial(PNMLRegressor, alpha=alpha, noise_variance=1.0)
    return regression_moves(lambda keep: model().fit(draw.X[keep], draw.y[keep]), draw)


def _kernel(draw: Draw) -> Moves:
    chosen = chosen_kernel(draw.X, draw.y)
    model = partial(type(chosen), alpha=chosen.alpha_, gamma=chosen.gamma_, noise_variance=1.0)
    return regression_moves(lambda keep: model().fit(draw.X[keep], draw.y[keep]), draw)


def _grown(draw: Draw, keep: Mask) -> RandomForestRegressor:
    forest = RandomForestRegressor(_TREES, min_samples_leaf=_LEAF, random_state=0)
    # a row of weight 0 is not there, and the bootstrap samples stay what they were
    return forest.fit(draw.X, draw.y, sample_weight=keep.astype(float))


def _counted(forest: RandomForestRegressor, draw: Draw, keep: Mask) -> PNMLTreeRegressor:
    model = PNMLTreeRegressor(FrozenEstimator(forest), noise_variance=1.0)
    return model.fit(draw.X[keep], draw.y[keep])


def _forest(draw: Draw) -> Moves:
    return regression_moves(lambda keep: _counted(_grown(draw, keep), draw, keep), draw)


def _frozen_forest(draw: Draw) -> Moves:
    forest = _grown(draw, np.ones(len(draw.y), dtype=bool))
    return regression_moves(lambda keep: _counted(forest, draw, keep), draw)


LEARNERS: Mapping[str, Callable[[Draw], Moves]] = {
    "ridge": _linear,
    "kernel": _kernel,
    "forest, splits kept": _frozen_forest,
    "forest, grown again": _forest,
    "classifier, one step": partial(classifier_moves, "analytic"),
    "classifier, refitted": partial(classifier_moves, "refit"),
}

# set → learner → split by split: number → value; beside them the points of the figure
Found = dict[str, dict[str, list[dict[str, Any]]]]


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """Rank correlations of regret and move, and points for the figure."""
    sizes = SIZES[scale]
    splits = {name: splits_of(name, sizes.splits) for name in sets_here(sizes.sets)}
    tell = counted(progress, sum(splits.values()) * len(LEARNERS))
    found: Found = {}
    for name, number in splits.items():
        for k in range(number):
            for learner in LEARNERS:
                piece = out.piece(f"{name} {k} {learner}", partial(_one, name, k, learner, sizes))
                found.setdefault(name, {}).setdefault(learner, []).append(piece)
                tell(1)
    most = max(splits.values())
    return Result((_table(found),), (_figure(found),), tuple(range(most)), most, INTERVAL, _REMARKS)


def _one(name: str, split: int, learner: str, sizes: Sizes) -> dict[str, Any]:
    whole = drawn(name, split, sizes.train)
    draw = Draw(
        whole.X,
        whole.y,
        whole.new[: sizes.test],
        whole.truth[: sizes.test],
        whole.unit,
        whole.spread,
    )
    moves = LEARNERS[learner](draw)
    points = {
        "regret": moves.own_regret.tolist(),
        "share": (np.abs(moves.own_move) / np.abs(moves.own_error)).tolist(),
        "new regret": moves.regret.tolist(),
        "new move": moves.move.tolist(),
    }
    return {"numbers": moves.numbers()} | (points if split == 0 else {})


def _table(found: Found) -> Table:
    rows = []
    groups = {"all": list(found)} | {name: [name] for name in found}
    for group, names in groups.items():
        for learner in LEARNERS:
            for number in NUMBERS if group == "all" else ("new",):
                each = [[one["numbers"][number] for one in found[n][learner]] for n in names]
                labels = {"set": group, "learner": learner, "number": NUMBERS[number]}
                rows.append(Row(labels, ours=over_splits(each)))
    return Table("Regret against what leaving a row out moves", tuple(rows), _ABOUT, digits=3)


def _figure(found: Found) -> Figure:
    caption = (
        "First split of every set, one colour for each of the first six. Above: regret of a "
        "training row by the others against the share of its left-out error by which it moves its "
        "own prediction; the line is 1 − exp(−Γ), Eq. (J1). Below: regret of a new row against "
        "the root of the summed squares of all moves there, in standard deviations of the target "
        "or in probability."
    )
    return Figure("regret-stability", caption, lambda: _drawn(found))


def _drawn(found: Found) -> MatplotlibFigure:
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(2.4 * len(LEARNERS), 5.0), layout="constrained")
    axes = canvas.subplots(2, len(LEARNERS))
    for column, learner in enumerate(LEARNERS):
        above, below = axes[:, column]
        for k, name in enumerate(list(found)[: len(COLOURS)]):
            first, style = found[name][learner][0], {"s": 6, "alpha": 0.6, "color": COLOURS[k]}
            above.scatter(first["regret"], first["share"], label=name, **style)
            below.scatter(first["new regret"], first["new move"], **style)
        if not learner.startswith("classifier"):
            ends = np.linspace(0, above.get_xlim()[1], 50)
            above.plot(ends, own_share(ends), color="0.5", linewidth=1)
        above.set(title=learner, xlabel="regret of a training row, nats", ylim=(0, 1))
        below.set(xlabel="regret of a new row, nats", xscale="log", yscale="log")
        below.tick_params(axis="x", which="minor", labelbottom=False)
    axes[0, 0].set_ylabel("move over left-out error")
    axes[1, 0].set_ylabel("moves, root of summed squares")
    axes[0, 0].legend(fontsize="x-small")
    return canvas
