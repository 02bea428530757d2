"""Open-set recognition: the 150 intents of CLINC150 among queries that are out of scope."""

from __future__ import annotations

import numpy as np

from pnml.core.arrays import FloatArray
from pnml_experiments.ch5_networks.ood_tables import SEED
from pnml_experiments.ch5_networks.open_set import OpenSet, Rows, all_judged, moved_features
from pnml_experiments.ch5_networks.open_set_tables import INTERVAL, figures, six_tables
from pnml_experiments.framework.data import arrays, data_path
from pnml_experiments.framework.experiment import Experiment, Progress, Scale
from pnml_experiments.framework.output import Arrays, Output
from pnml_experiments.framework.result import Result

EXPERIMENT = Experiment(
    id="open-set-clinc150",
    chapter=5,
    title="Open-set recognition from embeddings of sentences, CLINC150",
    minutes=(0.1, 60.0),
    extras=("plots", "torch"),
    needs=("features/clinc150_minilm.npz",),
)

_FILE = "features/clinc150_minilm.npz"
_INVERSE_PENALTY = 10.0  # C of the logistic regression
_ROWS = {"small": (3_000, 500), "full": (None, None)}  # of training, and of each other set
_SAMPLE = {"small": 0, "full": 40}  # rows of each set for scores that are slow: 150 refits a row
_REMARKS = (
    (
        "The thesis has no text; the head is a logistic regression with C = 10 on MiniLM "
        "embeddings of unit norm. ODIN takes its step on the embeddings."
    ),
)


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """Area and rates of all scores on out-of-scope queries, curves and histograms."""
    data = open_set(*_ROWS[scale], out)
    found, of_sample = all_judged(data, _SAMPLE[scale], out, progress)
    tables = six_tables(found, "all rows", {}, lambda *_: "")
    if of_sample:
        tables += six_tables(of_sample, f"{_SAMPLE[scale]} rows of each set", {}, lambda *_: "")
    drawn = figures("open-set-clinc150", "the known intents", found)
    return Result(tables, drawn, (SEED,), 1, INTERVAL, _REMARKS)


def open_set(train: int | None, others: int | None, out: Output) -> OpenSet:
    """The stored embeddings and a head fitted to them, some rows of each set or all of them."""
    stored = arrays(_FILE)
    # every so many, as the rows come sorted by intent
    step = 1 if train is None else len(stored["x_train"]) // train
    seen, labels = stored["x_train"][::step].astype(float), stored["y_train"][::step].astype(int)
    head = out.arrays(
        "clinc150-head",
        (data_path(_FILE), f"C={_INVERSE_PENALTY} step={step}"),
        lambda: _head(seen, labels),
    )
    weight, bias = head["weight"], head["bias"]

    def rows(features: FloatArray) -> Rows:
        return Rows(features, moved_features(weight, bias, seen, features))

    chosen = np.random.default_rng(SEED).permutation(len(stored["x_test"]))[:others]
    return OpenSet(
        weight,
        bias,
        seen,
        labels,
        rows(stored["x_test"][chosen].astype(float)),
        stored["y_test"][chosen].astype(int),
        {"out of scope": rows(stored["x_oos_test"][:others].astype(float))},
    )


def _head(rows: FloatArray, labels: np.ndarray) -> Arrays:
    from sklearn.linear_model import LogisticRegression

    fitted = LogisticRegression(C=_INVERSE_PENALTY, max_iter=2_000).fit(rows, labels)
    return {"weight": fitted.coef_, "bias": fitted.intercept_}
