"""Whatever runs a network, with the same units of it left out for all rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from torch import nn

from pnml.active.checks import check_count, check_seed
from pnml.active.masks import Masks, dropouts_of
from pnml.core.arrays import FloatArray
from pnml.errors import InputError
from pnml.nn.network import as_in_use


def sampled(network: nn.Module, run: Callable[[], Any], n: int, seed: int) -> FloatArray:
    """What a function that runs the network gives for each of n models of dropout. Eq. (I10).

    The function may run the network in any batches. The network is left as it was.

    >>> import torch
    >>> net = nn.Sequential(nn.Dropout(0.5), nn.ReLU()).eval()  # no product, so nothing is rounded
    >>> first, second = sampled(net, lambda: net(torch.ones(4, 9)).detach().numpy(), 2, 0)
    >>> bool((first == first[0]).all()), bool((first == second).all())
    (True, False)
    """
    n, masks = check_count("n", n), Masks(dropouts_of(network), check_seed(seed))
    if not masks.dropouts:
        raise InputError(
            "The network has no dropout module with p > 0, so all its models are the same; put "
            "nn.Dropout into it, or use an ensemble."
        )
    found = []
    with as_in_use([network]), masks.applied():
        for m in range(n):
            # every batch begins anew, or later ones would be of another model
            handle = network.register_forward_pre_hook(lambda *_, m=m: masks.begin(m))
            try:
                found.append(np.asarray(run(), dtype=np.float64))
            finally:
                handle.remove()
    return np.stack(found)
