"""Stored features of known and unknown classes, with a linear head on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pnml_experiments.ch5_networks.ood_tables import SEED
from pnml_experiments.framework.data import arrays, data_path
from pnml_experiments.framework.output import Arrays, Output
from pnml_experiments.framework.stored_files import CLINC, RESNET20

if TYPE_CHECKING:
    from pnml_experiments.ch5_networks.image_subjects import Subject

# Rows of training and of each other set.
SIZES: dict[str, dict[str, tuple[int | None, int | None]]] = {
    "ResNet-20": {"small": (3_000, 500), "full": (None, None)},
    "CLINC150": {"small": (3_000, 500), "full": (None, None)},
}
# Stored name → name in the thesis.
_OUTLIERS = {
    "svhn_test": "SVHN",
    "tiny_resize": "Imagenet (R)",
    "tiny_crop": "Imagenet (C)",
    "cifar100_test": "CIFAR-100",
    "uniform": "Uniform",
    "gaussian": "Gaussian",
}
_INVERSE_PENALTY = 10.0  # C of the logistic regression


@dataclass(frozen=True)
class FeatureSet:
    """Features of a trained network and the linear head on them."""

    weight: Any  # (C, d)
    bias: Any  # (C,)
    train: Any  # (n, d)
    test: Any  # (m, d)
    outliers: Mapping[str, Any]
    train_labels: Any = None  # (n,)
    test_labels: Any = None  # (m,)

    def thinned(self, rows: int | None) -> FeatureSet:
        """About this many rows of each set, evenly spread; all where no number is given."""
        if rows is None:
            return self

        def some(values: Any) -> Any:
            return None if values is None else values[:: max(1, len(values) // rows)]

        return FeatureSet(
            self.weight,
            self.bias,
            some(self.train),
            some(self.test),
            {name: some(values) for name, values in self.outliers.items()},
            some(self.train_labels),
            some(self.test_labels),
        )


def features(name: str, scale: str, out: Output) -> FeatureSet:
    """The stored features of a name in `SIZES`, as many rows as the scale has."""
    train, others = SIZES[name][scale]
    return resnet20(train, others) if name == "ResNet-20" else clinc150(train, others, out)


def resnet20(train: int | None = None, others: int | None = None) -> FeatureSet:
    """CIFAR-10 in a ResNet-20: the first rows of each set, or all of them."""
    stored = arrays(RESNET20)
    return FeatureSet(
        stored["fc_weight"],
        stored["fc_bias"],
        stored["f_cifar10_train"][:train].astype("float32"),
        stored["f_cifar10_test"][:others].astype("float32"),
        {name: stored[f"f_{key}"][:others].astype("float32") for key, name in _OUTLIERS.items()},
        stored["y_cifar10_train"][:train].astype(int),
        stored["y_cifar10_test"][:others].astype(int),
    )


def clinc150(train: int | None, others: int | None, out: Output) -> FeatureSet:
    """Sentences of 150 intents in MiniLM, with a logistic regression fitted to them."""
    stored = arrays(CLINC)
    # every so many, as the rows come sorted by intent
    step = 1 if train is None else len(stored["x_train"]) // train
    rows, labels = stored["x_train"][::step].astype(float), stored["y_train"][::step].astype(int)

    def fit() -> Arrays:
        from sklearn.linear_model import LogisticRegression

        head = LogisticRegression(C=_INVERSE_PENALTY, max_iter=2_000).fit(rows, labels)
        return {"weight": head.coef_, "bias": head.intercept_}

    settings = f"C={_INVERSE_PENALTY} step={step}"
    head = out.arrays("clinc150-head", (data_path(CLINC), settings), fit)
    sample = np.random.default_rng(SEED).permutation(len(stored["x_test"]))[:others]
    return FeatureSet(
        head["weight"],
        head["bias"],
        rows,
        stored["x_test"][sample].astype(float),
        {"out of scope": stored["x_oos_test"][:others].astype(float)},
        labels,
        stored["y_test"][sample].astype(int),
    )


def printed_densenet(subject: Subject, out: Output) -> FeatureSet:
    """A DenseNet-BC-100 on image sets of their printed size; features are kept once computed."""
    from pnml_experiments.ch5_networks.full_features import (
        OUTLIERS,
        features_of,
        labels_of,
    )
    from pnml_experiments.ch5_networks.image_subjects import head_of

    head = head_of(subject.network())
    strange = {name: file for name, file in OUTLIERS.items() if name != subject.ind}
    return FeatureSet(
        head.weight.detach().numpy(),
        head.bias.detach().numpy(),
        features_of(subject, "train", out.cache),
        features_of(subject, "test", out.cache),
        {name: features_of(subject, file, out.cache) for name, file in strange.items()},
        labels_of(subject, "train"),
        labels_of(subject, "test"),
    )


def few_of_densenet(subject: Subject, out: Output) -> FeatureSet:
    """The same for the first images of each set, to see that everything runs."""
    from pnml_experiments.ch5_networks.full_features import OUTLIERS, all_labels
    from pnml_experiments.ch5_networks.gram_files import GramFiles
    from pnml_experiments.ch5_networks.image_subjects import head_of

    head = head_of(subject.network())
    files = GramFiles(subject, out.cache, few=True)
    train, test = files.training["features"], files.seen("test")[0]
    strange = {name: file for name, file in OUTLIERS.items() if name != subject.ind}
    return FeatureSet(
        head.weight.detach().numpy(),
        head.bias.detach().numpy(),
        train,
        test,
        {name: files.seen(file)[0] for name, file in strange.items()},
        all_labels(subject, "train")[: len(train)],
        all_labels(subject, "test")[: len(test)],
    )


def densenet(ind: str, scale: str, out: Output) -> FeatureSet:
    """A DenseNet-BC-100 trained on CIFAR-10 or CIFAR-100: features of the images at hand.

    Those at printed size are taken where they are below PNML_DATA, else the small files.
    """
    from pnml_experiments.ch5_networks import full_features
    from pnml_experiments.ch5_networks.feature_extraction import extract
    from pnml_experiments.ch5_networks.image_subjects import (
        SIZES as IMAGES,
    )
    from pnml_experiments.ch5_networks.image_subjects import (
        own_images,
        spread,
        strange_images,
    )
    from pnml_experiments.ch5_networks.ood_networks import subjects

    plain = next(one for one in subjects("DenseNet-BC-100") if one.ind == ind)
    if scale == "full" and full_features.are_here(plain):
        return printed_densenet(plain, out)
    subject, sizes = replace(plain, methods=("Baseline",)), IMAGES[scale]
    own, strange = own_images(subject, sizes), strange_images(subject, sizes)
    kept = extract(subject, sizes, own.train, [own.test, *strange], out, lambda more: None)
    labels = arrays(subject.images)["y_train"]
    chosen = labels[spread(len(labels), sizes.train)]
    return FeatureSet(
        kept.head.weight.detach().numpy(),
        kept.head.bias.detach().numpy(),
        kept.train,
        kept.sets["test"].features,
        {one.name: kept.sets[one.name].features for one in strange},
        np.searchsorted(subject.shown_classes(), chosen),
        own.labels,
    )
