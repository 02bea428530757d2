"""Networks that were trained apart, run one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import nn

from pnml.active.checks import check_count
from pnml.active.network_ensemble import batches, log_probs
from pnml.active.progress import Progress
from pnml.core.arrays import FloatArray
from pnml.errors import InputError
from pnml.nn.batches import call
from pnml.nn.eval_mode import as_in_use, unwrapped


def ensemble_log_probs(
    models: list[Any], inputs: Any, temperature: float, batch_size: int, progress: Progress
) -> FloatArray:
    """Log-probabilities (M, N, C) of inputs by networks. Eq. (I11)."""
    for number, model in enumerate(models):
        if not isinstance(model, nn.Module):
            raise InputError(
                f"Model {number} is a {type(model).__name__}, but networks, or classifiers with "
                "predict_proba, are needed; pass only models of one of these kinds."
            )
    networks = [unwrapped(model) for model in models]
    parts = list(batches(inputs, check_count("batch_size", batch_size)))
    found: list[FloatArray] = []
    for network in networks:
        with as_in_use([network]):
            passed = log_probs(_alone(network), network, 1, parts, temperature, progress)
        if found and passed.shape != found[0].shape:
            raise InputError(
                f"The networks give {found[0].shape[2]} and {passed.shape[2]} classes; pass "
                "networks of the same classes, in the same order."
            )
        found.append(passed)
    return np.concatenate(found)


def _alone(network: nn.Module) -> Any:
    def run(_: int, given: Any) -> Any:
        return call(network, given)

    return run
