"""Differences between two recordings: numbers to 1e-12, text exactly."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import NamedTuple

TOLERANCE = 1e-12
# What 0.1 says of an object that it knows no parts of.
OBJECT = "an object"
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
    """Every key at which two recordings differ; what is only in the new one does not differ.

    A warning or an error sentence that is new does: 0.1 was silent there.
    """
    found = []
    for key, was in old.items():
        if key not in new:
            found.append(Difference(key, f"is no longer said; it was {str(was)[:160]}"))
            continue
        what = None if grown(was, new[key]) else of_answers(was, new[key])
        if what:
            found.append(Difference(key, what))
    unheard = [key for key in new if key not in old and not is_addition(key, old)]
    return found + [Difference(key, f"is new: {str(new[key])[:160]}") for key in unheard]


def additions(old, new):
    """Keys of what only the new recording says, where nothing was said or warned of before."""
    parts = [key for key, was in old.items() if key in new and grown(was, new[key])]
    return parts + [key for key in new if key not in old and is_addition(key, old)]


def of_answers(was, became):
    """How one answer differs, or None."""
    if ("text" in was) != ("text" in became):
        return f"was {str(was)[:160]} and became {str(became)[:160]}"
    return of_texts(was["text"], became["text"]) if "text" in was else of_numbers(was, became)


def grown(was, became):
    """Whether an object shows its parts now."""
    return was.get("text") == OBJECT and became.get("text", "").startswith("parts: ")


def is_addition(key, old):
    """Whether a new answer leaves what 0.1 said as it was."""
    if key.startswith("sentences/"):
        return False
    call, _, last = key.rpartition("/")
    return last != "warnings" or call not in old
