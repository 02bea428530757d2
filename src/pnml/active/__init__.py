"""Active learning: which unlabelled rows to label to predict given targets best.

``dial_scores`` and the selections need only log-probabilities of several models; PyTorch and
active-learning libraries are imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pnml.active.acquisition import (
    bald_scores,
    entropy_scores,
    epig_scores,
    k_center,
    margin_scores,
    ual_scores,
)
from pnml.active.checks import logs_of
from pnml.active.curve_results import LearningCurves
from pnml.active.dial import dial_scores, dial_select, dial_select_batch
from pnml.active.learning_curve import active_learning_curve
from pnml.active.linear import linear_scores, linear_select
from pnml.active.strategies import (
    Round,
    Strategy,
    at_random,
    by_bald,
    by_core_set,
    by_dial,
    by_dial_batch,
    by_entropy,
    by_epig,
    by_margin,
    by_ual,
)
from pnml.errors import how_to_install as _how_to_install
from pnml.lazy_names import found_on_first_use

if TYPE_CHECKING:
    from pnml.active.adapters.baal import DIALHeuristic
    from pnml.active.adapters.modal import dial_sampling
    from pnml.active.adapters.skactiveml import DIAL
    from pnml.active.adapters.small_text import DIALQueryStrategy
    from pnml.active.dropout import MCDropout
    from pnml.active.ensemble import Ensemble
    from pnml.active.last_layer import LastLayerSamples

_HOMES = {
    "DIAL": "pnml.active.adapters.skactiveml",
    "DIALHeuristic": "pnml.active.adapters.baal",
    "DIALQueryStrategy": "pnml.active.adapters.small_text",
    "Ensemble": "pnml.active.ensemble",
    "LastLayerSamples": "pnml.active.last_layer",
    "MCDropout": "pnml.active.dropout",
    "dial_sampling": "pnml.active.adapters.modal",
}

__all__ = [
    "DIAL",
    "DIALHeuristic",
    "DIALQueryStrategy",
    "Ensemble",
    "LastLayerSamples",
    "LearningCurves",
    "MCDropout",
    "Round",
    "Strategy",
    "active_learning_curve",
    "at_random",
    "bald_scores",
    "by_bald",
    "by_core_set",
    "by_dial",
    "by_dial_batch",
    "by_entropy",
    "by_epig",
    "by_margin",
    "by_ual",
    "dial_sampling",
    "dial_scores",
    "dial_select",
    "dial_select_batch",
    "entropy_scores",
    "epig_scores",
    "k_center",
    "linear_scores",
    "linear_select",
    "logs_of",
    "margin_scores",
    "ual_scores",
]

_find, __dir__ = found_on_first_use(globals(), _HOMES)


def __getattr__(name: str) -> Any:
    try:
        return _find(name)
    except ModuleNotFoundError as error:
        if error.name != "torch":  # adapters name their own package
            raise
        raise ModuleNotFoundError(
            f"pnml.active.{name} needs PyTorch, which is not installed; "
            f"{_how_to_install('torch')}.",
            name="torch",
        ) from error
