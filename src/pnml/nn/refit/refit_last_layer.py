"""pNML by its definition on a trained network: the last layers refitted for every label."""

from __future__ import annotations

import os
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from torch import Tensor, nn

from pnml.core.trust import DEFAULT_LEVEL, Reference, Thresholds, check_level
from pnml.core.user_types import ArrayOrFrame, NumberOrAuto
from pnml.errors import InputError
from pnml.nn.batches import Loader, batches_of, features_of_rows, floats_of, input_of
from pnml.nn.feature_rows import numpy_rows
from pnml.nn.head import check_shapes, linear_module
from pnml.nn.masks import Mask, all_padding, batch_of_call
from pnml.nn.refit.checkpoint import Checkpoint
from pnml.nn.refit.labels import class_labels, label_of
from pnml.nn.refit.refit_output import Genies, RefitOutput
from pnml.nn.refit.refit_settings import FineTuning, RefitSettings
from pnml.nn.refit.row_source import LastLayerSource, NetworkRows, Refitter, Source, TailSource
from pnml.nn.refit.training_rows import TrainingRows, TrainingRowsBuilder, refuse_nonfinite
from pnml.nn.split_model import Layer
from pnml.runtime.fingerprint import refit_fingerprint
from pnml.runtime.progress import tracked

# Seed of the sample of training rows that are left out for the threshold.
_SEED = 0


class RefitLastLayerPNML:
    """A trained network with the pNML regret of every input, by refits of its last layers.

    For every input and every label the last layer is trained again, on all training rows and this
    one; the probability it then gives to the label is the genie of that label. Genies divided by
    their sum are the pNML probabilities, and the log of the sum is the regret. A single layer is
    refitted to convergence as a logistic regression on the network's features, and every regret
    comes with a bound on its error. Several layers are fine-tuned by SGD.

    Parameters
    ----------
    model : torch.nn.Module
        The trained network, which does not change. Inputs are tensors, dicts or tuples.
    layer : None, str, module or pair, default=None
        The last linear layer; None finds it in a forward pass. Or two functions
        ``(features, head)``; for fine-tuning ``(front, tail)``, the tail a module.
    layers : int or "all", default=1
        Number of last layers with weights to train, in the order they run. Batch normalisation
        is frozen and does not count. In chains (nn.Sequential) and pairs the layers before them
        run once; other models run as a whole in every step.
    alpha : "auto" or float, default="auto"
        Penalty ½·alpha·‖W‖² of the refitted layer; its bias is free. ``"auto"`` is the penalty
        whose pNML probabilities best predict held-out training rows.
    tol : float, default=1e-4
        Largest error of the regret, in nats.
    tuning : FineTuning, optional
        Settings of fine-tuning, by default as in the thesis; if given, a single layer is
        fine-tuned too.
    sample : int, default=256
        Number of training rows that are left out, one at a time, for the threshold of `trusted`.

    Examples
    --------
    >>> import torch
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
        model: nn.Module | None,
        layer: Layer = None,
        *,
        layers: int | Literal["all"] = 1,
        alpha: NumberOrAuto = "auto",
        tol: float = 1e-4,
        tuning: FineTuning | None = None,
        sample: int = 256,
    ) -> None:
        self.settings = RefitSettings(layers, alpha, tol, tuning, sample)
        self.model = model
        tuned = self.settings.tuned
        self._source: Source = (
            TailSource(model, layer, layers) if tuned else LastLayerSource(model, layer)
        )
        self._fitted: Refitter | None = None
        self._training: TrainingRows | None = None
        self._sample_regrets: npt.NDArray[Any] | None = None

    @classmethod
    def from_embeddings(
        cls,
        weight: ArrayOrFrame,
        bias: ArrayOrFrame | None,
        embeddings: ArrayOrFrame,
        labels: ArrayOrFrame,
        **settings: Any,
    ) -> Self:
        """A RefitLastLayerPNML for embeddings (n, d) and labels (n,), fitted to them.

        Its inputs are embeddings. `weight` (C, d) and `bias` (C,) are those of their head; a bias
        of None means none. Settings are those of the class.

        >>> import torch
        >>> rows, labels = torch.eye(3).repeat(9, 1), torch.arange(3).repeat(9)
        >>> m = RefitLastLayerPNML.from_embeddings(torch.eye(3), None, rows, labels, alpha=0.1)
        >>> m(torch.eye(3)).regret.shape
        torch.Size([3])
        """
        weight = floats_of(weight).detach()
        check_shapes(weight, bias)
        head = linear_module(weight, None if bias is None else floats_of(bias).detach())
        return cls(head, **settings).fit_features(embeddings, labels)

    def fit(self, loader: Loader, *, mask: Mask = None, progress: bool | None = None) -> Self:
        """Learn from the training inputs of a loader, which run through the network once.

        Parameters
        ----------
        loader : iterable of batches
            Tuples (input, label), or dicts for the network's keywords with an entry "labels".
        mask : callable, str, tensor, array or False, optional
            Positions that count: a function of a batch, an entry of a dict, or the mask of the
            only batch. By default ``attention_mask`` and labels of -100; False counts all.
        progress : bool, optional
            Show a bar; by default where the standard error is a terminal and rich is installed.
        """
        builder = TrainingRowsBuilder()
        batches = tracked(batches_of(loader), "Computing training features", progress)
        for number, batch in enumerate(batches):
            name = f"Batch {number}"
            labels = label_of(batch, name)
            self._add(builder, self._rows_of(batch, mask), labels, name)
        return self._learn(builder.total())

    def fit_features(self, features: ArrayOrFrame, labels: ArrayOrFrame) -> Self:
        """Learn from training features (n, d), inputs of the refitted layers, and labels (n,)."""
        values = features_of_rows(features).detach()
        builder = TrainingRowsBuilder()
        if len(values):
            self._add(builder, self._source.of_features(values), labels, "The array")
        return self._learn(builder.total())

    def __call__(self, batch: object = None, *, mask: Mask = None, **inputs: object) -> RefitOutput:
        """Logits, genies and regret of inputs.

        The first element of a tuple is the input; a dict, or keywords, are passed as keywords to
        the network. The output has no gradient. Positions that are padding, by `mask` or by the
        batch itself, are not refitted: all but their logits and features is NaN.
        """
        self._refitter()
        batch, mask = batch_of_call(batch, mask, inputs, self.model)
        return self._scored(self._rows_of(batch, mask))

    def score_features(
        self,
        features: ArrayOrFrame,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        progress: bool | None = None,
    ) -> RefitOutput:
        """Logits, genies and regret of features (..., d), inputs of the refitted layers.

        `checkpoint` is an ``.npz`` file that keeps finished rows, from which an interrupted run
        resumes; `progress` shows a bar.
        """
        self._refitter()
        return self._scored(
            self._source.of_features(features_of_rows(features).detach()), checkpoint, progress
        )

    def score(
        self,
        loader: Loader,
        *,
        mask: Mask = None,
        checkpoint: str | os.PathLike[str] | None = None,
        progress: bool | None = None,
    ) -> RefitOutput:
        """Logits, genies and regret of all inputs of a loader, as one `RefitOutput`.

        Parameters
        ----------
        loader : iterable of batches
            As for `fit`, with or without labels.
        mask : callable, str, tensor, array or False, optional
            As for `fit`.
        checkpoint : path, optional
            An ``.npz`` file that keeps finished rows. An interrupted run resumes from it, with the
            same result, if network, training rows, settings and inputs are the same.
        progress : bool, optional
            Show a bar; by default where the standard error is a terminal and rich is installed.
        """
        self._refitter()
        batches = tracked(batches_of(loader), "Computing features", progress)
        parts = [self._rows_of(batch, mask) for batch in batches]
        if not parts:
            raise InputError("There is nothing to score, since the loader gave no batch; pass one.")
        return self._scored(NetworkRows.joined(parts), checkpoint, progress)

    def trusted(self, batch: object, level: float = DEFAULT_LEVEL, *, mask: Mask = None) -> Tensor:
        """Whether the regret of each input is at most the `level` quantile of training rows.

        Booleans (B,), or (B, T) for a head with logits at each of T positions; False at padding.
        Each training row counts with the regret it would have if left out of training.
        """
        thresholds = self.thresholds(level)
        trusted: Tensor = thresholds.trusts(self(batch, mask=mask).regret)
        return trusted

    def thresholds(self, level: float = DEFAULT_LEVEL) -> Thresholds:
        """Largest regret of a trusted input: the `level` quantile over left-out training rows."""
        level = check_level(level)
        return self.reference_.thresholds(level)

    def regret_threshold(self, level: float = DEFAULT_LEVEL) -> float:
        """Largest regret of a trusted input, in nats: the `level` quantile over training rows.

        Each training row counts with the regret it would have if left out of training. It comes
        from a uniform sample of the rows without those that are the only one of their class; it is
        −inf if there are no others.
        """
        return self.thresholds(level).regret

    @property
    def reference_(self) -> Reference:
        """Regrets of sampled training rows, as if each was left out of training."""
        return Reference(self.sample_regrets_)

    @property
    def sample_regrets_(self) -> npt.NDArray[np.float64]:
        """Regrets (m,) in nats of sampled training rows, as if each was left out of training."""
        refitter, training = self._refitter(), self._training
        if self._sample_regrets is None and training is not None:
            labels = training.labels.numpy()
            others = np.flatnonzero(np.bincount(labels)[labels] > 1)
            sample = np.random.default_rng(_SEED).permutation(others)[: self.settings.sample]
            self._sample_regrets = (
                refitter.left_out(np.sort(sample)).regret if len(sample) else sample
            )
        return np.asarray(self._sample_regrets, dtype=np.float64)

    @property
    def rows_(self) -> int:
        """Number of training rows."""
        self._refitter()
        return 0 if self._training is None else len(self._training.labels)

    @property
    def alpha_(self) -> float | None:
        """Ridge penalty on the refitted weights, given or chosen; None if layers are fine-tuned."""
        return self._refitter().alpha

    def _add(
        self, builder: TrainingRowsBuilder, batch: NetworkRows, labels: Any, name: str
    ) -> None:
        shape, classes = batch.logits.shape[:-1], batch.logits.shape[-1]
        kept = None if batch.kept is None else batch.kept.cpu()
        checked = class_labels(labels, shape, classes, name, kept)
        counted = checked.flatten() if kept is None else checked[kept]
        builder.add(batch.rows, counted, classes, name, checked.numel())

    def _rows_of(self, batch: Any, mask: Mask) -> NetworkRows:
        """Rows of a batch that are no padding."""
        return self._source.of_inputs(input_of(batch)).masked(mask, batch)

    def _learn(self, training: TrainingRows) -> Self:
        self._fitted = self._source.refitter(training, self.settings)
        self._training, self._sample_regrets = training, None
        return self

    def _refitter(self) -> Refitter:
        if self._fitted is None:
            raise InputError(
                "This RefitLastLayerPNML has seen no training rows; call fit(loader) or "
                "fit_features(features, labels) first."
            )
        return self._fitted

    def _scored(
        self,
        batch: NetworkRows,
        checkpoint: str | os.PathLike[str] | None = None,
        progress: bool | None = False,
    ) -> RefitOutput:
        refitter, training = self._refitter(), self._training
        if training is not None and batch.rows.shape[1:] != training.rows.shape[1:]:
            raise InputError(
                f"The inputs give rows of shape {tuple(batch.rows.shape[1:])}, but those of "
                f"training have {tuple(training.rows.shape[1:])}; bring them to that size."
            )
        if batch.kept is not None and not len(batch.rows):
            raise all_padding(batch.kept.numel(), "score")
        refuse_nonfinite(batch.rows, "The input")
        step = refitter.rows_at_once
        chunks = [batch.rows[i : i + step] for i in range(0, len(batch.rows), step)]
        file = None
        if checkpoint is not None:
            names = [refit_fingerprint([], [numpy_rows(chunk)]) for chunk in chunks]
            file = Checkpoint(checkpoint, refit_fingerprint(*refitter.depends_on()), names)
        parts = [] if file is None else list(file.parts)
        for chunk in tracked(chunks[len(parts) :], "Refitting for every label", progress):
            parts.append(refitter.refit(chunk))
            if file is not None:
                file.add(parts[-1])
        if file is not None and file.parts:
            file.write()
        genies = Genies.joined(parts, batch.logits.shape[-1])
        return RefitOutput.of(batch.logits, batch.features, genies, batch.kept)
