"""Checks of log-probabilities, and conversion of probabilities to logs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pnml.core.arrays import FloatArray
from pnml.errors import InputError

# Largest deviation of a sum of probabilities from 1, for single and for half precision.
_SUM_TOLERANCE = 1e-3
_HALF_TOLERANCE = 2e-2
# Arrays are checked in parts of about this many numbers.
_BLOCK_NUMBERS = 2**18

IntArray = npt.NDArray[np.intp]
LogProbabilities = npt.NDArray[np.floating]  # (M, N, C)


def as_array(values: Any, name: str) -> npt.NDArray[Any]:
    """Numbers, in lists, an array or a tensor on any device, as a numpy array of floats.

    `name` says in errors what the numbers are, such as "candidates".
    """
    if hasattr(values, "detach"):  # a tensor; torch itself is not needed here
        values = values.detach().cpu()
        values = values.float() if str(values.dtype).endswith("bfloat16") else values
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise InputError(
            f"The {name} are lists of different lengths, but one number for each model, row and "
            "class is needed; pass an array (M, N, C)."
        ) from error
    if array.dtype.kind not in "fiub":
        raise InputError(
            f"The {name} hold {array.dtype} values, but numbers are needed; pass an array of "
            "floats."
        )
    return array if array.dtype.kind == "f" else array.astype(np.float64)


def log_probabilities(values: Any, name: str) -> LogProbabilities:
    """Log-probabilities (M, N, C) of models, rows and classes, checked but not changed.

    Raises InputError, which calls the rows by `name`, unless the probabilities of each row sum to
    1.

    >>> log_probabilities(np.log([[[0.3, 0.7]]]), "targets").shape
    (1, 1, 2)
    """
    array = as_array(values, name)
    if array.ndim != 3:
        raise InputError(
            f"The {name} have shape {array.shape}, but log-probabilities of models, rows and "
            "classes are needed; pass an array (M, N, C)."
        )
    for axis, what in enumerate(("models", name, "classes")):
        if array.shape[axis] == 0:
            raise InputError(
                f"The {name} have shape {array.shape}, so there are no {what} to look at; pass "
                "at least one."
            )
    tolerance = _HALF_TOLERANCE if array.dtype.itemsize < 4 else _SUM_TOLERANCE
    step = max(1, _BLOCK_NUMBERS // (array.shape[1] * array.shape[2]))
    for start in range(0, len(array), step):
        _refuse_unnormalised(array, start, step, name, tolerance)
    return array


def _refuse_unnormalised(
    array: LogProbabilities, start: int, step: int, name: str, tolerance: float
) -> None:
    part = array[start : start + step].astype(np.float64, copy=False)
    with np.errstate(over="ignore"):
        sums = np.exp(part) @ np.ones(part.shape[-1])  # faster than sums of a few numbers each
    bad = ~(np.abs(sums - 1) <= tolerance)  # so NaN is bad
    if not bad.any():
        return
    m, row = (int(i) for i in np.argwhere(bad)[0])
    where = f"model {start + m}, row {row}"
    if np.isnan(part[m, row]).any():
        raise InputError(
            f"The {name} contain NaN ({where}), which no probability is; find out where the model "
            "lost its numbers."
        )
    if part[m, row].min() >= 0 and abs(part[m, row].sum() - 1) <= tolerance:
        raise InputError(
            f"The {name} are probabilities ({where} sums to 1), but their logs are needed; pass "
            "log_softmax of the logits, or numpy.log of the probabilities."
        )
    raise InputError(
        f"The probabilities of the {name} sum to {sums[m, row]:.4g} ({where}), but those of a row "
        "sum to 1; pass log_softmax of the logits."
    )


def check_pair(candidates: Any, targets: Any) -> tuple[LogProbabilities, LogProbabilities]:
    """Log-probabilities (M, N, C) of candidates and (M, K, C) of targets, checked to match.

    Both are by the same M models, of the same C classes.
    """
    a = log_probabilities(candidates, "candidates")
    b = log_probabilities(targets, "targets")
    if len(a) != len(b):
        raise InputError(
            f"The candidates come from {len(a)} models but the targets from {len(b)}; evaluate "
            "the same models on both."
        )
    if a.shape[2] != b.shape[2]:
        raise InputError(
            f"The candidates have {a.shape[2]} classes but the targets {b.shape[2]}; pass the "
            "same classes, in the same order, for both."
        )
    return a, b


def logs_of(probabilities: Any) -> FloatArray:
    """Log-probabilities (M, N, C) of M models, N rows and C classes, from probabilities.

    Raises InputError if a probability is negative, or those of a row do not sum to 1.

    >>> logs_of([[[0.5, 0.5]], [[0.0, 1.0]]])[1]
    array([[-inf,   0.]])
    """
    array = as_array(probabilities, "probabilities").astype(np.float64)
    if array.ndim == 3 and bool((array < 0).any()):
        raise InputError(
            f"The probabilities go down to {array.min():.4g}, but none is below 0; pass "
            "probabilities (M, N, C), or use log-probabilities as they are."
        )
    with np.errstate(divide="ignore"):
        logs: FloatArray = np.log(array)
    log_probabilities(logs, "probabilities")
    return logs
