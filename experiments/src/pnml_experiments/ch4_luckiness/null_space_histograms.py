"""Predictions inside and outside the span of few rows, by four ways to compute ridge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.estimators.luckiness import LpNMLRegressor
from pnml.estimators.regressor import PNMLRegressor
from pnml_experiments.framework.colours import COLOURS
from pnml_experiments.framework.experiment import Experiment, Progress, Scale
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.result import Figure, Result, Row, Table, exactly

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure

EXPERIMENT = Experiment(
    id="null-space-histograms",
    chapter=4,
    title="Ridge and luckiness inside and outside the span",
    scales=("small", "printed"),
    minutes=(0.1, 0.1),
    extras=("plots",),
)

SEED = 0
ROWS, FEATURES, PENALTY, NOISE = 40, 100, 1e-9, 1.0
_TESTS = {"small": 2_000, "full": 10_000}
INSIDE, OUTSIDE = "in the span", "in the null space"
SINGLE, DOUBLE, DUAL = "ridge, primal float32", "ridge, primal float64", "ridge, dual float64"
OURS, LUCKY = "ridge, ours", "luckiness, ours"
# The ends of the axis of the histogram, as the text reads them.
_PRINTED = {(OUTSIDE, SINGLE, "least"): -60.0, (OUTSIDE, SINGLE, "largest"): 100.0}
_NOTE = (
    "Printed for ridge, without how it was computed; round-off in float32 is of that size, and "
    "nothing else here is."
)
_REMARKS = (
    (
        f"{ROWS} rows of {FEATURES} normal features, normal labels, λ = {PENALTY:g}, noise "
        f"variance {NOISE:g}, seed {SEED}. Tests are normal vectors projected onto the span of the "
        "rows and onto the rest, in float64."
    ),
    (
        "In exact arithmetic ridge predicts 0 for a row that is orthogonal to all training rows: "
        "its weights are a combination of these. The text says that ridge predicts −60 to 100 "
        "there and that luckiness draws it back to 0. The primal equations have a condition "
        "number of 10¹¹ or more, which float32 cannot solve and float64 solves to five digits; "
        "what they say in the null space is round-off. By the dual equations or an SVD ridge and "
        "luckiness predict the same."
    ),
)


@dataclass(frozen=True)
class Case:
    """Few rows of many features, and tests in the span and in the null space."""

    X: FloatArray  # (n, d)
    y: FloatArray  # (n,)
    tests: dict[str, FloatArray]  # where → (k, d)


def case(tests: int, rows: int = ROWS, features: int = FEATURES) -> Case:
    """The rows and tests of one seed."""
    rng = np.random.default_rng(SEED)
    X, y = rng.normal(size=(rows, features)), rng.normal(size=rows)
    basis = np.linalg.qr(X.T)[0]  # (d, n)
    vectors = rng.normal(size=(2, tests, features))
    inside, outside = (part @ basis @ basis.T for part in vectors)
    outside = vectors[1] - outside
    outside -= outside @ basis @ basis.T  # once more: what the first time left is round-off
    return Case(X, y, {INSIDE: inside, OUTSIDE: outside})


def primal(X: Any, y: Any, tests: Any) -> FloatArray:
    """Ridge by its normal equations, (XᵀX + λI)θ = Xᵀy, in the precision of X."""
    d = X.shape[1]
    penalty = np.asarray(PENALTY, X.dtype) * np.eye(d, dtype=X.dtype)
    return np.asarray(tests @ np.linalg.solve(X.T @ X + penalty, X.T @ y), dtype=float)


def in_single(X: FloatArray, y: FloatArray, tests: FloatArray) -> FloatArray:
    """Ridge by its normal equations in float32."""
    return primal(*(values.astype(np.float32) for values in (X, y, tests)))


def dual(X: FloatArray, y: FloatArray, tests: FloatArray) -> FloatArray:
    """Ridge by its dual equations, θ = Xᵀ(XXᵀ + λI)⁻¹y."""
    weights = X.T @ np.linalg.solve(X @ X.T + PENALTY * np.eye(len(X)), y)
    return np.asarray(tests @ weights)


def _model(kind: Callable[..., Any], X: FloatArray, y: FloatArray) -> Any:
    return kind(alpha=PENALTY, fit_intercept=False, noise_variance=NOISE).fit(X, y)


def predictions(one: Case) -> dict[tuple[str, str], FloatArray]:
    """Where the tests are and how they were predicted → predictions."""
    ridge, lucky = (_model(kind, one.X, one.y) for kind in (PNMLRegressor, LpNMLRegressor))
    return {
        (where, name): values
        for where, tests in one.tests.items()
        for name, values in (
            (SINGLE, in_single(one.X, one.y, tests)),
            (DOUBLE, primal(one.X, one.y, tests)),
            (DUAL, dual(one.X, one.y, tests)),
            (OURS, ridge.predict(tests)),
            (LUCKY, lucky.predict(tests)),
        )
    }


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """Ranges of the predictions, what luckiness says of its own spread, and histograms."""
    one = case(_TESTS[scale])
    found = predictions(one)
    progress(1, 1)
    tables = (_ranges(found), _agreement(found), _spreads(one))
    figure = Figure(
        "null-space-histograms",
        "Predictions of tests in the span (left) and in the null space, by how ridge is computed. "
        "The axes differ by many orders of magnitude.",
        lambda: _draw(found),
    )
    return Result(tables, (figure,), (SEED,), remarks=_REMARKS)


def _ranges(found: dict[tuple[str, str], FloatArray]) -> Table:
    rows = []
    for (where, name), values in found.items():
        for end, value in (("least", values.min()), ("largest", values.max())):
            printed = _PRINTED.get((where, name, end))
            labels = {"tests": where, "predicted by": name, "end": end}
            note = "" if printed is None else _NOTE
            rows.append(Row(labels, printed, exactly(value), note=note))
    return Table("Range of the predictions", tuple(rows), digits=6)


def _agreement(found: dict[tuple[str, str], FloatArray]) -> Table:
    """How far luckiness is from ridge where ridge is computed well, in powers of ten."""
    rows = []
    for where in (INSIDE, OUTSIDE):
        for name in (DUAL, OURS):
            gap = np.abs(found[where, LUCKY] - found[where, name]).max()
            power = np.log10(max(gap, np.finfo(float).tiny))
            rows.append(Row({"tests": where, "ridge": name}, ours=exactly(power)))
    title = "Largest distance of luckiness from ridge, power of ten"
    about = "The text says that the two agree in the span and differ in the null space."
    return Table(title, tuple(rows), about)


def _spreads(one: Case) -> Table:
    lucky = _model(LpNMLRegressor, one.X, one.y)
    rows = []
    for where, tests in one.tests.items():
        std = lucky.predict_dist(tests).std
        size = np.sqrt(NOISE * (1 + np.sum(tests**2, axis=1) / PENALTY))
        rows.append(Row({"tests": where, "number": "mean"}, ours=exactly(std.mean())))
        if where == OUTSIDE:
            labels = {"tests": where, "number": "mean of σ√(1 + ‖x‖²/λ)"}
            rows.append(Row(labels, ours=exactly(size.mean())))
    about = (
        "In the null space the variance is σ²(1 + ‖x‖²/λ): there luckiness does not shift, it says "
        "that nothing is known."
    )
    return Table("Standard deviation of luckiness", tuple(rows), about, digits=3)


def _draw(found: dict[tuple[str, str], FloatArray]) -> MatplotlibFigure:
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(13, 3.6), layout="constrained")
    panels = ((INSIDE, DUAL), (OUTSIDE, SINGLE), (OUTSIDE, DOUBLE), (OUTSIDE, DUAL))
    for ax, (where, ridge) in zip(figure.subplots(1, 4), panels, strict=True):
        width = float(np.abs(found[where, ridge]).max()) or 1.0
        edges = np.linspace(-width, width, 61)
        for name, colour in zip((ridge, LUCKY), COLOURS, strict=False):
            values = np.clip(found[where, name], -width, width)
            ax.hist(values, edges, color=colour, alpha=0.6, label=name, histtype="stepfilled")
        ax.set(title=where, xlabel="prediction", yscale="log", ylabel="tests")
        ax.legend(fontsize="x-small")
    return figure
