"""The size of a regret in words: its rank among the regrets of training rows left out in turn.

A regret of 0.1 nats is common after a hundred training rows and unheard of after a million, so a
rank tells what a number cannot.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pnml.core.arrays import FloatArray


def rank_text(regret: float, training: FloatArray) -> str:
    """The rank of a regret among the training regrets (n,), in words that follow "its regret is".

    >>> training = np.arange(1, 1001) / 1000
    >>> rank_text(0.9975, training), rank_text(2.0, training)
    ("larger than 99.7 % of the training rows'", "larger than all 1,000 of the training rows'")
    >>> rank_text(0.0005, training), rank_text(np.inf, training)
    ("no larger than any of the training rows'", 'infinite')
    """
    if math.isnan(regret):
        return "not known"
    if math.isinf(regret):
        return "infinite"
    if training.size == 0:
        return f"{regret:.3g} nats"
    below = int(np.sum(training < regret * (1 - 1e-9)))  # equal up to rounding is not smaller
    if below == training.size:
        return f"larger than all {below:,} of the training rows'"
    if below == 0:
        return "no larger than any of the training rows'"
    return f"larger than {_share(below, training.size)} of the training rows'"


def short_rank(regret: float, training: FloatArray) -> str:
    """The rank of a regret among the training regrets (n,), as short text for a table cell.

    >>> training = np.arange(1, 1001) / 1000
    >>> [short_rank(r, training) for r in (0.0001, 0.5, 0.9975, 2.0, np.inf)]
    ['> 0 %', '> 49.9 %', '> 99.7 %', '> all 1,000', 'infinite']
    """
    words = rank_text(regret, training)
    words = words.removesuffix(" of the training rows'").replace("larger than", ">")
    return "> 0 %" if words.startswith("no >") else words


def _share(below: int, size: int) -> str:
    """A share rounded down, with as many digits as keep it below 100 %."""
    share = 100 * below / size
    digits = 1 if share < 99.9 else max(1, math.ceil(-math.log10(100 - share)))
    whole = math.floor(share * 10**digits) / 10**digits
    return f"{whole:.{digits}f}".rstrip("0").removesuffix(".") + " %"
