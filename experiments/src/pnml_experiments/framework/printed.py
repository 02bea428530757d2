"""Numbers as the thesis prints them."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


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
    text = files("pnml_experiments").joinpath("printed", "ood.csv").read_text(encoding="utf-8")
    return tuple(
        PrintedPair(
            **{name: line[name] for name in ("network", "ind", "ood", "method", "metric")},
            plain=float(line["plain"]),
            with_pnml=float(line["with_pnml"]),
        )
        for line in csv.DictReader(text.splitlines())
    )
