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

from pnml.adversarial.abstention import AbstentionCurve, abstention_curve
from pnml.adversarial.attack_result import Attacked, worst_case
from pnml.adversarial.attack_sequence import AttackOutcome
from pnml.adversarial.attacks import pgd, targeted_apgd, untargeted_apgd
from pnml.adversarial.averaged import AveragedPNML
from pnml.adversarial.budget import AttackBudget
from pnml.adversarial.decisions import hop_skip_jump
from pnml.adversarial.defence import AdversarialPNML
from pnml.adversarial.detection import RegretDetection, detection_by_regret
from pnml.adversarial.evaluation import evaluate_defence
from pnml.adversarial.external import fab, square
from pnml.adversarial.intervals import paired_gain, share_held
from pnml.adversarial.joint import JointlyAttacked, joint_attack
from pnml.adversarial.report import DefenceEvaluation, SweepRow

__all__ = [
    "AbstentionCurve",
    "AdversarialPNML",
    "AttackBudget",
    "AttackOutcome",
    "Attacked",
    "AveragedPNML",
    "DefenceEvaluation",
    "JointlyAttacked",
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
