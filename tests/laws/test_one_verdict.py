"""One verdict: whoever is asked, a row is trusted by the rule of core.trust.

A case is something that says whom it trusts. Estimators, Displays and models of tables are here;
to add a kind, add its cases to `CASES`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.frozen import FrozenEstimator

from pnml import PNMLClassifier, PNMLTreeClassifier, PNMLTreeRegressor
from pnml.core.trust import Evidence, Reference
from pnml.errors import ConditionWarning
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
    return estimator_case(fitted(every_learner()[name]), new_rows())


def estimator_case(model: Any, X: Any) -> Case:
    return Case(
        lambda level: model.trusted(X, level),
        model.reference_,
        Evidence(*evidence(model, X)),
        lambda level: model.reference_.thresholds(level).regret,
    )


def display(name: str) -> Case:
    return display_case(fitted(every_learner()[name]), new_rows())


def display_case(model: Any, X: Any) -> Case:
    plots = pytest.importorskip("pnml.plots")
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")

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
    known = evidence(model.estimator, model.rows_of(encoded))
    return Case(
        lambda level: model.score(new, 0.9, level).trusted,
        model.estimator.reference_,
        Evidence(*known[:2], encoded.never_seen, *known[3:]),
        model.threshold,
    )


def forest(task: str, *, asked_of_display: bool) -> Case:
    """Trees grown on their own rows, one new row of which lacks a value that none lacked."""
    regression = task == "regression"
    trees = RandomForestRegressor if regression else RandomForestClassifier
    wrapped = PNMLTreeRegressor if regression else PNMLTreeClassifier
    X, y = training(task)
    X = X.copy()
    X[::6, 0] = np.nan
    model = wrapped(trees(8, random_state=0, min_samples_leaf=2)).fit(X, y)
    new = new_rows()
    new[1, 0] = new[2, 1] = np.nan
    never_seen = np.isnan(new[:, 1])
    case = display_case(model, new) if asked_of_display else estimator_case(model, new)
    return replace(case, evidence=Evidence(model.regret(new), None, never_seen))


def recalling(*, frozen: bool) -> Case:
    """A classifier that is surer of its training rows than of others; a frozen one stays so."""
    X, y = training("classification")
    forest = RandomForestClassifier(8, random_state=0)
    if not frozen:
        return estimator_case(PNMLClassifier(forest).fit(X, y), new_rows())
    with pytest.warns(ConditionWarning, match="leverage alone"):
        model = PNMLClassifier(FrozenEstimator(forest.fit(X, y))).fit(X, y)
    return estimator_case(model, new_rows())


CASES: dict[str, Callable[[], Case]] = (
    {f"estimator {name}": lambda name=name: estimator(name) for name in every_learner()}
    | {f"display of {name}": lambda name=name: display(name) for name in every_learner()}
    | {f"table by {name}": lambda name=name: table(name) for name in table_learners()}
    | {
        f"{who} of a forest, {task}": lambda task=task, of=of: forest(task, asked_of_display=of)
        for task in ("regression", "classification")
        for who, of in (("estimator", False), ("display", True))
    }
    | {
        f"classifier around a {kind} forest": lambda is_frozen=is_frozen: recalling(
            frozen=is_frozen
        )
        for kind, is_frozen in (("cloned", False), ("frozen", True))
    }
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
