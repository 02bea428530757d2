"""The adversarial defence from end to end: one attacked input, box by box, and its gradient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from pnml.adversarial import AdversarialPNML
from pnml_experiments.ch6_adversarial.adversarial_attacks import pgd_to_the_end
from pnml_experiments.ch6_adversarial.adversarial_subjects import Points
from pnml_experiments.ch6_adversarial.adversarial_toy import BOUNDS, cloud, trained
from pnml_experiments.framework.colours import COLOURS
from pnml_experiments.framework.experiment import Experiment, Progress, Scale
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.result import Figure, Result, Row, Table, exactly

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MatplotlibFigure

EXPERIMENT = Experiment(
    id="adversarial-scheme",
    chapter=6,
    title="The adversarial defence from end to end",
    scales=("small", "printed"),
    minutes=(0.05, 0.5),
    extras=("plots", "torch"),
)

SEED, LABEL, RADIUS, STRENGTH = 0, 1, 0.95, 0.15
_STEPS = {"small": 300, "full": 2_000}  # of training
_NUDGE = 1e-5
_REMARKS = (
    (
        "The network of two labels in the plane, an input of label 1 and what PGD makes of it. The "
        "defence moves that towards each label, judges the label there, and divides by the sum; "
        "the log-loss shown is that of label 1, as in the drawing of the thesis."
    ),
    (
        "The appendix calls the identity in the backward pass an approximation. The sign is "
        "constant almost everywhere, so the refinement is a shift and the identity is its exact "
        "derivative wherever nothing is clipped. In a network of rectified units the inner "
        "gradient is constant too, almost everywhere, so that a soft step changes nothing here: "
        "all four gradients agree."
    ),
)


@dataclass(frozen=True)
class Boxes:
    """What stands in the boxes of the drawing for one input."""

    x: Tensor  # (2,)
    towards: Tensor  # (2, 2)  the input moved towards each label
    p: Tensor  # (2,)  probability of each label where it was moved to
    loss: float  # −log q of the label
    regret: float

    @classmethod
    def of(cls, defence: AdversarialPNML, x: Tensor) -> Boxes:
        """Run the defence on one input."""
        p = defence(x[None])[0].exp()
        loss = -defence.probs(x[None])[0, LABEL].log()
        refined = defence.refine(x[None])[0]
        return cls(x, refined, p, float(loss), float(defence.regret(x[None])[0]))


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """All numbers on the way from an input to the loss of a label, its gradients, the drawing."""
    network, x = subject(_STEPS[scale])
    defence = AdversarialPNML(network, STRENGTH, bounds=BOUNDS)
    found = Boxes.of(defence, x)
    slopes = gradients(defence, x)
    progress(1, 1)
    caption = "The defence from end to end for one attacked input of label 1."
    figure = Figure("adversarial-scheme", caption, lambda: _draw(found, slopes["identity"]))
    return Result((_numbers(found), _slopes(slopes)), (figure,), (SEED,), remarks=_REMARKS)


def subject(steps: int) -> tuple[nn.Module, Tensor]:
    """The network, and an input of label 1 that PGD has moved, in double precision."""
    draw = torch.Generator().manual_seed(SEED)
    network = trained(steps, draw)
    points = Points(*cloud(8, draw))
    moved = pgd_to_the_end(
        network, points, RADIUS, steps=40, step_size=0.05, starts=1, bounds=BOUNDS
    )
    return network.double(), moved[points.y == LABEL][0].double()


def gradients(defence: AdversarialPNML, x: Tensor) -> dict[str, Tensor]:
    """Derivative of the loss by the input: by differences, and as an attacker may take it."""

    def loss(of: AdversarialPNML, at: Tensor) -> Tensor:
        return -of.probs(at[None])[0, LABEL].log()

    apart = _NUDGE * torch.eye(len(x), dtype=x.dtype)
    differences = [float(loss(defence, x + e) - loss(defence, x - e)) / (2 * _NUDGE) for e in apart]
    found = {"differences": torch.tensor(differences, dtype=x.dtype)}
    for kind in ("autograd", "identity", "soft"):
        at = x.clone().requires_grad_(True)
        with torch.enable_grad():
            (slope,) = torch.autograd.grad(loss(defence.with_(backward=kind), at), at)
        found[kind] = slope
    return found


def _numbers(found: Boxes) -> Table:
    numbers = {f"x, entry {j + 1}": value for j, value in enumerate(found.x)}
    for label in range(len(found.p)):
        for j, value in enumerate(found.towards[label]):
            numbers[f"x refined towards {label}, entry {j + 1}"] = value
        numbers[f"p of {label} there"] = found.p[label]
    numbers["C, their sum"] = found.p.sum()
    rows = [Row({"box": name}, ours=exactly(float(value))) for name, value in numbers.items()]
    rows.append(Row({"box": "regret, log C, nats"}, ours=exactly(found.regret)))
    rows.append(Row({"box": f"log-loss of label {LABEL}, nats"}, ours=exactly(found.loss)))
    return Table("From the input to the loss", tuple(rows), digits=4)


def _slopes(slopes: dict[str, Tensor]) -> Table:
    rows = tuple(
        Row({"gradient by": kind, "entry": str(j + 1)}, ours=exactly(float(value)))
        for kind, slope in slopes.items()
        for j, value in enumerate(slope)
    )
    return Table("Gradient of the loss by the input", rows, digits=4)


def _draw(found: Boxes, slope: Tensor) -> MatplotlibFigure:
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(10, 3.6), layout="constrained")
    ax = figure.subplots()
    ax.set(xlim=(0, 10), ylim=(0, 4))
    ax.set_axis_off()
    _box(ax, 1, 2, f"input x\n{_pair(found.x)}", COLOURS[0])
    for label, height in ((0, 3.2), (1, 0.8)):
        _box(ax, 3.8, height, f"refined towards {label}\n{_pair(found.towards[label])}", COLOURS[1])
        _box(ax, 6.3, height, f"$p_{label}$ = {float(found.p[label]):.3f}", COLOURS[2])
        _arrow(ax, (1.6, 2), (3.0, height))
        _arrow(ax, (4.6, height), (5.8, height))
        _arrow(ax, (6.8, height), (8.1, 2))
    told = f"C = {float(found.p.sum()):.3f}\n−log $p_1$/C = {found.loss:.3f}"
    _box(ax, 8.9, 2, told, COLOURS[3])
    back = f"attacker's gradient by x: {_pair(slope)}"
    ax.annotate(
        "", (1, 1.5), (8.9, 1.5), arrowprops={"arrowstyle": "->", "linestyle": "--", "color": "0.5"}
    )
    ax.text(5, 1.7, back, ha="center", color="0.4", fontsize="small")
    return figure


def _pair(values: Tensor) -> str:
    return "(" + ", ".join(f"{float(value):.2f}" for value in values) + ")"


def _box(ax: Axes, x: float, y: float, words: str, colour: str) -> None:
    frame = {"boxstyle": "round", "facecolor": "white", "edgecolor": colour, "linewidth": 2}
    ax.text(x, y, words, ha="center", va="center", bbox=frame)


def _arrow(ax: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    ax.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": "0.4"})
