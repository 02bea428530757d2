"""Drift of a table's columns: what each held in training, and what it holds now."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import betabinom, chi2_contingency, hypergeom

from pnml.columns.phrases import known_text
from pnml.core.arrays import FloatArray
from pnml.tables.encoder import CategoryColumn, Encoded, Encoder, HashedColumn, NumberColumn
from pnml.tables.main_reasons import gaps, training_text
from pnml.tables.profile import ColumnProfile, binned
from pnml.tables.reasons import phrase_kind
from pnml.tables.word_times import RareWords

_CHANGE = 0.1  # index of stability from which a change is called one, by the usual rule of thumb
_LEVEL = 0.01  # of the test, over all columns together
_SHARE = 0.05  # of cells outside, missing or new, above that of training, from which it is told


@dataclass(frozen=True)
class DriftRow:
    """Drift of one column of a table between training and new rows. NaN where not defined.

    `flagged`: a change is large and not due to chance, and `remark` says which.
    """

    column: str
    kind: str  # "number", "date", "time", "category" or "constant"
    training: str  # range or words in training
    new: str  # range or words in the new rows
    outside: float  # share of new cells outside of the training range
    missing_before: float  # share of training cells
    missing_now: float  # share of new cells
    new_words: int  # cells with a word that training never saw
    psi: float  # population stability index
    p_value: float  # of equal shares, times the number of columns (Bonferroni)
    flagged: bool
    remark: str


@dataclass
class _Tally:
    """Counts of one column over the new rows seen so far."""

    counts: FloatArray
    missing: int = 0
    strange: int = 0
    outside: int = 0
    low: float = np.inf
    high: float = -np.inf


@dataclass
class Drift:
    """Counts of the cells of new rows, from which the drift of each column follows.

    Call `add` for each batch and `table` at the end. `profiles` are the counts of training cells by
    column, `trained` is the number of training rows.
    """

    encoder: Encoder
    profiles: tuple[ColumnProfile, ...]  # () for a model of an older version
    trained: int  # rows of training
    rows: int = 0
    _tallies: list[_Tally] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._tallies = [_Tally(np.zeros(len(p.counts))) for p in self.profiles]

    def add(self, encoded: Encoded) -> None:
        """Add the encoded rows of a batch."""
        self.rows += len(encoded.X)
        empty = gaps(self.encoder, encoded)
        columns = zip(self.encoder.columns, self.profiles, self._tallies, strict=False)
        for j, (column, profile, tally) in enumerate(columns):
            missing, strange = empty[:, j], encoded.strange_cells[:, j]
            tally.missing += int(missing.sum())
            tally.strange += int((strange & ~missing).sum())
            tally.outside += int(encoded.outside[:, j].sum())
            if isinstance(column, NumberColumn):
                there = ~missing & ~strange
                tally.counts += binned(profile.edges, encoded.X[there, column.value])
                values = encoded.values[there, j]
                tally.low = min(tally.low, float(values.min(initial=np.inf)))
                tally.high = max(tally.high, float(values.max(initial=-np.inf)))
            elif isinstance(column, CategoryColumn) and profile.counts:
                tally.counts += _word_counts(column, profile, encoded)
            elif profile.counts:
                tally.counts += int((~missing & ~strange).sum())

    def table(self) -> tuple[DriftRow, ...]:
        """The drift of each column, one `DriftRow` each; () without rows or without profiles."""
        if not self.rows:
            return ()
        columns = zip(self.encoder.columns, self.profiles, self._tallies, strict=False)
        return tuple(self._row(*each) for each in columns)

    def _row(self, column: Any, profile: ColumnProfile, tally: _Tally) -> DriftRow:
        trained = sum(profile.counts) + profile.missing
        before = profile.missing / trained if trained else float("nan")
        now = tally.missing / self.rows
        psi, p_value = _compared(profile, tally)
        p_value = min(1.0, p_value * len(self.profiles)) if p_value == p_value else p_value
        outside = tally.outside / self.rows
        remarks, level = [], _LEVEL / len(self.profiles)
        if outside > _SHARE and _chance_outside(profile, tally, self.rows) < level:
            remarks.append(f"{outside:.0%} outside the training range")
        if now - before > _SHARE and _chance_missing(profile, tally, self.rows) < level:
            remarks.append(f"{now:.0%} missing, {before:.0%} in training")
        rare = _rare_words(column, self.trained)
        share, expected = tally.strange / self.rows, rare.expected if rare else 0.0
        if share - expected > _SHARE and (
            not rare or rare.chance(tally.strange, self.rows) < level
        ):
            what = "unreadable" if isinstance(column, NumberColumn) else "never seen in training"
            told = f", {expected:.0%} expected" if expected >= 0.005 else ""
            remarks.append(f"{share:.0%} {what}{told}")
        if psi > _CHANGE and p_value < _LEVEL:
            remarks.append("other shares of its values than in training")
        return DriftRow(
            column=column.name,
            kind=_kind(column),
            training=training_text(column),
            new=_now(column, tally),
            outside=outside,
            missing_before=before,
            missing_now=now,
            new_words=0 if isinstance(column, NumberColumn) else tally.strange,
            psi=psi,
            p_value=p_value,
            flagged=bool(remarks),
            remark="; ".join(remarks),
        )


def _word_counts(column: CategoryColumn, profile: ColumnProfile, encoded: Encoded) -> FloatArray:
    counts = np.count_nonzero(encoded.X[:, list(column.level_places)], axis=0)
    named = [word for word in profile.words if word >= 0]
    kept = counts[named].astype(float)
    rest = [counts.sum() - kept.sum()] if -1 in profile.words else []
    return np.append(kept, rest)


def _compared(profile: ColumnProfile, tally: _Tally) -> tuple[float, float]:
    """Stability index of the shares, and the p-value of a two-sample test that they are equal."""
    was = np.append(profile.counts, profile.missing).astype(float)
    now = np.append(tally.counts, tally.missing)
    used = was + now > 0
    was, now = was[used], now[used]
    if len(was) < 2 or not was.sum() or not now.sum():
        return float("nan"), float("nan")
    p, q = (was + 0.5) / (was + 0.5).sum(), (now + 0.5) / (now + 0.5).sum()
    psi = float(np.sum((q - p) * np.log(q / p)))
    return psi, float(chi2_contingency(np.vstack([was, now])).pvalue)


def _chance_outside(profile: ColumnProfile, tally: _Tally, rows: int) -> float:
    """Probability that at least as many new cells are outside the training range by chance.

    The share of fresh cells beyond the least and the largest of n is Beta(2, n − 1) distributed.
    """
    trained = max(sum(profile.counts), 2)
    return float(betabinom.sf(tally.outside - 1, rows, 2, trained - 1))


def _chance_missing(profile: ColumnProfile, tally: _Tally, rows: int) -> float:
    """Probability that at least as many of all gaps fall on the new rows (Fisher's exact test)."""
    trained = sum(profile.counts) + profile.missing
    gaps_in_all = profile.missing + tally.missing
    return float(hypergeom.sf(tally.missing - 1, trained + rows, gaps_in_all, rows))


def _rare_words(column: Any, rows: int) -> RareWords | None:
    """Rare words of a column; None for a model of an older version, which has not counted them."""
    times = getattr(column, "times", None)
    if isinstance(column, CategoryColumn | HashedColumn) and (times is None or not len(times)):
        return None
    return RareWords.of(() if times is None else times, rows)


def _kind(column: Any) -> str:
    if isinstance(column, NumberColumn):
        return column.kind
    return "constant" if not column.places else "category"


def _now(column: Any, tally: _Tally) -> str:
    if isinstance(column, NumberColumn):
        if tally.low > tally.high:
            return "no values"
        return known_text(phrase_kind(column), tally.low, tally.low, tally.high, gaps=False)
    if tally.strange:
        return f"{'1 cell' if tally.strange == 1 else f'{tally.strange:,} cells'} never seen"
    return "words of training" if column.places else "as in training"
