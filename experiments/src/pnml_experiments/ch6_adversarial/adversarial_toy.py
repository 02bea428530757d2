"""Why refining undoes an attack: two mechanisms in the plane, and what they do not withstand."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from pnml.adversarial import AdversarialPNML, AttackResult, targeted_apgd
from pnml_experiments.ch6_adversarial.adversarial_attacks import (
    INTERVAL,
    Held,
    percent,
    pgd_to_the_end,
)
from pnml_experiments.ch6_adversarial.adversarial_subjects import Points
from pnml_experiments.framework.experiment import Experiment, Progress, Scale
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.result import Figure, Result, Row, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MatplotlibFigure

EXPERIMENT = Experiment(
    id="adversarial-toy",
    chapter=6,
    title="Two mechanisms of the adversarial defence, in the plane",
    scales=("small", "printed"),
    minutes=(0.2, 1.0),
    extras=("plots", "torch"),
)

_SEED = 0
_CIRCLE, _SPREAD = 2.0, 0.1
_TRAINED, _ATTACKED, STRENGTH = 0.5, 0.95, 0.6
BOUNDS = (-4.0, 4.0)
SIZES = {"small": (300, 400), "full": (2_000, 4_000)}  # steps of training, test points a label
_HIDDEN, _BATCH, _RATE = 32, 256, 5e-3
_ABOUT = (
    "Label 0 is a normal cloud at the origin, label 1 one around a circle of radius 2; standard "
    f"deviation {_SPREAD}. A network of four linear layers is trained with PGD (4 steps of 0.25 "
    f"within {_TRAINED}) and attacked within {_ATTACKED}; the refinement has strength {STRENGTH}. "
    "Ours is PGD (40 steps of 0.05, all taken) on the network, whatever is judged; fair the worst "
    "of that and of attacks made for what is judged, the labels' own margin being climbed."
)
_REMARK = (
    "Both mechanisms favour the label that lies around the other: a step out of the cloud in the "
    "middle is short and goes anywhere. What is won on label 1 is not won on label 0."
)
_MECHANISMS = (
    "Of the points of label 1 that the attack on the network turns and the defence turns back. In "
    "an overshoot the step towards label 0 lowers its log-odds, though some point within the "
    "strength would raise them by 0.1. At a local maximum no point within the strength raises the "
    "probability of label 0 by more than 0.01. In both the step towards label 1 leaves label 0."
)


@dataclass(frozen=True)
class Refined:
    """Attacked points of label 1, where refining takes them, and what becomes of label 0."""

    x: Tensor  # (n, 2)
    attacked: Tensor  # (n, 2)
    towards: Tensor  # (n, 2, 2)  refined towards label 0 and towards label 1
    fooled: Tensor  # (n,)  bool: the network is
    restored: Tensor  # (n,)  bool: and the defence is not
    gained: Tensor  # (n,)  log-odds of label 0 that the step towards it adds
    possible: Tensor  # (n,)  and that the best point within the strength adds
    more_probable: Tensor  # (n,)  probability that the best point adds
    escaped: Tensor  # (n,)  bool: the step towards label 1 leaves label 0

    @property
    def overshot(self) -> Tensor:
        """Points from which a way leads further into label 0, and the step misses it."""
        return self.restored & self.escaped & (self.gained < 0) & (self.possible > 0.1)

    @property
    def at_maximum(self) -> Tensor:
        """Points where label 0 is as probable as it gets."""
        still = self.restored & self.escaped & (self.more_probable <= 0.01)
        return still & ~self.overshot


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """Accuracies, how often each mechanism is at work, and a drawing of both."""
    steps, count = SIZES[scale]
    draw = torch.Generator().manual_seed(_SEED)
    network = trained(steps, draw)
    progress(1, 2)
    points = Points(*cloud(count, draw))
    defence = AdversarialPNML(network, STRENGTH, bounds=BOUNDS, backward="identity")
    made = pgd_to_the_end(
        network, points, _ATTACKED, steps=40, step_size=0.05, starts=3, bounds=BOUNDS
    )
    rows = []
    for name, model in (("network", network), ("defence", defence)):
        clean, moved = (standing(model, x, points) for x in (points.x, made))
        left = moved & ~attacked(model, points)
        for label in (0, 1):
            of = (points.y == label).numpy()
            about = {"model": name, "label": str(label)}
            rows.append(Row(about | {"attack": "none"}, ours=percent(clean[of])))
            moved_row = Row(about | {"attack": "PGD"}, None, percent(moved[of]), percent(left[of]))
            rows.append(moved_row)
    ones = points.y == 1
    found = refined(network, defence, points.x[ones], made[ones])
    progress(2, 2)
    tables = (Table("Accuracy, percent", tuple(rows), _ABOUT), _mechanisms(found))
    figure = Figure(
        "adversarial-toy",
        "Probability of label 0. Left, the attack has reached a local maximum: the step towards "
        "label 0 gains nothing, the one towards label 1 leaves. Right, the step towards label 0 "
        "overshoots.",
        lambda: draw_both(network, found),
    )
    return Result(tables, (figure,), (_SEED,), 1, INTERVAL, (_REMARK,))


def cloud(count: int, draw: torch.Generator) -> tuple[Tensor, Tensor]:
    """So many points (2 n, 2) of each label, and the labels."""
    angle = 2 * torch.pi * torch.rand(count, generator=draw)
    ring = _CIRCLE * torch.stack([angle.cos(), angle.sin()], dim=1)
    centres = torch.cat([torch.zeros(count, 2), ring])
    noise = _SPREAD * torch.randn(2 * count, 2, generator=draw)
    return centres + noise, torch.arange(2).repeat_interleave(count)


def trained(steps: int, draw: torch.Generator) -> nn.Sequential:
    """Four linear layers after PGD training."""
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        torch.manual_seed(_SEED)
        sizes = (2, _HIDDEN, _HIDDEN, _HIDDEN, 2)
        layers = [(nn.Linear(a, b), nn.ReLU()) for a, b in pairwise(sizes)]
        network = nn.Sequential(*[layer for pair in layers for layer in pair][:-1])
        descent = torch.optim.Adam(network.parameters(), lr=_RATE)
        for _ in range(steps):
            x, y = cloud(_BATCH // 2, draw)
            at = x
            for _ in range(4):
                at = at.detach().requires_grad_()
                (slope,) = torch.autograd.grad(cross_entropy(network(at), y), at)
                at = x + (at.detach() + 0.25 * slope.sign() - x).clamp(-_TRAINED, _TRAINED)
            descent.zero_grad()
            cross_entropy(network(at), y).backward()  # type: ignore[no-untyped-call]
            descent.step()
    return network.eval().requires_grad_(False)


def attacked(model: nn.Module, points: Points) -> Held:
    """Points that Auto-PGD on the margin turns, from three starts and with two gradients."""
    kinds: list[nn.Module] = [model]
    if isinstance(model, AdversarialPNML):
        kinds.append(model.with_(backward="soft"))
    settings = {"restarts": 3, "loss": "margin", "bounds": BOUNDS, "rows_at_once": 4096}
    fell = [targeted_apgd(kind, points.x, points.y, _ATTACKED, **settings) for kind in kinds]  # type: ignore[arg-type]
    turned: Held = torch.stack([one.fooled for one in fell]).any(dim=0).numpy()
    return turned


def standing(model: nn.Module, x: Tensor, points: Points) -> Held:
    """Which inputs the model names rightly."""
    found: Held = (~AttackResult.of(model, x, points.y, rows_at_once=4096).fooled).numpy()
    return found


def refined(network: nn.Module, defence: AdversarialPNML, x: Tensor, at: Tensor) -> Refined:
    """What the refinement makes of attacked points of label 1."""
    towards = defence.refine(at).detach()
    side = torch.linspace(-1, 1, 25)
    grid = STRENGTH * torch.cartesian_prod(side, side)  # (625, 2)

    def odds(points: Tensor) -> Tensor:
        said: Tensor = network(points)
        return (said[..., 0] - said[..., 1]).double()

    with torch.no_grad():
        here, best = odds(at), odds(at[:, None] + grid).amax(dim=1)
        fooled = here > 0
        restored = fooled & (defence(at).argmax(dim=1) == 1)
        gained = odds(towards[:, 0]) - here
        likelier = best.sigmoid() - here.sigmoid()
        left = odds(towards[:, 1]) < 0
    return Refined(x, at, towards, fooled, restored, gained, best - here, likelier, left)


def _mechanisms(found: Refined) -> Table:
    other = found.restored & ~found.at_maximum & ~found.overshot
    shares = {
        "local maximum": found.at_maximum,
        "overshoot": found.overshot,
        "neither": other,
    }
    rows = [
        Row(
            {"of label 1": "turned by the attack on the network"},
            ours=percent(found.fooled.numpy()),
        ),
        Row({"of label 1": "and turned back"}, ours=percent(found.restored.numpy())),
    ]
    if bool(found.restored.any()):
        rows += [
            Row({"of label 1": f"of these: {name}"}, ours=percent(which[found.restored].numpy()))
            for name, which in shares.items()
        ]
    return Table("Mechanisms, percent", tuple(rows), _MECHANISMS)


def draw_both(network: nn.Module, found: Refined) -> MatplotlibFigure:
    """One point for each mechanism, where there is one, on the map of label 0."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
    kinds = (("Local maximum", found.at_maximum), ("Overshoot", found.overshot))
    for ax, (title, which) in zip(axes, kinds, strict=True):
        ax.set_title(title)
        if bool(which.any()):
            # the clearest one: where the step towards label 0 loses the most or gains the least
            _draw_one(ax, network, found, int(torch.where(which, found.gained, torch.inf).argmin()))
    return figure


def _draw_one(ax: Axes, network: nn.Module, found: Refined, row: int) -> None:
    places = {
        "x, label 1": found.x[row],
        "attacked": found.attacked[row],
        "refined towards label 1": found.towards[row, 1],
        "refined towards label 0": found.towards[row, 0],
    }
    middle = found.attacked[row]
    side = torch.linspace(-2, 2, 120)
    xs, ys = torch.meshgrid(middle[0] + side, middle[1] + side, indexing="xy")
    with torch.no_grad():
        p = network(torch.stack([xs, ys], dim=-1)).softmax(dim=-1)[..., 0]
    shown = ax.pcolormesh(
        xs.numpy(), ys.numpy(), p.numpy(), cmap="coolwarm", vmin=0, vmax=1, shading="auto"
    )
    for (name, place), marker in zip(places.items(), "oX^v", strict=True):
        ax.plot(*_pair(place), marker, label=name, markeredgecolor="black", markersize=9)
    for end in list(places.values())[2:]:
        ax.annotate("", _pair(end), _pair(middle), arrowprops={"arrowstyle": "->"})
    ax.set_aspect("equal")
    ax.legend(fontsize="small")
    ax.figure.colorbar(shown, ax=ax, label="probability of label 0")


def _pair(place: Tensor) -> tuple[float, float]:
    return float(place[0]), float(place[1])
