"""How many layers are tuned to each label, run for real: a small network on MNIST."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from pnml.core.arrays import FloatArray
from pnml.metrics import Estimate, detection_metrics
from pnml.runtime.journal import Journal
from pnml_experiments.ch5_networks.ablation import Learner
from pnml_experiments.ch5_networks.image_subjects import spread
from pnml_experiments.framework.code import function_digest
from pnml_experiments.framework.data import data_path
from pnml_experiments.framework.experiment import Experiment, Progress, Scale, counted
from pnml_experiments.framework.output import Arrays, Output
from pnml_experiments.framework.result import Figure, Result, Row, Table
from pnml_experiments.framework.stored_files import FASHION_TEST, MNIST

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure
    from torch import Tensor, nn

    from pnml.nn import RefitLastLayerPNML

EXPERIMENT = Experiment(
    id="ablation-mnist",
    chapter=5,
    title="Tuned layers of a small network on MNIST, run for real",
    minutes=(1.0, 120.0),
    other="A small network on MNIST stands for the ResNet-20 on CIFAR-10.",
    less=(
        "5,119 of 60,000 training digits; 200 of 10,000 known and 100 of 10,000 unknown rows are "
        "judged."
    ),
    extras=("plots", "torch"),
    needs=("mnist", "fashion-mnist"),
)

_SEED = 0
_CHUNK = 4  # rows that are kept together
_DRAWS = 1000
_LOG_10 = float(np.log(10))
_CLASSES = 10


@dataclass(frozen=True)
class Sizes:
    """Training rows of the network, its epochs, and rows that are judged."""

    train: int
    epochs: int
    known: int
    unknown: int


# Training rows and the one that is added fill whole batches of 128.
SIZES = {"small": Sizes(511, 30, 20, 8), "full": Sizes(5_119, 12, 200, 100)}
# Name → how many layers are trained, and whether to the end.
_EXACT = "1, to the end"
DEPTHS: Mapping[str, tuple[int | Literal["all"], bool]] = {
    _EXACT: (1, True),
    "1": (1, False),
    "2": (2, False),
    "all 4": ("all", False),
}
_NETWORK = "0"
_ACCURACY, _MEAN, _STD = "accuracy", "log-loss, mean", "log-loss, std"
_REGRET, _UNKNOWN, _AUROC = "regret, mean", "regret of unknown, mean", "AUROC of the regret"
_PRINTED = {
    _NETWORK: {_ACCURACY: 0.920, _MEAN: 0.203, _STD: 0.87, _REGRET: 0.0},
    "2": {_ACCURACY: 0.921, _MEAN: 0.173, _STD: 0.30, _REGRET: 0.14},
    "all 4": {_ACCURACY: 0.913, _MEAN: 0.244, _STD: 0.27, _REGRET: 0.23},
}
_NOTE = "Printed for a ResNet on CIFAR-10; all layers are seven there."
_ABOUT = (
    "Known are digits of the MNIST test set, unknown are clothes of Fashion-MNIST. Layers are "
    "tuned as in the thesis: 10 epochs of SGD from the network's weights, learning rate 0.001, "
    "momentum 0.9, weight decay 0.0001, batches of 128, on the training rows and the row itself "
    "with each label. The line of one layer to the end refits it as a logistic regression, with "
    "a penalty chosen on training rows; the learner it hedges is that regression."
)
_INTERVAL = f"95 %, rows drawn again, {_DRAWS} times; AUROC by DeLong"


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """The table in both units, and histograms of log-losses and regrets."""
    import torch

    from pnml_experiments.framework.mnist import pixels, stored

    sizes = SIZES[scale]
    tell = counted(progress, len(DEPTHS) * (sizes.known + sizes.unknown))
    labels = stored(MNIST["test labels"])
    known = spread(len(labels), sizes.known)
    images = {
        "known": pixels(MNIST["test"], known),
        "unknown": pixels(FASHION_TEST, spread(len(stored(FASHION_TEST)), sizes.unknown)),
    }
    truth = labels[known].astype(np.int64)
    network, training = _trained(sizes, out)
    log = out.journal("genies", _depends(sizes))
    with torch.no_grad():
        own = {name: network(part).double().softmax(dim=1) for name, part in images.items()}
    found = {_NETWORK: {name: Learner.of_network(p.numpy()) for name, p in own.items()}}
    for name, (layers, exact) in DEPTHS.items():
        refitted = _refitted(network, training, layers, exact)
        found[name] = {
            kind: _judged(refitted, part, f"{name} {kind}", log, tell)
            for kind, part in images.items()
        }
    numbers = {name: _numbers(each, truth) for name, each in found.items()}
    tables = (_table(numbers, "log base 10", _LOG_10), _table(numbers, "nats", 1.0))
    return Result(tables, _figures(found, truth), (_SEED,), 1, _INTERVAL, (_remark(sizes),))


def small_network() -> nn.Sequential:
    """Two convolutions and two linear layers, small enough to be tuned a thousand times."""
    from torch import nn

    from pnml_experiments.framework.mnist import body

    return nn.Sequential(*body(filters=8, hidden=32), nn.Linear(32, _CLASSES))


def trained(images: Tensor, labels: Tensor, epochs: int, seed: int) -> nn.Sequential:
    """The small network after so many passes of SGD over the images, in eval mode."""
    import torch
    from torch.nn.functional import cross_entropy

    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        torch.manual_seed(seed)
        network = small_network()
        descent = torch.optim.SGD(network.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
        for _ in range(epochs):
            for rows in torch.split(torch.randperm(len(images)), 64):
                descent.zero_grad()
                cross_entropy(network(images[rows]), labels[rows]).backward()  # type: ignore[no-untyped-call]
                descent.step()
    return network.eval().requires_grad_(False)


def _trained(sizes: Sizes, out: Output) -> tuple[nn.Sequential, tuple[Tensor, Tensor]]:
    """The network and what it was trained on; its weights are kept."""
    import torch

    from pnml_experiments.framework.mnist import pixels, stored

    chosen = slice(sizes.train)
    images = pixels(MNIST["train"], chosen)
    labels = torch.from_numpy(stored(MNIST["train labels"])[chosen].astype(np.int64))

    def compute() -> Arrays:
        network = trained(images, labels, sizes.epochs, _SEED)
        return {name: value.numpy() for name, value in network.state_dict().items()}

    kept = out.arrays("ablation-mnist", _depends(sizes), compute)
    network = small_network()
    network.load_state_dict({name: torch.from_numpy(value) for name, value in kept.items()})
    return network.eval().requires_grad_(False), (images, labels)


def _depends(sizes: Sizes) -> list[Path | str]:
    """What the network and its genies depend on: images, sizes and the code that trains it."""
    files = [*MNIST.values(), FASHION_TEST]
    return [*map(data_path, files), f"{sizes} {_CHUNK} {_SEED}", function_digest(trained)]


def how_far(size: Scale, pieces: Mapping[str, Any]) -> str:
    """How far an unfinished run is, from its finished pieces."""
    sizes = SIZES[size]
    rows = sizes.known + sizes.unknown
    done = {
        name: sum(key.rsplit(" ", 2)[0] == name for key in pieces) * _CHUNK / rows
        for name in DEPTHS
    }
    said = ", ".join(f"{name} {100 * share:.0f} %" for name, share in done.items())
    return f"Rows that are judged, by tuned layers: {said}."


def _refitted(
    network: nn.Sequential,
    training: tuple[Tensor, Tensor],
    layers: int | Literal["all"],
    exact: bool,
) -> RefitLastLayerPNML:
    from pnml.nn import FineTuning, RefitLastLayerPNML

    tuning = None if exact else FineTuning(seed=_SEED)
    return RefitLastLayerPNML(network, layers=layers, tuning=tuning).fit([training])


def _judged(
    refitted: RefitLastLayerPNML,
    images: Tensor,
    key: str,
    log: Journal,
    tell: Callable[[int], None],
) -> Learner:
    """Genies of images, a few at a time, each piece kept when it is finished."""
    parts = []
    for start in range(0, len(images), _CHUNK):
        chunk = images[start : start + _CHUNK]

        def compute(chunk: Tensor = chunk) -> Any:
            return refitted(chunk).log_genie.tolist()

        parts.append(np.array(log.piece(f"{key} {start}", compute)))
        tell(len(chunk))
    return Learner.of_genies(np.exp(np.concatenate(parts)))


def _numbers(each: Mapping[str, Learner], labels: npt.NDArray[Any]) -> dict[str, Estimate]:
    """What the table says of one learner, losses and regrets in nats."""
    known, unknown = each["known"], each["unknown"]
    losses = known.losses(labels)
    found = {
        _ACCURACY: _estimate((known.log_q.argmax(axis=1) == labels).astype(float), np.mean),
        _MEAN: _estimate(losses, np.mean),
        _STD: _estimate(losses, np.std),
        _REGRET: _estimate(known.regret, np.mean),
        _UNKNOWN: _estimate(unknown.regret, np.mean),
    }
    if np.ptp(np.concatenate([known.regret, unknown.regret])) > 0:
        found[_AUROC] = detection_metrics(-known.regret, -unknown.regret).auroc
    return found


def _estimate(values: FloatArray, statistic: Callable[..., Any]) -> Estimate:
    """A statistic of the rows, and its percentiles where they are drawn again."""
    chance = np.random.default_rng(_SEED)
    drawn = values[chance.integers(len(values), size=(_DRAWS, len(values)))]
    low, high = np.percentile(statistic(drawn, axis=1), [2.5, 97.5])
    return Estimate(float(statistic(values)), float(low), float(high))


def _table(numbers: Mapping[str, Mapping[str, Estimate]], unit: str, size: float) -> Table:
    """All numbers in one unit; what has none is in the first table only."""
    rows = []
    for depth, found in numbers.items():
        for name, value in found.items():
            plain = name in (_ACCURACY, _AUROC)
            if plain and size == 1:
                continue
            in_unit = value if plain else Estimate(*(part / size for part in value))
            printed = None if size == 1 else _PRINTED.get(depth, {}).get(name)
            note = "" if printed is None else _NOTE
            rows.append(Row({"layers": depth, "number": name}, printed, in_unit, note=note))
    return Table(f"By the number of tuned layers, {unit}", tuple(rows), _ABOUT, digits=4)


def _remark(sizes: Sizes) -> str:
    return (
        f"The network has two convolutions and two linear layers, trained on {sizes.train:,} "
        f"digits; {sizes.known} known and {sizes.unknown} unknown rows are judged. Few rows: the "
        "intervals say how little they settle."
    )


def _figures(
    found: Mapping[str, Mapping[str, Learner]], labels: npt.NDArray[Any]
) -> tuple[Figure, ...]:
    losses = {(name, "known"): each["known"].losses(labels) for name, each in found.items()}
    regrets = {
        (name, kind): learner.regret
        for name, each in found.items()
        for kind, learner in each.items()
        if name != _NETWORK
    }
    return (
        Figure(
            "ablation-mnist-log-loss",
            "Share of known rows whose log-loss is at most so large.",
            lambda: _draw(losses, "log-loss, nats"),
        ),
        Figure(
            "ablation-mnist-regret",
            "Share of rows whose regret is at most so large; dashed are unknown ones.",
            lambda: _draw(regrets, "regret, nats"),
        ),
    )


def _draw(values: Mapping[tuple[str, str], FloatArray], what: str) -> MatplotlibFigure:
    """Cumulative shares: with so few rows, bins would say more about themselves."""
    from matplotlib import pyplot as plt

    figure, ax = plt.subplots(figsize=(6, 4))
    colours: dict[str, str] = {}
    for (depth, kind), numbers in values.items():
        colour = colours.setdefault(depth, f"C{len(colours)}")
        style = "--" if kind == "unknown" else "-"
        shown = np.maximum(numbers, 1e-6)  # what is smaller has no place on a log scale
        ax.ecdf(shown, label=f"{depth}, {kind}", color=colour, linestyle=style)
    ax.set(xlabel=what, ylabel="share of rows", xscale="log")
    ax.legend(title="tuned layers", fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
    return figure
