"""Regrets, features and spectrum of a LastLayerPNML for the Displays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from pnml.core.geometry.spectrum import Spectrum

if TYPE_CHECKING:
    import numpy.typing as npt

    from pnml.core.arrays import FloatArray
    from pnml.nn import LastLayerOutput, LastLayerPNML


def is_last_layer(model: Any) -> bool:
    """Whether a model scores inputs by the features of a last layer, as LastLayerPNML does.

    >>> is_last_layer(len)
    False
    """
    return all(hasattr(type(model), name) for name in ("score_features", "leverage_threshold"))


def regrets_and_verdicts(
    module: LastLayerPNML, inputs: Any, level: float
) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """Regrets (n,) of inputs in nats, infinite if the leverage is, and whether each is trusted."""
    regrets, verdicts = [np.zeros(0)], [np.zeros(0, dtype=bool)]
    for out in _outputs(module, inputs):
        trusted = module.thresholds(level).trusts(out.regret, out.leverage)
        regret = out.regret.masked_fill(out.leverage.isinf(), float("inf"))
        regrets.append(regret.flatten().cpu().numpy())
        verdicts.append(trusted.flatten().cpu().numpy())
    return np.concatenate(regrets), np.concatenate(verdicts)


def rows_of(module: LastLayerPNML, inputs: Any) -> Iterator[FloatArray]:
    """The features of inputs in the form of the training statistic, batch by batch."""
    form = module.statistic.counted.form
    for out in _outputs(module, inputs):
        yield form.of_tensor(out.features.flatten(0, -2))[0].cpu().numpy()


def spectrum_of(module: LastLayerPNML) -> Spectrum:
    """The spectrum of the training features."""
    plain = module.alpha_ == 0  # without a penalty the unit of a column has no effect
    return Spectrum.of_gram(module.statistic.counted.gram, intercept=False, unit_columns=plain)


def _outputs(module: LastLayerPNML, inputs: Any) -> Iterator[LastLayerOutput]:
    import torch

    from pnml.nn.batches import batches_of

    for batch in batches_of(inputs):
        with torch.no_grad():
            out = module(batch)
        yield out
