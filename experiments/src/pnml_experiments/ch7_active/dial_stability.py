"""How much the picks of DIAL owe to the masks that were drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import spearmanr

from pnml.active import dial_scores
from pnml.active.curve_results import band_of
from pnml.active.ensemble import tempered
from pnml.core.arrays import FloatArray
from pnml.metrics import Estimate
from pnml_experiments.framework.code import function_digest
from pnml_experiments.framework.data import data_path
from pnml_experiments.framework.experiment import Experiment, Progress, Scale, counted
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.result import Figure, Result, Row, Table
from pnml_experiments.framework.stored_files import FASHION_TEST, MNIST

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure
    from torch import Tensor, nn

EXPERIMENT = Experiment(
    id="dial-stability",
    chapter=7,
    title="How much the picks of DIAL owe to the masks that were drawn",
    minutes=(1.4, 6.0, 100.0),
    extras=("plots", "torch"),
    scales=("small", "medium", "stored"),
    needs=("mnist", "fashion-mnist"),
    beyond=True,
)

_USED = 10_000  # training images, as in the thesis
MASKS = ("shared", "per row")
TEMPERATURES = (1.0, 5.0)
PASSES = (50, 100, 200)
_BEST = 10  # candidates that are compared beside the first
MEASURES = {
    "same": "Share of pairs of mask sets with the same pick",
    "best": f"Share of the {_BEST} best that two mask sets have in common",
    "rank": "Rank correlation of the worst cases between two mask sets",
    "first": "Share of mask sets whose pick is a piece of clothing",
    "strange": f"Share of clothes among the {_BEST} best",
}
INTERVAL = "95 %, Student's, over networks"

# masks, temperature, passes → measure → value of one network
Found = dict[str, dict[str, float]]


@dataclass(frozen=True)
class Sizes:
    """The networks, what they look at, and how often masks are drawn."""

    networks: int
    width: int  # channels of the first convolution
    hidden: int
    steps: int  # of training
    labels: tuple[int, ...]
    candidates: int  # half of them clothes
    targets: int
    sets: int  # of masks
    quick: bool = False  # networks that are laid out for speed


SIZES = {
    "small": Sizes(3, 8, 32, 120, (30,), 48, 48, 4),
    "medium": Sizes(12, 8, 32, 120, (30,), 48, 48, 4),
    "full": Sizes(5, 32, 128, 400, (20, 60, 120), 255, 512, 8, quick=True),
}


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """Agreement between independent sets of masks, by kind of mask, temperature and passes."""
    sizes = SIZES[scale]
    keys = list(product(sizes.labels, range(sizes.networks)))
    tell = counted(progress, len(keys))
    found: dict[int, list[Found]] = {labels: [] for labels in sizes.labels}
    read = (*(MNIST[part] for part in ("train", "train labels", "test")), FASHION_TEST)
    files = map(data_path, read)
    log = out.journal("networks", (*files, str(sizes), function_digest(_judged)))
    for labels, seed in keys:
        found[labels].append(log.piece(f"{labels} {seed}", partial(_judged, sizes, labels, seed)))
        tell(1)
    tables = tuple(_table(name, found) for name in MEASURES)
    return Result(
        tables,
        _figures(found),
        tuple(range(sizes.networks)),
        sizes.networks,
        INTERVAL,
        _words(sizes),
    )


def how_far(size: Scale, keys: Sequence[str]) -> str:
    """How far an unfinished run is, from the keys of its finished pieces."""
    sizes = SIZES[size]
    return f"Networks that are judged: {len(keys)} of {len(sizes.labels) * sizes.networks}."


def _judged(sizes: Sizes, labels: int, seed: int) -> Found:
    """All measures of one network."""
    network, rows = _prepared(sizes, labels, seed)
    sets: dict[str, list[FloatArray]] = {"shared": [], "per row": []}
    for number in range(sizes.sets):
        sets["shared"].append(_shared(network, rows, PASSES[-1], 1 + number))
        sets["per row"].append(per_row(network, rows, PASSES[-1], 1 + number))
    found: Found = {}
    for masks, temperature, passes in _settings():
        worst = [
            _worst_cases(tempered(logs[:passes], temperature), sizes.candidates)
            for logs in sets[masks]
        ]
        found[_key(masks, temperature, passes)] = measured(np.stack(worst), sizes.candidates // 2)
    return found


def _prepared(sizes: Sizes, labels: int, seed: int) -> tuple[nn.Module, Tensor]:
    """A network trained on so many digits; digits and clothes, then targets."""
    import torch

    from pnml_experiments.ch7_active.dial_networks import Training, digit_cnn, quick, trained
    from pnml_experiments.framework.mnist import pixels, stored

    rng = np.random.default_rng([seed, labels])
    known = stored(MNIST["train labels"])[:_USED]
    chosen = np.sort(rng.permutation(len(known))[: labels + sizes.candidates // 2])
    mine, others = np.split(rng.permutation(chosen), [labels])
    x = pixels(MNIST["train"], mine)
    y = torch.from_numpy(known[mine].astype(np.int64))
    strange = rng.permutation(len(stored(FASHION_TEST)))[: sizes.candidates - len(others)]
    wanted = rng.permutation(len(stored(MNIST["test"])))[: sizes.targets]
    rows = [
        pixels(MNIST["train"], others),
        pixels(FASHION_TEST, strange),
        pixels(MNIST["test"], wanted),
    ]
    plain = partial(digit_cnn, sizes.width, sizes.hidden)
    build = partial(quick, plain) if sizes.quick else plain
    return trained(build, x, y, Training(sizes.steps, 64), seed), torch.cat(rows)


def _shared(network: nn.Module, rows: Tensor, passes: int, seed: int) -> FloatArray:
    from pnml.active import MCDropout
    from pnml_experiments.ch7_active.dial_networks import BATCH

    return MCDropout(network, passes, seed=seed)(rows, batch_size=BATCH)


def per_row(network: nn.Module, rows: Tensor, passes: int, seed: int) -> FloatArray:
    """Log-probabilities (M, N, C) where dropout draws other units for every row, as it trains."""
    import torch

    from pnml.active.dropout_masks import dropouts_of
    from pnml_experiments.ch7_active.dial_networks import BATCH

    def logs() -> FloatArray:
        parts = [network(part).double().log_softmax(dim=1) for part in torch.split(rows, BATCH)]
        return torch.cat(parts).numpy()

    for module in dropouts_of(network):
        module.train()
    try:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(seed)
            return np.stack([logs() for _ in range(passes)])
    finally:
        network.eval()


def _worst_cases(logs: FloatArray, candidates: int) -> FloatArray:
    scores = dial_scores(logs[:, :candidates], logs[:, candidates:], progress=False)
    worst: FloatArray = scores.max(axis=1)
    return worst


def measured(worst: FloatArray, known: int) -> dict[str, float]:
    """Agreement of mask sets, from the worst case (sets, N) of each candidate in each set.

    The first `known` candidates are digits, the others clothes.

    >>> two = np.array([np.arange(20.0), np.arange(20.0)])
    >>> measured(two, 10)
    {'same': 1.0, 'best': 1.0, 'rank': 1.0, 'first': 0.0, 'strange': 0.0}
    """
    order = np.argsort(worst, axis=1, kind="stable")
    best = [set(line[:_BEST].tolist()) for line in order]
    pairs = list(combinations(range(len(worst)), 2))
    return {
        "same": float(np.mean([order[i, 0] == order[j, 0] for i, j in pairs])),
        "best": float(np.mean([len(best[i] & best[j]) / _BEST for i, j in pairs])),
        "rank": float(np.mean([spearmanr(worst[i], worst[j]).statistic for i, j in pairs])),
        "first": float(np.mean(order[:, 0] >= known)),
        "strange": float(np.mean(order[:, :_BEST] >= known)),
    }


def _settings() -> Iterator[tuple[str, float, int]]:
    return product(MASKS, TEMPERATURES, PASSES)


def _key(masks: str, temperature: float, passes: int) -> str:
    return f"{masks}, T = {temperature:g}, {passes}"


def _estimate(each: list[Found], key: str, measure: str) -> Estimate:
    band = band_of(np.array([[one[key][measure]] for one in each]))
    least = -1.0 if measure == "rank" else 0.0  # an interval of Student's knows of no limits
    return Estimate(*(float(np.clip(part[0], least, 1.0)) for part in band))


def _table(measure: str, found: dict[int, list[Found]]) -> Table:
    rows = []
    for labels, each in found.items():
        for masks, temperature, passes in _settings():
            heading: dict[str, Any] = {
                "labels": str(labels),
                "masks": masks,
                "temperature": f"{temperature:g}",
                "passes": str(passes),
            }
            ours = _estimate(each, _key(masks, temperature, passes), measure)
            rows.append(Row(heading, ours=ours))
    return Table(MEASURES[measure], tuple(rows), digits=2)


def _words(sizes: Sizes) -> tuple[str, ...]:
    return (
        (
            f"Candidates are {sizes.candidates // 2} digits and as many clothes, targets "
            f"{sizes.targets} test digits. {sizes.sets} independent sets of masks are drawn for "
            "each network; fewer passes are the first of them."
        ),
        (
            "Per row: dropout as it trains, other units for every row. Picks at random would have "
            f"{_BEST / sizes.candidates:.2f} of the {_BEST} best in common, and half of all picks "
            "would be clothes."
        ),
    )


def _figures(found: dict[int, list[Found]]) -> tuple[Figure, ...]:
    return (
        Figure(
            "dial-stability",
            "Rank correlation of the worst cases between two independent sets of masks.",
            lambda: _drawn(found),
        ),
    )


def _drawn(found: dict[int, list[Found]]) -> MatplotlibFigure:
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(4.5 * len(found), 3.5), layout="constrained")
    axes = figure.subplots(1, len(found), squeeze=False)[0]
    for ax, (labels, each) in zip(axes, found.items(), strict=True):
        for masks, temperature in product(MASKS, TEMPERATURES):
            points = [_estimate(each, _key(masks, temperature, n), "rank") for n in PASSES]
            name = f"{masks}, T = {temperature:g}"
            line = ax.plot(PASSES, [point.value for point in points], marker="o", label=name)[0]
            low, high = [point.low for point in points], [point.high for point in points]
            ax.fill_between(PASSES, low, high, color=line.get_color(), alpha=0.15)
        ax.set(xlabel="passes", ylabel="rank correlation", title=f"{labels} labels")
    axes[0].legend()
    return figure
