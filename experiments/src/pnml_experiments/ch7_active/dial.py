"""Labels that strategies of active learning need, beside what the thesis printed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pnml.active import LearningCurves, Strategy, active_learning_curve
from pnml.active.strategies import (
    at_random,
    by_bald,
    by_core_set,
    by_dial,
    by_entropy,
    by_epig,
    by_margin,
)
from pnml.core.arrays import FloatArray
from pnml.metrics import Estimate
from pnml_experiments.framework.code import function_digest
from pnml_experiments.framework.experiment import Progress
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.printed import lines
from pnml_experiments.framework.result import Figure, Result, Row, Table, in_percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure
    from torch import Tensor, nn

    from pnml_experiments.ch7_active.dial_networks import Training

DIAL = "DIAL"
DIAL_PLAIN = "DIAL, T = 1"
STRATEGIES = (
    by_dial(5.0, DIAL),
    by_dial(1.0, DIAL_PLAIN),
    by_bald(),
    by_epig(),
    by_core_set(),
    at_random(),
    by_entropy(),
)
ALL_STRATEGIES = (*STRATEGIES, by_margin())
PRINTED_STRATEGIES = (by_dial(5.0, DIAL), by_bald(), by_epig(), by_core_set(), at_random())
ROUNDS = "rounds"  # name of the journal
INTERVAL = "95 %, Student's, over seeds"
_SHOWN = 5  # numbers of labels at which accuracies are listed
_ABOUT = (
    "Labels paid for, those of the start among them, when the mean accuracy over the seeds is "
    "first that high; the interval is where the ends of the interval of the mean are. DIAL is at "
    "temperature 5, as in the research code."
)
_OPEN = "The upper end is open: the lower end of the mean's interval stays below that accuracy."
_NOTEBOOK = (
    "The thesis does not print EPIG; this number is of its author's notebook "
    "(kobybibas/pnml_for_active_learning)."
)
_PAIRED = "The same seeds have the same first labels, candidates, targets and masks."


@dataclass(frozen=True)
class Data:
    """Pool, test rows, and rows of the pool that are of no class."""

    x: Tensor
    y: Tensor
    x_test: Tensor
    y_test: Tensor
    x_ood: Tensor | None = None
    validation: tuple[Tensor, Tensor] | None = None


@dataclass(frozen=True)
class Setting:
    """How much of everything: the network, its training, models, and rounds."""

    build: Callable[[], nn.Module]
    training: Training
    seeds: int
    start: int
    stop: int
    step: int
    candidates: int
    targets: int
    passes: int
    test: int  # rows
    words: str  # the network and its training, for the reader
    strategies: Sequence[Strategy] = STRATEGIES
    first_seed: int = 0
    turn: int = 0  # rounds after which the other strategies and seeds have theirs; 0: no turns

    def runs(self) -> range:
        """The seeds that are run."""
        return range(self.first_seed, self.first_seed + self.seeds)

    def stops(self) -> list[int]:
        """Labels up to which all strategies and seeds are brought, one after the other."""
        turns = range(self.start + self.turn, self.stop, self.turn) if self.turn else ()
        return [*turns, self.stop]


@cache
def printed_labels() -> dict[tuple[str, str, str, float], float]:
    """Labels as printed, by data, pool, strategy and accuracy in percent.

    Those of EPIG are not in the thesis but in a notebook of its author.

    >>> printed_labels()["MNIST", "polluted", "DIAL", 75]
    48.0
    """
    return {
        (line["data"], line["pool"], line["strategy"], float(line["accuracy"])): float(
            line["labels"]
        )
        for line in lines("dial")
    }


def curves_of(data: Data, setting: Setting, out: Output, progress: Progress) -> LearningCurves:
    """All strategies on all seeds; every finished round is kept."""
    from pnml.active import MCDropout
    from pnml_experiments.ch7_active.dial_networks import BATCH, trained

    def train(x: Any, y: Any, seed: int) -> nn.Module:
        return trained(setting.build, x, y, setting.training, seed, data.validation)

    def models(model: Any, temperature: float, seed: int) -> Callable[[Any], FloatArray]:
        return partial(MCDropout(model, setting.passes, temperature, seed), batch_size=BATCH)

    log = out.journal(ROUNDS, _depends(data, setting, function_digest(trained)))
    rounds = 1 + (setting.stop - setting.start) // setting.step
    total = rounds * setting.seeds * len(setting.strategies)

    furthest = 0

    def tell(done: int, _: int) -> None:  # what is finished is passed again in every turn
        nonlocal furthest
        furthest = max(furthest, done)
        progress(furthest, total)

    def up_to(stop: int) -> LearningCurves:
        return active_learning_curve(
            train,
            data.x,
            data.y,
            data.x_test,
            data.y_test,
            x_ood=data.x_ood,
            strategies=setting.strategies,
            seeds=setting.runs(),
            start=setting.start,
            stop=stop,
            step=setting.step,
            candidates=setting.candidates,
            targets=setting.targets,
            models=models,
            log=log,
            progress=tell,
        )

    return [up_to(stop) for stop in setting.stops()][-1]


def _depends(data: Data, setting: Setting, training: str) -> list[Any]:
    """What a finished round depends on; what a strategy does is in its name."""
    tensors = [data.x, data.y, data.x_test, data.y_test]
    tensors += [part for part in (data.x_ood, *(data.validation or ())) if part is not None]
    numbers = (setting.training, setting.start, setting.step, setting.candidates, setting.targets)
    network = f"{setting.build()} {function_digest(setting.build)}"
    return [*tensors, f"{numbers} {setting.passes}", network, training]


def result_of(
    name: str, data: str, pool: str, levels: Sequence[float], found: LearningCurves, words: str
) -> Result:
    """Result with the tables and figures of the learning curves for one pool."""
    tables = [labels_table(data, pool, levels, found), paired_table(found), accuracy_table(found)]
    figures = [
        Figure(
            f"{name}-accuracy", "Accuracy against labels paid for.", partial(_draw, found, False)
        )
    ]
    if pool == "polluted":
        tables.insert(1, picks_table(found))
        caption = "Share of the picks so far that are out of distribution."
        figures.append(Figure(f"{name}-picks", caption, partial(_draw, found, True)))
    seeds = found.seeds
    return Result(tuple(tables), tuple(figures), seeds, len(seeds), INTERVAL, (words,))


def unrun(data: str, pool: str, why: str) -> Result:
    """What was printed, where nothing can be run."""
    rows = [
        Row(
            {"strategy": strategy, "accuracy, %": f"{level:g}"},
            labels,
            note=_with_source(strategy, why),
        )
        for (of, where, strategy, level), labels in printed_labels().items()
        if (of, where) == (data, pool)
    ]
    return Result((Table("Labels to reach an accuracy", tuple(rows), digits=0),), remarks=(why,))


def labels_table(data: str, pool: str, levels: Sequence[float], found: LearningCurves) -> Table:
    """Labels that every strategy needs to reach each level, beside the printed ones."""
    reached = found.labels_to_reach([level / 100 for level in levels])
    rows = []
    for level in levels:
        at = levels.index(level)
        for strategy, estimates in reached.items():
            printed = printed_labels().get((data, pool, strategy, float(level)))
            labels = {"accuracy, %": f"{level:g}", "strategy": strategy}
            ours, note = _closed(estimates[at], int(found.labels[-1]))
            if printed is not None:
                note = _with_source(strategy, note)
            if ours is not None or printed is not None:
                rows.append(Row(labels, printed, ours, note=note))
    return Table("Labels to reach an accuracy", tuple(rows), _ABOUT, digits=0)


def _with_source(strategy: str, note: str) -> str:
    """The note of a row, with the source of a number that the thesis does not print itself."""
    return f"{note} {_NOTEBOOK}".strip() if strategy == "EPIG" else note


def _closed(found: Estimate, last: int) -> tuple[Estimate | None, str]:
    """The estimate with an end that can be written, and what to say of it."""
    if not np.isfinite(found.value):
        return None, f"Not reached within {last} labels."
    low = found.low if np.isfinite(found.low) else found.value
    if np.isfinite(found.high):
        return Estimate(found.value, low, found.high), ""
    return Estimate(found.value, low, float(last)), _OPEN


def picks_table(found: LearningCurves) -> Table:
    """Share of each strategy's picks that are out of distribution."""
    rows = []
    for strategy in found.accuracy:
        share = found.strange_share(strategy)
        last = Estimate(*(float(part[-1]) for part in share))
        rows.append(Row({"strategy": strategy}, None, in_percent(last)))
    about = f"Of {int(found.labels[-1] - found.labels[0])} picks of each run, in percent."
    return Table("Picks out of distribution", tuple(rows), about)


def paired_table(found: LearningCurves) -> Table:
    """Accuracy on average over the rounds, and the lead of the first strategy over the others."""
    mean = found.mean_accuracy()
    base = next(iter(mean))
    gains = {name: _negated(gain) for name, gain in found.gain_over(base).items()}
    rows = [
        Row({"number": "accuracy", "strategy": n}, None, in_percent(e)) for n, e in mean.items()
    ]
    rows += [
        Row({"number": f"{base} less this", "strategy": name}, None, in_percent(gain))
        for name, gain in gains.items()
    ]
    title = "Accuracy in percent, on average over all rounds"
    return Table(title, tuple(rows), _PAIRED, digits=2)


def accuracy_table(found: LearningCurves) -> Table:
    """Accuracy of every strategy at a few numbers of labels."""
    rows = []
    for at in np.unique(np.linspace(0, len(found.labels) - 1, _SHOWN).astype(int)):
        for strategy in found.accuracy:
            value = Estimate(*(float(part[at]) for part in found.band(strategy)))
            labels = {"labels": str(found.labels[at]), "strategy": strategy}
            rows.append(Row(labels, None, in_percent(value)))
    return Table("Accuracy in percent, by labels paid for", tuple(rows))


def _negated(estimate: Estimate) -> Estimate:
    return Estimate(-estimate.value, -estimate.high, -estimate.low)


def _draw(found: LearningCurves, shares: bool) -> MatplotlibFigure:
    from matplotlib import pyplot as plt

    from pnml.plots import ActiveLearningDisplay

    figure, ax = plt.subplots(figsize=(7, 4.5))
    make = ActiveLearningDisplay.of_strange_picks if shares else ActiveLearningDisplay.from_curves
    make(found, ax=ax)
    return figure
