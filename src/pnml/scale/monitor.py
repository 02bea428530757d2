"""Watch the regrets of a stream in production, with a stated rate of false alarms."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Annotated, Any, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator

from pnml.core.arrays import FloatArray
from pnml.core.conditions import COUNT, NOT_NAN, NOT_NEGATIVE, SHARE
from pnml.core.martingale import Ranking, Wealth
from pnml.core.user_types import ArrayOrFrame
from pnml.errors import MOST_PATH, InputError, shorten
from pnml.models.container import pack, unpack
from pnml.models.stored_record import read_record
from pnml.runtime.atomic import check_path, reason, write_whole
from pnml.runtime.checks import is_share, is_whole
from pnml.runtime.one_at_a_time import one_at_a_time

Monitor = TypeVar("Monitor", bound="RegretMonitor")

_KEY = "regret_monitor"
_MOST_LOG = 700.0  # exp of it is near the largest double


@dataclass(frozen=True)
class Drift:
    """An alarm of a RegretMonitor: regrets became higher, at which row it saw this, and since when.

    >>> print(Drift(row=1200, since=1100, rows_between=1e6))
    Drift seen at row 1,200: regrets are higher than before, most likely since row 1,100; ...
    """

    row: int  # of the stream, from 0, at which the alarm was raised
    since: int  # the row where the change most likely was
    rows_between: float  # false alarms are at least so many rows apart on average

    def __str__(self) -> str:
        return (
            f"Drift seen at row {self.row:,}: regrets are higher than before, most likely since "
            f"row {self.since:,}; without any change such alarms are {self.rows_between:,.0f} "
            "rows apart or more on average."
        )


class RegretMonitor:
    """Monitor that raises an alarm when the regrets of a stream become higher than in training.

    Pass regrets to `update` in the order of the stream; it returns a `Drift` once there is an
    alarm. Each regret is ranked among the reference and the stream so far, Eq. (W1), and bets are
    laid on high ones, Eq. (W5); large winnings raise the alarm. The rate of false alarms holds for
    any distribution of the rows. Memory does not grow. All arguments but the first are keywords.

    Parameters
    ----------
    reference : array-like of shape (m,)
        Regrets of rows that the stream should be like: of rows that the model was not fitted to,
        or leave-one-out regrets of its training rows, which `of` takes from the model.
    false_alarm : float between 0 and 1, default=0.01
        Largest probability of an alarm within the first `within` rows if nothing changes.
    within : int, default=10_000
        Number of rows for which `false_alarm` is stated. If nothing changes, alarms are
        ``within / false_alarm`` rows apart or more on average, by default a million.
    pool : int, default=10_000
        How many regrets are kept in memory, at first those of the reference, to rank new ones
        among. Once the pool is full, a random one is dropped for each new one. A reference of more
        than `pool` regrets is kept whole, and its length is then the size of the pool.
    seed : int, default=0
        Seed of the random choices: the order of ties, and what a full pool drops.

    Attributes
    ----------
    rows : rows seen since the start or the last `reset`
    drift : the `Drift` of the first alarm, or None
    evidence : evidence of drift at the last row; an alarm is raised where it reaches 1
    p_value : p-value of "no drift", small if there is drift; valid at any time

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> monitor = RegretMonitor(random.exponential(size=500))
    >>> monitor.update(random.exponential(size=1000)) is None
    True
    >>> drift = monitor.update(2 * random.exponential(size=300))
    >>> abs(drift.since - 1000) < 50
    True
    """

    def __init__(
        self,
        reference: ArrayOrFrame,
        *,
        false_alarm: float = 0.01,
        within: int = 10_000,
        pool: int = 10_000,
        seed: int = 0,
    ) -> None:
        scores = _scores(reference, "reference")
        if not len(scores):
            raise InputError(
                "reference is empty, but new regrets are ranked among it; pass regrets of rows "
                "that the stream should be like."
            )
        if not is_share(false_alarm):
            raise InputError(
                f"false_alarm is {false_alarm!r}, but it is a probability; pass a number between "
                "0 and 1, for instance 0.01."
            )
        self.false_alarm = float(false_alarm)
        self.within = _count(within, "within")
        size = max(_count(pool, "pool"), len(scores))
        self._ranking = Ranking(scores, size, np.random.default_rng(seed))
        self._wealth = Wealth.at_start()
        self._most = 0.0  # the largest log of Eq. (W4) so far
        self.drift: Drift | None = None

    @classmethod
    def of(cls, model: BaseEstimator, **settings: Any) -> Self:
        """A monitor whose reference is the leave-one-out regrets of a fitted estimator.

        `settings` are the keyword arguments of RegretMonitor.

        >>> from pnml import PNMLRegressor
        >>> X = np.arange(8.0)[:, None]
        >>> RegretMonitor.of(PNMLRegressor().fit(X, X[:, 0] ** 2)).rows
        0
        """
        left_out = getattr(model, "loo_", None)
        regrets = getattr(left_out, "regrets", None)
        if regrets is None or not np.size(regrets):
            raise InputError(
                f"{type(model).__name__} has no leave-one-out regrets; pass regrets of rows that "
                "it was not fitted on to RegretMonitor itself."
            )
        return cls(regrets, **settings)

    @property
    def rows(self) -> int:
        """Number of regrets seen since the start or the last `reset`."""
        return self._wealth.rows

    @property
    def p_value(self) -> float:
        """P-value of "no drift" since the start or the last `reset`; small means drift. Eq. (W4).

        Without drift, evidence as strong as the strongest so far ever appears, at any row, with at
        most this probability. So it may be read after every row. It is 1 at the start and never
        rises. Alarms do not depend on it, but on `evidence`.
        """
        return float(np.exp(-self._most))

    @property
    def evidence(self) -> float:
        """Evidence of drift at the last row, as a share of the alarm limit: from 1 on an alarm."""
        last = self._wealth.log_detector
        return float(np.exp(min(last[-1] - self._log_limit, _MOST_LOG))) if len(last) else 0.0

    @one_at_a_time
    def update(self, regrets: ArrayOrFrame) -> Drift | None:
        """Add the next regrets (n,), in the order of the stream; returns the `Drift`, or None.

        None as long as no alarm was raised. After an alarm this and every later call return the
        same `Drift`, that of the first alarm, until `reset`. Regrets may be infinite, but not NaN.
        """
        ranks = self._ranking.of(_scores(regrets, "regrets"))
        first = self.rows
        self._wealth = self._wealth.after(ranks)
        if len(ranks):
            self._most = max(self._most, float(self._wealth.log_martingale.max()))
            over = np.flatnonzero(self._wealth.log_detector >= self._log_limit)
            if len(over) and self.drift is None:
                row = first + int(over[0])
                since = min(self._wealth.since, row)
                self.drift = Drift(row, since, self.within / self.false_alarm)
        return self.drift

    @one_at_a_time
    def reset(self, reference: ArrayOrFrame | None = None) -> None:
        """Start again after an alarm, with a new reference (m,) or else with the regrets kept."""
        kept = self._ranking
        scores = np.array(kept.pool) if reference is None else _scores(reference, "reference")
        self._ranking = Ranking(scores, max(kept.size, len(scores)), kept.random)
        self._wealth, self._most, self.drift = Wealth.at_start(), 0.0, None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the monitor's state to a file, whole or not at all; `load` continues from it."""
        stored = vars(StoredMonitor.of(self))
        arrays = {name: value for name, value in stored.items() if isinstance(value, np.ndarray)}
        described = {name: value for name, value in stored.items() if name not in arrays}
        path = check_path(path)
        try:
            write_whole(path, pack({_KEY: described}, arrays))
        except InputError:
            raise
        except (OSError, ValueError) as error:
            raise InputError(
                f"Cannot write {shorten(path, MOST_PATH)}: {reason(error)}; check the path."
            ) from error

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The monitor that `save` wrote to a file, ready for the next regrets."""
        path = check_path(path)
        label = shorten(path, MOST_PATH)
        try:
            document, arrays = unpack(path)
        except InputError as error:
            raise InputError(f"Cannot load {label}: {error}") from error
        except (OSError, ValueError) as error:
            raise InputError(f"Cannot load {label}: {reason(error)}; check the path.") from error
        if _KEY not in document:
            raise InputError(
                f"Cannot load {label}: it holds a model and no monitor; use pnml.load, or pass "
                "what RegretMonitor.save has written."
            )
        try:
            return read_record(StoredMonitor, document[_KEY], arrays).put_into(cls)
        except InputError as error:
            raise InputError(
                f"Cannot load {label}: {error}; upgrade pnml if a newer version wrote it, else "
                "save the monitor again."
            ) from error

    @property
    def _log_limit(self) -> float:
        return float(np.log(self.within / self.false_alarm))


@dataclass(frozen=True)
class StoredMonitor:
    """The state of a `RegretMonitor`, field by field as a file holds it."""

    false_alarm: Annotated[float, SHARE]
    within: Annotated[int, COUNT]
    size: Annotated[int, COUNT]  # of the pool at most
    random: dict[str, Any]  # state of the generator
    rows: Annotated[int, COUNT]
    begun: list[Annotated[int, COUNT]]  # (e,)
    most: Annotated[float, NOT_NEGATIVE]
    drift: list[Annotated[int, COUNT]] | None  # row, and since which row
    log_products: Annotated[FloatArray, "e"]
    log_sums: Annotated[FloatArray, "e", NOT_NAN]  # −inf before the first row
    log_best: Annotated[FloatArray, "e"]
    pool: Annotated[FloatArray, "m", NOT_NAN]
    log_detector: Annotated[FloatArray, "n"]  # of the last row; none before the first one

    @classmethod
    def of(cls, monitor: RegretMonitor) -> StoredMonitor:
        """The state of a monitor, for a file."""
        wealth, ranking, drift = monitor._wealth, monitor._ranking, monitor.drift
        return cls(
            monitor.false_alarm,
            monitor.within,
            ranking.size,
            dict(ranking.random.bit_generator.state),
            wealth.rows,
            list(wealth.begun),
            monitor._most,
            None if drift is None else [drift.row, drift.since],
            wealth.log_products,
            wealth.log_sums,
            wealth.log_best,
            np.array(ranking.pool),
            wealth.log_detector[-1:].copy(),
        )

    def put_into(self, cls: type[Monitor]) -> Monitor:
        """A new monitor of class `cls` in this state; raises InputError where fields clash."""
        made = cls(
            self.pool, false_alarm=self.false_alarm, within=self.within, pool=max(self.size, 1)
        )
        start = Wealth.at_start()
        if len(self.log_products) != len(start.begun) or len(self.begun) != len(start.begun):
            raise InputError("it has other bets than this version lays")
        last, since = len(self.log_detector), (*self.begun, *(self.drift or ()))
        if last != min(self.rows, 1) or any(row > self.rows for row in since):
            raise InputError("its rows are not those that it has seen")
        if self.drift is not None and len(self.drift) != 2:
            raise InputError("its drift is not a row and the row since which it was")
        try:
            made._ranking.random.bit_generator.state = self.random
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
            raise InputError("its random numbers are of no known generator") from error
        made._wealth = Wealth(
            self.log_products,
            self.log_sums,
            self.log_best,
            tuple(self.begun),
            self.rows,
            self.log_detector[:0],
            self.log_detector,
        )
        made._most = self.most
        if self.drift is not None:
            row, since_row = self.drift
            made.drift = Drift(row, since_row, made.within / made.false_alarm)
        return made


def _scores(values: ArrayOrFrame, name: str) -> FloatArray:
    scores = np.asarray(values, dtype=float)
    if scores.ndim != 1:
        raise InputError(
            f"{name} has shape {scores.shape}, but it is one regret a row; pass shape (n,)."
        )
    if np.isnan(scores).any():
        raise InputError(
            f"{name} holds NaN in row {int(np.flatnonzero(np.isnan(scores))[0])}, which has no "
            "rank; pass regrets, which may be infinite."
        )
    return scores


def _count(value: Any, name: str) -> int:
    if not is_whole(value, 1):
        raise InputError(f"{name} is {value!r}, but it counts rows; pass an integer above 0.")
    return int(value)
