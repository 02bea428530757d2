"""Checks of arguments: numbers, whole numbers, shares, flags and choices among words.

The predicates (`is_…`) are for arguments whose error sentence is their own; the checks (`check_…`)
return the argument or raise an InputError.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from pnml.errors import InputError


def is_number(value: Any, least: float = -math.inf) -> bool:
    """Check whether a value is one finite number of at least `least`; booleans are not.

    >>> is_number(0.5), is_number(np.float32(0.5)), is_number(True), is_number(math.nan)
    (True, True, False, False)
    >>> is_number(-1, 0.0)
    False
    """
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        return False
    try:
        number = float(value)
    except OverflowError:  # a whole number beyond the range of floats
        return False
    return math.isfinite(number) and number >= least


def is_whole(value: Any, least: int) -> bool:
    """Check whether a value is a whole number of at least `least`; booleans are not.

    >>> is_whole(3, 1), is_whole(np.int64(0), 1), is_whole(True, 0), is_whole(2.0, 1)
    (True, False, False, False)
    """
    whole = isinstance(value, Integral) and not isinstance(value, bool | np.bool_)
    return whole and int(value) >= least


def is_share(value: Any, *, or_one: bool = False) -> bool:
    """Check whether a value is a number above 0 and below 1, or up to 1 where `or_one`.

    >>> is_share(0.5), is_share(1.0), is_share(1.0, or_one=True)
    (True, False, True)
    """
    return is_number(value) and (0 < value < 1 or (or_one and value == 1))


def check_flag(name: str, value: Any) -> bool:
    """The argument `value` as a bool; raises InputError unless it is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{name} is {value!r}, but it must be True or False; pass one of them.")
    return bool(value)


def check_choice(name: str, value: Any, known: Sequence[str]) -> str:
    """The argument `value`, one of the words in `known`; raises InputError for anything else.

    >>> check_choice("loss", "margin", ["margin", "entropy"])
    'margin'
    """
    if not isinstance(value, str) or value not in known:
        words = ", ".join(f'"{word}"' for word in known)
        raise InputError(f"{name} is {value!r}, which is none of {words}; pass one of them.")
    return value


def check_number_or_loo(name: str, value: Any, *, positive: bool) -> float | None:
    """The argument `value` as a float, or None for "loo"; raises InputError for anything else.

    The number must be finite and at least 0, or above 0 if `positive`.
    """
    if isinstance(value, str) and value == "loo":
        return None
    if not is_number(value, 0.0) or (positive and value == 0):
        least = "greater than 0" if positive else "of at least 0"
        raise InputError(
            f'{name} is {value!r}, but it must be a finite number {least} or "loo"; '
            f'pass {name}="loo" to have it chosen by leave-one-out.'
        )
    return float(value)


def check_number(name: str, value: Any, least: float, needed: str = "a finite number") -> float:
    """The argument `value` as a float; raises InputError unless it is finite and at least `least`.

    `name` is the argument's name and `needed` what the message asks for, such as "a finite number".
    """
    if not is_number(value, least):
        raise _too_small(name, value, needed, least)
    return float(value)


def check_whole(name: str, value: Any, least: int, needed: str = "a whole number") -> int:
    """The argument `value` as an int; raises InputError unless it is whole and at least `least`.

    `name` is the argument's name and `needed` what the message asks for, such as "a whole number".

    >>> check_whole("epochs", np.int32(3), 0)
    3
    """
    if not is_whole(value, least):
        raise _too_small(name, value, needed, least)
    return int(value)


def check_positive(name: str, value: Any) -> float:
    """The argument `value` as a float; raises InputError unless it is finite and above 0."""
    if not is_number(value, 0.0) or float(value) == 0:
        raise InputError(
            f"{name} is {value!r}, but a finite number greater than 0 is needed; pass one."
        )
    return float(value)


def check_count(name: str, value: Any, most: int | None = None, of: str = "") -> int:
    """The argument `value` as an int; raises InputError unless it is whole and from 1 to `most`.

    `of` names in the message what is counted, such as "rows".
    """
    if not is_whole(value, 1):
        raise InputError(
            f"{name} is {value!r}, but a whole number of 1 or more is needed; pass one."
        )
    if most is not None and value > most:
        raise InputError(
            f"{name} is {value}, but there are only {most} {of}; ask for {most} at most."
        )
    return int(value)


def check_seed(value: Any) -> int:
    """The argument `value` as an int; raises InputError unless it is whole and at least 0."""
    if not is_whole(value, 0):
        raise InputError(f"seed is {value!r}, but a whole number from 0 on is needed; pass one.")
    return int(value)


def _too_small(name: str, value: Any, needed: str, least: float) -> InputError:
    return InputError(
        f"{name} is {value!r}, but it must be {needed} of at least {least}; pass such a value."
    )
