"""Regrets, features and spectrum of a LastLayerPNML for the Displays."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from pnml.core.geometry.spectrum import Spectrum

if TYPE_CHECKING:
    from pnml.core.arrays import FloatArray
    from pnml.nn import LastLayerOutput, LastLayerPNML


def is_last_layer(model: Any) -> bool:
    """Whether it is a LastLayerPNML; PyTorch is not imported to find out."""
    networks = sys.modules.get("pnml.nn")
    return networks is not None and isinstance(model, networks.LastLayerPNML)


def regrets_of(module: LastLayerPNML, inputs: Any) -> FloatArray:
    """Regrets (n,) of inputs in nats, infinite where the leverage is, as for training rows."""
    parts = [np.zeros(0)]
    for out in _outputs(module, inputs):
        regret = out.regret.masked_fill(out.leverage.isinf(), float("inf"))
        parts.append(regret.flatten().cpu().numpy())
    return np.concatenate(parts)


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
