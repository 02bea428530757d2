"""How much a test tries: little in the profile quick, much in the profile thorough."""

from __future__ import annotations

from hypothesis import settings

_THOROUGH = 100


def examples(thorough):
    """Examples of a property test that tries `thorough` of them in the profile of that name.

    A quicker profile tries its share of them, but no fewer than other tests try.
    """
    usual = settings.default.max_examples
    return max(min(thorough, usual), thorough * usual // _THOROUGH)


def cases(thorough):
    """Cases, at least one, of a test that goes through `thorough` of them in that profile.

    For tests whose truth is dear: each case refits a model for many labels.
    """
    return max(1, thorough * settings.default.max_examples // _THOROUGH)
