"""The methods of the tables, each alone and with pNML, on what was kept of a network's run."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from pnml.core.arrays import FloatArray
from pnml.nn import LastLayerPNML
from pnml.ood import MSP, ODIN, Detector, Energy, Gram, with_pnml
from pnml_experiments.ch5_networks.feature_extraction import Extraction, Seen

# The scale of the research code.
THESIS_SCALE = 1.0


@dataclass(frozen=True)
class Trio:
    """Outlier scores (n,) of a method alone, with pNML at s = 1, and at the s chosen for it."""

    plain: FloatArray
    thesis: FloatArray
    fair: FloatArray


class KeptNetwork(nn.Module):
    """A network that is the head alone: its inputs are rows whose first columns are features."""

    def __init__(self, head: nn.Linear) -> None:
        super().__init__()
        self.head = copy.deepcopy(head).double()

    def forward(self, rows: Tensor) -> Tensor:
        """Logits (n, C) of rows (n, d + …)."""
        out: Tensor = self.head(rows[:, : self.head.in_features])
        return out


class KeptGram(Gram):
    """Gram of deviations that were computed before: they follow the features in each row."""

    def __init__(self, model: KeptNetwork, validation: FloatArray) -> None:
        super().__init__(model)
        self.validation_ = validation

    def deviations(self, x: Any) -> Any:
        """The deviations (n, layers) in the rows."""
        return x[:, self.model.head.in_features :]

    def standardised_during(self, run: Callable[[Any], Any], x: Any) -> tuple[Any, Any]:
        """The result of `run(x)` and the standardised deviations, which need no network."""
        return run(x), self.standardised(x)


class MethodScores:
    """Scores of the methods on one network; what pNML counts is shared between them."""

    def __init__(self, extraction: Extraction) -> None:
        self._validation = extraction.validation
        self._network = KeptNetwork(extraction.head)
        self._pnml = [
            LastLayerPNML(self._network, scale=scale, regions=scale == "auto").fit_features(
                extraction.train
            )
            for scale in (THESIS_SCALE, "auto")
        ]

    @property
    def scale(self) -> float | None:
        """The scale that was chosen from the training features."""
        return self._pnml[1].scale_

    def scores(self, method: str, seen: Seen) -> Trio:
        """Outlier scores of images by a method of the tables."""
        rows = torch.from_numpy(_rows(method, seen))
        baseline = self._baseline(method)
        thesis, fair = (with_pnml(baseline, pnml) for pnml in self._pnml)
        found = (detector.predict(rows) for detector in (baseline, thesis, fair))
        return Trio(*(np.asarray(scores) for scores in found))

    def _baseline(self, method: str) -> Detector:
        if method in ("Gram", "OECC"):
            assert self._validation is not None  # noqa: S101  the extraction was asked for it
            return KeptGram(self._network, self._validation)
        if method == "ODIN":
            return ODIN(self._network, epsilon=0.0)  # the images were moved before
        return Energy(self._network) if method == "Energy" else MSP(self._network)


def _rows(method: str, seen: Seen) -> FloatArray:
    """What the method looks at, a row for each image."""
    features = seen.moved if method == "ODIN" else seen.features
    assert features is not None  # noqa: S101  the extraction was asked for it
    if method not in ("Gram", "OECC"):
        return features.astype(np.float64)
    assert seen.deviations is not None  # noqa: S101  the same
    return np.hstack([features.astype(np.float64), seen.deviations])
