"""The adversarial defence, the attacks on it, and its whole evaluation on a small budget."""

from __future__ import annotations

import json
import re

import torch
from torch import nn

from pnml.adversarial import (
    AbstentionCurve,
    AdversarialPNML,
    AttackBudget,
    Attacked,
    AttackOutcome,
    AveragedPNML,
    DefenceEvaluation,
    JointlyAttacked,
    RegretDetection,
    SweepRow,
    abstention_curve,
    detection_by_regret,
    evaluate_defence,
    fab,
    hop_skip_jump,
    joint_attack,
    paired_gain,
    pgd,
    share_held,
    square,
    targeted_apgd,
    untargeted_apgd,
    worst_case,
)

BUDGET = AttackBudget(
    steps=3,
    restarts=1,
    targets=None,
    backwards=("identity", "autograd", "soft"),
    quick_steps=2,
    fab_steps=0,
    square_queries=0,
    hop_queries=0,
    hop_rows=200,
    joint_steps=2,
    joint_abstain=(0.05,),
    sweep_steps=3,
)


def smooth(classes=4, features=6):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(features, 16), nn.Tanh(), nn.Linear(16, classes)).double()
    with torch.no_grad():
        for weight in net.parameters():
            weight.mul_(2.0)
    return net.requires_grad_(False)


def probe(record):
    torch.set_num_threads(1)
    net = smooth()
    x = torch.rand(20, 6, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    y = net(x).argmax(dim=1)
    y[:3] = (y[:3] + 1) % 4
    outputs(record, net, x)
    attacks(record, net, x, y)
    pictures(record)
    evaluation(record, net, x, y)


def outputs(record, net, x):
    for name, said in {
        "plain": {},
        "steps": {"steps": 3, "step_size": 0.02},
        "genie of a class": {"genie": "class"},
        "identity": {"backward": "identity"},
        "soft": {"backward": "soft", "softness": 0.5},
        "wide": {"bounds": (-2.0, 3.0)},
    }.items():
        key = f"adversarial/defence/{name}"
        defence = record.case(f"{key}/made", lambda s=said: AdversarialPNML(net, 0.1, **s))
        if defence is None:
            continue
        record_defence(record, key, defence, x)
        record.case(f"{key}/refine", lambda d=defence: d.refine(x))
        record.members(key, defence, ("strength", "bounds"))
    averaged = AveragedPNML(net, 0.1, draws=3, spread=0.4, seed=2)
    record_defence(record, "adversarial/averaged", averaged, x)
    record.case("adversarial/averaged/reseed", lambda: averaged.reseed(7)(x))
    record.case("adversarial/averaged/model", lambda: repr(averaged.model))


def record_defence(record, key, defence, x):
    record.case(f"{key}/forward", lambda: defence.forward(x))
    for name in ("probs", "regret"):
        record.case(f"{key}/{name}", lambda n=name: getattr(defence, n)(x))
    record.case(f"{key}/with_", lambda: defence.with_(strength=0.05)(x))
    record.case(f"{key}/repr", lambda: repr(defence))
    record.case(f"{key}/extra_repr", lambda: defence.extra_repr())
    leaf = x.clone().requires_grad_()
    record.case(
        f"{key}/gradient", lambda: torch.autograd.grad(defence(leaf).square().sum(), leaf)[0]
    )


def attacks(record, net, x, y):
    few = {"steps": 4, "seed": 5}
    found = {
        "pgd": lambda: pgd(net, x, y, 0.1, **few),
        "pgd from the input": lambda: pgd(net, x, y, 0.1, random_start=False, step_size=0.05),
        "targeted": lambda: targeted_apgd(net, x, y, 0.1, **few),
        "targeted margin": lambda: targeted_apgd(net, x, y, 0.1, loss="margin", restarts=2, **few),
        "untargeted": lambda: untargeted_apgd(net, x, y, 0.1, **few),
        "untargeted margin": lambda: untargeted_apgd(net, x, y, 0.1, loss="margin", **few),
        "of the defence": lambda: targeted_apgd(AdversarialPNML(net, 0.1), x, y, 0.1, **few),
        "fab": lambda: fab(net.float(), x.float(), y, 0.1, **few),
        "hop": lambda: hop_skip_jump(net.float(), x.float(), y, 0.1, queries=60, seed=5),
    }
    done = {}
    for name, call in found.items():
        key = f"adversarial/attack/{name}"
        done[name] = record.case(key, call)
        net.double()
        if done[name] is not None:
            record.members(key, done[name], ("accuracy",))
    both = worst_case(done["pgd"], done["targeted"])
    record.members("adversarial/worst", both, ("inputs", "fooled", "margin", "accuracy"))
    record.case("adversarial/Attacked.of", lambda: Attacked.of(net, x, y))
    defence = AdversarialPNML(net, 0.1)
    joint = record.case("adversarial/joint", lambda: joint_attack(defence, x, y, 0.1, 0.2, **few))
    record.text("adversarial/joint/type", str(isinstance(joint, JointlyAttacked)))
    record.members("adversarial/joint", joint, ("accuracy",))
    held = ~both.fooled.numpy()
    record.case("adversarial/share_held", lambda: share_held(held, resamples=50))
    record.case(
        "adversarial/paired_gain", lambda: paired_gain(held, ~done["pgd"].fooled.numpy(), seed=3)
    )
    moved = done["pgd"].inputs
    detected = record.case("adversarial/detect", lambda: detection_by_regret(defence, x, moved))
    record.text("adversarial/detect/type", str(isinstance(detected, RegretDetection)))
    curve = record.case(
        "adversarial/abstention",
        lambda: abstention_curve(defence, x, y, 0.1, abstain=(0.0, 0.2), steps=3, resamples=50),
    )
    record.text("adversarial/abstention/type", str(isinstance(curve, AbstentionCurve)))
    record.case("adversarial/abstention/rows", lambda: curve.rows())
    record.case("adversarial/abstention/table", lambda: curve.table())


def pictures(record):
    torch.manual_seed(3)
    net = nn.Sequential(nn.Flatten(), nn.Linear(64, 3)).requires_grad_(False)
    x = torch.rand(6, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    y = net(x).argmax(dim=1)
    found = record.case("adversarial/square", lambda: square(net, x, y, 0.1, queries=60, seed=1))
    record.case("adversarial/square/curve", lambda: found.curve([1, 10, 60]))


def evaluation(record, net, x, y):
    # Without any strength, the regret of the plain defence is round-off, and so is its AUROC.
    for name, (defence, least) in {
        "plain": (AdversarialPNML(net, 0.1), 0.02),
        "averaged": (AveragedPNML(net, 0.1, draws=2), 0.0),
    }.items():
        key = f"adversarial/evaluation/{name}"
        options = {"resamples": 50, "strengths": (least, 0.1), "held_out": (x, y)}
        report = evaluate_defence(defence, x, y, 0.1, budget=BUDGET, **options)
        record.text(f"{key}/type", str(isinstance(report, DefenceEvaluation)))
        record.members(
            key,
            report,
            (
                "radius",
                "strength",
                "static_worst",
                "defended_worst",
                "static_accuracy",
                "defended_accuracy",
                "clean_static",
                "clean_defended",
                "transferred_accuracy",
                "gain",
                "sweep",
                "left_out",
                "static_inputs",
                "defended_inputs",
            ),
        )
        record.text(f"{key}/sweep type", str(isinstance(report.sweep[0], SweepRow)))
        for side in ("static", "defended"):
            for i, outcome in enumerate(getattr(report, side)):
                record_outcome(record, f"{key}/{side}/{i}", outcome)
        record.case(f"{key}/verdict", lambda r=report: timeless(r.verdict))
        for call in ("summary", "table", "rows"):
            record.case(f"{key}/{call}", lambda c=call, r=report: timeless(getattr(r, c)()))
        record.case(f"{key}/write", lambda r=report: written(r, record.scratch / "defence.json"))
    record.value("adversarial/small", AttackBudget.small())


def record_outcome(record, key, outcome):
    record.text(f"{key}/type", str(isinstance(outcome, AttackOutcome)))
    parts = ("name", "model", "settings", "tried", "held", "accuracy", "queries")
    record.members(key, outcome, parts)


TIMES = ("seconds", "cost")
SECONDS = re.compile(
    r"\b[\d.]+(?= ?(?:s\b|times|×|plain passes))|(?<=\"seconds\": )[\d.]+|(?<=\"cost\": )[\d.]+"
)


def timeless(said):
    """What was said, without seconds and their ratios."""
    if isinstance(said, list):
        return [timeless(part) for part in said]
    if isinstance(said, dict):
        return {name: timeless(part) for name, part in said.items() if name not in TIMES}
    if isinstance(said, str):
        return SECONDS.sub("#", said)
    return said


def written(report, path):
    report.write(path)
    text = path.read_text(encoding="utf-8")
    try:
        return timeless(json.loads(text))
    except ValueError:
        return timeless(text)
