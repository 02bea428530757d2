"""Log-probabilities of a network's outputs, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import length_hint
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from pnml.active.progress import Progress, reporting
from pnml.core.arrays import FloatArray
from pnml.errors import InputError
from pnml.nn.batches import batches_of, device_of, input_of, moved, tensors_in

DEFAULT_BATCH = 1024

# From the number of a model and an input on its device to logits (B, C).
Pass = Callable[[int, Any], Any]


def batches(inputs: Any, batch_size: int) -> Iterable[Any]:
    """Inputs as batches: arrays and tensors are cut, loaders give their own.

    >>> [len(batch) for batch in batches(torch.zeros(5, 2), 2)]
    [2, 2, 1]
    """
    if isinstance(inputs, Tensor | np.ndarray):
        return [inputs[start : start + batch_size] for start in range(0, len(inputs), batch_size)]
    return batches_of(inputs)


def log_probs(
    run: Pass,
    network: nn.Module,
    models: int,
    inputs: Iterable[Any],
    temperature: float,
    progress: Progress,
) -> FloatArray:
    """Log-probabilities (M, N, C) of inputs by models 0 … M−1, at a temperature. Eq. (I11)."""
    found: list[FloatArray] = []
    known = length_hint(inputs)
    with reporting(progress, models * max(known, 1), "Running models") as advance, torch.no_grad():
        for batch in inputs:
            given = moved(input_of(batch, network), device_of(network))
            passes = []
            for m in range(models):
                passes.append(_logs(run(m, given), temperature))
                advance(1 if known else 0)
            found.append(np.stack(passes))
    if not found or sum(part.shape[1] for part in found) == 0:
        raise InputError("There are no inputs to run the models on; pass at least one.")
    return np.concatenate(found, axis=1)


def _logs(output: Any, temperature: float) -> FloatArray:
    logits = next(tensors_in(output), None)
    if logits is None or logits.ndim != 2 or logits.shape[1] < 2:
        shape = "no tensor" if logits is None else f"shape {tuple(logits.shape)}"
        raise InputError(
            f"The model's output has {shape}, but logits of two or more classes for each input "
            "are needed; pass a model that gives (B, C)."
        )
    logs: FloatArray = torch.log_softmax(logits.double() / temperature, dim=1).cpu().numpy()
    if np.isnan(logs).any():
        raise InputError("The model's output contains NaN; look for it in the inputs and weights.")
    return logs
