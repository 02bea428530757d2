"""What came out of the study of whole networks, said in sentences from its numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pnml_experiments.framework.evidence import interval_text
from pnml_experiments.framework.output import Arrays
from pnml_experiments.studies.network_genie_methods import (
    ACNML,
    AUTO,
    ENSEMBLE,
    HEAD,
    INFLUENCE,
    LINEAR,
    METHODS,
    OWN,
    PRECISIONS,
    REFIT,
    SOFTMAX,
    TEMPERED,
)
from pnml_experiments.studies.network_genie_numbers import (
    CONFIDENCE,
    LOSS,
    OWN_SCORE,
    UNKNOWN,
    Draw,
    Drawn,
    auroc,
    draws,
    on_digits,
    on_unknown,
    plain_numbers,
)
from pnml_experiments.studies.network_genie_subjects import Rows, Sizes

ALL_WEIGHTS = (ACNML, INFLUENCE, LINEAR)
CANDIDATES = (*ALL_WEIGHTS, HEAD)  # for a class of the library
LAST_LAYER = (OWN, AUTO, REFIT)  # those that the library has
MOST = 100.0  # forward passes that somebody would pay for one input


@dataclass(frozen=True)
class Found:
    """Answers of all methods, and numbers of them."""

    sizes: Sizes
    rows: Rows
    few: Rows  # those judged with every precision
    answered: Mapping[tuple[int, str, int], Arrays]  # training digits, method, seed
    looked: Mapping[int, Arrays]  # training digits → answers with every precision

    def of(self, trained: int, method: str) -> list[Arrays]:
        """Answers of a method, for each seed."""
        return [self.answered[trained, method, seed] for seed in self.sizes.seeds]

    @cached_property
    def drawn(self) -> list[Draw]:
        """The draws of seeds and rows."""
        return draws(self.rows, len(self.sizes.seeds), self.sizes.draws)

    @cached_property
    def digits(self) -> dict[tuple[int, str], dict[str, Drawn]]:
        """Numbers of every method on test digits."""
        return {
            (trained, method): on_digits(self.of(trained, method), self.rows, self.drawn)
            for trained in self.sizes.trained
            for method in METHODS
        }

    @cached_property
    def unknown(self) -> dict[tuple[int, str, str], dict[str, Drawn]]:
        """AUROC and FPR95 of every method and score on unknown rows."""
        return {
            (trained, method, score): on_unknown(
                self.of(trained, method), self.rows, self.drawn, score
            )
            for trained in self.sizes.trained
            for method in METHODS
            for score in (OWN_SCORE, CONFIDENCE)
        }

    def passes(self, method: str) -> tuple[float, ...]:
        """Processor time of an input in forward passes, for each training set and seed."""
        return tuple(
            float(one["seconds"] / forward["seconds"])
            for trained in self.sizes.trained
            for one, forward in zip(
                self.of(trained, method), self.of(trained, SOFTMAX), strict=True
            )
        )

    def afterwards(self, trained: int) -> list[dict[str, float]]:
        """Numbers of ACNML with every precision on the fewer rows, and of the last layer last."""
        looked, ours = self.looked[trained], self.of(trained, AUTO)[0]
        at = np.concatenate(list(self.rows.places_of_some(self.sizes.few).values()))
        answers = [
            {name: looked[name][k] for name in ("probs", "score")} for k in range(len(PRECISIONS))
        ]
        answers.append({name: ours[name][at] for name in ("probs", "score")})
        return [plain_numbers(one, self.few) for one in answers]

    def less(self, trained: int, method: str, rival: str, number: str) -> Drawn:
        """A number of a method less that of another, by their own scores."""
        mine, its = (
            self.digits[trained, name] | self.unknown[trained, name, OWN_SCORE]
            for name in (method, rival)
        )
        return mine[number] - its[number]


def remarks(found: Found) -> tuple[str, ...]:
    """The answer first, then what was looked at."""
    return (_answer(found), _looked_at(found))


def _answer(found: Found) -> str:
    """One sentence for each number that matters."""
    areas = []
    for name in UNKNOWN:
        area, best = max((_mean_area(found, one, name), one) for one in ALL_WEIGHTS)
        areas.append(f"{name}: {best} {area:.3f}, {AUTO} {_mean_area(found, AUTO, name):.3f}")
    losses = ", ".join(
        f"{method} {_mean_loss(found, method):.3f}"
        for method in (SOFTMAX, TEMPERED, ENSEMBLE, ACNML, HEAD, OWN, REFIT)
    )
    worth = [name for name in CANDIDATES if is_worth_a_class(found, name)]
    verdict = f"Yes: {', '.join(worth)}" if worth else "No"
    return (
        f"**Does it pay to move all weights? {verdict}.** AUROC of the best regret of all weights "
        f"and of the last layer with its automatic scale, means over training sets: "
        f"{'; '.join(areas)}. Log-loss of test digits: {losses}. Processor time of an input in "
        f"forward passes: {ACNML} {np.mean(found.passes(ACNML)):,.0f}, {INFLUENCE} "
        f"{np.mean(found.passes(INFLUENCE)):,.0f}, {HEAD} {np.mean(found.passes(HEAD)):,.0f}, "
        f"{AUTO} {np.mean(found.passes(AUTO)):.1f}, "
        f"{REFIT} {np.mean(found.passes(REFIT)):,.0f}."
    )


def _looked_at(found: Found) -> str:
    held, sizes = found.sizes.held, found.sizes
    return (
        "**What was looked at.** Settings are those of least log-loss on the last "
        f"{held} training digits, which no network saw: the precision of the prior for {ACNML}, "
        f"{INFLUENCE}, {LINEAR}, {HEAD} and the Laplace approximation, the number of steps and "
        "the first step size of the ascent, and the temperature. The grids were set after first "
        "looks at networks of 1,000 digits, on one or two hundred test rows of each kind: wider "
        "priors, of precision 1 and 10, had a log-loss above 2 there and were left out. AUROC was "
        "seen in these looks and chose nothing. "
        f"{OWN}, {AUTO} and {REFIT} are as they come and see training digits alone. All methods "
        f"are judged on the same {sizes.known} test digits, {sizes.unknown} clothes and "
        f"{sizes.unknown} letters; some letters look like digits (O, I, S, Z), for all methods "
        f"alike. {len(sizes.seeds)} seeds are few, and a choice on {held} digits is noisy: both "
        "are in the intervals, as well as such a number of seeds can show."
    )


def _mean_area(found: Found, method: str, name: str) -> float:
    every = [found.unknown[n, method, OWN_SCORE][auroc(name)].value for n in found.sizes.trained]
    return float(np.mean(every))


def _mean_loss(found: Found, method: str) -> float:
    return float(np.mean([found.digits[n, method][LOSS].value for n in found.sizes.trained]))


def _areas(found: Found, method: str) -> list[Drawn]:
    """AUROC less that of the automatic scale, for every training set and unknown set."""
    return [
        found.less(n, method, AUTO, auroc(name)) for n in found.sizes.trained for name in UNKNOWN
    ]


def _losses(found: Found, method: str) -> list[float]:
    """The largest upper end of log-loss less a last-layer form or temperature, by training set."""
    rivals = (*LAST_LAYER, TEMPERED)
    return [
        max(found.less(n, method, rival, LOSS).estimate().high for rival in rivals)
        for n in found.sizes.trained
    ]


def is_worth_a_class(found: Found, method: str) -> bool:
    """Whether it beats the last-layer forms clearly at a cost that people would pay."""
    separates = all(one.estimate().low > 0 for one in _areas(found, method))
    predicts = all(high < 0 for high in _losses(found, method))
    return (separates or predicts) and float(np.mean(found.passes(method))) <= MOST


def verdict(found: Found) -> str:
    """The rule, what each form of it came to, and why."""
    worth = [name for name in CANDIDATES if is_worth_a_class(found, name)]
    end = f"So {_and(worth)} should be a class." if worth else "So none becomes a class."
    parts = [_came_to(found, name) for name in CANDIDATES]
    return (
        "A form becomes a class of the library if its regret has a higher AUROC than "
        f"{AUTO} on both sets of unknown rows, or its log-loss is below those of all last-layer "
        "forms and of temperature scaling; outside the interval, with every training set, and for "
        f"at most {MOST:g} forward passes an input. {' '.join(parts)} **{end}**\n\n{_why(found)}"
    )


def _came_to(found: Found, method: str) -> str:
    areas = [one.estimate() for one in _areas(found, method)]
    better, worse = sum(one.low > 0 for one in areas), sum(one.high < 0 for one in areas)
    losses = _losses(found, method)
    return (
        f"{method}: AUROC higher in {better} and lower in {worse} of {len(areas)}, log-loss below "
        f"all in {sum(high < 0 for high in losses)} of {len(losses)}, "
        f"{np.mean(found.passes(method)):,.0f} forward passes."
    )


def _why(found: Found) -> str:
    """What the numbers say of the reasons."""
    informed, best, better = [], [], 0
    for n, one in found.looked.items():
        chosen = found.answered[n, ACNML, found.sizes.seeds[0]]["chosen"][0]
        share = 100 * one["informed"][PRECISIONS.index(chosen)]
        informed.append(f"{share:.1f} % of weights with {n:,} digits")
        *tried, last_layer = found.afterwards(n)
        for name in map(auroc, UNKNOWN):
            top, ours = max(each[name] for each in tried), last_layer[name]
            better += top > ours
            best.append(f"{top:.3f} against {ours:.3f} ({name}, {n:,} digits)")
    loss = [
        f"{interval_text(found.less(n, ACNML, TEMPERED, LOSS).estimate(), 3)} with {n:,} digits"
        for n in found.sizes.trained
    ]
    return (
        "Why, in plain words. A genie of all weights needs the gradient of every weight for every "
        "label and step, where the last layer needs one product. What it gives depends on the "
        "width of the posterior. Known digits alone choose it, and a wide one, in which every "
        "label can be learnt from any image, spoils their probabilities. With the precision that "
        "is best afterwards for each set (the table before this one) it exceeds the last layer "
        f"with its automatic scale in {better} of {len(best)}: {_and(best)}. A likely reason, "
        "which was not isolated: a network that is sure "
        "of its training digits has little Fisher information. At the chosen precision that "
        f"outweighs the prior for {_and(informed)}, so this posterior hardly knows which "
        "directions training has filled, and the last layer's Gram matrix does. What it does for "
        "probabilities, to make softmax less sure, one temperature from the same held-out digits "
        f"does too: log-loss of {ACNML} less that of temperature scaling is {_and(loss)}."
    )


def _and(words: Iterable[str]) -> str:
    """Words with an "and" before the last.

    >>> _and(["a", "b", "c"])
    'a, b and c'
    """
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
