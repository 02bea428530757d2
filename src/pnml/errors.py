"""Exceptions and warnings of the library, and how names are cut in their messages."""

from __future__ import annotations

MOST_PATH = 200  # characters of a file path in a message


class InputError(ValueError):
    """Error on bad input: what came, what it clashes with, what to do, in one sentence."""


class ConditionWarning(UserWarning):
    """Warning that the numbers asked for are less accurate than usual, and why."""


def shorten(name: object, most: int = 60) -> str:
    """A name for an error: its head and its tail where it has more than `most` characters.

    >>> shorten("age"), shorten("a" * 500 + "z", most=9)
    ('age', 'aaaaa…aaz')
    """
    text = str(name)
    if len(text) <= most:
        return text
    tail = most // 3
    return f"{text[: most - 1 - tail]}…{text[-tail:]}"
