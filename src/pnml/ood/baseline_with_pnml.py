"""Baseline detectors combined with pNML."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Iterator, Mapping
from functools import singledispatch
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from array_api_compat import is_numpy_array

from pnml.core import softmax
from pnml.core.arrays import Array, FloatArray
from pnml.core.trust import Reference
from pnml.errors import ConditionWarning, InputError
from pnml.ood.detector import Detector, required_scores
from pnml.ood.gram_detector import Gram, HoldOut
from pnml.ood.logit_detectors import MSP, Energy, LogitDetector, MaxLogit
from pnml.ood.network_logits import as_input, as_numpy
from pnml.ood.odin import ODIN
from pnml.ood.regret_detector import RegretDetector
from pnml.runtime.caller import stacklevel_of_caller

if TYPE_CHECKING:
    from torch import Tensor

    from pnml.nn import LastLayerPNML

# Rows that deviate by less than this share of what held-out rows do were not held out.
_LEAST_SHARE = 0.5


def with_pnml(baseline: Detector, pnml: LastLayerPNML | None = None, **settings: Any) -> Detector:
    """Detector, not fitted yet, that combines a baseline with the regret. Eqs. (O9), (O10).

    Softmax, largest logit and energy become the regret on the same network; so do methods that
    train the network, such as OECC and energy fine-tuning, if the network has their weights. ODIN
    becomes the regret of its perturbed inputs. Gram multiplies the leverage of each input by the
    deviation of its feature maps.

    Parameters
    ----------
    baseline : MSP, MaxLogit, Energy, ODIN or Gram
        A detector with a network, whose last layer gives the regret.
    pnml : LastLayerPNML, optional
        A fitted LastLayerPNML of the network, so that several detectors can share it.
    **settings
        Without `pnml`, settings of `pnml.nn.LastLayerPNML`: ``layer``, ``alpha`` and so on.

    Examples
    --------
    >>> import torch
    >>> _ = torch.manual_seed(0)
    >>> network = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    >>> detector = with_pnml(ODIN(network, epsilon=0.01)).fit([torch.randn(200, 4)])
    >>> detector.predict(torch.randn(5, 4)).shape
    torch.Size([5])
    """
    return _combined(baseline, pnml, settings)


@singledispatch
def _combined(
    baseline: Detector, pnml: LastLayerPNML | None, settings: Mapping[str, Any]
) -> Detector:
    """Detector that adds pNML to `baseline`; each kind of baseline registers its own function."""
    raise InputError(
        f"There is no way known to put pNML on a {type(baseline).__name__}; pass an MSP, "
        "MaxLogit, Energy, ODIN or Gram detector."
    )


@_combined.register(MSP)
@_combined.register(MaxLogit)
@_combined.register(Energy)
def _(baseline: LogitDetector, pnml: Any, settings: Mapping[str, Any]) -> Detector:
    return RegretDetector(_network(baseline, pnml), **settings)


@_combined.register
def _(baseline: ODIN, pnml: Any, settings: Mapping[str, Any]) -> Detector:
    return RegretDetector(_network(baseline, pnml), perturb=baseline.perturb, **settings)


@_combined.register
def _(baseline: Gram, pnml: Any, settings: Mapping[str, Any]) -> Detector:
    return GramRegretDetector(baseline, RegretDetector(_network(baseline, pnml), **settings))


def _network(baseline: LogitDetector | ODIN | Gram, pnml: Any) -> Any:
    """The given LastLayerPNML, or the network of the baseline."""
    if baseline.model is None and pnml is None:
        raise InputError(
            f"This {type(baseline).__name__} has no network, and pNML needs its last layer; pass "
            "the network to the detector, or a fitted LastLayerPNML as pnml."
        )
    return baseline.model if pnml is None else pnml


class GramRegretDetector(Detector):
    """Detector by the regret at the leverage times Gram's deviation. Eq. (O9).

    Gram's deviation says how unusual the feature maps of earlier layers are. Made by `with_pnml`.
    The threshold comes from every tenth training row, which Gram holds out.

    Examples
    --------
    >>> import torch
    >>> _ = torch.manual_seed(0)
    >>> network = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    >>> detector = with_pnml(Gram(network)).fit(torch.randn(200, 2))
    >>> isinstance(detector, GramRegretDetector)
    True
    >>> near, far = detector.predict(torch.tensor([[0.1, 0.1], [30.0, -30.0]]))
    >>> bool(far > near)
    True
    """

    def __init__(self, gram: Gram, regret: RegretDetector) -> None:
        self.gram = gram
        self.regret = regret
        self.training_scores_: FloatArray | None = None
        self.training_leverages_: FloatArray | None = None

    def fit(self, loader: Any) -> Self:
        """Fit the Gram detector and the regret, where not fitted already, and then the threshold.

        The training inputs of the loader are read twice, so it must not be an iterator. A Gram
        detector that is fitted already must have been fitted to the same rows in the same order,
        without ``validation=``; warns where that seems not to be so.
        """
        kept = HoldOut(loader)
        if isinstance(loader, Iterator):
            raise InputError(
                f"The loader is a {type(loader).__name__}, which gives its batches once, but they "
                "are read twice here; pass a DataLoader, a list of batches or one tensor."
            )
        fitted_before = self.gram.bounds_ is not None
        if fitted_before:
            deque(kept, maxlen=0)  # collects the rows that are held out
        else:
            self.gram.fit(kept)
        if not self.regret.pnml.statistic.fitted:
            self.regret.fit(loader)
        scores, leverages, deviations = [np.zeros(0)], [np.zeros(0)], [np.zeros(0)]
        for x in kept.held:
            log_p, leverage, deviation = self._measured(x)
            left_out = leverage / (1 - leverage)  # these rows are training rows: Eq. (F6)
            raised = _raised(left_out, deviation)
            scores.append(as_numpy(_regret(log_p, raised)))
            leverages.append(as_numpy(raised))
            deviations.append(as_numpy(deviation))
        if fitted_before:
            _warn_of_rows_inside(np.concatenate(deviations), self.gram.usual_standardised())
        self.training_scores_ = np.concatenate(scores)
        self.training_leverages_ = np.concatenate(leverages)
        return self

    def predict(self, x: Any) -> Array:
        """Outlier scores (n,) of inputs: regrets in nats; high means out-of-distribution."""
        return self._score_and_leverage(x)[0]

    def _score_and_leverage(self, x: Any) -> tuple[Array, Array]:
        log_p, leverage, deviation = self._measured(x)
        raised = _raised(leverage, deviation)
        scores = _regret(log_p, raised)
        return (as_numpy(scores), as_numpy(raised)) if is_numpy_array(x) else (scores, raised)

    def _measured(self, x: Any) -> tuple[Tensor, Tensor, Tensor]:
        """Log-probabilities (n, C) for the regret, leverages (n,), and Gram's deviations (n,)."""
        import torch

        pnml = self.regret.pnml
        given = as_input(self.gram.model, x)
        with torch.no_grad():
            out, deviation = self.gram.standardised_during(pnml, given)
            logits = out.logits
            if pnml.scale_ is not None:
                unit = torch.nn.functional.normalize(out.features.double(), dim=1)
                logits = pnml.score_features(pnml.scale_ * unit).logits
            return softmax.log_softmax(logits), out.leverage, deviation

    def _reference(self) -> Reference:
        scores = required_scores(self, self.training_scores_)
        return Reference(scores, leverages=self.training_leverages_)


def _warn_of_rows_inside(deviations: FloatArray, usual: float) -> None:
    """Warn if the rows of the threshold deviate much less than `usual`, that of held-out rows."""
    finite = deviations[np.isfinite(deviations)]
    if len(finite) and finite.mean() < _LEAST_SHARE * usual:
        warnings.warn(
            "The rows that set the threshold deviate less than half as much as those that the "
            "Gram detector held out: if it was fitted to them, too many inputs will be flagged; "
            "pass a Gram detector that is not fitted, or fit it to the same rows in this order.",
            ConditionWarning,
            stacklevel=stacklevel_of_caller(),
        )


def _raised(leverage: Tensor, deviation: Tensor) -> Tensor:
    """Scores (n,): leverage times deviation, infinite where the deviation is infinite. Eq. (O9)."""
    return (leverage * deviation).masked_fill(deviation.isinf(), float("inf"))


def _regret(log_p: Tensor, leverage: Tensor) -> Tensor:
    """Regrets (n,) in nats, infinite where the leverage is."""
    regret: Tensor = softmax.regret(log_p, leverage)
    return regret.masked_fill(leverage.isinf(), float("inf"))
