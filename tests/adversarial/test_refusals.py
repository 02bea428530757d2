"""Bad input to the defence or the attack is answered in one sentence that says what to do."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from pnml.adversarial import (
    AdversarialPNML,
    AttackBudget,
    AttackResult,
    AveragedPNML,
    abstention_curve,
    detection_by_regret,
    evaluate_defence,
    joint_attack,
    paired_gain,
    pgd,
    share_held,
    square,
    targeted_apgd,
    untargeted_apgd,
    worst_case,
)
from sentences import assert_refused

NET = nn.Linear(6, 4).requires_grad_(False)
X = torch.rand(5, 6, generator=torch.Generator().manual_seed(0))
Y = torch.tensor([0, 1, 2, 3, 0])


class Of(nn.Module):
    """A network that is one function."""

    def __init__(self, function):
        super().__init__()
        self.function, self.net = function, NET

    def forward(self, x):
        return self.function(x)


def without_gradient(x):
    with torch.no_grad():
        return NET(x)


def defence(**settings):
    return AdversarialPNML(NET, **{"strength": 0.1, **settings})


def score(x, function=NET):
    return AdversarialPNML(Of(function), 0.1)(x)


def attack(x=X, y=Y, radius=0.1, model=NET, **settings):
    return targeted_apgd(model, x, y, radius, steps=settings.pop("steps", 2), **settings)


def evaluated(**settings):
    return evaluate_defence(defence(), X, Y, 0.1, **settings)


def hop_or_square(**settings):
    pytest.importorskip("pyautoattack")
    return square(NET, X, Y, 0.1, **settings)


def with_nan():
    x = X.clone()
    x[3, 0] = torch.nan
    return x


REFUSED = {
    "negative strength": (lambda: defence(strength=-0.1), "strength is -0.1, .* between 0 and 1"),
    "strength over the range": (lambda: defence(strength=1.5), "pass a number from 0 to 1"),
    "strength over own bounds": (
        lambda: defence(strength=3, bounds=(-1, 1)),
        "pass a number from 0 to 2",
    ),
    "strength that is NaN": (lambda: defence(strength=np.nan), "strength is nan"),
    "strength that is a word": (lambda: defence(strength="weak"), "strength is 'weak'"),
    "inverted bounds": (lambda: defence(bounds=(1, 0)), "whose first number is not below"),
    "equal bounds": (lambda: defence(bounds=(1, 1)), "whose first number is not below"),
    "one bound": (lambda: defence(bounds=(1,)), "pass two numbers"),
    "bounds that are a number": (lambda: defence(bounds=1.0), "bounds is 1.0"),
    "infinite bounds": (lambda: defence(bounds=(0, np.inf)), "pass two numbers"),
    "no steps": (lambda: defence(steps=0), "steps is 0"),
    "half a step": (lambda: defence(steps=1.5), "steps is 1.5"),
    "a step that stays": (lambda: defence(step_size=0), "step_size is 0"),
    "a step back": (lambda: defence(step_size=-0.1), "step_size is -0.1"),
    "unknown genie": (lambda: defence(genie="best"), 'genie is .best., .* "own", "class"'),
    "unknown backward": (lambda: defence(backward="bpda"), '"autograd", "identity", "soft"'),
    "softness": (lambda: defence(softness=0), "softness is 0"),
    "no memory": (lambda: defence(max_memory=0), "max_memory is 0"),
    "a function for a model": (lambda: AdversarialPNML(len, 0.1), "pass a torch.nn.Module"),
    "array": (lambda: score(X.numpy()), "The input is a ndarray"),
    "integers": (lambda: score(torch.ones(2, 6, dtype=torch.uint8)), "torch.uint8.*x.float"),
    "one row": (lambda: score(X[0]), r"shape \(6,\), but a batch"),
    "above the bounds": (lambda: score(255 * X), "but the bounds are 0 and 1"),
    "below the bounds": (lambda: score(X - 0.5), "The input goes from -0.[34]"),
    "NaN": (lambda: score(with_nan()), "The input holds 1 NaN"),
    "infinite": (lambda: score(X / 0), "The input goes from inf to inf"),
    "no gradient": (lambda: score(X, without_gradient), "no gradient by its input"),
    "detached": (lambda: score(X, lambda x: NET(x.detach())), "no gradient by its input"),
    "rounded": (lambda: score(X, lambda x: NET((255 * x).byte().float())), "no gradient"),
    "one class": (lambda: score(X, lambda x: NET(x)[:, :1]), "at least 2 classes"),
    "flat output": (lambda: score(X, lambda x: NET(x)[:, 0]), r"a tensor of shape \(1,\)"),
    "pixels": (lambda: score(X, lambda x: NET(x)[..., None]), r"shape \(1, 4, 1\)"),
    "no output": (lambda: score(X, lambda x: None), "makes no tensor of 1 inputs"),
    "NaN logits": (lambda: score(X, lambda x: NET(x) * torch.nan), "logits are NaN or infinite"),
    "label too large": (lambda: attack(y=Y + 1), "from 1 to 4, but the network has 4 classes"),
    "label negative": (lambda: attack(y=Y - 1), "from -1 to 2"),
    "too few labels": (lambda: attack(y=Y[:2]), r"shape \(2,\), but there are 5 inputs"),
    "labels that are floats": (lambda: attack(y=Y.float()), "torch.float32"),
    "radius": (lambda: attack(radius=-1), "radius is -1"),
    "attack steps": (lambda: attack(steps=0), "steps is 0"),
    "restarts": (lambda: attack(restarts=0), "restarts is 0"),
    "targets": (lambda: attack(targets=0), "targets is 0"),
    "rows at once": (lambda: attack(rows_at_once=0), "rows_at_once is 0"),
    "loss": (lambda: attack(loss="ce"), '"dlr", "margin"'),
    "attack outside": (lambda: attack(x=2 * X), "but the bounds are"),
    "nothing to attack": (lambda: attack(x=X[:0], y=Y[:0]), "nothing to attack"),
    "attack without gradient": (
        lambda: attack(model=Of(without_gradient), y=NET(X).argmax(dim=1)),
        "no gradient by its input",
    ),
    "attack of a function": (lambda: attack(model=len), "pass a torch.nn.Module"),
    "no attacks": (lambda: worst_case(), "at least one attack"),
    "attacks of other samples": (
        lambda: worst_case(AttackResult.of(NET, X, Y), AttackResult.of(NET, X[:3], Y[:3])),
        "all of the same samples",
    ),
    "unknown setting": (lambda: defence().with_(eps=0.1), "has no setting 'eps'; it has strength"),
    "spread": (lambda: AveragedPNML(NET, 0.1, spread=1.0), "spread is 1.0"),
    "draws": (lambda: AveragedPNML(NET, 0.1, draws=0), "draws is 0"),
    "averaged strength": (lambda: AveragedPNML(NET, -1), "strength is -1"),
    "averaged integers": (
        lambda: AveragedPNML(NET, 0.1)(torch.ones(2, 6, dtype=torch.uint8)),
        "torch.uint8",
    ),
    "pgd step": (lambda: pgd(NET, X, Y, 0.1, step_size=0), "step_size is 0"),
    "pgd steps": (lambda: pgd(NET, X, Y, 0.1, steps=0), "steps is 0"),
    "untargeted loss": (lambda: untargeted_apgd(NET, X, Y, 0.1, loss="dlr"), '"ce", "margin"'),
    "untargeted NaN": (lambda: untargeted_apgd(NET, with_nan(), Y, 0.1), "holds 1 NaN"),
    "threshold": (lambda: joint_attack(defence(), X, Y, 0.1, np.nan), "threshold is nan"),
    "weight": (lambda: joint_attack(defence(), X, Y, 0.1, 0.1, weight=-1), "weight is -1"),
    "joint labels": (lambda: joint_attack(defence(), X, Y + 1, 0.1, 0.1), "has 4 classes"),
    "abstain all": (lambda: abstention_curve(defence(), X, Y, 0.1, abstain=(1.0,)), "abstain is"),
    "abstain nothing": (lambda: abstention_curve(defence(), X, Y, 0.1, abstain=()), "abstain is"),
    "held": (lambda: share_held([0.5]), "held is float64"),
    "held of nothing": (lambda: share_held(np.zeros(0, dtype=bool)), r"shape \(0,\)"),
    "gain of other rows": (
        lambda: paired_gain([True, False], [True]),
        "defended has 2 rows and static 1",
    ),
    "queries": (lambda: hop_or_square(queries=0), "queries is 0"),
    "no images": (lambda: hop_or_square(), r"images \(n, c, h, w\)"),
    "no curve": (lambda: AttackResult.of(NET, X, Y).curve([1]), "counted no queries"),
    "budget steps": (lambda: AttackBudget(steps=0), "steps is 0"),
    "budget backwards": (lambda: AttackBudget(backwards=()), "backwards is ()"),
    "budget derivative": (lambda: AttackBudget(backwards=("bpda",)), '"identity", "autograd"'),
    "a network for a defence": (lambda: evaluate_defence(NET, X, Y, 0.1), "is a Linear; pass"),
    "strengths alone": (
        lambda: evaluate_defence(defence(), X, Y, 0.1, strengths=(0.1,)),
        "held_out is missing",
    ),
    "no strengths": (lambda: evaluated(strengths=(), held_out=(X, Y)), "strengths is empty"),
    "strength to choose": (
        lambda: evaluated(strengths=(2.0,), held_out=(X, Y)),
        "strength is 2.0",
    ),
    "held-out without labels": (lambda: evaluated(held_out=X), "pass a pair"),
    "held-out labels": (lambda: evaluated(held_out=(X, Y[:2])), r"shape \(2,\), but"),
    "evaluated outside": (lambda: evaluate_defence(defence(), 2 * X, Y, 0.1), "the bounds are"),
    "evaluated radius": (lambda: evaluate_defence(defence(), X, Y, -0.1), "radius is -0.1"),
    "evaluated integers": (
        lambda: evaluate_defence(defence(), (9 * X).byte(), Y, 0.1),
        "torch.uint8",
    ),
    "evaluated NaN": (lambda: evaluate_defence(defence(), with_nan(), Y, 0.1), "holds 1 NaN"),
    "evaluated labels": (lambda: evaluate_defence(defence(), X, Y + 1, 0.1), "has 4 classes"),
    "evaluated without gradient": (
        lambda: evaluate_defence(AdversarialPNML(Of(without_gradient), 0.1), X, Y, 0.1),
        "no gradient",
    ),
    "chunk": (lambda: evaluated(chunk=0), "chunk is 0"),
    "nothing attacked": (
        lambda: detection_by_regret(defence(), X, X[:0]),
        "5 clean and 0 attacked",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_refused_in_one_sentence(case):
    act, message = REFUSED[case]
    assert "\n" not in assert_refused(act, message)


def test_roundings_over_the_bounds_are_no_reason_to_refuse():
    x = X.clone()
    x[0, 0] = 1 + 2**-22
    assert defence()(x).shape == (5, 4)
