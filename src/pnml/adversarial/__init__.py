"""Adversarial pNML: refine an input towards every label, and see what an attack makes of that.

The module is a network like any other to a library of attacks. What it is worth is what the
strongest attack through it leaves, not what it makes of attacks on the network inside.
"""

from __future__ import annotations

try:
    import torch as _torch  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        'pnml.adversarial needs PyTorch, which is not installed; run pip install "pnml[torch]".',
        name=error.name,
    ) from error

from pnml.adversarial.attacked import Attacked, worst_case
from pnml.adversarial.attacks import targeted_apgd
from pnml.adversarial.detection import RegretDetection, detection_by_regret
from pnml.adversarial.module import AdversarialPNML

__all__ = [
    "AdversarialPNML",
    "Attacked",
    "RegretDetection",
    "detection_by_regret",
    "targeted_apgd",
    "worst_case",
]
