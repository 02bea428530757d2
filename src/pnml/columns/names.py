"""Names of columns, and whether new rows have those of the training rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from pnml.errors import InputError, shorten

_NAMED = 3


def place_names(count: int) -> tuple[str, ...]:
    """Names of the columns of an array, x0, x1, …, as in scikit-learn."""
    return tuple(f"x{j}" for j in range(count))


def read_names(labels: Sequence[Any]) -> tuple[tuple[str, ...], bool]:
    """Names of the columns of a data frame, and whether they are texts that new rows must have.

    Labels that are not text are only shown, as in scikit-learn: new rows go by place.
    """
    twice = [label for label, times in Counter(labels).items() if times > 1]
    if twice:
        raise InputError(
            f"X has several columns named {shorten(twice[0])!r}, so it is unknown which of them is "
            "meant; give every column a name of its own."
        )
    refuse_mixed_names(labels)
    return tuple(map(str, labels)), any(isinstance(label, str) for label in labels)


def refuse_mixed_names(labels: Sequence[Any]) -> None:
    """Raise InputError if some names of columns are text and others are not."""
    texts = [label for label in labels if isinstance(label, str)]
    if texts and len(texts) < len(labels):
        other = next(label for label in labels if not isinstance(label, str))
        raise InputError(
            f"X has the column names {shorten(texts[0])!r}, which is text, and {shorten(other)}, "
            "which is not; name all columns with text, for instance by "
            "X.columns = X.columns.astype(str)."
        )


def check_names(new: tuple[str, ...], known: tuple[str, ...]) -> None:
    """Raise InputError unless new rows have the named columns of training, in the same order."""
    if new == known:
        return
    lost = [name for name in known if name not in set(new)]
    odd = [name for name in new if name not in set(known)]
    parts = []
    if lost:
        parts.append(f"lacks {_listed(lost)}")
    if odd:
        parts.append(f"has {_listed(odd)}, which training had not")
    if not parts:
        parts.append("has the columns of the training rows in another order")
    raise InputError(
        f"X {' and '.join(parts)}; pass the same columns, in the same order, as in fit."
    )


def check_count(new: int, known: int) -> None:
    """Raise InputError if new rows have more or fewer columns than training had."""
    if new != known:
        raise InputError(
            f"X has {new} columns, but the training rows had {known}; pass the same columns, in "
            "the same order, as in fit."
        )


def _listed(names: list[str]) -> str:
    shown = ", ".join(repr(shorten(name)) for name in names[:_NAMED])
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"the column{'s' if len(names) > 1 else ''} {shown}{more}"
