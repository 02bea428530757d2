"""All detectors on two sets of features that were named before any score of them was computed.

What was fixed beforehand:

- **SVHN** in its own DenseNet-BC-100, the published weights tuned with outliers (OECC): features of
  6,000 training and 3,000 test images; outliers are 500 images each of CIFAR-10, CIFAR-100, Tiny
  ImageNet resized and cropped, Gaussian and uniform noise, all drawn with seed 0.
- **Banking77** in MiniLM: 19 of 77 intents, drawn with seed 0, are left out. The head is a logistic
  regression with C = 10 on the training sentences of the other 58; ordinary rows are their test
  sentences, outliers the test sentences of the 19.
- The detectors are the eleven of `fit_detectors_to_features` with their default settings.
- The measure is the mean AUROC over the sets of outliers; the claim is that the regret is first or
  second in it on both. Nothing is chosen or changed after the first look.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pnml_experiments.ch5_networks.feature_sets import FeatureSet
from pnml_experiments.ch5_networks.ood_detectors import (
    DETECTOR_REMARK,
    INTERVAL,
    PNML,
    evaluated,
    means_table,
    records,
    sets_table,
)
from pnml_experiments.ch5_networks.ood_tables import SEED
from pnml_experiments.framework.data import arrays, data_path
from pnml_experiments.framework.experiment import Experiment, Progress, Scale
from pnml_experiments.framework.output import Arrays, Output
from pnml_experiments.framework.result import Result
from pnml_experiments.framework.stored_files import BANKING

EXPERIMENT = Experiment(
    id="ood-confirmation",
    chapter=5,
    title="OOD detectors on two feature sets named beforehand",
    minutes=(0.7, 4.0),
    extras=("plots", "torch"),
    needs=(
        "features/banking77_minilm.npz",
        "weights/densenet_bc100_svhn_oecc.pth",
        "images/svhn.npz",
        "images/svhn_train.npz",
        "images/cifar10.npz",
        "images/cifar100.npz",
        "images/tiny.npz",
    ),
    beyond=True,
)
SUBJECTS = ("SVHN", "Banking77")
_LEFT_OUT = 19  # intents
_INVERSE_PENALTY = 10.0  # C of the logistic regression
# Rows of each set, at most.
_ROWS: dict[str, int | None] = {"small": 1_000, "full": None}


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """Every detector on both sets of features: metrics of each set of outliers, and their means."""
    found: dict[str, dict[str, Any]] = {}
    for i, name in enumerate(SUBJECTS):
        found[name] = out.piece(name, lambda name=name: _piece(name, scale, out))  # type: ignore[misc]
        progress(i + 1, len(SUBJECTS))
    tables = [means_table(found, metric, one_set=SUBJECTS) for metric in ("auroc", "fpr95")]
    tables += [sets_table(found, metric) for metric in ("auroc", "fpr95", "aupr_in", "aupr_out")]
    return Result(tuple(tables), (), (SEED,), 1, INTERVAL, (standing(found), *_REMARKS))


_REMARKS = (
    (
        "Both sets, the detectors and the measure were fixed in a commit before any score was "
        "computed; they were looked at once."
    ),
    DETECTOR_REMARK,
    (
        "SVHN: the weights were tuned with outliers of another set (OECC), which makes it easy for "
        "most detectors; 6,000 of 73,257 training images, 3,000 test images and 500 outliers of "
        "a set."
    ),
    (
        "Banking77: 58 intents are known, 19 are left out; MiniLM embeddings of unit norm, "
        "logistic regression with C = 10."
    ),
)


def _piece(name: str, scale: Scale, out: Output) -> dict[str, Any]:
    data = svhn(out, scale) if name == "SVHN" else banking77(out)
    return records(evaluated(data.thinned(_ROWS[scale])))


def svhn(out: Output, scale: Scale = "full") -> FeatureSet:
    """Digits of house numbers in the network that was trained on them."""
    from pnml_experiments.ch5_networks.feature_sets import few_of_densenet, printed_densenet
    from pnml_experiments.ch5_networks.ood_networks import subjects

    tuned = next(
        one for one in subjects("DenseNet-BC-100") if one.key == "densenet_bc100_svhn_oecc"
    )
    return few_of_densenet(tuned, out) if scale == "small" else printed_densenet(tuned, out)


def banking77(out: Output) -> FeatureSet:
    """Sentences to a bank; the intents that the head was not shown are the outliers."""
    stored = arrays(BANKING)
    strange = np.random.default_rng(SEED).permutation(77)[:_LEFT_OUT]
    parts = {
        part: (stored[f"x_{part}"].astype(float), stored[f"y_{part}"].astype(int))
        for part in ("train", "test")
    }
    (x, y), (x_test, y_test) = parts["train"], parts["test"]
    known, known_test = ~np.isin(y, strange), ~np.isin(y_test, strange)
    shown = np.unique(y[known])

    def fit() -> Arrays:
        from sklearn.linear_model import LogisticRegression

        head = LogisticRegression(C=_INVERSE_PENALTY, max_iter=2_000).fit(x[known], y[known])
        return {"weight": head.coef_, "bias": head.intercept_}

    settings = f"C={_INVERSE_PENALTY} left out={sorted(strange.tolist())}"
    head = out.arrays("banking77-head", (data_path(BANKING), settings), fit)
    return FeatureSet(
        head["weight"],
        head["bias"],
        x[known],
        x_test[known_test],
        {"left-out intents": x_test[~known_test]},
        np.searchsorted(shown, y[known]),
        np.searchsorted(shown, y_test[known_test]),
    )


def standing(found: Mapping[str, Mapping[str, Any]]) -> str:
    """The place of the regret in mean AUROC on each set of features, and who is next to it."""
    said = []
    for name, piece in found.items():
        values = {r["detector"]: 100 * r["auroc"] for r in piece["means"] if r["sets"] == "all"}
        order = sorted(values, key=lambda detector: -values[detector])
        place = order.index(PNML) + 1
        rival = next(detector for detector in order if detector != PNML)
        said.append(
            f"{name} {values[PNML]:.2f}, place {place} of {len(order)}, the best other detector "
            f"is {rival} with {values[rival]:.2f}"
        )
    return "Mean AUROC of pNML: " + "; ".join(said) + "."
