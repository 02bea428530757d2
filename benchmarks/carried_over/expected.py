"""Differences from 0.1 that are meant, each with its reason."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from benchmarks.carried_over.comparing import near

Answer = dict[str, Any]


def anything(was: Answer, became: Answer) -> bool:
    """Whatever it became, as long as both versions say something."""
    return bool(was and became)


def alike(was: Answer, became: Answer) -> bool:
    """Whether both are arrays of the same kind and shape."""
    return "shape" in was and all(was[part] == became.get(part) for part in ("dtype", "shape"))


def leverage_refuses(was: Answer, became: Answer) -> bool:
    """Every row that changed was trusted, 0 or more or True, and is not any more."""
    if not alike(was, became):
        return False
    least = 1 if was["dtype"] == "bool" else 0
    rows = zip(was["numbers"], became["numbers"], strict=True)
    return all(near(a, b) or b < least <= a for a, b in rows)


def rounded(relative: float = 0.0, absolute: float = 0.0) -> Callable[[Answer, Answer], bool]:
    """Numbers that are equal but for round-off."""

    def fits(was: Answer, became: Answer) -> bool:
        if not alike(was, became):
            return False
        rows = zip(was["numbers"], became["numbers"], strict=True)
        return all(math.isclose(a, b, rel_tol=relative, abs_tol=absolute) for a, b in rows)

    return fits


def deprecated(was: Answer, became: Answer) -> bool:
    """Nothing but one DeprecationWarning is new."""
    text = became.get("text", "")
    return not was and text.startswith("DeprecationWarning: ") and "\n" not in text


def same_sentence(was: Answer, became: Answer) -> bool:
    """The sentence is the same; what caused it differs."""
    first, second = (answer.get("text", "").partition(" <- ")[0] for answer in (was, became))
    return bool(first) and first == second


def other_reasons(was: Answer, became: Answer) -> bool:
    """Tables in CSV that differ in the columns `because` and `expected_error` at most."""
    other = ("because", "expected_error")
    tables = []
    for answer in (was, became):
        rows = list(csv.DictReader(answer.get("text", "").splitlines()))
        tables.append([{k: v for k, v in r.items() if not str(k).endswith(other)} for r in rows])
    return bool(tables[0]) and tables[0] == tables[1]


class Meant(NamedTuple):
    why: str
    fits: Callable[[Answer, Answer], bool] = anything


_TREES = Meant(
    "One trust rule: the picture of a tree model draws the training regrets and the threshold by "
    "which the model trusts, and not its leave-one-out regrets."
)
_DETECTORS = Meant(
    "One trust rule: a RegretDetector looks at the leverage too, as LastLayerPNML does.",
    leverage_refuses,
)
_RENAMED = Meant(
    "Attacked and JointlyAttacked are AttackResult and JointAttackResult now; the old names warn.",
    deprecated,
)
_UNION = Meant(
    "Explanations of several learners are added in float64 and rounded to float32 once, at the "
    "end; 0.1 rounded each of them.",
    rounded(relative=2**-21),
)
_COLLINEAR = Meant(
    "Rows with a leverage of 3e10, whose shares are sums of such numbers: 0.1 itself differs by "
    "2e-4 between rows explained together and one by one.",
    rounded(relative=1e-12, absolute=1e-9),
)
_RECALLS = Meant(
    "A classifier that can recall its training rows, as nearest neighbours do, is asked for "
    "out-of-fold probabilities of them; by its own, a tenth of ordinary rows could be distrusted.",
    alike,
)
_JOURNAL = Meant(
    "The first line of a log is written whole or not at all, so the system's error behind the "
    "sentence names the temporary file.",
    same_sentence,
)

_REASONS = Meant(
    "Reasons give the cell and the training range, and there is a column expected_error.",
    other_reasons,
)
_SURVEY = Meant("Weights are those of a survey unless --weight-kind says copies.")

_NEW_CLASSES = Meant("The sentence lists the classes that files hold, of which there are more now.")
_NEW_PARAMETERS = Meant("PNMLClassifier has two parameters more, cv and random_state.")
_INSTALLED = Meant("xgboost-cpu counts as xgboost.")
_TRUSTED = Meant("The sentence also advises TrustedRegressor.")
_VERDICT = Meant(
    "All sentences of the verdict follow from one standing, and a regret is told by its rank among "
    "those of training rows; the page of the report begins with verdict and reasons."
)

# Pattern of keys → why what is said there may differ, and how far.
_DENSITY = Meant("A tabulated density is constant over groups of scores, not over single gaps.")
_TABLE_JOB = Meant(
    "auto compares boosting and a kernel too, a constant guess stands beside them, predictions of "
    "amounts are not negative, and columns that never change are left out."
)
_NODES = Meant("The leverage comes after the logits, which name the region: another order.")
EXPECTED = {
    "onnx/network/constants/*": _NODES,
    "onnx/embeddings/constants/*": _NODES,
    "onnx/embeddings/operations": _NODES,
    "command/help/score/out": _TABLE_JOB,
    "command/ols/score*": _TABLE_JOB,
    "command/fit/*/score/out": _TABLE_JOB,
    "command/inspect/level/out": _TABLE_JOB,
    "command/merge/score/out": _TABLE_JOB,
    "command/demo/scored.csv": _TABLE_JOB,
    "displays/regret/*-tree*/training": _TREES,
    "displays/regret/*-tree*/threshold": _TREES,
    "displays/regret/*-tree*/line *": _TREES,
    "displays/regret/*-tree*/words": _TREES,
    "ood/regret*/trusted*": _DETECTORS,
    "ood/with_pnml*/trusted*": _DETECTORS,
    "ood/regret*/decision_function*": _DETECTORS,
    "ood/with_pnml*/decision_function*": _DETECTORS,
    "regressors/*universal*/float32/explain": _UNION,
    "degenerate/kernel/explain": _COLLINEAR,
    "classifiers/neighbours/loo_/regrets": _RECALLS,
    "classifiers/neighbours/loo_/log_loss*": _RECALLS,
    "classifiers/neighbours/loo_/threshold@*": _RECALLS,
    "names/pnml.adversarial.*Attacked/warnings": _RENAMED,
    "command/fit/weight*": _SURVEY,
    "command/help/fit/*": Meant("pnml fit has --weight-kind."),
    "command/*.csv": _REASONS,
    "command/*/score/out": _REASONS,
    "command/doctor*/out": _INSTALLED,
    "command/*/inspect*/out": _NEW_PARAMETERS,
    "command/*score*/out": _VERDICT,
    "command/*report*/out": _VERDICT,
    "command/old/*/out": _VERDICT,
    "command/of files/*/out": _VERDICT,
    "command/demo/out": _VERDICT,
    "sentences/tests/io/*_in_one_sentence*": _NEW_CLASSES,
    "sentences/*::test_classes_without_names_and_things_that_*_refused 2": _TRUSTED,
    "sentences/*::test_a_log_that_is_something_else_is_refused 2": _JOURNAL,
    "*conformal*/predict_dist/log_prob": _DENSITY,
    "*conformal*/predict_dist/cdf": _DENSITY,
    "command/*/score*/*": _TABLE_JOB,
    "command/*/fit*": _TABLE_JOB,
    "command/fit/*": _TABLE_JOB,
    "command/*/report*": _TABLE_JOB,
    "command/report/*": _TABLE_JOB,
    "command/*/graph*/operations": _TABLE_JOB,
    "command/demo/*": _TABLE_JOB,
    "command/help/reproduce/*": Meant("The experiments are a distribution of their own."),
}


def reason(key: str, was: Answer, became: Answer) -> str | None:
    """Why this difference is meant, or None; an answer that is not there is empty."""
    meant = next((m for pattern, m in EXPECTED.items() if fnmatchcase(key, pattern)), None)
    return meant.why if meant is not None and meant.fits(was, became) else None
