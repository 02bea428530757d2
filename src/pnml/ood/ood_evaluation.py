"""evaluate_ood: several detectors compared on the same rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.errors import InputError
from pnml.metrics import detection_metrics
from pnml.ood.network_logits import batches, scores_of
from pnml.ood.ood_table import OODRow, OODTable


def evaluate_ood(
    detectors: Mapping[str, Any] | Sequence[Any],
    ind: Any,
    ood: Mapping[str, Any],
    *,
    confidence: float = 0.95,
    resamples: int = 200,
    seed: int = 0,
) -> OODTable:
    """A table of how well detectors separate ordinary rows from sets of outliers.

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
    ind, sets = rereadable(ind), {key: rereadable(ood[key]) for key in ood}
    rows = []
    for name, detector in named.items():
        usual = ranked_scores(name, detector, ind, "ordinary rows")
        for set_name, outliers in sets.items():
            strange = ranked_scores(name, detector, outliers, f"outliers {set_name!r}")
            metrics = detection_metrics(
                usual, strange, confidence=confidence, resamples=resamples, seed=seed
            )
            rows.append(OODRow(name, set_name, len(usual), len(strange), metrics))
    return OODTable(tuple(rows), confidence)


def rereadable(data: Any) -> Any:
    """The same inputs; an iterator is read into a list, for use by several detectors."""
    return list(batches(data)) if isinstance(data, Iterator) else data


def ranked_scores(name: str, detector: Any, data: Any, what: str) -> FloatArray:
    """Scores (n,) without NaN, high for ordinary rows."""
    scores = _normality(detector, data, what)
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
    """Whether something gives scores: a function, or an object with one of the two methods."""
    methods = (hasattr(detector, name) for name in ("predict", "score_samples"))
    return callable(detector) or any(methods)


def _normality(detector: Any, data: Any, what: str) -> FloatArray:
    """Scores (n,), high for ordinary rows, under either convention."""
    if hasattr(detector, "score_samples"):
        return scores_of(detector.score_samples, data, what)
    return -scores_of(getattr(detector, "predict", detector), data, what)


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
