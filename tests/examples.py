"""How many examples a property test tries."""

from __future__ import annotations

from hypothesis import settings

_THOROUGH = 100


def examples(thorough):
    """Number of examples for a test that tries `thorough` of them in the profile of that name.

    A quicker profile tries its own share of them, but as many as of any other test where the test
    has that many.
    """
    usual = settings.default.max_examples
    return max(min(thorough, usual), thorough * usual // _THOROUGH)
