"""Displays: the data that they hold, and what stands on their axes."""

from __future__ import annotations

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.carried_over import models
from benchmarks.carried_over.rows import amounts, classes, inputs, network, new_rows, tree_rows
from pnml.active import LearningCurves
from pnml.nn import LastLayerPNML
from pnml.plots import (
    ActiveLearningDisplay,
    ConfidenceDisplay,
    OSCRDisplay,
    RegretDisplay,
    ReliabilityDisplay,
    RiskCoverageDisplay,
    SpectrumDisplay,
)

HELD = {
    RegretDisplay: ("training", "new", "threshold", "level", "training_weights", "name"),
    SpectrumDisplay: (
        "singular_values",
        "penalty",
        "degrees_of_freedom",
        "energy",
        "outside",
        "weight",
        "name",
    ),
    RiskCoverageDisplay: ("coverage", "risk", "aurc", "loss_name", "name"),
    ReliabilityDisplay: ("confidence", "accuracy", "rows", "ece", "name"),
    OSCRDisplay: ("fpr", "ccr", "area", "name"),
    ConfidenceDisplay: ("edges", "known", "unknown", "name"),
    ActiveLearningDisplay: ("labels", "means", "quantity"),
}


def probe(record):
    for name, model, X, y in fitted():
        draw(record, f"displays/regret/{name}", lambda m=model, x=X: of(RegretDisplay, m, x))
        low = {"level": 0.8, "plot_training": False, "name": "mine"}
        draw(
            record,
            f"displays/regret/{name}@0.8",
            lambda m=model, x=X, s=low: of(RegretDisplay, m, x, **s),
        )
        draw(record, f"displays/spectrum/{name}", lambda m=model, x=X: of(SpectrumDisplay, m, x))
        draw(record, f"displays/spectrum/{name} alone", lambda m=model: of(SpectrumDisplay, m))
        draw(
            record,
            f"displays/risk/{name}",
            lambda m=model, x=X, t=y: of(RiskCoverageDisplay, m, x, t),
        )
        draw(
            record,
            f"displays/reliability/{name}",
            lambda m=model, x=X, t=y: of(ReliabilityDisplay, m, x, t),
        )
    of_numbers(record)


def fitted():
    X, y = amounts()
    for name in models.REGRESSORS:
        model = clone(models.REGRESSORS[name]).fit(X, y)
        yield name, model, new_rows(), y[:9]
    X, y = classes()
    for name in models.CLASSIFIERS:
        yield name, clone(models.CLASSIFIERS[name]).fit(X, y), new_rows(), y[:9]
    pipeline = make_pipeline(StandardScaler(), clone(models.REGRESSORS["ridge"]))
    yield "pipeline", pipeline.fit(*amounts()), new_rows(), amounts()[1][:9]
    yield "logistic", LogisticRegression().fit(X, y), new_rows(), y[:9]
    X, amount, kind = tree_rows()
    for name in ("tree", "forest"):
        yield f"{name}-tree", clone(models.TREE_REGRESSORS[name]).fit(X, amount), X[:9], amount[:9]
    for name in ("tree-classifier", "forest-classifier"):
        model = clone(models.TREE_CLASSIFIERS[name]).fit(X, kind)
        yield f"{name}-tree", model, X[:9], kind[:9]
    x = inputs()
    yield "network", LastLayerPNML(network()).fit(x), 3 * x[:9], np.arange(9) % 4


def of(display, model, *rows, **said):
    return display.from_estimator(model, *rows, **said)


def draw(record, key, make):
    """Record the data of a display, and labels and curves of its axes."""
    display = record.case(f"{key}/made", make)
    if display is None:
        plt.close("all")
        return
    record.members(key, display, HELD[type(display)])
    ax = display.ax_
    words = [ax.get_xlabel(), ax.get_ylabel(), ax.get_title(), ax.get_xscale(), ax.get_yscale()]
    legend = ax.get_legend()
    words += [] if legend is None else [text.get_text() for text in legend.get_texts()]
    record.text(f"{key}/words", "\n".join(words))
    for i, line in enumerate(ax.lines):
        record.value(f"{key}/line {i}", np.asarray(line.get_xydata(), dtype=float))
    plt.close("all")


def of_numbers(record):
    rng = np.random.default_rng(0)
    known, unknown, right = rng.normal(1, 1, 40), rng.normal(size=30), rng.random(40) < 0.8
    probs = rng.dirichlet(np.ones(3), size=50)
    labels = np.arange(50) % 3
    accuracy = {name: rng.uniform(size=(3, 4)) for name in ("random", "DIAL")}
    strange = {name: rng.integers(0, 5, size=(3, 4)) for name in accuracy}
    curves = LearningCurves((0, 1, 2), np.array([5, 10, 15, 20]), accuracy, strange)
    for name, make in {
        "regrets": lambda: RegretDisplay.from_regrets([0.1, 0.2, np.inf], [0.3, np.inf], 0.2),
        "plot": lambda: RegretDisplay(training=[0.1, 0.2], new=[0.3]).plot(),
        "confidence": lambda: ConfidenceDisplay.from_scores(known, {"odd": unknown}),
        "counted": lambda: ConfidenceDisplay.counted(known, {"odd": unknown}).plot(),
        "oscr": lambda: OSCRDisplay.from_predictions(known, right, unknown),
        "reliability": lambda: ReliabilityDisplay.from_predictions(probs, labels),
        "risk": lambda: RiskCoverageDisplay.from_predictions(np.abs(known), right * 1.0),
        "active": lambda: ActiveLearningDisplay.from_curves(curves),
        "strange": lambda: ActiveLearningDisplay.of_strange_picks(curves),
        "bad regrets": lambda: RegretDisplay.from_regrets([0.1], [-0.2]),
    }.items():
        draw(record, f"displays/numbers/{name}", make)
