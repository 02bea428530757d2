"""Claims of chapter 4 on PMLB sets."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from statistics import mean, median
from typing import NamedTuple

from pnml.errors import InputError
from pnml_experiments.ch4_luckiness.pmlb_rows import rounded
from pnml_experiments.framework.evidence import Claim, Evidence, Rule, Verdict, by_count
from pnml_experiments.framework.result import Row

_AVERAGED, _GAINS = "The averaged rule of the thesis", "Gains by the averaged rule"
_ROWS, _END = "training rows", "largest penalty of the grid"
_WON = "sets won by luckiness"
_LARGEST = "largest gain, percent of MSE"
_PER_COLUMN = " training rows per column"
_NEITHER = "print gives neither rows nor grid"
_OPEN = (
    "Print names neither the number of training rows nor the grid of penalties, so every setting "
    "of the study is judged: it holds if it comes out in all of them, in part if in some."
)
_ECHO = "1199_BNG_echoMonths"
_MOST = 20.0  # percent of the MSE, printed
_MEAN, _MEDIAN, _DEGRADED = 2.17, 0.13, 3  # nats, nats and sets, printed

# Training rows, and largest penalty of the grid.
_Setting = tuple[str, str]


class _Part(NamedTuple):
    """A number that a claim names, and when a setting reaches it."""

    what: str  # in a sentence
    number: str  # in the rows
    limit: float
    table: str = _GAINS
    of_50: bool = False  # whether it counts sets, of which print has 50
    at_most: bool = False

    def reached(self, value: float, sets: int) -> bool:
        """Whether a number over so many sets is as claimed."""
        limit = self.limit * sets / 50 if self.of_50 else self.limit
        return value <= limit if self.at_most else value >= limit


def by_settings(reached: int, of: int, evidence: str) -> Verdict:
    """Verdict where print leaves settings open: in part if the claim is reached in some of them.

    >>> [by_settings(n, 5, "").word for n in (5, 1, 0)]
    ['holds', 'holds in part', 'does not hold']
    """
    if reached == of:
        return Verdict("holds", evidence)
    return Verdict("holds in part" if reached else "does not hold", evidence)


def _run(evidence: Evidence, number: str, table: str) -> dict[_Setting, Row]:
    """Setting → the row of a number by the averaged rule."""
    found = {
        (row.labels[_ROWS], row.labels[_END]): row
        for row in evidence.rows(table, number=number)
        if row.ours is not None
    }
    if not found:
        raise InputError(f"{number!r} of {table!r} was not run.")
    return found


def _settings(evidence: Evidence, number: str, table: str = _AVERAGED) -> dict[_Setting, float]:
    """Setting → a number by the averaged rule."""
    rows = _run(evidence, number, table)
    return {setting: row.ours.value for setting, row in rows.items() if row.ours is not None}


def _by_end(found: Mapping[_Setting, float]) -> str:
    """Least and largest of the numbers at each end of the grid."""
    ends = {end: [v for (_, e), v in found.items() if e == end] for _, end in found}
    listed = (f"{end}: {_short(min(v))} to {_short(max(v))}" for end, v in ends.items())
    return f"by the averaged rule, by the end of its grid: {'; '.join(listed)}"


def _short(value: float) -> str:
    """Three digits, or more before the point.

    >>> _short(0.2344), _short(1436.2), _short(0.0)
    ('0.234', '1436', '0')
    """
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _sets(evidence: Evidence) -> int:
    """Number of sets behind the counts."""
    about = next(part.about for part in evidence.result.tables if part.title == _AVERAGED)
    found = re.search(r"ours of (\d+)", about)
    if found is None:
        raise InputError("The table does not say how many sets it counts.")
    return int(found[1])


def _reached(*parts: _Part) -> Rule:
    """Holds where every setting that print leaves open reaches all parts, in part where some do."""

    def judge(evidence: Evidence) -> Verdict:
        sets = _sets(evidence)
        found = {part: _settings(evidence, part.number, part.table) for part in parts}
        good = {
            part: {setting for setting, value in values.items() if part.reached(value, sets)}
            for part, values in found.items()
        }
        several = len(parts) > 1
        said = [
            f"{part.what} {_by_end(values)}"
            + (f"; reached in {len(good[part])} settings" if several else "")
            for part, values in found.items()
        ]
        both, of = set.intersection(*good.values()), len(found[parts[0]])
        how = "Together reached" if several else "Reached"
        said.append(f"{how} in {len(both)} of {of} settings; {_NEITHER}.")
        return by_settings(len(both), of, ". ".join(said))

    return judge


def _pooled(rival: str, measure: str, claimed: int) -> Rule:
    def judge(evidence: Evidence) -> Verdict:
        rows = [
            row.ours.value
            for row in evidence.rows("The pooled rule", against=rival, number=_WON)
            if row.labels["in"] == measure and row.ours is not None
        ]
        sets = _sets(evidence)
        said = (
            f"With penalties by pooled leave-one-out {min(rows):.0f} to {max(rows):.0f} of {sets} "
            "sets, by the number of training rows."
        )
        if min(rows) >= claimed * sets / 50:
            return Verdict("holds", said)
        most = all(2 * count > sets for count in rows)
        return Verdict("holds in part" if most else "does not hold", said)

    return judge


def _smaller_penalty(evidence: Evidence) -> Verdict:
    ridge, ours = (_settings(evidence, f"penalty of {who}") for who in ("ridge", "luckiness"))
    good = sum(ours[setting] < ridge[setting] for setting in ridge)
    said = f"Median averaged penalty below that of ridge in {good} of {len(ridge)} settings."
    return by_count(good, len(ridge), said)


def _losses(evidence: Evidence, measure: str, learner: str) -> dict[str, dict[str, float]]:
    """Training rows per column → set → loss, with pooled penalties."""
    titles = [part.title for part in evidence.result.tables if part.title.endswith(_PER_COLUMN)]
    if not titles:
        raise InputError("Pooled penalties by training rows per column were not run.")
    return {
        title.removesuffix(_PER_COLUMN): {
            row.labels["set"]: row.ours.value
            for row in evidence.rows(title, measure=measure, learner=learner)
            if row.ours is not None
        }
        for title in titles
    }


def _reductions_by_set(evidence: Evidence) -> dict[str, dict[str, float]]:
    """Training rows per column → set → by how much luckiness lowers the MSE of ridge, percent."""
    ridge, ours = (_losses(evidence, "MSE", who) for who in ("ridge", "luckiness"))
    return {
        per: {name: 100 * (1 - ours[per][name] / error) for name, error in each.items()}
        for per, each in ridge.items()
    }


def _up_to(evidence: Evidence) -> Verdict:
    found = _reductions_by_set(evidence)
    most = {per: max(gains, key=lambda name: gains[name]) for per, gains in found.items()}
    said = "The largest reduction with pooled penalties, by training rows per column: " + "; ".join(
        f"{per}: {found[per][name]:.1f} % on {name}" for per, name in most.items()
    )
    reached = sum(found[per][name] >= _MOST for per, name in most.items())
    return by_settings(reached, len(found), said + ".")


def _largest_on_echo(evidence: Evidence) -> Verdict:
    rows = _run(evidence, _LARGEST, _GAINS)
    most = _settings(evidence, _LARGEST, _GAINS)
    echo = _settings(evidence, f"gain on {_ECHO}, percent of MSE", _GAINS)
    first = [gain for setting, gain in echo.items() if gain >= most[setting]]
    there = f", there by {' and '.join(map(_short, first))}" if 0 < len(first) <= 3 else ""
    names = Counter(row.note for row in rows.values()).most_common(3)
    said = (
        f"Reduction in percent on that set {_by_end(echo)}. The largest of all sets in "
        f"{len(first)} of {len(echo)} settings{there}; {_NEITHER}. Most often the largest: "
        f"{', '.join(f'{name} ({times})' for name, times in names)}."
    )
    return by_settings(len(first), len(echo), said)


def _largest_on_echo_by_ours(evidence: Evidence) -> Verdict:
    found = _reductions_by_set(evidence)
    gains = [each[_ECHO] for each in found.values()]
    first = sum(each[_ECHO] == max(each.values()) for each in found.values())
    said = (
        f"With pooled penalties {min(gains):.1f} to {max(gains):.1f} % on that set, by the number "
        f"of training rows; the largest of all sets at {first} of {len(found)} numbers."
    )
    return by_settings(first, len(found), said)


def _gains_over_bayes(bayes: dict[str, float], ours: dict[str, float]) -> tuple[float, float, int]:
    """Mean and median gain in log-loss over the sets, and the number of sets that lose."""
    gains = [loss - ours[name] for name, loss in bayes.items()]
    worse = sum(rounded(ours[name]) > rounded(loss) for name, loss in bayes.items())
    return mean(gains), median(gains), worse


def _degraded(evidence: Evidence) -> Verdict:
    bayes, ours = (_losses(evidence, "log-loss", who) for who in ("Bayes", "luckiness"))
    found = {per: _gains_over_bayes(bayes[per], ours[per]) for per in bayes}
    said = "Mean, median and sets that lose with pooled penalties, over Bayes: " + "; ".join(
        f"{per} rows per column: {average:.2f}, {middle:.2f}, {worse}"
        for per, (average, middle, worse) in found.items()
    )
    good = sum(
        average >= _MEAN and middle >= _MEDIAN and worse <= _DEGRADED
        for average, middle, worse in found.values()
    )
    return by_settings(good, len(found), f"{said}. All three at {good} of {len(found)} numbers.")


CLAIMS = (
    Claim(
        4,
        "The LpNML outperforms the Ridge ERM for 48 of 50 sets.",
        "Lower MSE on 96 % of the sets with averaged penalties, whatever the number of training "
        "rows and the grid; in part for some. Ours: pooled penalties, in part if on most sets.",
        "luckiness-penalty",
        _reached(_Part("Sets won", _WON, 48, _AVERAGED, of_50=True)),
        _pooled("ridge", "MSE", 48),
    ),
    Claim(
        4,
        "The mean and median MSE reductions are 2.03% and 0.96%, respectively.",
        f"Both are that large in a setting, with averaged penalties. {_OPEN}",
        "luckiness-penalty",
        _reached(
            _Part("Mean reduction in percent", "mean gain, percent of MSE", 2.03),
            _Part("Median reduction in percent", "median gain, percent of MSE", 0.96, _AVERAGED),
        ),
    ),
    Claim(
        4,
        "For the log-loss, the LpNML outperforms the other learners in 37 out of 50 sets.",
        "Lower log-loss than ridge and Bayes on 74 % of the sets with averaged penalties, whatever "
        "the setting; in part for some. Ours: pooled penalties, in part if on most sets.",
        "luckiness-penalty",
        _reached(_Part("Sets won", "sets won against ridge and Bayes in log-loss", 37, of_50=True)),
        _pooled("ridge and Bayes", "log-loss", 37),
    ),
    Claim(
        4,
        "Overall, the LpNML has a smaller regularization term.",
        "The median over sets of its averaged penalty is below that of ridge in each setting.",
        "luckiness-penalty",
        _smaller_penalty,
    ),
    Claim(
        4,
        "For real-world datasets, the LpNML attains up to 20% better test MSE than Ridge ERM.",
        f"The largest reduction over the sets is 20 % or more, with averaged penalties. {_OPEN} "
        "Ours: pooled penalties, whatever the number of training rows; in part for some.",
        "luckiness-penalty",
        _reached(_Part("Largest reduction of a set in percent", _LARGEST, _MOST)),
        _up_to,
        beside="pmlb",
    ),
    Claim(
        4,
        f"The largest MSE reduction is 20.0% for the {_ECHO} set.",
        f"No other set has a larger reduction, with averaged penalties. {_OPEN} Ours: pooled "
        "penalties, whatever the number of training rows; in part for some.",
        "luckiness-penalty",
        _largest_on_echo,
        _largest_on_echo_by_ours,
        beside="pmlb",
    ),
    Claim(
        4,
        "[For the log-loss, the LpNML outperforms the other learners] by a mean value of 2.17 and "
        "median value of 0.13, while degrading the log-loss of only 3 sets.",
        "Mean and median gain over Bayes are that large in a setting, and no more sets lose in it "
        f"in the three digits that print has, with averaged penalties. {_OPEN} Ours: pooled "
        "penalties, whatever the number of training rows; in part for some.",
        "luckiness-penalty",
        _reached(
            _Part("Mean gain in nats", "mean gain over Bayes, nats", _MEAN),
            _Part("Median gain in nats", "median gain over Bayes, nats", _MEDIAN),
            _Part("Sets that lose", "sets that lose to Bayes in log-loss", _DEGRADED, at_most=True),
        ),
        _degraded,
        beside="pmlb",
    ),
)
