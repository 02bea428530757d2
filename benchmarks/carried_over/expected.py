"""Differences from 0.1 that are meant, each with its reason."""

from __future__ import annotations

import csv
import json
import math
import re
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
    return _tables_agree(was, became, same_cell)


def bounded_below(was: Answer, became: Answer) -> bool:
    """The same, and numbers below 0 have become 0; of arrays, the latter alone."""
    if "shape" in was:
        rows = zip(was["numbers"], became.get("numbers", ()), strict=False)
        return alike(was, became) and all(near(a, b) or a < 0 == b for a, b in rows)
    return _tables_agree(was, became, lambda a, b: same_cell(a, b) or _at_zero(a, b))


def same_cell(was: str, became: str) -> bool:
    """Whether two cells of a CSV file are equal, numbers but for round-off."""
    try:
        return was == became or near(float(was), float(became))
    except ValueError:
        return False


def _at_zero(was: str, became: str) -> bool:
    try:
        return float(was) < 0 == float(became)
    except ValueError:
        return False


def _tables_agree(was: Answer, became: Answer, agree: Callable[[str, str], bool]) -> bool:
    other = ("because", "expected_error")
    old, new = (list(csv.DictReader(a.get("text", "").splitlines())) for a in (was, became))
    return (
        bool(old)
        and len(old) == len(new)
        and all(
            name in b and agree(cell, b[name])
            for a, b in zip(old, new, strict=True)
            for name, cell in a.items()
            if not str(name).endswith(other)
        )
    )


def same_rows(was: Answer, became: Answer) -> bool:
    """The same numbers in another order, but for round-off."""
    if not alike(was, became):
        return False
    rows = zip(sorted(was["numbers"]), sorted(became["numbers"]), strict=True)
    return all(math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9) for a, b in rows)


def one_more_column(was: Answer, became: Answer) -> bool:
    """The columns of a scored table, with expected_error among them."""
    old, new = (a.get("text", "").removeprefix("parts: ").split(", ") for a in (was, became))
    return [name for name in new if not name.endswith("expected_error")] == old != new


def fuller(*but: str) -> Callable[[Answer, Answer], bool]:
    """A JSON document in which everything is as it was, but for these names and further ones."""

    def within(old: Any, new: Any) -> bool:
        if isinstance(old, dict) and isinstance(new, dict):
            return all(
                name in but or (name in new and within(v, new[name])) for name, v in old.items()
            )
        if isinstance(old, list) and isinstance(new, list):
            return len(old) == len(new) and all(map(within, old, new))
        both = isinstance(old, float | int) and isinstance(new, float | int)
        return old == new or (both and near(old, new))

    def fits(was: Answer, became: Answer) -> bool:
        documents = []
        for answer in (was, became):
            text = answer.get("text", "")
            try:
                documents.append(json.loads(text.replace(": #", ": 0")))
            except ValueError:
                return False
        return within(*documents)

    return fits


def same_facts(was: Answer, became: Answer) -> bool:
    """Facts about a model in words: those that both versions tell, such as the penalty."""
    facts = ("rows", "penalty", "noise", "trusted up to")
    found = []
    for answer in (was, became):
        lines = answer.get("text", "").splitlines()
        pairs = [re.split(r"\s{2,}", line.strip(), maxsplit=1) for line in lines]
        found.append({pair[0]: pair[1] for pair in pairs if len(pair) == 2 and pair[0] in facts})
    return bool(found[0]) and found[0] == found[1]


def more_lines(was: Answer, became: Answer) -> bool:
    """The lines of a text, such as operations of an ONNX graph, with others between them."""
    lines = iter(became.get("text", "").splitlines())
    return bool(was.get("text")) and all(line in lines for line in was["text"].splitlines())


def capitals(was: Answer, became: Answer) -> bool:
    """The same words, but for capital letters."""
    first, second = (answer.get("text", "").lower() for answer in (was, became))
    return bool(first) and first == second


def infinite(was: Answer, became: Answer) -> bool:
    """Nothing but one warning of infinite intervals is new."""
    text = became.get("text", "")
    return not was and text.startswith("ConditionWarning: The intervals are infinite")


def answers(was: Answer, became: Answer) -> bool:
    """What was refused is not refused any more."""
    return "InputError" in was.get("text", "") and "Error" not in became.get("text", "")


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
_NEVER_SEEN = Meant(
    "A row in which a constant column changes, or equal columns differ, is not trusted by "
    "any learner; 0.1 trusted some by kernels, the lasso, norm balls and ridge.",
    leverage_refuses,
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
_BATCHES = Meant(
    "The keys of sampled rows depend on the rows alone and not on how they come in batches, so "
    "that left-out rows come in another order.",
    same_rows,
)
_FACTS = "A constant guess, and learners that auto compares, stand beside the model's own facts."
_BOUND = "Predictions of amounts that were never negative are not below 0."
# Words of commands, which were written anew: any text is let through, since what it tells of a
# model is checked where it is told as JSON, in scored tables and in what inspect says.
_WORDS = Meant("What fit, score and the help say, and the page of a report, is written anew.")
# The demo has 310 rows, of which auto now makes another model: nothing of it is compared.
_DEMO = Meant("auto keeps a kernel or boosting where these predict rows left out better.")
_NODES = Meant("The leverage comes after the logits, which name the region: another order.")
_FINGERPRINT = Meant(
    "LastLayerPNML keeps a fingerprint of its network, and statistics of regions.", more_lines
)
_INFINITE = Meant("Intervals that are infinite for want of rows are warned of.", infinite)
EXPECTED = {
    "nn/*/repr": _FINGERPRINT,
    "nn/*/state_dict": _FINGERPRINT,
    "files/last-layer*/repr": _FINGERPRINT,
    "files/last-layer*/state_dict": _FINGERPRINT,
    "*/conformal*/predict_interval@0.9/warnings": _INFINITE,
    "degenerate/not Gaussian": Meant(
        "A union of learners takes those that are not Gaussian.", answers
    ),
    "displays/numbers/*/words": Meant("Labels of axes begin with a capital letter.", capitals),
    "command/net/json/out": Meant(
        "The size and the digest of a file with more entries, and the version.",
        fuller("bytes", "version", "sha256"),
    ),
    "command/bare/out": _WORDS,
    "onnx/network/constants/*": _NODES,
    "onnx/embeddings/constants/*": _NODES,
    "onnx/embeddings/operations": _NODES,
    "scale/*/loo_/*": _BATCHES,
    "streams/*/loo_/*": _BATCHES,
    "streams/long/left out": Meant(
        "Quantiles of the regrets of another sample of 4,096 rows.", rounded(relative=0.1)
    ),
    "files/grown/loo_/*": _BATCHES,
    "command/plain/json/out": Meant(
        "The size and the digest of a file with more entries, and the version.",
        fuller("bytes", "version", "sha256"),
    ),
    "command/demo/*": _DEMO,
    "command/help/reproduce/*": Meant("The experiments are a distribution of their own."),
    "command/help/*/out": _WORDS,
    "command/logistic/fit json/out": Meant(
        "Its log-loss is that of rows left out and no longer of training rows.",
        fuller("remarks", "log_losses"),
    ),
    "command/*/fit json/out": Meant(_FACTS, fuller("remarks")),
    "command/*/fit/out": Meant(_FACTS, same_facts),
    "command/fit/*/score/out": _WORDS,
    "command/fit/drop/out": Meant(
        "A column that is dropped is not looked at, and read as text.", fuller("remarks", "types")
    ),
    "command/fit/*/out": Meant(_FACTS, fuller("remarks")),
    "command/inspect/level/out": Meant(_FACTS, same_facts),
    "command/*/scored.parquet": Meant("There is a column expected_error.", one_more_column),
    "command/*/scored.parquet/because/*": Meant("Reasons give the cell and the training range."),
    "command/*/scored.parquet/lower": Meant(_BOUND, bounded_below),
    "command/ols/score csv/scored.csv": Meant(_BOUND, bounded_below),
    "command/ols/score/out": Meant(_BOUND, bounded_below),
    "command/merge/score/out": _WORDS,
    "command/*/graph*/operations": Meant(_BOUND, more_lines),
    "command/*.html": _WORDS,
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
    "degenerate/*/trusted@*": _NEVER_SEEN,
    "classifiers/neighbours/loo_/regrets": _RECALLS,
    "classifiers/neighbours/loo_/log_loss*": _RECALLS,
    "classifiers/neighbours/loo_/threshold@*": _RECALLS,
    "names/pnml.adversarial.*Attacked/warnings": _RENAMED,
    "command/fit/weight*": _SURVEY,
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
}


def reason(key: str, was: Answer, became: Answer) -> str | None:
    """Why this difference is meant, or None; an answer that is not there is empty."""
    meant = next((m for pattern, m in EXPECTED.items() if fnmatchcase(key, pattern)), None)
    return meant.why if meant is not None and meant.fits(was, became) else None
