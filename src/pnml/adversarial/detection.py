"""The regret as a detector of attacked inputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from pnml.adversarial.averaged import AveragedPNML
from pnml.adversarial.defence import AdversarialPNML
from pnml.core.arrays import FloatArray
from pnml.errors import InputError
from pnml.metrics.detection_estimates import DetectionMetrics, detection_metrics


@dataclass(frozen=True)
class RegretDetection:
    """Regrets of clean and of attacked inputs, and how well they tell one from the other.

    >>> network = torch.nn.Linear(2, 2, bias=False)
    >>> _ = network.weight.data.copy_(9 * torch.eye(2))
    >>> clean = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> found = detection_by_regret(AdversarialPNML(network, 0.1), clean, 0.4 + 0.1 * clean)
    >>> bool(found.clean.max() < found.attacked.min())
    True
    """

    clean: FloatArray  # (n,)  nats
    attacked: FloatArray  # (m,)
    metrics: DetectionMetrics  # an AUROC below one half: attacked inputs have the lower regret


def detection_by_regret(
    defence: AdversarialPNML | AveragedPNML,
    clean: Tensor,
    attacked: Tensor,
    *,
    rows_at_once: int = 256,
    confidence: float = 0.95,
    seed: int = 0,
) -> RegretDetection:
    """How well the regret tells clean from attacked inputs; a high regret is a sign of attack.

    Parameters
    ----------
    defence : AdversarialPNML or AveragedPNML
    clean, attacked : tensors of shape (n, ...), (m, ...)
        An attack made without the detector in mind shows the easy case only.
    rows_at_once : int
        Inputs that are judged together.
    confidence : float in (0, 1)
        Coverage of the intervals.
    seed : int
        Seed of the rows drawn again for the intervals.

    Examples
    --------
    >>> network = torch.nn.Linear(2, 2, bias=False)
    >>> _ = network.weight.data.copy_(9 * torch.eye(2))
    >>> clean = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.9, 0.2]])
    >>> found = detection_by_regret(AdversarialPNML(network, 0.1), clean, 0.4 + 0.1 * clean)
    >>> found.metrics.auroc.value
    1.0
    """
    if not len(clean) or not len(attacked):
        raise InputError(
            f"There are {len(clean)} clean and {len(attacked)} attacked inputs, but one kind is "
            "told from the other; pass some of both."
        )
    usual, strange = (_regrets(defence, x, rows_at_once) for x in (clean, attacked))
    metrics = detection_metrics(-usual, -strange, confidence=confidence, seed=seed)
    return RegretDetection(usual, strange, metrics)


def _regrets(defence: AdversarialPNML | AveragedPNML, x: Tensor, rows_at_once: int) -> FloatArray:
    with torch.no_grad():
        parts = [
            defence.regret(rows).double().cpu().numpy() for rows in torch.split(x, rows_at_once)
        ]
    return np.concatenate(parts)
