"""Models from dropout: each is the network with the same units dropped for all rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from torch import nn

from pnml.active.dropout_masks import Masks, dropouts_of
from pnml.active.network_ensemble import NetworkSamples, Pass
from pnml.core.arrays import FloatArray
from pnml.errors import InputError
from pnml.nn.batches import call
from pnml.nn.eval_mode import as_in_use, unwrapped
from pnml.runtime.checks import check_count, check_seed


class MCDropout(NetworkSamples):
    """Function from inputs to log-probabilities by n dropout samples of one network. Eq. (I10).

    Model m drops the same units for every row, in any batch and in every call with the same seed,
    so candidates and targets can be run separately. Everything else is in eval mode: BatchNorm
    keeps its statistics. The network's modes and hooks and PyTorch's random state are restored,
    also after an error.

    Dropout modules of ``torch.nn`` are found automatically. Functional dropout (``F.dropout``) and
    dropout inside attention or recurrent layers cannot be shared between rows and stays off.

    Parameters
    ----------
    model : torch.nn.Module
        A trained network that gives logits (B, C).
    n : int, default=100
        Number of models.
    temperature : float, default=1.0
        Logits are divided by it.
    seed : int, default=0
        Seed of the dropout masks.

    Examples
    --------
    >>> import torch
    >>> _ = torch.manual_seed(0)
    >>> net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 3))
    >>> models = MCDropout(net, n=20)
    >>> pool, test = models(torch.randn(50, 4)), models(torch.randn(30, 4))
    >>> pool.shape, test.shape
    ((20, 50, 3), (20, 30, 3))
    """

    def __init__(self, model: Any, n: int = 100, temperature: float = 1.0, seed: int = 0) -> None:
        if not isinstance(model, nn.Module):
            raise InputError(
                f"The model is a {type(model).__name__}, but dropout is looked for in a PyTorch "
                "module; pass one, or use Ensemble for other models."
            )
        super().__init__(model, n, temperature, seed)

    @contextmanager
    def _passes(self) -> Iterator[Pass]:
        network = unwrapped(self.model)
        masks = Masks(self._dropouts(network), self.seed)

        def run(m: int, x: Any) -> Any:
            masks.begin(m)
            output = call(network, x)
            if masks.calls == 0:
                raise InputError(
                    f"The network holds {len(masks.dropouts)} dropout modules but ran none of "
                    "them, so all models are the same; call them in forward, or use Ensemble."
                )
            return output

        with as_in_use([network]), masks.applied():
            yield run

    @staticmethod
    def _dropouts(network: nn.Module) -> list[nn.Module]:
        dropouts = dropouts_of(network)
        if not dropouts:
            raise InputError(
                "The network has no dropout module with p > 0 (dropout called as a function, "
                "F.dropout, cannot be shared between rows); put nn.Dropout into it, or use "
                "Ensemble or LastLayerSamples."
            )
        return dropouts


def dropout_samples(network: nn.Module, run: Callable[[], Any], n: int, seed: int) -> FloatArray:
    """Results (n, ...) of `run()`, which runs the network, for n dropout samples. Eq. (I10).

    In each sample the same units are dropped for all rows. The function may run the network in any
    batches. The network is restored afterwards.

    >>> import torch
    >>> net = nn.Sequential(nn.Dropout(0.5), nn.Linear(9, 2)).eval()
    >>> first, second = dropout_samples(net, lambda: net(torch.ones(4, 9)).detach().numpy(), 2, 0)
    >>> np.allclose(first, first[0]), np.allclose(first, second)
    (True, False)
    """
    n, masks = check_count("n", n), Masks(dropouts_of(network), check_seed(seed))
    if not masks.dropouts:
        raise InputError(
            "The network has no dropout module with p > 0, so all its models are the same; put "
            "nn.Dropout into it, or use an ensemble."
        )
    results = []
    with as_in_use([network]), masks.applied():
        for m in range(n):
            # each batch restarts the masks, or later batches would use those of another model
            handle = network.register_forward_pre_hook(lambda *_, m=m: masks.begin(m))
            try:
                results.append(np.asarray(run(), dtype=np.float64))
            finally:
                handle.remove()
    return np.stack(results)
