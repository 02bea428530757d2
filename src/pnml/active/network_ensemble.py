"""Log-probabilities by networks, batch by batch, and the features of their last layer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from operator import length_hint
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from pnml.core.arrays import FloatArray
from pnml.errors import InputError
from pnml.nn.batches import batches_of, call, device_of, input_of, moved, tensors_in
from pnml.nn.eval_mode import as_in_use, unwrapped
from pnml.nn.split_model import found_by_running
from pnml.runtime.checks import check_count, check_positive, check_seed
from pnml.runtime.progress import Progress, reporting

_BATCH = 1024

# From the number of a model and an input on its device to logits (B, C).
Pass = Callable[[int, Any], Any]


class NetworkSamples(ABC):
    """Base of functions from inputs to log-probabilities by n random variants of one network."""

    def __init__(self, model: nn.Module, n: int, temperature: float, seed: int) -> None:
        self.model = model
        self.n = check_count("n", n)
        self.temperature = check_positive("temperature", temperature)
        self.seed = check_seed(seed)

    def __call__(
        self, inputs: Any, *, batch_size: int = _BATCH, progress: Progress = False
    ) -> FloatArray:
        """Log-probabilities (n, N, C) by n variants of N inputs: an array, a tensor or a loader."""
        parts = batches(inputs, check_count("batch_size", batch_size))
        with self._passes() as run:
            return log_probs(run, unwrapped(self.model), self.n, parts, self.temperature, progress)

    @abstractmethod
    def _passes(self) -> AbstractContextManager[Pass]:
        """Context with the forward pass: from the number of a variant and a batch to logits."""


def batches(inputs: Any, batch_size: int) -> Iterable[Any]:
    """Batches of inputs for networks: arrays and tensors are cut, loaders give their own batches.

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
    """Log-probabilities (M, N, C) of N inputs by M networks, at a temperature. Eq. (I11).

    `run` gives the logits of model number m for a batch, `models` is M, and `inputs` are batches,
    which are moved to the device of `network`. Logits are divided by the temperature.
    """
    parts: list[FloatArray] = []
    known = length_hint(inputs)
    with reporting(progress, models * max(known, 1), "Running models") as advance, torch.no_grad():
        for batch in inputs:
            x = moved(input_of(batch, network), device_of(network))
            passes = []
            for m in range(models):
                passes.append(_logs(run(m, x), temperature))
                advance(1 if known else 0)
            parts.append(np.stack(passes))
    if not parts or sum(part.shape[1] for part in parts) == 0:
        raise InputError("There are no inputs to run the models on; pass at least one.")
    return np.concatenate(parts, axis=1)


def ensemble_log_probs(
    models: list[Any], inputs: Any, temperature: float, batch_size: int, progress: Progress
) -> FloatArray:
    """Log-probabilities (M, N, C) of N inputs by M networks with the same classes. Eq. (I11)."""
    for number, model in enumerate(models):
        if not isinstance(model, nn.Module):
            raise InputError(
                f"Model {number} is a {type(model).__name__}, but networks, or classifiers with "
                "predict_proba, are needed; pass only models of one of these kinds."
            )
    networks = [unwrapped(model) for model in models]
    parts = list(batches(inputs, check_count("batch_size", batch_size)))
    logs: list[FloatArray] = []
    for network in networks:
        with as_in_use([network]):
            own = log_probs(_plain_pass(network), network, 1, parts, temperature, progress)
        if logs and own.shape != logs[0].shape:
            raise InputError(
                f"The networks give {logs[0].shape[2]} and {own.shape[2]} classes; pass "
                "networks of the same classes, in the same order."
            )
        logs.append(own)
    return np.concatenate(logs)


def last_layer_features(model: nn.Module, inputs: Any, batch_size: int) -> FloatArray:
    """Features (n, d) of n inputs: what the last layer of a network receives."""
    network = unwrapped(model)
    parts, split = [], None
    with as_in_use([network]), torch.no_grad():
        for batch in batches(inputs, batch_size):
            x = moved(input_of(batch, network), device_of(network))
            split = split or found_by_running(network, x)
            parts.append(split.run(x)[0].double().cpu().flatten(1).numpy())
    return np.concatenate(parts)


def _plain_pass(network: nn.Module) -> Pass:
    def run(_: int, x: Any) -> Any:
        return call(network, x)

    return run


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
