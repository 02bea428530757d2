"""Differences between two recordings: numbers to 1e-12, text exactly."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import NamedTuple

TOLERANCE = 1e-12
# A name or a parameter may be new; what 0.1 had must be there.
MAY_GROW = ("names/", "signatures/", "sections/")
# Tables and pages print numbers with all their digits, so texts are cut into words and numbers.
NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?")


class Difference(NamedTuple):
    key: str
    what: str


def read(path):
    rows = map(json.loads, Path(path).read_text(encoding="utf-8").splitlines())
    return {row.pop("key"): row for row in rows}


def near(a, b):
    """Whether two numbers are equal to 1e-12, relative to max(1, |a|)."""
    if a == b or (math.isnan(a) and math.isnan(b)):
        return True
    if not (math.isfinite(a) and math.isfinite(b)):
        return False
    return abs(a - b) <= TOLERANCE * max(1.0, abs(a))


def of_numbers(old, new):
    for name in ("dtype", "shape"):
        if old[name] != new[name]:
            return f"{name} {old[name]} became {new[name]}"
    apart = [i for i, (a, b) in enumerate(zip(*_both(old, new), strict=True)) if not near(a, b)]
    if not apart:
        return None
    i = max(apart, key=lambda i: abs(old["numbers"][i] - new["numbers"][i]))
    a, b = old["numbers"][i], new["numbers"][i]
    return f"{len(apart)} of {len(old['numbers'])} numbers differ, most at {i}: {a!r} became {b!r}"


def _both(old, new):
    return old["numbers"], new["numbers"]


def of_texts(old, new):
    if old == new:
        return None
    same_words = NUMBER.sub("#", old) == NUMBER.sub("#", new)
    pairs = zip(NUMBER.findall(old), NUMBER.findall(new), strict=False)
    if same_words and all(near(float(a), float(b)) for a, b in pairs):
        return None
    start = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), None)
    start = max(0, (min(len(old), len(new)) if start is None else start) - 60)
    return f"text\n    was    {old[start : start + 240]!r}\n    became {new[start : start + 240]!r}"


def differences(old, new):
    """Every key at which two recordings differ."""
    found = []
    for key, was in old.items():
        if key not in new:
            found.append(Difference(key, f"is no longer said; it was {str(was)[:160]}"))
            continue
        became = new[key]
        if ("text" in was) != ("text" in became):
            what = f"was {str(was)[:160]} and became {str(became)[:160]}"
        elif "text" in was:
            what = of_texts(was["text"], became["text"])
        else:
            what = of_numbers(was, became)
        if what:
            found.append(Difference(key, what))
    extra = [key for key in new if key not in old and not key.startswith(MAY_GROW)]
    return found + [Difference(key, f"is new: {str(new[key])[:160]}") for key in extra]
