"""Steps and queries spent on an evaluation."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from pnml.adversarial.checks import check_count
from pnml.errors import InputError
from pnml.runtime.checks import check_choice

_BACKWARDS = ("identity", "autograd", "soft")
# Fields that may be 0, which skips the attack.
_OPTIONAL = ("quick_steps", "fab_steps", "square_queries", "hop_queries", "joint_steps")


@dataclass(frozen=True)
class AttackBudget:
    """Budget of the attacks of `evaluate_defence`: steps, targets and queries.

    >>> AttackBudget(square_queries=0).hop_queries
    5000
    """

    steps: int = 100  # of each Auto-PGD
    restarts: int = 1
    targets: int | None = None  # other labels to try; None: all
    backwards: tuple[str, ...] = _BACKWARDS  # derivatives of the refinement to attack through
    quick_steps: int = 20  # of a first, cheap attack; 0: none
    fab_steps: int = 100  # on the network alone; 0: none
    square_queries: int = 5000  # 0: none
    hop_queries: int = 5000  # 0: none
    hop_rows: int = 200  # rows that are attacked; the others count as correct
    joint_steps: int = 50  # of the attack on defence and detector; 0: none
    joint_abstain: tuple[float, ...] = (0.01, 0.05, 0.2)  # shares of clean inputs to reject
    sweep_steps: int = 50  # of the attack that chooses the strength

    def __post_init__(self) -> None:
        for spec in fields(self):
            value: Any = getattr(self, spec.name)
            if spec.name in ("backwards", "joint_abstain") or value is None:
                continue
            if not (value == 0 and spec.name in _OPTIONAL and not isinstance(value, bool)):
                check_count(value, spec.name)
        ways: Any = self.backwards
        if not isinstance(ways, tuple | list) or not ways:
            raise InputError(
                f"backwards is {ways!r}, but an attack needs a derivative; pass a tuple of them, "
                'for instance ("identity",).'
            )
        for name in ways:
            check_choice("backwards", name, _BACKWARDS)

    @classmethod
    def small(cls) -> AttackBudget:
        """A budget that takes minutes: failures are real, but survival proves little.

        >>> AttackBudget.small().hop_queries
        0
        """
        return cls(
            steps=20,
            targets=3,
            backwards=("identity", "autograd"),
            quick_steps=0,
            fab_steps=0,
            square_queries=200,
            hop_queries=0,
            joint_steps=15,
            joint_abstain=(0.05,),
            sweep_steps=15,
        )
