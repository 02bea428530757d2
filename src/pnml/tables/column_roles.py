"""Roles of columns once all rows are read: constant and empty columns are left out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from pnml.columns.phrases import value_text
from pnml.errors import shorten
from pnml.tables.encoder import ConstantColumn, Encoder
from pnml.tables.roles import Role

_ROLES = {"number": "number", "time": "number", "date": "date", "word": "category"}
EMPTY = "it holds no value at all"


def final_roles(roles: Iterable[Role], encoder: Encoder) -> tuple[Role, ...]:
    """The roles, one per column, with constant and empty columns set to "left out" and the reason.

    A role says how a column of the table is used, such as number, date or category. `encoder` knows
    which columns were constant in training.
    """
    constant = {c.name: c for c in encoder.columns if isinstance(c, ConstantColumn)}
    return tuple(
        replace(role, kind="left out", remark=constant_text(constant[role.column]))
        if role.column in constant
        else role
        for role in roles
    )


def merged_roles(each: Sequence[tuple[Role, ...]], encoder: Encoder) -> tuple[Role, ...]:
    """Roles of the columns, one each, in a model that was merged from several models.

    `each` holds the roles in each model, `encoder` is the merged one. A column is used if it varies
    within any model or between models; otherwise it is "left out", with the reason.
    """
    used = set(encoder.used)
    roles = []
    for role in each[0]:
        same = [
            role,
            *(other for part in each[1:] for other in part if other.column == role.column),
        ]
        if role.column in used:
            kept = [other for other in same if other.kind != "left out"]
            column = next(c for c in encoder.columns if c.name == role.column)
            role = kept[0] if kept else Role(role.column, _ROLES[column.kind])
        roles.append(role)
    return final_roles(roles, encoder)


def constant_text(column: ConstantColumn) -> str:
    """The reason, as text with its value, why a constant column is left out.

    >>> constant_text(ConstantColumn("year", "number", 2024.0, 2024.0))
    'always 2024 in training'
    """
    if column.kind == "gap":
        return EMPTY
    if column.kind == "word":
        return f"always {shorten(column.word)!r} in training"
    low, high = column.low or 0.0, column.high or 0.0
    kind = "span" if column.kind == "time" else column.kind
    return f"always {value_text(kind, low, low, high)} in training"
