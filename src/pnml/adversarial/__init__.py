"""Adversarial pNML: a defence that refines an input towards every label, and attacks on it.

Attack libraries can use the defence like any network. Its value is its accuracy under the
strongest end-to-end attack, not under attacks on the network inside.
"""

from __future__ import annotations

import warnings
from typing import Any

from pnml.errors import how_to_install as _how_to_install

try:
    import torch as _torch  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"pnml.adversarial needs PyTorch, which is not installed; {_how_to_install('torch')}.",
        name=error.name,
    ) from error

from pnml.adversarial.abstention import AbstentionCurve, abstention_curve
from pnml.adversarial.attack_budget import AttackBudget
from pnml.adversarial.attack_result import AttackResult, worst_case
from pnml.adversarial.attack_sequence import AttackOutcome
from pnml.adversarial.averaged import AveragedPNML
from pnml.adversarial.defence import AdversarialPNML
from pnml.adversarial.detection import RegretDetection, detection_by_regret
from pnml.adversarial.evaluation import evaluate_defence
from pnml.adversarial.evaluation_result import DefenceEvaluation, SweepRow
from pnml.adversarial.external_attacks import fab, hop_skip_jump, square
from pnml.adversarial.gradient_attacks import pgd, targeted_apgd, untargeted_apgd
from pnml.adversarial.joint_attacks import JointAttackResult, joint_attack
from pnml.adversarial.robustness_intervals import paired_gain, share_held

__all__ = [
    "AbstentionCurve",
    "AdversarialPNML",
    "AttackBudget",
    "AttackOutcome",
    "AttackResult",
    "AveragedPNML",
    "DefenceEvaluation",
    "JointAttackResult",
    "RegretDetection",
    "SweepRow",
    "abstention_curve",
    "detection_by_regret",
    "evaluate_defence",
    "fab",
    "hop_skip_jump",
    "joint_attack",
    "paired_gain",
    "pgd",
    "share_held",
    "square",
    "targeted_apgd",
    "untargeted_apgd",
    "worst_case",
]

_RENAMED = {"Attacked": "AttackResult", "JointlyAttacked": "JointAttackResult"}


def __getattr__(name: str) -> Any:
    if name not in _RENAMED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    new = _RENAMED[name]
    warnings.warn(
        f"{__name__}.{name} is now {__name__}.{new}; the old name will be removed in 0.4.",
        DeprecationWarning,
        stacklevel=2,
    )
    return globals()[new]
