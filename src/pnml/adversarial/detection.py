"""The regret as a detector of attacked inputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from pnml.adversarial.defence import Defence
from pnml.core.arrays import FloatArray
from pnml.errors import InputError
from pnml.metrics.detection import DetectionMetrics, detection_metrics


@dataclass(frozen=True)
class RegretDetection:
    """Detection of attacks: regrets of clean and attacked inputs, and how well they separate.

    >>> from pnml.adversarial import AdversarialPNML
    >>> network = torch.nn.Linear(2, 2, bias=False)
    >>> _ = network.weight.data.copy_(9 * torch.eye(2))
    >>> clean = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> detection = detection_by_regret(AdversarialPNML(network, 0.1), clean, 0.4 + 0.1 * clean)
    >>> bool(detection.clean.max() < detection.attacked.min())
    True
    """

    clean: FloatArray  # (n,)  nats
    attacked: FloatArray  # (m,)
    metrics: DetectionMetrics  # an AUROC below one half: attacked inputs have the lower regret

    @classmethod
    def of(
        cls, clean: FloatArray, attacked: FloatArray, confidence: float, seed: int
    ) -> RegretDetection:
        """Detection of attacks from the regrets of clean (n,) and of attacked inputs (m,) in nats.

        Metrics have intervals of this confidence, by a bootstrap with this seed.
        """
        metrics = detection_metrics(-clean, -attacked, confidence=confidence, seed=seed)
        return cls(clean, attacked, metrics)


def detection_by_regret(
    defence: Defence,
    clean: Tensor,
    attacked: Tensor,
    *,
    rows_at_once: int = 256,
    confidence: float = 0.95,
    seed: int = 0,
) -> RegretDetection:
    """How well the regret tells attacked inputs from clean ones, as detection metrics.

    Parameters
    ----------
    defence : AdversarialPNML or AveragedPNML
    clean, attacked : tensors of shape (n, ...), (m, ...)
        Attacks that ignore the detector show the easy case only.
    rows_at_once : int
        Inputs processed together.
    confidence : float in (0, 1)
        Coverage of the intervals.
    seed : int
        Seed of the bootstrap for the intervals.

    Examples
    --------
    >>> from pnml.adversarial import AdversarialPNML
    >>> network = torch.nn.Linear(2, 2, bias=False)
    >>> _ = network.weight.data.copy_(9 * torch.eye(2))
    >>> clean = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.9, 0.2]])
    >>> detection = detection_by_regret(AdversarialPNML(network, 0.1), clean, 0.4 + 0.1 * clean)
    >>> detection.metrics.auroc.value
    1.0
    """
    if not len(clean) or not len(attacked):
        raise InputError(
            f"There are {len(clean)} clean and {len(attacked)} attacked inputs, but one kind is "
            "told from the other; pass some of both."
        )
    first, second = (regrets_of(defence, x, rows_at_once) for x in (clean, attacked))
    return RegretDetection.of(first, second, confidence, seed)


def regrets_of(defence: Defence, x: Tensor, rows_at_once: int) -> FloatArray:
    """Regrets (n,) in nats of inputs (n, ...) by a defence, `rows_at_once` inputs at a time."""
    with torch.no_grad():
        parts = [
            defence.regret(rows).double().cpu().numpy() for rows in torch.split(x, rows_at_once)
        ]
    return np.concatenate(parts)
