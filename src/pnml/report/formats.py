"""Numbers and text from the user, formatted for the report."""

from __future__ import annotations

import math
import re

LONGEST = 120  # characters of one cell or name

# Control characters, lone surrogates and marks that change the direction of text.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def number(value: float) -> str:
    """A number as text for the report: three significant digits, "∞", or "–" for NaN.

    >>> [number(x) for x in (0.031415, 12.5, 12345.6, float("inf"), float("nan"))]
    ['0.0314', '12.5', '12,346', '∞', '–']
    """
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    size = abs(value)
    text = f"{value:,.0f}" if 999.5 <= size < 1e12 else f"{value:.3g}"
    return text.replace("-", "−") if value < 0 and "e" not in text else text


def percent(share: float) -> str:
    """A share as text in per cent; "100 %" and "0 %" only for exactly 1 and 0.

    >>> [percent(x) for x in (0.97, 0.999, 0.99999, 1.0, 0.0001, 0.0)]
    ['97 %', '99.9 %', 'over 99.9 %', '100 %', 'under 0.1 %', '0 %']
    """
    if math.isnan(share):
        return "–"
    text = f"{100 * share:.1f}".removesuffix(".0")
    if text == "0" and share > 0:
        return "under 0.1 %"
    if text == "100" and share < 1:
        return "over 99.9 %"
    return f"{text} %"


def count(number_of: int, noun: str, plural: str = "") -> str:
    """A number of things as text, with its noun.

    >>> count(1, "row"), count(2000, "row"), count(2, "category", "categories")
    ('1 row', '2,000 rows', '2 categories')
    """
    return f"{number_of:,} {noun if number_of == 1 else plural or noun + 's'}"


def printable(text: str) -> str:
    r"""Text for the report with characters that cannot be shown or encoded replaced.

    >>> printable("a\x00b")
    'a�b'
    """
    return _UNPRINTABLE.sub("\ufffd", text)


def cut(text: str, longest: int = LONGEST) -> str:
    """Text for the report, of at most ``longest`` characters, with "…" in place of the rest.

    >>> cut("abcdef", 4)
    'abc…'
    """
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def sort_value(text: str) -> float | None:
    """The number that a text of a table cell begins with, to sort by; None without one.

    >>> sort_value("−1.5 … 2"), sort_value("∞"), sort_value("1,234"), sort_value("blue")
    (-1.5, inf, 1234.0, None)
    """
    plain = text.strip().replace("−", "-")
    if re.match(r"[+-]?(∞|inf\b)", plain):
        return -math.inf if plain.startswith("-") else math.inf
    match = re.match(
        r"[+-]?(\d{1,3}(,\d{3})+|\d+)?(\.\d+)?(e[+-]?\d+)?(?=\s|$|[;,…–])", plain, re.IGNORECASE
    )
    if match is None or not re.search(r"\d", match.group()):
        return None
    return float(match.group().replace(",", ""))
