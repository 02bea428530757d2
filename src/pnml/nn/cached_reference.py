"""The trust reference of a network, computed once for each state of what it depends on."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from pnml.core.trust import Reference, Thresholds, check_level


class CachedReference:
    """Cache of one trust reference (left-out regrets of training rows) and its thresholds.

    `state` is a key for all that the reference depends on: another key replaces what is cached.

    >>> import numpy as np
    >>> cache = CachedReference()
    >>> cache.thresholds(0.9, "before", lambda: Reference(np.arange(100.0))).regret
    89.0
    >>> cache.thresholds(0.9, "after", lambda: Reference(np.arange(10.0))).regret
    8.0
    """

    def __init__(self) -> None:
        self._known: tuple[Hashable, Reference, dict[float, Thresholds]] | None = None

    def reference(self, state: Hashable, compute: Callable[[], Reference]) -> Reference:
        """The reference for this state; `compute()` is called only if another state is cached."""
        return self._of(state, compute)[0]

    def thresholds(
        self, level: float, state: Hashable, compute: Callable[[], Reference]
    ) -> Thresholds:
        """Largest regret and leverage of a trusted input, at a level such as 0.99.

        They are quantiles of the reference for this state, taken once for each level.
        """
        level = check_level(level)
        reference, by_level = self._of(state, compute)
        if level not in by_level:
            by_level[level] = reference.thresholds(level)
        return by_level[level]

    def _of(
        self, state: Hashable, compute: Callable[[], Reference]
    ) -> tuple[Reference, dict[float, Thresholds]]:
        known = self._known
        if known is None or known[0] != state:
            known = self._known = (state, compute(), {})
        return known[1:]
