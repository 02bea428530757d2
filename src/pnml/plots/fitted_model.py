"""The fitted model behind a plot, an estimator or a network, and the rows that it receives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from pnml.core.arrays import FloatArray
from pnml.core.geometry.spectrum import Spectrum
from pnml.core.trust import Reference
from pnml.errors import InputError
from pnml.estimators.base import evidence_of
from pnml.learners.protocol import BoolArray

if TYPE_CHECKING:
    import numpy.typing as npt

    from pnml.nn import LastLayerOutput, LastLayerPNML


def is_last_layer(model: Any) -> bool:
    """Whether a model to plot is a LastLayerPNML, around a network, and not an estimator.

    >>> is_last_layer(len)
    False
    """
    return all(hasattr(type(model), name) for name in ("score_features", "leverage_threshold"))


def regrets_and_verdicts(
    module: LastLayerPNML, inputs: Any, level: float
) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """Regrets (n,) in nats of a network's inputs, and whether each is trusted at this level.

    `inputs` is a batch, or a loader of batches; an infinite leverage counts as infinite regret.
    """
    regrets, verdicts = [np.zeros(0)], [np.zeros(0, dtype=bool)]
    for out in _outputs(module, inputs):
        trusted = module.thresholds(level).trusts(out.regret, out.leverage)
        regret = out.regret.masked_fill(out.leverage.isinf(), float("inf"))
        regrets.append(regret.flatten().cpu().numpy())
        verdicts.append(trusted.flatten().cpu().numpy())
    return np.concatenate(regrets), np.concatenate(verdicts)


def rows_of(module: LastLayerPNML, inputs: Any) -> Iterator[FloatArray]:
    """Features (n, d) of a network's inputs, one array per batch.

    They have the form in which the features of training inputs were summed.
    """
    form = replace(module.statistic.counted.form, regions=0)
    for out in _outputs(module, inputs):
        yield form.of_tensor(out.features.flatten(0, -2))[0].cpu().numpy()


def spectrum_of(module: LastLayerPNML) -> Spectrum:
    """Singular value decomposition of the training features of a network's last layer."""
    plain = module.alpha_ == 0  # without a penalty the unit of a column has no effect
    return Spectrum.of_gram(module.statistic.counted.gram, intercept=False, unit_columns=plain)


def _outputs(module: LastLayerPNML, inputs: Any) -> Iterator[LastLayerOutput]:
    import torch

    from pnml.nn.batches import batches_of

    for batch in batches_of(inputs):
        with torch.no_grad():
            out = module(batch)
        yield out


@dataclass(frozen=True)
class ScoredRows:
    """Regrets of new rows and of training rows by a fitted model, and verdicts, for a plot."""

    new: FloatArray  # (m,)  nats
    training: FloatArray  # (n,)  nats, each left out in turn
    weights: FloatArray  # (n,)  copies of each training row
    threshold: float  # largest trusted regret
    trusted: BoolArray  # (m,)  verdicts on the new rows


def name_of(estimator: Any) -> str:
    """Class name of an estimator, or of the last step of a Pipeline."""
    return type(estimator[-1] if isinstance(estimator, Pipeline) else estimator).__name__


def fitted_with_regret(estimator: Any, X: Any) -> tuple[Any, Any]:
    """The fitted model, the last step of a Pipeline, and X as that step receives it.

    Raises InputError if the model has no ``regret``.
    """
    model = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if not hasattr(model, "regret"):
        raise InputError(
            f"estimator is a {name_of(estimator)}, which has no regret to draw; pass a fitted "
            "estimator of pnml, or a Pipeline that ends in one."
        )
    return last_step(estimator, X)


def score_rows(estimator: Any, X: Any, level: float) -> ScoredRows:
    """Regrets and verdicts on X by a fitted estimator, a Pipeline or a LastLayerPNML.

    `level` is the quantile of the training regrets that is the threshold.
    """
    if is_last_layer(estimator):
        new, trusted = regrets_and_verdicts(estimator, X, level)
        training = estimator.sample_regrets_
        limit = estimator.regret_threshold(level)
        return ScoredRows(new, training, np.ones(len(training)), limit, trusted)
    model, rows = fitted_with_regret(estimator, X)
    reference: Reference = model.reference_
    thresholds = reference.thresholds(level)
    if hasattr(model, "learner_"):  # one call: every regret may cost refits
        evidence = evidence_of(model, rows)
        new, trusted = evidence.regret, thresholds.trusts(*evidence)
    else:
        new, trusted = model.regret(rows), model.trusted(rows, level)
    weights = np.ones(len(reference.regrets)) if reference.weights is None else reference.weights
    return ScoredRows(new, reference.regrets, weights, thresholds.regret, trusted)


def last_step(estimator: Any, X: Any) -> tuple[Any, Any]:
    """The fitted model, the last step of a Pipeline, and X (or None) as that step receives it."""
    check_is_fitted(estimator)
    if not isinstance(estimator, Pipeline):
        return estimator, X
    if X is not None and len(estimator) > 1:
        X = estimator[:-1].transform(X)
    return estimator[-1], X
