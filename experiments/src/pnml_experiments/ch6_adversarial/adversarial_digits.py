"""A network so small that everything can be tried on it: digits of 8 × 8 pixels, several seeds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from pnml.adversarial import AdversarialPNML, AttackBudget, evaluate_defence
from pnml_experiments.ch6_adversarial.adversarial_attacks import (
    PGD_BUDGET,
    Held,
    gain,
    in_words,
    percent,
)
from pnml_experiments.ch6_adversarial.adversarial_subjects import Points
from pnml_experiments.framework.experiment import Experiment, Progress, Scale, counted
from pnml_experiments.framework.output import Arrays, Output
from pnml_experiments.framework.result import Result, Row, Table

EXPERIMENT = Experiment(
    id="adversarial-digits",
    chapter=6,
    title="The adversarial defence on a very small network, several seeds",
    minutes=(0.3, 60.0),
    extras=("plots", "torch"),
    beyond=True,
)

RADIUS = 0.15
STRENGTHS = (0.05, 0.15)
_TRAIN = 1_300
_HIDDEN, _RATE, _STEPS, _STEP = 64, 5e-3, 5, 0.06
# The training of the last epochs, and the strength of the refinement that is judged.
_ROBUST, _THROUGH = "without the defence", "through the defence"
_INTERVAL = (
    "95 %, points of all seeds drawn again, 2000 times; gains are paired, point by point. The "
    "same digits come once for each seed, so the intervals are a little short"
)
_ABOUT = (
    "Worst case of every point over Auto-PGD on the cross-entropy and towards every other label, "
    "FAB where it is installed, and inputs made for the other model. Transferred is what the "
    "defence makes of inputs made for the network. The gain is that of the defence over the "
    "network inside it."
)


@dataclass(frozen=True)
class Sizes:
    """Seeds, points and attacks."""

    seeds: tuple[int, ...]
    points: int
    epochs: int
    last: int  # epochs that may go through the defence
    budget: AttackBudget


SIZES = {
    "small": Sizes(
        seeds=(0,),
        points=40,
        epochs=40,
        last=3,
        budget=replace(PGD_BUDGET, steps=15, targets=4, fab_steps=10),
    ),
    "full": Sizes(
        seeds=(0, 1, 2),
        points=400,
        epochs=200,
        last=40,
        budget=replace(PGD_BUDGET, steps=50, fab_steps=50),
    ),
}


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """Gains with and without training through the defence, for two strengths."""
    sizes = SIZES[scale]
    versions = [(_ROBUST, strength) for strength in STRENGTHS] + [(_THROUGH, STRENGTHS[0])]
    tell = counted(progress, len(sizes.seeds) * len(versions))
    found: dict[tuple[str, float], list[dict[str, Held]]] = {pair: [] for pair in versions}
    for seed in sizes.seeds:
        for last, strength in versions:
            network = _kept(last, sizes, seed, out)
            found[last, strength].append(_judged(network, strength, sizes, seed, out))
            tell(1)
    pooled = {
        pair: {name: np.concatenate([one[name] for one in ones]) for name in ones[0]}
        for pair, ones in found.items()
    }
    rows = [row for pair, standing in pooled.items() for row in _rows(pair, standing)]
    rival = gain(
        pooled[_THROUGH, STRENGTHS[0]]["defence, worst case"],
        pooled[_ROBUST, STRENGTHS[0]]["network, worst case"],
    )
    number = "gain over the network of the other training"
    rows.append(Row(_labels((_THROUGH, STRENGTHS[0])) | {"number": number}, fair=rival))
    said = [
        f"Last epochs {last}, λ = {strength:g}: "
        + in_words(gain(each["defence, worst case"], each["network, worst case"]))
        for (last, strength), each in pooled.items()
    ]
    said.append(f"Trained through it, over the network of the other training: {in_words(rival)}")
    table = Table("Accuracy and gains, percent", tuple(rows), _ABOUT)
    return Result((table,), (), sizes.seeds, len(sizes.seeds), _INTERVAL, (_remark(sizes), *said))


def _digits() -> Points:
    images, labels = load_digits(return_X_y=True)
    return Points(torch.tensor(images / 16).float(), torch.tensor(labels))


def network_of(width: int = _HIDDEN) -> nn.Sequential:
    """One hidden layer."""
    return nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, 10))


def trained(last: str, sizes: Sizes, seed: int) -> nn.Sequential:
    """The network after PGD training, the last epochs of it through the defence if so asked."""
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        torch.manual_seed(seed)
        seen, network = _digits(), network_of()
        x, y = seen.x[:_TRAIN], seen.y[:_TRAIN]
        through = AdversarialPNML(network, STRENGTHS[0], backward="identity")
        descent = torch.optim.Adam(network.parameters(), lr=_RATE)
        for epoch in range(sizes.epochs):
            late = last == _THROUGH and epoch >= sizes.epochs - sizes.last
            model = through if late else network
            network.requires_grad_(False)
            attacked = _pushed(model, x, y)
            network.requires_grad_(True)
            descent.zero_grad()
            cross_entropy(model(attacked), y).backward()  # type: ignore[no-untyped-call]
            descent.step()
    return network.eval().requires_grad_(False)


def _pushed(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    low, high = (x - RADIUS).clamp(min=0), (x + RADIUS).clamp(max=1)
    at = x + RADIUS * (2 * torch.rand_like(x) - 1)
    for _ in range(_STEPS):
        at = at.detach().clamp(low, high).requires_grad_()
        (slope,) = torch.autograd.grad(cross_entropy(model(at), y), at)
        at = at.detach() + _STEP * slope.sign()
    return at.clamp(low, high)


def _kept(last: str, sizes: Sizes, seed: int, out: Output) -> nn.Sequential:
    """The trained network, from an earlier run of the same code where there was one."""

    def compute() -> Arrays:
        state = trained(last, sizes, seed).state_dict()
        return {name: value.numpy() for name, value in state.items()}

    words = out.piece(f"weights {last} {seed}", lambda: _plain(compute()))
    network = network_of()
    network.load_state_dict({name: torch.tensor(value) for name, value in words.items()})
    return network.eval().requires_grad_(False)


def _plain(arrays: Arrays) -> dict[str, list[object]]:
    return {name: value.tolist() for name, value in arrays.items()}


def _judged(
    network: nn.Module, strength: float, sizes: Sizes, seed: int, out: Output
) -> dict[str, Held]:
    unseen = _digits()
    x, y = (part[_TRAIN:][: sizes.points] for part in (unseen.x, unseen.y))
    found = evaluate_defence(
        AdversarialPNML(network, strength),
        x,
        y,
        RADIUS,
        budget=sizes.budget,
        path=out.folder / "attacks.jsonl",
        progress=False,
        seed=seed,
        chunk=len(x),
        rows_at_once=len(x),
    )
    return {
        "network, clean": found.static[0].held,
        "network, worst case": found.static_worst,
        "defence, clean": found.defended[0].held,
        "defence, transferred": found.defended[1].held,
        "defence, worst case": found.defended_worst,
    }


def _labels(pair: tuple[str, float]) -> dict[str, str]:
    return {"last epochs": pair[0], "λ": f"{pair[1]:g}"}


def _rows(pair: tuple[str, float], standing: dict[str, Held]) -> Iterator[Row]:
    for name, held in standing.items():
        yield Row(_labels(pair) | {"number": name}, fair=percent(held))
    difference = gain(standing["defence, worst case"], standing["network, worst case"])
    yield Row(_labels(pair) | {"number": "gain"}, fair=difference)


def _remark(sizes: Sizes) -> str:
    return (
        f"{sizes.points} digits of scikit-learn for each of {len(sizes.seeds)} seeds, within "
        f"{RADIUS:g}; a network with one hidden layer of {_HIDDEN}, trained on {_TRAIN:,} attacked "
        f"digits for {sizes.epochs} epochs ({_STEPS} steps of {_STEP:g}), of which the last "
        f"{sizes.last} go through the defence of λ = {STRENGTHS[0]:g} or not. The thesis has no "
        "such table."
    )
