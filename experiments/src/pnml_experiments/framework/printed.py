"""Numbers as the thesis prints them."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


def lines(name: str) -> list[dict[str, str]]:
    """The lines of a file in the folder ``printed``, by heading.

    >>> lines("pmlb")[0]["set"]
    '1199_BNG_echoMonths'
    """
    path = files("pnml_experiments").joinpath("printed", f"{name}.csv")
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def numbers(name: str, keys: Sequence[str], value: str) -> dict[tuple[str, ...], float]:
    """One number of every line, by the headings that tell the lines apart.

    >>> numbers("pmlb", ["set", "learner", "measure"], "value")["banana", "ridge", "MSE"]
    2.84
    """
    return {tuple(line[key] for key in keys): float(line[value]) for line in lines(name)}


@dataclass(frozen=True)
class PrintedPair:
    """Percent of one metric for a method, alone and with pNML."""

    network: str
    ind: str
    ood: str
    method: str
    metric: str
    plain: float
    with_pnml: float


@cache
def ood_pairs() -> tuple[PrintedPair, ...]:
    """The tables on out-of-distribution detection, in their order.

    >>> ood_pairs()[0].plain
    69.7
    """
    return tuple(
        PrintedPair(
            **{name: line[name] for name in ("network", "ind", "ood", "method", "metric")},
            plain=float(line["plain"]),
            with_pnml=float(line["with_pnml"]),
        )
        for line in lines("ood")
    )
