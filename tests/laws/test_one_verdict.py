"""One verdict: whoever is asked, a row is trusted by the rule of core.trust.

A case is something that says whom it trusts. Estimators, Displays and models of tables are here;
to add a kind, add its cases to `CASES`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from pnml.core.trust import Evidence, Reference
from pnml.estimators.registry import every_learner, table_learners
from registry_laws import LEVELS, evidence, fitted, new_rows, training


@dataclass(frozen=True)
class Case:
    """Who is asked, and what the rule is to be applied to."""

    verdicts: Callable[[float], Any]  # level → whether each row is trusted
    reference: Reference
    evidence: Evidence
    threshold: Callable[[float], float]  # level → the regret that is said to be the threshold


def estimator(name: str) -> Case:
    model, X = fitted(every_learner()[name]), new_rows()
    return Case(
        lambda level: model.trusted(X, level),
        model.reference_,
        Evidence(*evidence(model, X)),
        lambda level: model.reference_.thresholds(level).regret,
    )


def display(name: str) -> Case:
    plots = pytest.importorskip("pnml.plots")
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    model, X = fitted(every_learner()[name]), new_rows()

    def shown(level):
        made = plots.RegretDisplay.from_estimator(model, X, level=level)
        plt.close("all")
        return made

    return Case(
        lambda level: shown(level).trusted,
        model.reference_,
        Evidence(*evidence(model, X)),
        lambda level: shown(level).threshold,
    )


def table(name: str) -> Case:
    pa = pytest.importorskip("pyarrow")
    from pnml.tables.fitting import fit_table
    from pnml.tables.roles import Request

    X, y = training(table_learners()[name].task, n=40)
    rows = pa.table({f"x{j}": X[:, j] for j in range(3)} | {"y": y})
    model = fit_table(rows.to_batches(), Request(target="y"), name, "rows")
    new = pa.RecordBatch.from_pydict({f"x{j}": new_rows()[:, j] for j in range(3)})
    encoded = model.encoder.encode(new)
    regret, leverage = evidence(model.estimator, encoded.X)
    return Case(
        lambda level: model.score(new, 0.9, level).trusted,
        model.estimator.reference_,
        Evidence(regret, leverage, encoded.never_seen),
        model.threshold,
    )


CASES: dict[str, Callable[[], Case]] = (
    {f"estimator {name}": lambda name=name: estimator(name) for name in every_learner()}
    | {f"display of {name}": lambda name=name: display(name) for name in every_learner()}
    | {f"table by {name}": lambda name=name: table(name) for name in table_learners()}
)


@pytest.mark.parametrize("name", CASES)
def test_every_verdict_is_that_of_the_one_rule(name):
    case = CASES[name]()
    for level in LEVELS:
        thresholds = case.reference.thresholds(level)
        expected = thresholds.trusts(*case.evidence)
        np.testing.assert_array_equal(case.verdicts(level), expected)
        assert case.threshold(level) == thresholds.regret


def test_the_cases_are_not_all_of_one_mind():
    """Else the law would say nothing."""
    shares = [np.mean(CASES[f"estimator {name}"]().verdicts(0.9)) for name in every_learner()]
    assert sum(0 < share < 1 for share in shares) >= 10
