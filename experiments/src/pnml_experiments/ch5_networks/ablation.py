"""How many layers are tuned to each label: the stored genies of a ResNet-20 on CIFAR-10."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pnml.core.arrays import FloatArray
from pnml.core.universality import label_envelope, label_shares
from pnml.metrics import detection_metrics
from pnml_experiments.framework.data import arrays
from pnml_experiments.framework.experiment import Experiment, Progress, Scale
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.result import Figure, Result, Row, Table, exactly

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure

EXPERIMENT = Experiment(
    id="ablation-table",
    chapter=5,
    title="Tuned layers of a ResNet-20, and their union",
    scales=("small", "printed"),
    minutes=(0.05, 0.1),
    extras=("plots",),
    needs=("features/deep_pnml_genie.npz",),
)

_FILE = "features/deep_pnml_genie.npz"
_IMAGES = 1_000  # the table is of the first thousand test images
_LOG_10 = float(np.log(10))
_ACCURACY, _MEAN, _STD, _REGRET = "accuracy", "log-loss, mean", "log-loss, std", "regret, mean"
_PRINTED: Mapping[str, Mapping[str, float]] = {
    "0": {_ACCURACY: 0.920, _MEAN: 0.203, _STD: 0.87, _REGRET: 0.0},
    "2": {_ACCURACY: 0.921, _MEAN: 0.173, _STD: 0.30, _REGRET: 0.14},
    "7": {_ACCURACY: 0.913, _MEAN: 0.244, _STD: 0.27, _REGRET: 0.23},
}
_INTERVAL = "95 %, DeLong, for the AUROC"
_REMARKS = (
    (
        "Losses and regrets of the thesis are logarithms to base 10; nats stand in tables of their "
        "own. The network is a ResNet-20; the thesis calls it a ResNet-18."
    ),
    (
        "Nothing is trained here: these are the genie probabilities that the author of the thesis "
        "stored (kobybibas/deep_pnml_experiments), put into tables again."
    ),
)
_ABOUT_UNION = (
    "Nobody says how many layers to tune: q is the largest of the pNMLs of the depths, divided by "
    "its sum Z. It loses at most log Z more than the pNML of whichever depth is best for the "
    "label. Its regret is the expected one to the genie of that depth."
)
_ABOUT_UNKNOWN = (
    "Mean regret of images of other kinds, and how well they are told from the thousand test "
    "images. The file does not say how many layers were tuned for them."
)


@dataclass(frozen=True)
class Learner:
    """What one learner says of images: probabilities of labels, and regrets."""

    log_q: FloatArray  # (n, C)
    regret: FloatArray  # (n,)  nats

    @classmethod
    def of_genies(cls, genies: FloatArray) -> Learner:
        """The pNML of genie probabilities (n, C): Γ = log Σ p, q = p / Σ p.

        >>> learner = Learner.of_genies(np.array([[1.0, 0.5]]))
        >>> np.exp(learner.log_q).round(3), np.exp(learner.regret)
        (array([[0.667, 0.333]]), array([1.5]))
        """
        genies = np.asarray(genies, dtype=np.float64)
        with np.errstate(divide="ignore"):
            log_genies = np.log(genies)
        regret = np.log(genies.sum(axis=1))
        return cls(log_genies - regret[:, None], regret)

    @classmethod
    def of_network(cls, probabilities: FloatArray) -> Learner:
        """The network without pNML: its own probabilities, and a regret of 0 everywhere."""
        found = cls.of_genies(probabilities)
        return cls(found.log_q, np.zeros_like(found.regret))

    def taken(self, places: npt.NDArray[np.intp]) -> Learner:
        """The same learner on some of its images."""
        return Learner(self.log_q[places], self.regret[places])

    def losses(self, labels: npt.NDArray[Any]) -> FloatArray:
        """Log-losses (n,) in nats."""
        return np.asarray(-self.log_q[np.arange(len(labels)), labels])

    def numbers(self, labels: npt.NDArray[Any]) -> dict[str, float]:
        """The numbers of the table, losses and regrets in nats."""
        losses = self.losses(labels)
        return {
            _ACCURACY: float(np.mean(self.log_q.argmax(axis=1) == labels)),
            _MEAN: float(losses.mean()),
            _STD: float(losses.std()),
            _REGRET: float(self.regret.mean()),
        }


def union(learners: list[Learner]) -> tuple[Learner, FloatArray]:
    """One learner for several depths, and the price log Z (n,) of not knowing which."""
    log_q = np.stack([learner.log_q for learner in learners])
    found = label_envelope(log_q)
    regrets = np.stack([learner.regret for learner in learners], axis=1)
    expected = np.sum(label_shares(log_q) * regrets, axis=1) + found.log_mass
    return Learner(found.log_prob, expected), found.log_mass


@dataclass(frozen=True)
class Stored:
    """What was stored, by the number of tuned layers and by the images."""

    depths: Mapping[str, Learner]  # on all images of each
    labels: npt.NDArray[Any]  # of those for which two layers were tuned
    shown: Mapping[str, Learner]  # on the images of the table
    shown_labels: npt.NDArray[Any]
    unknown: Mapping[str, Learner]

    @classmethod
    def read(cls) -> Stored:
        """All of the file."""
        stored = arrays(_FILE)
        labels = stored["two_layers_label"].astype(int)
        depths = {
            "0": Learner.of_network(stored["two_layers_erm"]),
            "2": Learner.of_genies(stored["two_layers_genie"]),
            "7": Learner.of_genies(stored["seven_layers_genie"]),
        }
        indices, of_two, of_seven = np.intersect1d(
            stored["two_layers_index"], stored["seven_layers_index"], return_indices=True
        )
        of_two, of_seven = of_two[indices < _IMAGES], of_seven[indices < _IMAGES]
        places = {"0": of_two, "2": of_two, "7": of_seven}
        return cls(
            depths,
            labels,
            {name: learner.taken(places[name]) for name, learner in depths.items()},
            labels[of_two],
            {
                "SVHN": Learner.of_genies(stored["svhn_genie"]),
                "Noise": Learner.of_genies(stored["noise_genie"]),
            },
        )


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """The table in both units, on more images, on unknown ones, and for several depths at once."""
    stored = Stored.read()
    shown, labels = stored.shown, stored.shown_labels
    tables = (
        _by_depth(shown, labels),
        _in_nats(shown, labels),
        _union_table(shown, labels, "log base 10", _LOG_10),
        _union_table(shown, labels, "nats", 1.0),
        _on_all(stored.depths, stored.labels),
        _unknown_table(shown["2"], stored.unknown),
    )
    progress(1, 1)
    return Result(tables, _figures(stored), interval=_INTERVAL, remarks=_REMARKS)


def _figures(stored: Stored) -> tuple[Figure, Figure]:
    learners = {f"{name} layers": learner for name, learner in stored.shown.items()}
    learners["all three"] = union(list(stored.shown.values()))[0]
    losses = {
        name: learner.losses(stored.shown_labels) / _LOG_10 for name, learner in learners.items()
    }
    regretful = {name: learners[name] for name in ("2 layers", "7 layers")} | dict(stored.unknown)
    regrets = {name: learner.regret / _LOG_10 for name, learner in regretful.items()}
    return (
        Figure(
            "ablation-log-loss",
            "Log-loss of the thousand test images by the number of tuned layers; counts on a log "
            "scale. All three is the union of the depths.",
            lambda: _draw(losses, "log-loss, base 10"),
        ),
        Figure(
            "ablation-regret",
            "Regret of the thousand test images by the number of tuned layers, and of a hundred "
            "images of SVHN and of noise; counts on a log scale.",
            lambda: _draw(regrets, "regret, base 10"),
        ),
    )


def _by_depth(shown: Mapping[str, Learner], labels: npt.NDArray[Any]) -> Table:
    rows = [
        Row(
            {"layers": depth, "number": number},
            _PRINTED[depth][number],
            exactly(value if number == _ACCURACY else value / _LOG_10),
        )
        for depth, learner in shown.items()
        for number, value in learner.numbers(labels).items()
    ]
    return Table("By the number of tuned layers, log base 10", tuple(rows), digits=4)


def _in_nats(shown: Mapping[str, Learner], labels: npt.NDArray[Any]) -> Table:
    rows = [
        Row({"layers": depth, "number": number}, None, exactly(value))
        for depth, learner in shown.items()
        for number, value in learner.numbers(labels).items()
        if number != _ACCURACY
    ]
    return Table("The same in nats", tuple(rows), digits=4)


def _union_table(
    shown: Mapping[str, Learner], labels: npt.NDArray[Any], unit: str, size: float
) -> Table:
    rows = []
    for count in (2, 3):
        for names in combinations(shown, count):
            one, price = union([shown[name] for name in names])
            numbers = one.numbers(labels)
            accuracy = numbers.pop(_ACCURACY)
            numbers |= {"log Z, mean": float(price.mean()), "log Z, largest": float(price.max())}
            found = {_ACCURACY: accuracy} | {key: x / size for key, x in numbers.items()}
            rows += [
                Row({"layers": ", ".join(names), "number": number}, None, exactly(value))
                for number, value in found.items()
            ]
    return Table(f"Twice universality over depth, {unit}", tuple(rows), _ABOUT_UNION, digits=4)


def _on_all(depths: Mapping[str, Learner], labels: npt.NDArray[Any]) -> Table:
    learners = {name: depths[name] for name in ("0", "2")}
    learners["0, 2"] = union(list(learners.values()))[0]
    rows = [
        Row(
            {"layers": name, "number": number},
            None,
            exactly(value if number == _ACCURACY else value / _LOG_10),
        )
        for name, learner in learners.items()
        for number, value in learner.numbers(labels).items()
    ]
    about = f"All {len(labels):,} test images for which two layers were tuned; log base 10."
    return Table("On more images", tuple(rows), about, digits=4)


def _unknown_table(known: Learner, unknown: Mapping[str, Learner]) -> Table:
    rows = []
    for name, learner in unknown.items():
        mean = float(learner.regret.mean())
        auroc = detection_metrics(-known.regret, -learner.regret).auroc
        rows += [
            Row(
                {"images": name, "number": "regret, mean, log base 10"},
                None,
                exactly(mean / _LOG_10),
            ),
            Row({"images": name, "number": "regret, mean, nats"}, None, exactly(mean)),
            Row({"images": name, "number": "AUROC of the regret"}, None, auroc),
        ]
    return Table("Unknown images", tuple(rows), _ABOUT_UNKNOWN, digits=3)


def _draw(values: Mapping[str, FloatArray], what: str) -> MatplotlibFigure:
    from matplotlib import pyplot as plt

    figure, ax = plt.subplots(figsize=(6, 4))
    edges = np.linspace(0, max(float(v.max()) for v in values.values()), 31)
    for i, (name, numbers) in enumerate(values.items()):
        counts, _ = np.histogram(numbers, bins=edges)
        ax.stairs(counts, edges, label=name, color=f"C{i}", linewidth=1.5)
    ax.set(xlabel=what, ylabel="images", yscale="log", ylim=(0.8, None))
    ax.legend()
    return figure
