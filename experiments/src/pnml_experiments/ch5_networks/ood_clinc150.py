"""Out-of-scope queries among the 150 intents of CLINC150, from embeddings of sentences."""

from __future__ import annotations

import numpy as np

from pnml_experiments.ch5_networks import ood_features
from pnml_experiments.ch5_networks.ood_features import ABOUT, FeatureSet, all_measured, rows_of
from pnml_experiments.ch5_networks.ood_tables import INTERVAL, SEED, three_tables
from pnml_experiments.framework.data import arrays, data_path
from pnml_experiments.framework.experiment import Experiment, Progress, Scale
from pnml_experiments.framework.output import Arrays, Output
from pnml_experiments.framework.result import Figure, Result, Row, Table, exactly

EXPERIMENT = Experiment(
    id="ood-clinc150",
    chapter=5,
    title="OOD detection from embeddings of sentences, CLINC150",
    minutes=(0.05, 0.2),
    extras=("plots", "torch"),
    needs=("features/clinc150_minilm.npz",),
    beyond=True,
)

_FILE = "features/clinc150_minilm.npz"
_INVERSE_PENALTY = 10.0  # C of the logistic regression
_ROWS = {"small": (3_000, 500), "full": (None, None)}  # of training, and of each other set


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """The three metrics of all detectors on the out-of-scope queries."""
    train, others = _ROWS[scale]
    stored = arrays(_FILE)
    # every so many, as the rows come sorted by intent
    step = 1 if train is None else len(stored["x_train"]) // train
    rows, labels = stored["x_train"][::step].astype(float), stored["y_train"][::step]
    head = out.arrays(
        "clinc150-head",
        (data_path(_FILE), f"C={_INVERSE_PENALTY} step={step}"),
        lambda: _head(rows, labels),
    )
    known = np.random.default_rng(SEED).permutation(len(stored["x_test"]))[:others]
    test, unknown = stored["x_test"][known].astype(float), stored["x_oos_test"][:others]
    data = FeatureSet(
        head["weight"], head["bias"], rows, test, {"out of scope": unknown.astype(float)}
    )
    found = all_measured(data, out, progress)
    named = (test @ head["weight"].T + head["bias"]).argmax(axis=1)
    right = 100 * float(np.mean(named == stored["y_test"][known]))
    tables = three_tables(
        rows_of(found, lambda name, ood, metric: None, lambda name, ood: ""), ABOUT
    )
    accuracy = Row({"of": "the 150 known intents"}, None, exactly(right))
    figure = Figure(
        "ood-clinc150",
        "AUROC of detectors on sentence embeddings, CLINC150 against out-of-scope queries.",
        lambda: ood_features.draw(found),
    )
    remarks = (
        (
            "The thesis has no text; the head is a logistic regression with C = 10 on MiniLM "
            "embeddings of unit norm."
        ),
    )
    tables = (*tables, Table("Accuracy, percent", (accuracy,)))
    return Result(tables, (figure,), (SEED,), 1, INTERVAL, remarks)


def _head(rows: np.ndarray, labels: np.ndarray) -> Arrays:
    from sklearn.linear_model import LogisticRegression

    fitted = LogisticRegression(C=_INVERSE_PENALTY, max_iter=2_000).fit(rows, labels)
    return {"weight": fitted.coef_, "bias": fitted.intercept_}
