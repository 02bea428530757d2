"""Exceptions and warnings of the library, and how names are cut in their messages."""

from __future__ import annotations

MOST_PATH = 200  # characters of a file path in a message


class InputError(ValueError):
    """Bad input; the message says in one sentence what came, what is wrong and what to do."""


def how_to_install(extra: str) -> str:
    """The end of a sentence about a missing package: the commands that install an extra.

    >>> print(how_to_install("torch"))
    run pip install "pnml[torch]" (in a clone: pip install -c constraints.txt -e ".[torch]")
    """
    return (
        f'run pip install "pnml[{extra}]" '
        f'(in a clone: pip install -c constraints.txt -e ".[{extra}]")'
    )


class ConditionWarning(UserWarning):
    """Warning that the numbers asked for are less accurate than usual, and why."""


def shorten(name: object, most: int = 60) -> str:
    """A name for a message: its head and tail with "…" between, if longer than `most` characters.

    Control characters are shown as `printable` shows them.

    >>> shorten("age"), shorten("a" * 500 + "z", most=9)
    ('age', 'aaaaa…aaz')
    """
    text = str(name)
    if len(text) > most:
        tail = most // 3
        text = f"{text[: most - 1 - tail]}…{text[-tail:]}"
    return printable(text)


def printable(text: str) -> str:
    r"""Text for a message or a terminal, with a picture in place of each control character.

    A name in a file may hold codes that colour a terminal, move its cursor or turn the direction
    of writing.

    >>> printable("age"), printable("\x1b[31mred")
    ('age', '␛[31mred')
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\u00a0" else _picture(c) for c in text)


def _picture(character: str) -> str:
    """The picture of a control character, or a mark for what has none."""
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else "\N{REPLACEMENT CHARACTER}"
