"""What luckiness gains by the averaged rule of the thesis, in the numbers that it claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from pnml.core.arrays import FloatArray
from pnml_experiments.ch4_luckiness.pmlb_rows import ENDS, rounded
from pnml_experiments.framework.result import Row, Table, exactly
from pnml_experiments.studies.luckiness_penalty_tables import Means, beats_both

_ECHO = "1199_BNG_echoMonths"
_ABOUT = (
    "Each set by its means over draws, as print has them: gains over ridge in percent of its mean "
    "squared error, gains over Bayes in nats. A set loses to Bayes if its log-loss is larger in "
    "three digits, as many as print has. A note names the set of a largest gain, and the sets that "
    "lose. Print gives no number of training rows and no grid, so the printed numbers stand in "
    "every line."
)


class Claimed(NamedTuple):
    """A number that the thesis claims, as it came out."""

    number: str
    printed: float
    ours: float
    note: str = ""


def gains_table(means: Means) -> Table:
    """Gains over ridge and Bayes by training rows and by the end of the grid."""
    rows = [
        Row(
            {
                "training rows": n,
                "largest penalty of the grid": f"{end:g}",
                "number": claimed.number,
            },
            claimed.printed,
            exactly(claimed.ours),
            note=claimed.note,
        )
        for n, each in means.items()
        for end in ENDS
        for claimed in claimed_of(each, f"averaged to {end:g}")
    ]
    return Table("Gains by the averaged rule", tuple(rows), _ABOUT, digits=2)


def claimed_of(each: Mapping[str, Mapping[str, float]], rule: str) -> Iterator[Claimed]:
    """Mean, median, largest gain and losing sets over all sets, by one rule for the penalties."""
    names = list(each)
    losing = _losing(each, rule)
    percent = 100 * (1 - _of(each, "luckiness", rule, "MSE") / _of(each, "ridge", rule, "MSE"))
    nats = _of(each, "Bayes", rule, "log-loss") - _of(each, "luckiness", rule, "log-loss")
    most = int(np.argmax(percent))
    won = sum(beats_both(one, rule) for one in each.values())
    lost = float(len(losing))
    yield Claimed("sets that lose to Bayes in log-loss", 3, lost, named(losing, names))
    yield Claimed("sets won against ridge and Bayes in log-loss", 37, float(won))
    yield Claimed("mean gain over Bayes, nats", 2.17, float(np.mean(nats)))
    yield Claimed("median gain over Bayes, nats", 0.13, float(np.median(nats)))
    yield Claimed("mean gain, percent of MSE", 2.03, float(np.mean(percent)))
    yield Claimed("largest gain, percent of MSE", 20.0, float(percent[most]), names[most])
    if _ECHO in each:
        gain = float(percent[names.index(_ECHO)])
        yield Claimed(f"gain on {_ECHO}, percent of MSE", 20.0, gain)


def named(some: Sequence[str], every: Sequence[str]) -> str:
    """Names of some sets, or of the others where these are fewer.

    >>> named(["a"], ["a", "b", "c"]), named(["a", "b"], ["a", "b", "c"]), named(["a"], ["a"])
    ('a', 'all but c', 'all')
    """
    others = [name for name in every if name not in some]
    if len(some) <= len(others):
        return ", ".join(some)
    return f"all but {', '.join(others)}" if others else "all"


def _losing(each: Mapping[str, Mapping[str, float]], rule: str) -> list[str]:
    """Sets whose log-loss is larger than that of Bayes."""
    ours, bayes = (_of(each, who, rule, "log-loss") for who in ("luckiness", "Bayes"))
    pairs = zip(each, ours, bayes, strict=True)
    return [name for name, mine, theirs in pairs if rounded(mine) > rounded(theirs)]


def _of(each: Mapping[str, Mapping[str, float]], learner: str, rule: str, part: str) -> FloatArray:
    """A number of every set, (sets,)."""
    return np.array([one[f"{learner}, {rule}, {part}"] for one in each.values()])
