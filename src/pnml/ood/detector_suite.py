"""All detectors of features and logits at once, fitted in one pass, for a comparison."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.ood.detector import Detector
from pnml.ood.entropy_detector import GEN
from pnml.ood.head_geometry_detectors import FDBD, NCI
from pnml.ood.logit_detectors import MSP, Energy, MaxLogit
from pnml.ood.mahalanobis_detectors import RMD, Mahalanobis
from pnml.ood.neighbour_detector import KNN
from pnml.ood.network_features import NetworkFeatures, Rows, like, rows_of
from pnml.ood.regret_detector import RegretDetector
from pnml.ood.virtual_logit_detector import ViM
from pnml.runtime.progress import Progress, tracked

# Neighbours of KNN where there are enough training rows.
_NEIGHBOURS = 50


def fit_detectors(
    model: Any, loader: Any, layer: Any = None, *, progress: Progress = None
) -> dict[str, Detector]:
    """Dict of name → detector: all that use features or logits, fitted to training inputs.

    The regret with its default settings, named "pNML", and MSP, MaxLogit, Energy, GEN, KNN, ViM,
    Mahalanobis, RMD, FDBD and NCI. The network runs once over the loader; the features are kept
    meanwhile. `evaluate_ood` compares the detectors.

    Parameters
    ----------
    model : network of PyTorch
    loader : loader or inputs
        Training inputs. Labels, the second element of a batch, are for Mahalanobis and RMD; without
        labels these two take the classes that the network predicts.
    layer : optional
        Where the last layer is, as in `pnml.nn.LastLayerPNML`.
    progress : bool, optional
        Show a bar; by default where the standard error is a terminal.

    Examples
    --------
    >>> import torch
    >>> from pnml.ood import evaluate_ood
    >>> _ = torch.manual_seed(0)
    >>> net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    >>> detectors = fit_detectors(net, torch.randn(300, 4))
    >>> table = evaluate_ood(detectors, torch.randn(100, 4), {"far": 9 * torch.randn(50, 4)})
    >>> len(table.detectors), table.oods
    (11, ('far',))
    """
    source = NetworkFeatures(model, layer)
    parts = tracked(source.rows(loader), "Counting training features", progress)
    return _suite(source, *_joined(parts))


def fit_detectors_to_features(
    features: Any, y: Any = None, *, weight: Any, bias: Any = None
) -> dict[str, Detector]:
    """Dict of name → detector, as `fit_detectors` gives, fitted to features instead of inputs.

    What these detectors take as inputs are features, too.

    Parameters
    ----------
    features : array or tensor of shape (n, d)
    y : array or tensor of shape (n,), optional
        Labels for Mahalanobis and RMD; without labels they take the classes that the head predicts.
    weight, bias : arrays or tensors of shape (C, d) and (C,)
        The head.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(300) % 3
    >>> seen = 5 * np.eye(4)[y] + rng.normal(size=(300, 4))
    >>> detectors = fit_detectors_to_features(seen, y, weight=np.eye(4)[:3])
    >>> strange = np.array([[0.0, 0.0, 0.0, 9.0]])
    >>> sum(not bool(detector.trusted(strange)[0]) for detector in detectors.values()) > 6
    True
    """
    source = NetworkFeatures(None, None, weight, bias)
    return _suite(source, *_joined(rows_of(features, y)))


def _suite(source: NetworkFeatures, features: FloatArray, labels: Any) -> dict[str, Detector]:
    """Every detector, fitted; all share the source of features."""
    from pnml.nn import LastLayerPNML

    head = source.head(features.shape[1], "The detectors need")
    pnml = LastLayerPNML.from_embeddings(head.weight, head.bias, features)
    found: dict[str, Detector] = {"pNML": RegretDetector(pnml, perturb=source.of)}

    def logits(x: Any) -> Any:
        return like(head.logits(source.of(x)), x)

    trained = head.logits(features)
    for by_logits in (MSP(logits), MaxLogit(logits), Energy(logits), GEN(logits)):
        found[type(by_logits).__name__] = by_logits.fit_features(trained)
    k = min(_NEIGHBOURS, max(1, len(features) - 1))
    by_features = (KNN(source, k=k), ViM(source), Mahalanobis(source), RMD(source))
    for detector in (*by_features, FDBD(source), NCI(source)):
        found[type(detector).__name__] = detector.fit_features(features, labels)
    return found


def _joined(parts: Iterable[Rows]) -> tuple[FloatArray, Any]:
    """Features (n, d), and labels (n,) where all parts have them."""
    kept = list(parts)
    features = np.concatenate([part.features for part in kept]) if kept else np.zeros((0, 0))
    if not kept or any(part.labels is None for part in kept):
        return features, None
    return features, np.concatenate([np.asarray(part.labels) for part in kept])
