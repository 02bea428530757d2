"""Verdicts of a network with pNML on its last layer: on a batch, and on a whole loader."""

from __future__ import annotations

from typing import Any, Literal, Protocol, overload

import torch
from torch import Tensor

from pnml.core.arrays import FloatArray
from pnml.core.trust import DEFAULT_LEVEL, Reference, Thresholds, check_level
from pnml.nn.batches import Loader, batches_of
from pnml.nn.last_layer_output import LastLayerOutput
from pnml.nn.last_layer_scores import LastLayerScores, ScoresBuilder
from pnml.nn.masks import Mask, Reading, read
from pnml.nn.split_model import SplitModel
from pnml.runtime.progress import tracked


class _Scores(Protocol):
    """What a module must have to give verdicts."""

    _split: SplitModel

    def _check_fitted(self) -> None: ...

    def _scored(self, reading: Reading) -> LastLayerOutput: ...

    @property
    def reference_(self) -> Reference:
        """Regrets and leverages of sampled training rows, each row left out."""
        ...

    def forward(self, batch: object = None, *, mask: Mask = None) -> LastLayerOutput:
        """Logits, leverage and regret of inputs."""
        ...

    def thresholds(self, level: float = DEFAULT_LEVEL) -> Thresholds:
        """Largest regret and leverage of a trusted input."""
        ...


class NetworkVerdicts:
    """Mixin with `trusted` and `score`, for a module that gives regrets and thresholds."""

    @overload
    def score(
        self: _Scores,
        loader: Loader,
        *,
        mask: Mask = None,
        level: float = DEFAULT_LEVEL,
        progress: bool | None = None,
        as_frame: Literal[False] = False,
    ) -> LastLayerScores: ...
    @overload
    def score(
        self: _Scores,
        loader: Loader,
        *,
        mask: Mask = None,
        level: float = DEFAULT_LEVEL,
        progress: bool | None = None,
        as_frame: Literal[True],
    ) -> Any: ...
    def score(
        self: _Scores,
        loader: Loader,
        *,
        mask: Mask = None,
        level: float = DEFAULT_LEVEL,
        progress: bool | None = None,
        as_frame: bool = False,
    ) -> Any:
        """Predictions, regrets and whether to trust them, for all inputs of a loader.

        The result holds arrays with one entry for each prediction; batches are not kept.

        Parameters
        ----------
        loader : iterable of batches
            Inputs as for `fit`, with or without labels; positions that are padding are left out.
        mask : callable, str, tensor, array or False, optional
            Which positions are no padding, as for `fit`.
        level : float, default=0.99
            Quantile of the training rows' regrets and leverages that a trusted input may reach.
        progress : bool, optional
            Show a bar; by default where the standard error is a terminal and rich is installed.
        as_frame : bool, default=False
            Give a pandas data frame instead of a `LastLayerScores`.
        """
        self._check_fitted()
        level, scores = check_level(level), ScoresBuilder()
        batches = tracked(batches_of(loader), "Scoring inputs", progress)
        for number, batch in enumerate(batches):
            with torch.no_grad():
                reading = read(self._split, batch, mask, f"Batch {number}")
                scores.add(self._scored(reading), reading.kept, self.thresholds(level))
        return scores.frame() if as_frame else scores.total()

    def trusted(
        self: _Scores, batch: object, level: float = DEFAULT_LEVEL, *, mask: Mask = None
    ) -> Tensor:
        """Whether each input is as near to the training inputs as they are to each other.

        Booleans (B,), or (B, T) for a head with logits at each of T positions; False at padding.
        An input is trusted if neither its regret nor its leverage exceeds the `level` quantile of
        training rows, each row left out. Eq. (F8). A network that is sure of everything has little
        regret anywhere; its leverage still shows which inputs are new.
        """
        level = check_level(level)
        out = self.forward(batch, mask=mask)  # first: it may still have to find the last layer
        trusted: Tensor = self.thresholds(level).trusts(out.regret, out.leverage)
        return trusted

    def regret_threshold(self: _Scores, level: float = DEFAULT_LEVEL) -> float:
        """Largest regret of a trusted input, in nats: the `level` quantile over training rows.

        Each training row counts with the regret it would have if left out of training. It comes
        from a uniform sample of up to 2048 rows without those of infinite leverage; it is −inf if
        there are no others.
        """
        return self.thresholds(level).regret

    def leverage_threshold(self: _Scores, level: float = DEFAULT_LEVEL) -> float:
        """Largest leverage of a trusted input: the `level` quantile over left-out training rows."""
        return self.thresholds(level).leverage

    @property
    def sample_regrets_(self: _Scores) -> FloatArray:
        """Regrets (m,) in nats of sampled training rows, as if each was left out of training."""
        return self.reference_.regrets
