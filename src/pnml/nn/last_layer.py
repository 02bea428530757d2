"""pNML on the last layer of a trained network."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Literal, Self

import torch
from torch import nn

from pnml.core.trust import DEFAULT_LEVEL, Reference, Thresholds, check_level
from pnml.core.user_types import ArrayOrFrame, FlagOrAuto, NumberOrAuto
from pnml.errors import InputError
from pnml.nn.batches import Loader, batches_of, features_of_rows, floats_of
from pnml.nn.cached_reference import CachedReference
from pnml.nn.distributed import Processes, Share, summed
from pnml.nn.feature_geometry import Geometry
from pnml.nn.feature_regret import Scorer
from pnml.nn.feature_rows import numpy_rows
from pnml.nn.feature_statistic import FeatureStatistic, StatisticBuilder
from pnml.nn.head import check_shapes, linear_module
from pnml.nn.last_layer_output import LastLayerOutput
from pnml.nn.last_layer_settings import Settings
from pnml.nn.masks import (
    Mask,
    Padding,
    Reading,
    batch_of_call,
    masked_output,
    read,
)
from pnml.nn.network_fingerprint import NetworkFingerprint
from pnml.nn.network_verdicts import NetworkVerdicts
from pnml.nn.scaled_head import ScaledHead
from pnml.nn.split_model import Layer, SplitModel, checked_inputs
from pnml.nn.statistic_buffers import StatisticBuffers
from pnml.nn.tasks import REGRESSION, TaskName, task_of
from pnml.runtime.one_at_a_time import one_at_a_time
from pnml.runtime.progress import tracked


class LastLayerPNML(NetworkVerdicts, nn.Module):
    """A trained network with the pNML regret of every input, by its last layer.

    One pass over the training inputs collects a statistic of the features that the last layer
    sees; the network itself does not change. An input gets a large regret if training had few
    features like its own, or if the head is unsure. No labels, no second data set, no training.

    The statistic has (d + 1)² numbers, up to 2048 sampled rows and d + 1 numbers for each class
    that was predicted in training: 188 MB for 30,522 classes of 768 features, if all of them
    were. Rows are scored in blocks of 32 MiB of logits; a linear head is kept in float64 for that.

    Parameters
    ----------
    model : torch.nn.Module
        The trained network. Inputs are tensors, dicts for its keywords, or tuples.
    layer : None, str, module or pair of functions, default=None
        The last linear layer; None finds it in a forward pass. Or two functions
        ``(features, head)``, from inputs to features and from features to logits.
    task : "auto", "multiclass", "multilabel" or "regression", default="auto"
        What the outputs are: logits of classes, of independent yes-or-no labels, or numbers.
        ``"auto"`` treats two or more outputs as classes and raises if there is only one.
    alpha : "auto" or float, default="auto"
        Ridge penalty of the leverage. ``"auto"`` is a hundred-millionth of the total squared norm
        of the rows: features outside the span of the training features then have a large
        leverage, finite and free of round-off. At 0 their leverage is infinite.
    normalize : "auto" or bool, default="auto"
        Scale features to unit norm. ``"auto"`` does, except for regression.
    bias_column : "auto" or bool, default="auto"
        Add a column of ones to the features. ``"auto"`` does for regression only.
    scale : "auto", float or None, default="auto"
        The regret takes its probabilities from the head at ``scale`` times the unit features.
        ``"auto"`` is the scale at which left-out classes are best separated from the others;
        None uses the network's own probabilities.
    regions : bool, default=True
        Take the leverage within the region of the class that the network predicts, with the log
        of the norm as one more column. Only for one label of several classes; other tasks
        name no class and are scored as with False, as in version 0.1. A module that was saved by
        0.1 is scored so when loaded.
    precision : "double" or "single", default="double"
        Precision of the logits behind the regret. ``"single"`` uses the network's own float32
        logits, or halves the time to compute them: for heads of thousands of classes. Regrets then
        have about four digits, and fewer where the network is certain to one in a million; leverage
        and sums stay in float64.
    inputs : callable, optional
        From a batch to what the network takes: a tensor, a tuple of arguments or a dict of
        keywords. By default the first element of a tuple, and a dict without its labels.

    Notes
    -----
    The first rows that run show whether the network returns the logits of the layer. A scale after
    it, pooled positions and adapters are taken into account; any other change raises InputError.

    Where the head gives logits at several positions (B, T, C), padding does not count, by ``mask=``
    or by the batch's own ``attention_mask`` and labels of -100: its regret, leverage and
    probabilities are NaN, and it is not trusted.

    Examples
    --------
    >>> _ = torch.manual_seed(0)
    >>> net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    >>> seen = torch.randn(200, 4) * torch.tensor([1.0, 1.0, 1.0, 0.0])
    >>> m = LastLayerPNML(net).fit([seen[:100], seen[100:]])
    >>> out = m(torch.tensor([[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 9.0]]))
    >>> bool(out.regret[1] > out.regret[0])
    True
    >>> out.probs.shape, m.trusted(seen).double().mean() > 0.9
    (torch.Size([2, 3]), tensor(True))
    """

    def __init__(
        self,
        model: nn.Module | None,
        layer: Layer = None,
        *,
        task: TaskName = "auto",
        alpha: NumberOrAuto = "auto",
        normalize: FlagOrAuto = "auto",
        bias_column: FlagOrAuto = "auto",
        scale: NumberOrAuto | None = "auto",
        regions: bool = True,
        precision: Literal["double", "single"] = "double",
        inputs: Callable[[Any], Any] | None = None,
    ) -> None:
        super().__init__()
        self.settings = Settings(task, alpha, normalize, bias_column, scale, regions, precision)
        self.model = model
        self.statistic = StatisticBuffers()
        self.fingerprint = NetworkFingerprint()  # of the network when rows were counted
        self._split = SplitModel(model, layer, inputs)
        self._known: tuple[Any, Scorer] | None = None  # revision of statistic and head
        self._reference = CachedReference()

    @classmethod
    def from_embeddings(
        cls,
        weight: ArrayOrFrame,
        bias: ArrayOrFrame | None,
        embeddings: ArrayOrFrame,
        **settings: Any,
    ) -> Self:
        """A module fitted to embeddings (n, d), with the weight (C, d) and bias (C,) of their head.

        Its inputs are embeddings. A bias of None means none. Settings are those of the class.

        >>> m = LastLayerPNML.from_embeddings(torch.eye(3), None, torch.eye(3).repeat(9, 1))
        >>> m(torch.eye(3)).regret.shape
        torch.Size([3])
        """
        weight = floats_of(weight)
        check_shapes(weight, bias)
        head = linear_module(weight, None if bias is None else floats_of(bias))
        return cls(head, **settings).fit_features(embeddings)

    def fit(
        self,
        loader: Loader,
        *,
        mask: Mask = None,
        inputs: Callable[[Any], Any] | None = None,
        distributed: object = False,
        progress: bool | None = None,
    ) -> Self:
        """Learn from the training inputs of a loader, in one pass and constant memory.

        Parameters
        ----------
        loader : iterable of batches
            The first element of a tuple is the input; a dict is passed as keywords to the
            network. Batches are moved to the device of the network.
        mask : callable, str, tensor, array or False, optional
            Positions that count: a function of a batch, an entry of a dict, or the mask of the
            only batch. By default ``attention_mask`` and labels of -100; False counts all.
        inputs : callable, optional
            From a batch to what the network takes; stays in use for new inputs.
        distributed : bool or process group, default=False
            Sum over the processes of torch.distributed: each passes a loader of its own part of
            the rows, or of none, and all end with the statistic of all rows. The network must be
            the same in all of them.
        progress : bool, optional
            Show a bar; by default where the standard error is a terminal and rich is installed.
        """
        self._split.inputs = checked_inputs(inputs) or self._split.inputs
        processes = None if distributed is False else Processes.of(distributed)
        show = progress if processes is None or processes.rank == 0 else False

        def count() -> FeatureStatistic | None:
            batches = tracked(batches_of(loader), "Counting training features", show)
            return self._statistic_of(batches, None, mask)

        if processes is None:
            return self._keep(count())
        return self._sum_over(processes, count)

    def all_reduce(self, group: object = None) -> Self:
        """Add up the training rows of all processes of torch.distributed; all get the same sum.

        For rows that came by `partial_fit` or `fit_features`; a process may have none. Call it
        once, in all processes. `group` is a process group, by default the one of all processes.
        """
        return self._sum_over(Processes.of(group), self._statistic)

    @one_at_a_time
    def partial_fit(self, batch: object, *, mask: Mask = None) -> Self:
        """Learn from one more batch of training inputs; a mask may leave positions out."""
        if self.statistic.fitted:
            self.fingerprint.check(self._split)
        return self._keep(self._statistic_of([batch], self._statistic(), mask))

    @one_at_a_time
    def fit_features(self, features: ArrayOrFrame) -> Self:
        """Learn from training features (n, d), inputs of the last layer, instead of inputs."""
        return self._add_features(features, None)

    @one_at_a_time
    def partial_fit_features(self, features: ArrayOrFrame) -> Self:
        """Learn from more training features (n, d), inputs of the last layer; earlier ones stay."""
        return self._add_features(features, self._statistic())

    def forward(self, batch: Any = None, *, mask: Mask = None, **inputs: Any) -> LastLayerOutput:
        """Logits, leverage and regret of inputs.

        The first element of a tuple is the input; a dict, or keywords, are passed as keywords to
        the network. It runs in eval mode, and gradients flow as through the network alone. At
        positions that are padding, by `mask` or by the batch itself, regret and leverage are NaN.
        """
        self._check_fitted()
        batch, mask = batch_of_call(batch, mask, inputs, self.model)
        return self._scored(read(self._split, batch, mask))

    def score_features(self, features: ArrayOrFrame) -> LastLayerOutput:
        """Logits, leverage and regret of features (..., d), as `forward` gives them for inputs."""
        self._check_fitted()
        values = features_of_rows(features)
        self._split.head(values.shape[-1])  # refuses other widths
        return self._scored(Reading("The array", values, None, None))

    def thresholds(self, level: float = DEFAULT_LEVEL) -> Thresholds:
        """Largest regret and leverage of a trusted input: `level` quantiles over training rows.

        They are computed again after a new fit, another scale or changed weights of the layer.
        """
        level = check_level(level)
        return self._reference.thresholds(level, self._reference_state(), self._left_out)

    @property
    def reference_(self) -> Reference:
        """Regrets and leverages (m,) of sampled training rows, each as if left out of training."""
        return self._reference.reference(self._reference_state(), self._left_out)

    @property
    def rows_(self) -> int:
        """Number of training rows."""
        return int(self.statistic.counts[0])

    @property
    def alpha_(self) -> float:
        """The ridge penalty of the leverage: `alpha` as given, or as "auto" set it."""
        return self._scorer().geometry.alpha

    @property
    def scale_(self) -> float | None:
        """Norm of features for the regret, as given or chosen; None: as they are. Eq. (F12)."""
        scorer, scale = self._scorer(), self.settings.scale
        if scorer.task is REGRESSION or scale is None:
            return None
        if scale != "auto":
            return float(scale)
        if not scorer.geometry.statistic.form.normalize:
            return None
        stored = self.statistic.chosen_scale
        return scorer.own_scale if stored is None else stored

    def __add__(self, other: LastLayerPNML) -> LastLayerPNML:
        """The same network with the training rows of both modules."""
        if not isinstance(other, LastLayerPNML):
            return NotImplemented
        self._check_fitted()
        other._check_fitted()
        both = type(self)(self.model, self._split.layer, **vars(self.settings))
        both._split = self._split
        both.fingerprint.load_state_dict(self.fingerprint.state_dict())
        both.statistic.to(self.statistic.xx.device)
        both.statistic.store(self.statistic.counted + other.statistic.counted)
        self.fingerprint.refuse_other(other.fingerprint)
        return both

    def _statistic(self) -> FeatureStatistic | None:
        return self.statistic.counted if self.statistic.fitted else None

    def _statistic_of(
        self, batches: Iterable[Any], start: FeatureStatistic | None, mask: Mask
    ) -> FeatureStatistic | None:
        """Statistic of the features of batches, added to `start`; None if there are no batches."""
        builder: StatisticBuilder | None = None
        padding = Padding()
        for number, batch in enumerate(batches):
            with torch.no_grad():
                reading = read(self._split, batch, mask, f"Batch {number}")
            if builder is None:
                builder = self._builder(reading.width, reading.outputs, start)
            builder.add(numpy_rows(padding.without(reading)), reading.name, reading.labels)
        padding.refuse_nothing_else("fit")
        return None if builder is None else builder.total()

    def _scored(self, reading: Reading) -> LastLayerOutput:
        """Output for the features of a batch; warns if the weights have changed since the fit."""
        self.fingerprint.check(self._split)
        return masked_output(self._scorer(), reading, self.scale_)

    def _sum_over(self, processes: Processes, count: Callable[[], FeatureStatistic | None]) -> Self:
        """Keep the sum of what all processes count; all get the same layer and scale, too."""
        own, reports = processes.attempt(count, lambda own: (Share.of(own), self._split.found))
        total = summed(own, [share for share, _ in reports], processes)
        self._split.use_layer(next((found for _, found in reports if found is not None), None))
        self._keep(total)
        _, scales = processes.attempt(lambda: self.scale_, lambda scale: scale)
        return self._keep_scale(scales[0])

    def _add_features(self, features: Any, start: FeatureStatistic | None) -> Self:
        values = features_of_rows(features)
        width = values.shape[-1]
        rows = values.reshape(-1, width)
        head = ScaledHead(self._split.head(width))
        builder = self._builder(width, head.head.outputs(width), start, len(rows))
        labels = head.predicted(rows) if builder.form.regions else None
        builder.add(numpy_rows(rows), "The array", labels)
        return self._keep(builder.total())

    def _builder(
        self, width: int, outputs: int, start: FeatureStatistic | None, coming: int = 0
    ) -> StatisticBuilder:
        """Builder for features of this width; raises if `start` has rows of another form."""
        task = task_of(self.settings.task, outputs, self._split.link)
        form = self.settings.form(width, task, outputs)
        if start is not None and not start.form.regions:  # of version 0.1: they go on without
            form = replace(form, regions=0)
        if start is not None and form != start.form:
            raise InputError(
                f"Rows of {form} cannot be counted with the rows of {start.form} counted before; "
                "use fit to begin anew."
            )
        return StatisticBuilder(FeatureStatistic.empty(form) if start is None else start, coming)

    def _keep(self, statistic: FeatureStatistic | None) -> Self:
        if statistic is None or statistic.rows == 0:
            raise InputError(
                "There is nothing to fit, since not one training row came; pass a loader or "
                "features with rows in them."
            )
        self.statistic.store(statistic)
        self.fingerprint.store(self._split)
        return self

    def _keep_scale(self, scale: float | None) -> Self:
        """Store a scale chosen from the training rows."""
        if self.settings.scale == "auto" and scale is not None:
            self.statistic.keep_scale(scale)
        return self

    def _save_to_state_dict(self, *args: Any, **kwargs: Any) -> None:
        """Store the scale of rows counted here, so that a saved module need not choose it again.

        The state_dict is then the same before and after forward passes, which store nothing.
        """
        if self.statistic.needs_scale:
            self._keep_scale(self.scale_)
        super()._save_to_state_dict(*args, **kwargs)

    def _check_fitted(self) -> None:
        if not self.statistic.fitted:
            raise InputError(
                "This LastLayerPNML has seen no training rows; call fit(loader) or "
                "fit_features(features), or load a state_dict, first."
            )

    def _left_out(self) -> Reference:
        scorer = self._scorer()
        return Reference(scorer.sample_regrets(self.scale_), leverages=scorer.geometry.left_out)

    def _reference_state(self) -> tuple[Any, ...]:
        """Everything the reference depends on, in a form that is cheap to compare."""
        return self.statistic.revision, self.scale_, self.settings, self._split.head_version()

    def _scorer(self) -> Scorer:
        self._check_fitted()
        state = self.statistic.revision, self._split.revision
        if self._known is None or self._known[0] != state:
            statistic = self.statistic.counted
            head = self._split.head(width := statistic.form.features)
            task = task_of(self.settings.task, head.outputs(width))
            geometry = Geometry.of(statistic, self.settings.penalty)
            self._known = state, Scorer(geometry, head, task, self.settings.precision)
        return self._known[1]
