"""pNML by its definition on a trained network: its last layers refitted for every label."""

from __future__ import annotations

import os
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from pnml.core.trust import DEFAULT_LEVEL, Reference, Thresholds, check_level
from pnml.errors import InputError
from pnml.nn.batches import batches_of, input_of
from pnml.nn.feature_rows import numpy_rows
from pnml.nn.head import linear_module
from pnml.nn.progress import tracked
from pnml.nn.refit.checkpoint import Checkpoint, fingerprint
from pnml.nn.refit.exact_refit import ExactRefit
from pnml.nn.refit.fine_tuning import FineTuned
from pnml.nn.refit.labels import class_labels, label_of
from pnml.nn.refit.refit_output import Genies, RefitOutput
from pnml.nn.refit.refit_settings import FineTuning, RefitSettings
from pnml.nn.refit.row_source import LastLayerSource, Seen, TailSource
from pnml.nn.refit.training_rows import Gathering, TrainingRows, refuse_nonfinite

# Draws the training rows that are left out for the threshold.
_SEED = 0


class _Refitter(Protocol):
    """What makes genies of rows."""

    @property
    def rows_at_once(self) -> int: ...
    def refit(self, rows: Tensor) -> Genies: ...
    def left_out(self, indices: npt.NDArray[np.intp]) -> Genies: ...
    def depends_on(self) -> tuple[list[str], list[npt.NDArray[Any]]]: ...


class RefitLastLayerPNML:
    """A trained network that says, input by input, what hindsight would have made of it.

    For every input and every label the last layer is trained once more, on all training rows and
    that one; the probability it then gives to that label is the label's genie. Genies over their
    sum are the pNML probabilities, and the log of the sum is the regret. The layer is refitted to
    the end, as the logistic regression on the network's features that it is, and every regret
    comes with a bound on its error. With more layers, they are fine-tuned by SGD.

    Parameters
    ----------
    model : torch.nn.Module
        The trained network, which stays as it is. Inputs are tensors, dicts or tuples.
    layer : None, str, module or pair, default=None
        The last linear layer: by itself it is found in a forward pass. Or two functions
        ``(features, head)``; for fine-tuning ``(front, tail)``, the tail a module.
    layers : int or "all", default=1
        How many of the last layers with weights are trained, in the order they run. Batch
        normalisation is frozen and counts as none. Chains (nn.Sequential) and pairs run the
        layers before them once; other models run as a whole in every step.
    alpha : "auto" or float, default="auto"
        Penalty ½·alpha·‖W‖² of the refitted layer; its bias is free. ``"auto"`` is the one whose
        pNML probabilities predict training rows best that are held back.
    tol : float, default=1e-4
        Error of the regret, in nats, that is asked for.
    tuning : FineTuning, optional
        How layers are fine-tuned, by default as in the thesis; if given, one layer is, too.
    sample : int, default=256
        Training rows that are left out, one at a time, to find the threshold of `trusted`.

    Examples
    --------
    >>> _ = torch.manual_seed(0)
    >>> x = torch.cat([torch.randn(40, 2) - 2, torch.randn(40, 2) + 2])
    >>> y = torch.arange(80) // 40
    >>> m = RefitLastLayerPNML(torch.nn.Linear(2, 2), alpha=1.0).fit([(x, y)])
    >>> out = m(torch.tensor([[2.0, 2.0], [-20.0, 20.0]]))
    >>> bool(out.regret[1] > 10 * out.regret[0])
    True
    >>> bool(out.converged.all())
    True
    """

    def __init__(
        self,
        model: Any,
        layer: Any = None,
        *,
        layers: int | str = 1,
        alpha: Any = "auto",
        tol: float = 1e-4,
        tuning: FineTuning | None = None,
        sample: int = 256,
    ) -> None:
        self.settings = RefitSettings(layers, alpha, tol, tuning, sample)
        self.model = model
        tuned = self.settings.tuned
        self._source: LastLayerSource | TailSource = (
            TailSource(model, layer, layers) if tuned else LastLayerSource(model, layer)
        )
        self._fitted: _Refitter | None = None
        self._training: TrainingRows | None = None
        self._sample_regrets: npt.NDArray[Any] | None = None

    @classmethod
    def from_embeddings(
        cls, weight: Any, bias: Any, embeddings: Any, labels: Any, **settings: Any
    ) -> Self:
        """Fitted to embeddings (n, d) and labels (n,), with the weight and bias of their head.

        Embeddings are then what it takes as inputs. A bias of None is a head without one.

        >>> rows, labels = torch.eye(3).repeat(9, 1), torch.arange(3).repeat(9)
        >>> m = RefitLastLayerPNML.from_embeddings(torch.eye(3), None, rows, labels, alpha=0.1)
        >>> m(torch.eye(3)).regret.shape
        torch.Size([3])
        """
        weight = _floats(weight)
        if weight.ndim != 2 or (bias is not None and np.shape(bias) != weight.shape[:1]):
            raise InputError(
                f"The weight has shape {tuple(weight.shape)} and the bias {np.shape(bias)}, but a "
                "head of C classes and d features has (C, d) and (C,); pass them so."
            )
        head = linear_module(weight, None if bias is None else _floats(bias))
        return cls(head, **settings).fit_features(embeddings, labels)

    def fit(self, loader: Any, *, progress: bool | None = None) -> Self:
        """Run the training inputs that a loader gives through the network, once.

        Parameters
        ----------
        loader : iterable of batches
            Tuples (input, label), or dicts for the network's keywords with an entry "labels".
        progress : bool, optional
            Show a bar; by default where the standard error is a terminal and rich is installed.
        """
        gathering = Gathering()
        batches = tracked(batches_of(loader), "Computing training features", progress)
        for number, batch in enumerate(batches):
            name = f"Batch {number}"
            labels = label_of(batch, name)
            self._gather(gathering, self._source.of_inputs(input_of(batch)), labels, name)
        return self._learn(gathering.total())

    def fit_features(self, features: Any, labels: Any) -> Self:
        """Learn from training features (n, d) themselves, and their labels (n,)."""
        values = _floats(features)
        if values.ndim < 2:
            raise InputError(
                f"The features have shape {tuple(values.shape)}, but rows of features are needed; "
                "pass an array (n, d)."
            )
        gathering = Gathering()
        if len(values):
            self._gather(gathering, self._source.of_features(values), labels, "The array")
        return self._learn(gathering.total())

    def __call__(self, batch: Any = None, **inputs: Any) -> RefitOutput:
        """What the network says of inputs, and what it would have said if told.

        Of a tuple, the first element is the input; a dict, or keywords, go to the keywords of the
        network. Nothing here has a gradient.
        """
        self._refitter()
        return self._judged(self._source.of_inputs(input_of(inputs if batch is None else batch)))

    def score_features(
        self,
        features: Any,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        progress: bool | None = None,
    ) -> RefitOutput:
        """The same for what the refitted layers take, (..., d); many rows as in `score`."""
        self._refitter()
        return self._judged(self._source.of_features(_floats(features)), checkpoint, progress)

    def score(
        self,
        loader: Any,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        progress: bool | None = None,
    ) -> RefitOutput:
        """The same for all inputs that a loader gives, in one output.

        Parameters
        ----------
        loader : iterable of batches
            As for `fit`, with or without labels.
        checkpoint : path, optional
            An ``.npz`` file that keeps finished rows. A run that was interrupted goes on from it,
            with the same result, where network, training rows, settings and inputs are the same.
        progress : bool, optional
            Show a bar; by default where the standard error is a terminal and rich is installed.
        """
        self._refitter()
        batches = tracked(batches_of(loader), "Computing features", progress)
        seen = [self._source.of_inputs(input_of(batch)) for batch in batches]
        if not seen:
            raise InputError("There is nothing to score, since the loader gave no batch; pass one.")
        names = ("rows", "features", "logits")
        whole = Seen(*(torch.cat([getattr(part, name) for part in seen]) for name in names))
        return self._judged(whole, checkpoint, progress)

    def trusted(self, batch: Any, level: float = DEFAULT_LEVEL) -> Tensor:
        """Whether the regret of each input is within that of training rows, each left out."""
        thresholds = self.thresholds(level)
        trusted: Tensor = thresholds.trusts(self(batch).regret)
        return trusted

    def thresholds(self, level: float = DEFAULT_LEVEL) -> Thresholds:
        """Largest regret of a trusted input: the `level` quantile of `reference_`."""
        level = check_level(level)
        return self.reference_.thresholds(level)

    def regret_threshold(self, level: float = DEFAULT_LEVEL) -> float:
        """Regret that this share of the training rows does not pass, each left out in turn.

        It comes from a uniform sample of the training rows; one that is the only one of its class
        does not count, and −inf is the answer where there are no others.
        """
        return self.thresholds(level).regret

    @property
    def reference_(self) -> Reference:
        """Regrets of sampled training rows, each as if it had not been there."""
        return Reference(self.sample_regrets_)

    @property
    def sample_regrets_(self) -> npt.NDArray[np.float64]:
        """Regrets (m,) of sampled training rows, each as if it had not been there."""
        refitter, known = self._refitter(), self._training
        if self._sample_regrets is None and known is not None:
            labels = known.labels.numpy()
            others = np.flatnonzero(np.bincount(labels)[labels] > 1)
            drawn = np.random.default_rng(_SEED).permutation(others)[: self.settings.sample]
            self._sample_regrets = refitter.left_out(np.sort(drawn)).regret if len(drawn) else drawn
        return np.asarray(self._sample_regrets, dtype=np.float64)

    @property
    def rows_(self) -> int:
        """How many training rows there are."""
        self._refitter()
        return 0 if self._training is None else len(self._training.labels)

    @property
    def alpha_(self) -> float | None:
        """The penalty in use; None where layers are fine-tuned."""
        refitter = self._refitter()
        return refitter.model.alpha if isinstance(refitter, ExactRefit) else None

    def _gather(self, gathering: Gathering, seen: Seen, labels: Any, name: str) -> None:
        shape, classes = seen.logits.shape[:-1], seen.logits.shape[-1]
        found = class_labels(labels, shape, classes, name)
        gathering.add(seen.rows, found.flatten(), classes, name)

    def _learn(self, training: TrainingRows) -> Self:
        settings, source = self.settings, self._source
        if isinstance(source, TailSource):
            how = settings.tuning or FineTuning()
            self._fitted = FineTuned(source.cut, training, how)
        else:
            alpha = None if settings.alpha == "auto" else float(settings.alpha)
            self._fitted = ExactRefit.of(training, alpha, settings.tol)
        self._training, self._sample_regrets = training, None
        return self

    def _refitter(self) -> _Refitter:
        if self._fitted is None:
            raise InputError(
                "This RefitLastLayerPNML has seen no training rows; call fit(loader) or "
                "fit_features(features, labels) first."
            )
        return self._fitted

    def _judged(
        self,
        seen: Seen,
        checkpoint: str | os.PathLike[str] | None = None,
        progress: bool | None = False,
    ) -> RefitOutput:
        refitter, known = self._refitter(), self._training
        if known is not None and seen.rows.shape[1:] != known.rows.shape[1:]:
            raise InputError(
                f"The inputs give rows of shape {tuple(seen.rows.shape[1:])}, but those of "
                f"training have {tuple(known.rows.shape[1:])}; bring them to that size."
            )
        refuse_nonfinite(seen.rows, "The input")
        step = refitter.rows_at_once
        chunks = [seen.rows[i : i + step] for i in range(0, len(seen.rows), step)]
        kept = None
        if checkpoint is not None:
            names = [fingerprint([], [numpy_rows(chunk)]) for chunk in chunks]
            kept = Checkpoint(checkpoint, fingerprint(*refitter.depends_on()), names)
        parts = [] if kept is None else list(kept.parts)
        for chunk in tracked(chunks[len(parts) :], "Refitting for every label", progress):
            parts.append(refitter.refit(chunk))
            if kept is not None:
                kept.add(parts[-1])
        if kept is not None and kept.parts:
            kept.write()
        genies = Genies.joined(parts, seen.logits.shape[-1])
        return RefitOutput.of(seen.logits, seen.features, genies)


def _floats(values: Any) -> Tensor:
    """A tensor of floats that shares memory with what came, where it can."""
    tensor = torch.as_tensor(values).detach()
    return tensor if tensor.is_floating_point() else tensor.double()
