"""PyTorch networks: a regret for every input from the last layer of a trained model."""

from __future__ import annotations

from pnml.errors import how_to_install as _how_to_install

try:
    import torch as _torch  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"pnml.nn needs PyTorch, which is not installed; {_how_to_install('torch')}.",
        name=error.name,
    ) from error

from pnml.nn.last_layer import LastLayerPNML
from pnml.nn.last_layer_output import LastLayerOutput
from pnml.nn.last_layer_scores import LastLayerScores
from pnml.nn.refit.refit_last_layer import RefitLastLayerPNML
from pnml.nn.refit.refit_output import RefitOutput
from pnml.nn.refit.refit_settings import FineTuning

__all__ = [
    "FineTuning",
    "LastLayerOutput",
    "LastLayerPNML",
    "LastLayerScores",
    "RefitLastLayerPNML",
    "RefitOutput",
]
