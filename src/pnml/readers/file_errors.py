"""What goes wrong with files, each in one sentence."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from pnml.errors import InputError

_SHOWN = 40  # letters of a cell in a message


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Say in one sentence what is wrong with a file that cannot be read."""
    try:
        yield
    except InputError:
        raise
    except FileNotFoundError as error:
        raise InputError(f"{name} is no longer there; put it back and start again.") from error
    except PermissionError as error:
        raise InputError(
            f"{name} may not be read by this user; change its permissions or copy it."
        ) from error
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise InputError(
                f"{name} cannot be read ({error.strerror}); check the disk or copy the file."
            ) from error
        raise damaged(name, error) from error


def damaged(name: str, error: Exception) -> InputError:
    """What to say of a file that begins well and does not go on so."""
    reason = " ".join(str(error).split()).partition(". ")[0][:200].rstrip(". ")
    return InputError(
        f"{name} is damaged or cut short ({reason or type(error).__name__}); "
        "copy or write it again."
    )


def missing(path: Path, name: str) -> InputError:
    """What to say of a file that is not there, with the name that was perhaps meant."""
    try:
        nearby = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return InputError(f"{name} is not there, nor is its folder; check the path.")
    close = difflib.get_close_matches(path.name, nearby, n=1)
    if close:
        return InputError(f"{name} is not there; did you mean {path.with_name(close[0])}?")
    return InputError(f"{name} is not there; check the path.")


def refuse_repeated(columns: Sequence[str], name: str) -> None:
    """Refuse columns of which two have the same name.

    >>> refuse_repeated(["a", "b"], "new.csv")
    """
    twice = sorted(column for column, times in Counter(columns).items() if times > 1)
    if twice:
        raise InputError(
            f"{name} has more than one column named {listed(twice)}; rename all but one."
        )


def cell(value: str) -> str:
    """A cell as it stands in a message.

    >>> cell("x" * 50)
    "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…'"
    """
    return repr(value if len(value) <= _SHOWN else value[: _SHOWN - 1] + "…")


def listed(names: list[str], most: int = 5) -> str:
    """Names as they stand in a message.

    >>> listed(["a", "b"])
    "'a', 'b'"
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + more
