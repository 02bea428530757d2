"""Models from dropout: each is the network with some of its units left out, for all rows."""

from __future__ import annotations

from typing import Any

from torch import nn

from pnml.active.checks import check_count, check_positive, check_seed
from pnml.active.dropout_masks import Masks, dropouts_of
from pnml.active.network_ensemble import DEFAULT_BATCH, batches, log_probs
from pnml.active.progress import Progress
from pnml.core.arrays import FloatArray
from pnml.errors import InputError
from pnml.nn.batches import call
from pnml.nn.eval_mode import as_in_use, unwrapped


class MCDropout:
    """Log-probabilities by n models that dropout makes of one network. Eq. (I10).

    Model m leaves out the same units for every row, in whatever batches rows come, and on every
    call with the same seed, so candidates and targets may be run apart. All else is as in use:
    BatchNorm keeps its statistics. The network's modes, hooks and the random numbers of PyTorch
    are left as they were, also where it raises.

    Dropout modules of ``torch.nn`` are found by themselves. Dropout called as a function
    (``F.dropout``) and that inside attention or recurrent layers cannot be shared between rows
    and stays off.

    Parameters
    ----------
    model : torch.nn.Module
        A trained network that gives logits (B, C).
    n : int, default=100
        How many models.
    temperature : float, default=1.0
        Logits are divided by it.
    seed : int, default=0
        Which models.

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
        self.model = model
        self.n = check_count("n", n)
        self.temperature = check_positive("temperature", temperature)
        self.seed = check_seed(seed)

    def __call__(
        self, inputs: Any, *, batch_size: int = DEFAULT_BATCH, progress: Progress = False
    ) -> FloatArray:
        """Log-probabilities (n, N, C) of inputs: an array or tensor, or a loader of batches."""
        network = unwrapped(self.model)
        masks = Masks(self._dropouts(network), self.seed)
        parts = batches(inputs, check_count("batch_size", batch_size))

        def run(m: int, given: Any) -> Any:
            masks.begin(m)
            output = call(network, given)
            if masks.calls == 0:
                raise InputError(
                    f"The network holds {len(masks.dropouts)} dropout modules but ran none of "
                    "them, so all models are the same; call them in forward, or use Ensemble."
                )
            return output

        with as_in_use([network]), masks.applied():
            return log_probs(run, network, self.n, parts, self.temperature, progress)

    @staticmethod
    def _dropouts(network: nn.Module) -> list[nn.Module]:
        found = dropouts_of(network)
        if not found:
            raise InputError(
                "The network has no dropout module with p > 0 (dropout called as a function, "
                "F.dropout, cannot be shared between rows); put nn.Dropout into it, or use "
                "Ensemble or LastLayerSamples."
            )
        return found
