"""Evaluation of detectors on sets of outliers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.errors import InputError
from pnml.metrics import detection_metrics
from pnml.ood.network_features import shared_pass
from pnml.ood.network_logits import as_numpy, batches, scores_of
from pnml.ood.ood_means import means_of
from pnml.ood.ood_table import OODRow, OODTable
from pnml.runtime.progress import Progress, reporting


def evaluate_ood(
    detectors: Mapping[str, Any] | Sequence[Any],
    ind: Any,
    ood: Mapping[str, Any],
    *,
    confidence: float = 0.95,
    resamples: int = 200,
    seed: int = 0,
    near: Iterable[str] = (),
    progress: Progress = None,
) -> OODTable:
    """Table of how well detectors separate ordinary rows from sets of outliers, with intervals.

    Parameters
    ----------
    detectors : dict of name → detector, or sequence of detectors
        Fitted detectors: of this package, of pytorch-ood (``predict`` is high for outliers), of
        scikit-learn (``score_samples`` is high for ordinary rows), or functions that return outlier
        scores.
    ind : loader, array or tensor
        Ordinary inputs that no detector was fitted to.
    ood : dict of name → loader, array or tensor
        Sets of outliers.
    confidence, resamples, seed
        Of the intervals, as in `pnml.metrics.detection_metrics`.
    near : names of sets, optional
        Sets of outliers that resemble ordinary rows; the others are far. Means are then given for
        each kind, too.
    progress : bool or function of (done, total), optional
        Show a bar; by default where the standard error is a terminal and rich is installed.

    Examples
    --------
    >>> import numpy as np
    >>> from pnml.ood import Energy, MSP
    >>> rng = np.random.default_rng(0)
    >>> usual, strange = 9 * np.eye(3)[rng.integers(3, size=200)], np.zeros((100, 3))
    >>> logits = {"flat": strange + rng.normal(size=(100, 3))}
    >>> head = lambda rows: rows  # these rows are logits already
    >>> table = evaluate_ood([MSP(head), Energy(head)], usual + rng.normal(size=(200, 3)), logits)
    >>> table.detectors, table.oods
    (('MSP', 'Energy'), ('flat',))
    >>> bool(table["MSP", "flat"].auroc.value > 0.9)
    True
    """
    named = _named(detectors)
    if not isinstance(ood, Mapping) or not ood:
        raise InputError(
            "ood must be a dict that names at least one set of outliers; pass for instance "
            'ood={"svhn": loader}.'
        )
    near = _near(near, ood)
    steps = 1 + len(ood) + len(ood) * len(named)
    with reporting(progress, steps, "Evaluating detectors") as advance:
        usual = _all_scores(named, ind, "ordinary rows")
        advance(1)
        strange: dict[str, dict[str, FloatArray]] = {}
        for key, data in ood.items():
            strange[key] = _all_scores(named, data, f"outliers {key!r}")
            advance(1)
        rows, means = [], []
        for name in named:
            of_sets = {key: strange[key][name] for key in ood}
            for key, scores in of_sets.items():
                metrics = detection_metrics(
                    usual[name], scores, confidence=confidence, resamples=resamples, seed=seed
                )
                rows.append(OODRow(name, key, len(usual[name]), len(scores), metrics))
                advance(1)
            found = {row.ood: row.metrics for row in rows if row.detector == name}
            means += means_of(name, usual[name], of_sets, found, near, confidence)
    return OODTable(tuple(rows), confidence, near, tuple(means))


def _near(near: Iterable[str], ood: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of the near sets as a tuple; raises InputError for a name that is not in `ood`."""
    named = (near,) if isinstance(near, str) else tuple(near)
    unknown = [name for name in named if name not in ood]
    if unknown:
        raise InputError(
            f"near names {unknown[0]!r}, which is no set of outliers; pass names among {[*ood]}."
        )
    return named


def _all_scores(named: Mapping[str, Any], data: Any, what: str) -> dict[str, FloatArray]:
    """Scores (n,) of every detector, high for ordinary rows; the inputs are read once."""
    parts: dict[str, list[FloatArray]] = {name: [] for name in named}
    for x in batches(data):
        with shared_pass():
            for name, detector in named.items():
                parts[name].append(_of_batch(detector, x))
    scores = {}
    for name, found in parts.items():
        if not sum(map(np.size, found)):
            raise InputError(f"There are no rows in the {what}; pass at least one batch of inputs.")
        scores[name] = _checked(name, np.concatenate(found), what)
    return scores


def _of_batch(detector: Any, x: Any) -> FloatArray:
    """Scores of a batch, high for ordinary rows, under either convention."""
    if hasattr(detector, "score_samples"):
        return as_numpy(detector.score_samples(x))
    return -as_numpy(getattr(detector, "predict", detector)(x))


def rereadable(data: Any) -> Any:
    """Inputs that several detectors can read in turn: an iterator becomes a list of its batches."""
    return list(batches(data)) if isinstance(data, Iterator) else data


def ranked_scores(name: str, detector: Any, data: Any, what: str) -> FloatArray:
    """Scores (n,) of a detector for inputs, high for ordinary rows; raises InputError for NaN.

    `name` and `what` say in the error which detector and which inputs.
    """
    return _checked(name, scores_of(lambda x: _of_batch(detector, x), data, what), what)


def _checked(name: str, scores: FloatArray, what: str) -> FloatArray:
    if scores.ndim != 1:
        raise InputError(
            f"detector {name!r} gives scores of shape {scores.shape} for the {what}, not one for "
            "each input; pass a detector that judges whole inputs."
        )
    if np.isnan(scores).any():
        raise InputError(
            f"detector {name!r} gives NaN for {np.isnan(scores).sum()} of the {what}, first for "
            f"row {int(np.argmax(np.isnan(scores)))}, and no threshold can rank those; leave them "
            "out."
        )
    return scores


def is_detector(detector: Any) -> bool:
    """Whether an evaluation can use an object: a function, or with `predict` or `score_samples`."""
    methods = (hasattr(detector, name) for name in ("predict", "score_samples"))
    return callable(detector) or any(methods)


def _named(detectors: Mapping[str, Any] | Sequence[Any]) -> dict[str, Any]:
    """Detectors by name; those without a name are called by their class."""
    if isinstance(detectors, Mapping):
        named = dict(detectors)
    elif not isinstance(detectors, Iterable):
        raise InputError(
            f"The detectors came as one {type(detectors).__name__}; pass a list of them, or a "
            "dict of names and detectors."
        )
    else:
        names = [type(detector).__name__ for detector in detectors]
        repeated = [f"{n} {names[: i + 1].count(n)}" for i, n in enumerate(names)]
        named = {
            many if names.count(name) > 1 else name: detector
            for name, many, detector in zip(names, repeated, detectors, strict=True)
        }
    for name, detector in named.items():
        if not is_detector(detector):
            raise InputError(
                f"detector {name!r} is a {type(detector).__name__} without predict or "
                "score_samples; pass a fitted detector."
            )
    if not named:
        raise InputError("There are no detectors to compare; pass at least one.")
    return named
