"""Differences from 0.1 that are meant, each with its reason."""

from __future__ import annotations

from fnmatch import fnmatchcase

_TREES = (
    "One trust rule: the picture of a tree model draws the threshold by which the model trusts, "
    "and not that of its leave-one-out regrets alone."
)
_DETECTORS = "One trust rule: a RegretDetector looks at the leverage too, as LastLayerPNML does."

# Pattern of keys → why what is said there may differ.
EXPECTED = {
    "displays/regret/*-tree*/threshold": _TREES,
    "displays/regret/*-tree*/line *": _TREES,
    "displays/regret/*-tree*/words": _TREES,
    "ood/regret*/trusted*": _DETECTORS,
    "ood/with_pnml*/trusted*": _DETECTORS,
    "ood/regret*/decision_function*": _DETECTORS,
    "ood/with_pnml*/decision_function*": _DETECTORS,
    "command/help/reproduce/*": "The experiments are a distribution of their own.",
}


def reason(key):
    """Why a difference at this key is meant, or None."""
    return next((why for pattern, why in EXPECTED.items() if fnmatchcase(key, pattern)), None)
