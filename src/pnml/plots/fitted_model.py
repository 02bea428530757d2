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
    """Whether the fitted model behind a plot is a network, as LastLayerPNML is.

    >>> is_last_layer(len)
    False
    """
    return all(hasattr(type(model), name) for name in ("score_features", "leverage_threshold"))


def regrets_and_verdicts(
    module: LastLayerPNML, inputs: Any, level: float
) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """Regrets (n,) in nats by the network behind a plot, and whether each row is trusted."""
    regrets, verdicts = [np.zeros(0)], [np.zeros(0, dtype=bool)]
    for out in _outputs(module, inputs):
        trusted = module.thresholds(level).trusts(out.regret, out.leverage)
        regret = out.regret.masked_fill(out.leverage.isinf(), float("inf"))
        regrets.append(regret.flatten().cpu().numpy())
        verdicts.append(trusted.flatten().cpu().numpy())
    return np.concatenate(regrets), np.concatenate(verdicts)


def rows_of(module: LastLayerPNML, inputs: Any) -> Iterator[FloatArray]:
    """Features of inputs by the network behind a plot, as its statistic has them, in batches."""
    form = replace(module.statistic.counted.form, regions=0)
    for out in _outputs(module, inputs):
        yield form.of_tensor(out.features.flatten(0, -2))[0].cpu().numpy()


def spectrum_of(module: LastLayerPNML) -> Spectrum:
    """The spectrum of the training features of the network behind a plot."""
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
    """What a fitted model gives a plot: regrets of new and training rows, and verdicts."""

    new: FloatArray  # (m,)
    training: FloatArray  # (n,)  each left out in turn
    weights: FloatArray  # (n,)
    threshold: float  # largest trusted regret
    trusted: BoolArray  # (m,)


def name_of(estimator: Any) -> str:
    """Name of the fitted model behind a plot; for a Pipeline, that of its last step."""
    return type(estimator[-1] if isinstance(estimator, Pipeline) else estimator).__name__


def fitted_with_regret(estimator: Any, X: Any) -> tuple[Any, Any]:
    """The fitted model with a regret behind a plot, and X as its last step receives it."""
    model = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if not hasattr(model, "regret"):
        raise InputError(
            f"estimator is a {name_of(estimator)}, which has no regret to draw; pass a fitted "
            "estimator of pnml, or a Pipeline that ends in one."
        )
    return last_step(estimator, X)


def score_rows(estimator: Any, X: Any, level: float) -> ScoredRows:
    """Regrets and verdicts on X by the fitted model behind a plot: estimator or network."""
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
    """The fitted model behind a plot, the last step of a Pipeline, and X as it receives it."""
    check_is_fitted(estimator)
    if not isinstance(estimator, Pipeline):
        return estimator, X
    if X is not None and len(estimator) > 1:
        X = estimator[:-1].transform(X)
    return estimator[-1], X
