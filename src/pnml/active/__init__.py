"""Active learning: which unlabelled rows to have labelled, for the sake of given targets.

``dial_scores`` and its selections need log-probabilities of several models alone; PyTorch is
loaded when a source of such models asks for it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pnml.active.checks import logs_of
from pnml.active.dial import dial_scores, dial_select, dial_select_batch
from pnml.active.linear import linear_scores, linear_select

if TYPE_CHECKING:
    from pnml.active.dropout import MCDropout
    from pnml.active.ensemble import Ensemble
    from pnml.active.last_layer import LastLayerSamples

_HOMES = {
    "Ensemble": "pnml.active.ensemble",
    "LastLayerSamples": "pnml.active.last_layer",
    "MCDropout": "pnml.active.dropout",
}

__all__ = [
    "Ensemble",
    "LastLayerSamples",
    "MCDropout",
    "dial_scores",
    "dial_select",
    "dial_select_batch",
    "linear_scores",
    "linear_select",
    "logs_of",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
