"""What is said of the rivals under shift: notes, remarks and two tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pnml.metrics import Estimate
from pnml_experiments.ch4_luckiness.shift_rivals import ALQUIER, CHAPELLE, TRIPURANENI
from pnml_experiments.framework.result import Row, Table, exactly

_EMPTY = ("parkinson", "fire", "fertility")  # where the lasso keeps no column
NOTES = {
    "Dwivedi et al. 2021": "Ours takes the noise from the least-squares fit; print does not say.",
    "ridge": "Print has the penalty 10, the end of the range that was searched.",
    CHAPELLE: (
        "Ours is the label of the least leave-one-out error. The public code behind print "
        "multiplies a matrix and a vector entry by entry; its labels are close to the mean of "
        "the training labels."
    ),
    ALQUIER: (
        "The lasso: a row that is added with the lasso's own label changes nothing. On "
        "Parkinson, Fire and Fertility it has no column left and says the training mean."
    ),
    TRIPURANENI: (
        "The q moments with ridge and g = 0, in ten parts. The code behind print may also take "
        "the lasso or a forest as g."
    ),
}
RIVAL_REMARKS = (
    (
        "The methods of Chapelle, Cortes, Alquier and Tripuraneni see a test row while they fit. "
        "They are run one test row at a time by the protocol of the public code of Tripuraneni "
        "and Mackey (github.com/nileshtrip/SPTransducPredCode), from which print has their "
        "numbers: labels less their training mean, penalties of at most 10, parts of rows in "
        "their order. Print does not say that its row of Tripuraneni is that of the q moments; "
        "the numbers do."
    ),
    (
        "The moments of Tripuraneni and Mackey take the bias out of ridge only with a fit g of "
        "the test row's direction t on the rest. Their code takes that g, of the lasso, a forest "
        "and 0, whose asymptotic variance is least, and this prefers g = 0: for the f moments "
        "always, up to the mean of the residuals, by the inequality of Cauchy and Schwarz. With "
        "g = 0 the q moments give what t and the rest explain together to the rest, and so shrink "
        "the label towards the training mean; that is what helps on Wine. With g by ridge the "
        "gain is gone, and on Triazines, where t is nearly told by the rest, they divide by next "
        "to nothing. Ours tries ridge and 0, not the lasso and not the forest."
    ),
)


def moments_table(found: Mapping[str, Mapping[str, Any]]) -> Table:
    """RMSE by four moment equations, and how often g = 0 would be chosen."""
    rows = []
    for name, piece in found.items():
        for word, ours in piece["moments"].items():
            rows.append(Row({"set": name, "number": word}, None, Estimate(*ours)))
        share = {"set": name, "number": "rows whose g would be 0, percent"}
        rows.append(Row(share, None, exactly(100 * piece["zero"])))
    about = (
        "RMSE of test rows by the moments of Tripuraneni and Mackey, q or f, without and with a "
        "ridge fit g of a test row's direction on the rest. A row's g would be 0 where that has "
        "the lesser asymptotic variance by their formula for the q moments."
    )
    return Table("Moments along a test row", tuple(rows), about, digits=3)


def baselines_table(
    found: Mapping[str, Mapping[str, float]], printed: Mapping[tuple[str, str], float]
) -> Table:
    """RMSE of plain learners beside the printed rows that they meet."""
    rows = tuple(
        Row({"set": name, "printed as": method, "is": word}, printed[name, method], exactly(value))
        for name, plain in found.items()
        for method, word, value in (
            ("ridge", "ridge with the penalty 10", plain["ridge"]),
            (CHAPELLE, "mean of the training labels", plain["mean"]),
            (ALQUIER, "mean of the training labels", plain["mean"]),
        )
        if (name, method) in printed and (method != ALQUIER or name in _EMPTY)
    )
    about = (
        "RMSE of test rows. Three printed rows are, or come close to, plainer learners than their "
        "names say."
    )
    return Table("What print compares with", rows, about, digits=3)
