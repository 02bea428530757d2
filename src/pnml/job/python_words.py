"""Translates error messages about command-line options into Python arguments; checks names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from pnml.errors import InputError, shorten
from pnml.runtime.checks import is_whole

_ARGUMENTS = {"id": "id_columns"} | {
    option: option.replace("-", "_")
    for option in (
        *("target", "task", "learner", "categorical", "drop", "weight", "weight-kind"),
        *("log-target", "skip-bad", "prefix", "strict", "coverage", "level"),
    )
}
_OF_READING = (
    *("delimiter", "encoding", "missing", "decimal", "thousands", "date-format", "query"),
    "max-columns",
)
_ARGUMENTS |= {option: f"ReadOptions.{option.replace('-', '_')}" for option in _OF_READING}
_LISTS = ("categorical", "drop", "id")  # options that are given several times
_OPTION = re.compile(
    rf"--(?:(task|learner) ([\w-]+)|({'|'.join(_LISTS)}) ('[^']*')|({'|'.join(_ARGUMENTS)})\b(?!-))"
)


def python_words(sentence: str) -> str:
    """A message with the options of commands replaced by the arguments of Python functions.

    >>> python_words("pass --drop 'age', or take --learner pnml and leave --log-target out.")
    "pass drop=['age'], or take learner='pnml' and leave log_target out."
    """

    def argument(found: re.Match[str]) -> str:
        word, value, several, name, alone = found.groups()
        if word:
            return f"{word}={value!r}"
        return f"{_ARGUMENTS[several]}=[{name}]" if several else _ARGUMENTS[alone]

    return _OPTION.sub(argument, sentence)


@contextmanager
def in_python_words() -> Iterator[None]:
    """Context in which an InputError names Python arguments instead of command-line options."""
    try:
        yield
    except InputError as error:
        error.args = (python_words(str(error)), *error.args[1:])
        raise


def column_name(argument: str, value: Any) -> str:
    """A column name as a string, from a string or a whole number (as pandas columns may have).

    Anything else raises an InputError, in which `argument` is the name of the user's argument.

    >>> column_name("target", 2)
    '2'
    """
    if isinstance(value, str):
        return value
    if is_whole(value, 0):
        return str(value)
    raise InputError(
        f"{argument} is {shorten(repr(value))}, but columns have names; pass a name such as "
        f"{argument}='price'."
    )


def column_names(argument: str, value: Any) -> tuple[str, ...]:
    """Column names as a tuple of strings, from one name or several.

    Anything else raises an InputError, in which `argument` is the name of the user's argument.

    >>> column_names("drop", "age"), column_names("drop", ["age", "town"])
    (('age',), ('age', 'town'))
    """
    if isinstance(value, str) or not isinstance(value, Iterable):
        return (column_name(argument, value),)
    return tuple(column_name(argument, each) for each in value)
