"""Open-set recognition: every score on rows of known and of unknown classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pnml.core.arrays import FloatArray
from pnml_experiments.ch5_networks.feature_sets import FeatureSet, features
from pnml_experiments.ch5_networks.ood_tables import SEED
from pnml_experiments.ch5_networks.open_set import (
    COSINE,
    ODIN_NAME,
    PIECE,
    REFIT,
    TEMPERATURE,
    OpenSet,
    Rows,
    all_judged,
    moved_features,
)
from pnml_experiments.ch5_networks.open_set_tables import (
    INTERVAL,
    figures,
    printed_scores,
    six_tables,
)
from pnml_experiments.framework.data import arrays, data_path
from pnml_experiments.framework.experiment import Experiment, Progress, Scale
from pnml_experiments.framework.output import Arrays, Output
from pnml_experiments.framework.result import Result
from pnml_experiments.framework.stored_files import EMNIST, FASHION_TEST, MNIST

EXPERIMENTS = (
    Experiment(
        id="open-set-resnet20",
        chapter=5,
        title="Open-set recognition from the features of a ResNet-20",
        minutes=(0.6, 10.0),
        other="A ResNet-20 stands for the DenseNet-BC-100 of the thesis.",
        less=(
            "Refits are made for 1,000 of the 10,000 or more rows of each set, with 10,000 of "
            "50,000 training rows."
        ),
        extras=("plots", "torch"),
        case="ResNet-20",
        needs=("features/cifar10_resnet20.npz",),
    ),
    Experiment(
        id="open-set-clinc150",
        chapter=5,
        title="Open-set recognition from embeddings of sentences, CLINC150",
        minutes=(0.1, 75.0),
        other="150 intents of sentences stand for CIFAR-100.",
        less=(
            "Refits are made for 40 of 4,500 known and 40 of 1,000 unknown rows, with 10,000 of "
            "15,000 training rows."
        ),
        extras=("plots", "torch"),
        case="CLINC150",
        needs=("features/clinc150_minilm.npz",),
    ),
    Experiment(
        id="open-set-mnist",
        chapter=5,
        title="Open-set recognition, MNIST against Fashion-MNIST",
        minutes=(1.0, 5.0),
        other="MNIST and Fashion-MNIST stand for CelebA.",
        less=(
            "Refits are made for 1,000 of 10,000 rows of each set, with 10,000 of 60,000 training "
            "rows."
        ),
        extras=("plots", "torch"),
        case="MNIST",
        needs=("mnist", "fashion-mnist", "emnist"),
    ),
)
# Rows of each set for scores that are slow; CLINC150 has 150 refits a row.
_SAMPLES = {
    "ResNet-20": {"small": 100, "full": 1_000},
    "CLINC150": {"small": 0, "full": 40},
    "MNIST": {"small": 100, "full": 1_000},
}
_DIGITS = {"small": (12_000, 2_000, 3), "full": (60_000, 10_000, 5)}  # training, test, epochs
_BATCH = 500
_FIRST_LETTER = 10  # label of EMNIST; those below are digits
_KNOWN = {"ResNet-20": "CIFAR-10", "CLINC150": "the known intents", "MNIST": "MNIST"}
# Sets of the thesis → ours; those it has not are run all the same.
_SETS = {"Noise": "Gaussian"}
_NOT_RUN = {
    "Entropic Open-Set": "its network is trained with unknown classes too",
    "Objectosphere": "its network is trained with unknown classes too",
    "Max. Discrepancy": "its network is trained with unknown classes too",
    REFIT: "the last layer is trained anew for each label of each row",
}
_DIFFERS = {
    ODIN_NAME: "The step was taken on images, here on features.",
    COSINE: "The printed network was trained with cosines, this one was not.",
}
_REMARKS = {
    "ResNet-20": (
        (
            "The thesis has a DenseNet-BC-100 and LSUN, SVHN and noise as unknown classes; what it "
            "prints stands beside ours where the sets agree."
        ),
        (
            "Only features are stored here, so ODIN takes its step on them. With a linear head "
            "that adds nearly the same to all rows of a class: it is the temperature that counts."
        ),
    ),
    "CLINC150": (
        (
            "The thesis has no text; the head is a logistic regression with C = 10 on MiniLM "
            "embeddings of unit norm. ODIN takes its step on the embeddings."
        ),
    ),
    "MNIST": (
        (
            "The thesis has no such table. The network has two convolutions and two linear layers, "
            "trained on the spot; ODIN takes its step on the images."
        ),
        (
            "Entropic Open-Set, Objectosphere and Max. Discrepancy have networks of the same shape "
            "that are trained with unknown rows too: 9,250 letters of EMNIST, never clothes. "
            "Settings are those of their papers: least norm 50 and weight 0.0001 for "
            "Objectosphere, margin 1.2 for Max. Discrepancy, which sees digits alone for as many "
            "epochs before. The score is the maximal probability as in the thesis, for "
            "Objectosphere also times the norm of the features as in its paper; for Max. "
            "Discrepancy it is how far the probabilities of the two heads are apart."
        ),
        (
            "This is one network, and the intervals are those of test rows: over four seeds at the "
            "small scale the area of Max-prob goes from 0.74 to 0.82, that of pNML from 0.92 to "
            "0.93."
        ),
    ),
}


def run(case: str, scale: Scale, out: Output, progress: Progress) -> Result:
    """Area and rates of all scores on every unknown set, curves and histograms."""
    data = _digits(scale, out) if case == "MNIST" else _stepped(features(case, scale, out))
    sample = _SAMPLES[case][scale]
    scores, of_sample = all_judged(data, sample, out, progress)
    printed = {}
    if case == "ResNet-20":
        printed = {
            (_SETS.get(row.unknown, row.unknown), row.score): row for row in printed_scores()
        }

    def note(ood: str, name: str, was_run: bool) -> str:
        if (ood, name) not in printed:
            return ""
        if not was_run:
            why = "the images cannot be had" if ood == "LSUN" else _NOT_RUN[name]
            return f"Not run on these rows: {why}."
        said = ["Printed for another network, a DenseNet-BC-100."]
        if ood == "Gaussian":
            said.append("Its noise has pixels of mean 0 and variance 1, ours a wider spread.")
        return " ".join([*said, *([_DIFFERS[name]] if name in _DIFFERS else [])])

    tables = six_tables(scores, "all rows", printed, note)
    if of_sample:
        tables += six_tables(of_sample, f"{sample} rows of each set", printed, note)
    name = f"open-set-{case.replace('-', '').lower()}"
    pictures = figures(name, _KNOWN[case], scores)
    return Result(tables, pictures, (SEED,), 1, INTERVAL, _REMARKS[case])


def how_far(case: str, size: Scale, pieces: Mapping[str, Any]) -> str:
    """How far an unfinished run is, from its finished pieces."""
    rows = PIECE * len(pieces)
    return f"The last layer is refitted for {rows} of {2 * _SAMPLES[case][size]} rows."


def _stepped(data: FeatureSet) -> OpenSet:
    """Stored features, as they are and after ODIN's step on them."""
    weight, bias, train = (np.asarray(x, float) for x in (data.weight, data.bias, data.train))

    def rows(features: FloatArray) -> Rows:
        features = features.astype(float)
        return Rows(features, moved_features(weight, bias, train, features))

    unknown = {name: rows(features) for name, features in data.outliers.items()}
    return OpenSet(
        weight, bias, train, data.train_labels, rows(data.test), data.test_labels, unknown
    )


def _digits(scale: Scale, out: Output) -> OpenSet:
    """Features of digits and clothes in a network that was trained on digits; rivals' scores."""
    from pnml_experiments.ch5_networks.open_set_rivals import from_arrays

    train, test, epochs = _DIGITS[scale]
    files = map(data_path, (*MNIST.values(), FASHION_TEST))
    settings = f"{train} {test} {epochs} {SEED}"
    kept = out.arrays("open-set-mnist", (*files, settings), lambda: _features(train, test, epochs))
    double = {name: values.astype(float) for name, values in kept.items()}
    rivals = out.arrays(
        "open-set-rivals",
        (*map(data_path, (*MNIST.values(), FASHION_TEST, EMNIST)), settings),
        lambda: _rivals(train, test, epochs),
        ours=False,
    )

    def rows(where: str) -> Rows:
        others = from_arrays(rivals, where)
        return Rows(double[where], double[f"{where}_moved"], others)

    return OpenSet(
        double["weight"],
        double["bias"],
        double["train"],
        kept["train_labels"],
        rows("known"),
        kept["labels"],
        {"Fashion-MNIST": rows("unknown")},
    )


def _rivals(train: int, test: int, epochs: int) -> Arrays:
    """What networks that are trained on digits and letters say of digits and clothes."""
    import torch

    from pnml_experiments.ch5_networks.open_set_rivals import answers, as_arrays, trained_networks
    from pnml_experiments.framework.mnist import pixels, stored

    seen = pixels(MNIST["train"], slice(train))
    labels = torch.from_numpy(stored(MNIST["train labels"])[:train].astype(np.int64))
    characters = arrays(EMNIST)
    letters = characters["x_train"][characters["y_train"] >= _FIRST_LETTER]
    unknown = torch.from_numpy(letters / np.float32(255))[:, None]
    networks = trained_networks(seen, labels, unknown, epochs=epochs, seed=SEED)
    judged = {"known": MNIST["test"], "unknown": FASHION_TEST}
    return as_arrays(
        {where: answers(networks, pixels(path, slice(test))) for where, path in judged.items()}
    )


def _features(train: int, test: int, epochs: int) -> Arrays:
    """Train the network; its head, and features of images as they are and after ODIN's step."""
    import torch

    from pnml.ood import ODIN
    from pnml_experiments.framework.mnist import pixels, stored, trained

    seen, labels = pixels(MNIST["train"], slice(train)), stored(MNIST["train labels"])[:train]
    network = trained(seen, torch.from_numpy(labels.astype(np.int64)), epochs=epochs, seed=SEED)
    odin = ODIN(network, temperature=TEMPERATURE)

    def features(images: torch.Tensor) -> FloatArray:
        return np.concatenate([network.body(part).numpy() for part in torch.split(images, _BATCH)])

    found: Arrays = {
        "weight": network.head.weight.numpy(),
        "bias": network.head.bias.numpy(),
        "train": features(seen),
        "train_labels": labels.astype(int),
        "labels": stored(MNIST["test labels"])[:test].astype(int),
    }
    for name, path in (("known", MNIST["test"]), ("unknown", FASHION_TEST)):
        images = pixels(path, slice(test))
        moved = torch.cat([odin.perturb(part) for part in torch.split(images, _BATCH)])
        found |= {name: features(images), f"{name}_moved": features(moved)}
    return found
