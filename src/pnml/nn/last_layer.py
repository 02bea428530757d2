"""pNML on the last layer of a trained network."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from pnml.core.arrays import FloatArray
from pnml.core.trust import DEFAULT_LEVEL, Reference, Thresholds, check_level
from pnml.errors import InputError
from pnml.nn.batches import batches_of, tensor_of
from pnml.nn.cached_reference import CachedReference
from pnml.nn.distributed import Processes
from pnml.nn.feature_geometry import Geometry
from pnml.nn.feature_rows import numpy_rows
from pnml.nn.feature_statistic import Counted, Counting
from pnml.nn.head import linear_module
from pnml.nn.last_layer_output import LastLayerOutput
from pnml.nn.last_layer_settings import Settings
from pnml.nn.progress import tracked
from pnml.nn.scorer import Judge
from pnml.nn.shared import Share, added_up
from pnml.nn.split_model import TakenApart
from pnml.nn.statistic_buffers import FeatureStatistic
from pnml.nn.tasks import REGRESSION, task_of


class LastLayerPNML(nn.Module):
    """A trained network that says, input by input, how far hindsight could beat it.

    One pass over the training inputs counts the features that the last layer sees; the network
    itself stays as it is. An input whose features lie where training had few of them, or where
    the head is unsure, gets a large regret. No label, no second data set, no training.

    Parameters
    ----------
    model : torch.nn.Module
        The trained network. Inputs are tensors, dicts for its keywords, or tuples.
    layer : None, str, module or pair of functions, default=None
        The last linear layer: by itself it is found in a forward pass. Or two functions
        ``(features, head)``, from inputs to features and from features to logits.
    task : "auto", "multiclass", "multilabel" or "regression", default="auto"
        What the outputs are: logits of classes, of independent yes-or-no labels, or numbers.
        ``"auto"`` takes two or more outputs for classes and asks where there is one.
    alpha : "auto" or float, default="auto"
        Ridge penalty of the leverage. ``"auto"`` is a hundred-millionth of the total squared norm
        of the rows: what lies in no direction of the training features then has a large leverage,
        finite and free of round-off. At 0 it is infinite.
    normalize : "auto" or bool, default="auto"
        Scale features to unit norm. ``"auto"`` does, except for regression.
    bias_column : "auto" or bool, default="auto"
        Add a column of ones to the features. ``"auto"`` does for regression only.
    scale : "auto", float or None, default="auto"
        The regret takes its probabilities from the head at ``scale`` times the unit features.
        ``"auto"`` is the scale at which left-out classes are best told from the others;
        None are the network's own probabilities.

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
        model: Any,
        layer: Any = None,
        *,
        task: str = "auto",
        alpha: Any = "auto",
        normalize: Any = "auto",
        bias_column: Any = "auto",
        scale: Any = "auto",
    ) -> None:
        super().__init__()
        self.settings = Settings(task, alpha, normalize, bias_column, scale)
        self.model = model
        self.statistic = FeatureStatistic()
        self._parts = TakenApart(model, layer)
        self._known: tuple[int, Judge] | None = None
        self._reference = CachedReference()

    @classmethod
    def from_embeddings(cls, weight: Any, bias: Any, embeddings: Any, **settings: Any) -> Self:
        """A module fitted to embeddings (n, d) and the weight (C, d) and bias (C,) of their head.

        Embeddings are then what it takes as inputs. A bias of None is a head without one.

        >>> m = LastLayerPNML.from_embeddings(torch.eye(3), None, torch.eye(3).repeat(9, 1))
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
        return cls(head, **settings).fit_features(embeddings)

    def fit(self, loader: Any, *, distributed: Any = False, progress: bool | None = None) -> Self:
        """Count the training inputs that a loader gives, in one pass and constant memory.

        Parameters
        ----------
        loader : iterable of batches
            Of a tuple, the first element is the input; dicts go to the keywords of the network.
            Batches are moved to the device of the network.
        distributed : bool or process group, default=False
            Add up over the processes of torch.distributed: each passes a loader of its own part
            of the rows, or of none, and all end with the statistic of the whole. The network must
            be the same in all of them.
        progress : bool, optional
            Show a bar; by default where the standard error is a terminal and rich is installed.
        """
        processes = None if distributed is False else Processes.of(distributed)
        show = progress if processes is None or processes.rank == 0 else False

        def counted() -> Counted | None:
            batches = tracked(batches_of(loader), "Counting training features", show)
            return self._counted_rows(batches, None)

        if processes is None:
            return self._keep(counted())._keep_scale(self.scale_)
        return self._share(counted, processes)

    def all_reduce(self, group: Any = None) -> Self:
        """Count the rows of all processes of torch.distributed, where each has counted its own.

        For rows that came by `partial_fit` or `fit_features`; a process may have none. Call it
        once, in all processes. `group` is a process group, by default the one of all of them.
        """
        return self._share(self._counted, Processes.of(group))

    def partial_fit(self, batch: Any) -> Self:
        """Count one more batch beside what was counted before."""
        return self._keep(self._counted_rows([batch], self._counted()))

    def fit_features(self, features: Any) -> Self:
        """Count the training features (n, d) themselves, where they are at hand."""
        return self._count_features(features, None)._keep_scale(self.scale_)

    def partial_fit_features(self, features: Any) -> Self:
        """Count more features (n, d) beside what was counted before."""
        return self._count_features(features, self._counted())

    def forward(self, batch: Any = None, **inputs: Any) -> LastLayerOutput:
        """What the network says of inputs, and how far it can be trusted there.

        Of a tuple, the first element is the input; a dict, or keywords, go to the keywords of the
        network. It runs in eval mode, and gradients flow as they do through it alone.
        """
        self._check_fitted()
        if batch is not None and inputs:
            raise InputError(
                f"An input came beside the keyword {next(iter(inputs))}, but of a batch there is "
                "one input; pass all of it by keywords, or as one dict."
            )
        given = self._parts.input_of(inputs if batch is None else batch)
        features, logits = self._parts.run(given)
        return self._judge().output(features, logits, self.scale_)

    def score_features(self, features: Any) -> LastLayerOutput:
        """What the head says of features (..., d), as `forward` does of inputs."""
        self._check_fitted()
        values = _floats(features)
        self._parts.head(values.shape[-1])  # refuses other widths
        return self._judge().output(values, None, self.scale_)

    def trusted(self, batch: Any, level: float = DEFAULT_LEVEL) -> Tensor:
        """Whether each input is as near to the training inputs as they are to each other.

        Neither its regret nor its leverage may pass the `level` quantile of those of training
        rows, each taken as if that row had not been there. Eq. (F8). A network that is sure of
        everything has little regret anywhere; its leverage still tells.
        """
        level = check_level(level)
        out = self.forward(batch)  # first, for it may still have to find the last layer
        trusted: Tensor = self.thresholds(level).trusts(out.regret, out.leverage)
        return trusted

    def thresholds(self, level: float = DEFAULT_LEVEL) -> Thresholds:
        """Largest regret and leverage of a trusted input: `level` quantiles of `reference_`.

        They are computed once for a level, and again after a new fit, another scale or changed
        weights of the last layer.
        """
        level = check_level(level)
        return self._reference.thresholds(level, self._reference_state(), self._left_out)

    def regret_threshold(self, level: float = DEFAULT_LEVEL) -> float:
        """Regret that this share of the training rows does not pass, each left out in turn.

        It comes from a uniform sample of up to 2048 training rows; those of infinite leverage do
        not count, and −inf is the answer where there are no others.
        """
        return self.thresholds(level).regret

    def leverage_threshold(self, level: float = DEFAULT_LEVEL) -> float:
        """Leverage that this share of the same rows does not pass, each left out in turn."""
        return self.thresholds(level).leverage

    @property
    def reference_(self) -> Reference:
        """Regrets and leverages of sampled training rows, each as if it had not been there."""
        return self._reference.reference(self._reference_state(), self._left_out)

    @property
    def sample_regrets_(self) -> FloatArray:
        """Regrets (m,) of sampled training rows, each as if it had not been there."""
        return self.reference_.regrets

    @property
    def rows_(self) -> int:
        """How many training rows were counted."""
        return int(self.statistic.counts[0])

    @property
    def alpha_(self) -> float:
        """The penalty in use."""
        return self._judge().geometry.alpha

    @property
    def scale_(self) -> float | None:
        """The scale in use; None for the network's own probabilities. Eq. (F12)."""
        judge, asked = self._judge(), self.settings.scale
        if judge.task is REGRESSION or asked is None:
            return None
        if asked != "auto":
            return float(asked)
        if not judge.geometry.counted.form.normalize:
            return None
        stored = self.statistic.chosen_scale
        return judge.own_scale if stored is None else stored

    def __add__(self, other: LastLayerPNML) -> LastLayerPNML:
        """The same network with the training rows of both modules."""
        if not isinstance(other, LastLayerPNML):
            return NotImplemented
        self._check_fitted()
        other._check_fitted()
        both = type(self)(self.model, self._parts.layer, **vars(self.settings))
        both._parts = self._parts
        both.statistic.to(self.statistic.xx.device)
        both.statistic.store(self.statistic.counted + other.statistic.counted)
        return both._keep_scale(both.scale_)

    def _counted(self) -> Counted | None:
        return self.statistic.counted if self.statistic.fitted else None

    def _counted_rows(self, batches: Iterable[Any], start: Counted | None) -> Counted | None:
        counting: Counting | None = None
        for number, batch in enumerate(batches):
            with torch.no_grad():
                features, logits = self._parts.run_anywhere(self._parts.input_of(batch))
            if counting is None:
                counting = self._counting(features.shape[-1], logits.shape[-1], start)
            counting.add(numpy_rows(features.flatten(0, -2)), f"Batch {number}")
        return None if counting is None else counting.total()

    def _share(self, counted: Callable[[], Counted | None], processes: Processes) -> Self:
        """Keep the rows that all processes count; layer and scale are the same in all, too."""
        own, told = processes.attempt(counted, lambda own: (Share.of(own), self._parts.layer_name))
        whole = added_up(own, [share for share, _ in told], processes)
        self._parts.settle(next((name for _, name in told if name is not None), None))
        self._keep(whole)
        _, scales = processes.attempt(lambda: self.scale_, lambda scale: scale)
        return self._keep_scale(scales[0])

    def _count_features(self, features: Any, start: Counted | None) -> Self:
        values = _floats(features)
        if values.ndim < 2:
            raise InputError(
                f"The features have shape {tuple(values.shape)}, but rows of features are needed; "
                "pass an array (n, d)."
            )
        width = values.shape[-1]
        rows = values.reshape(-1, width)
        outputs = self._parts.head(width).outputs(width)
        counting = self._counting(width, outputs, start, len(rows))
        counting.add(numpy_rows(rows), "The array")
        return self._keep(counting.total())

    def _counting(
        self, width: int, outputs: int, start: Counted | None, coming: int = 0
    ) -> Counting:
        """What counts rows of this width, if they go with those counted before."""
        form = self.settings.form(width, task_of(self.settings.task, outputs))
        if start is not None and form != start.form:
            raise InputError(
                f"Rows of {form} cannot be counted with the rows of {start.form} counted before; "
                "use fit to begin anew."
            )
        return Counting(Counted.nothing(form) if start is None else start, coming)

    def _keep(self, counted: Counted | None) -> Self:
        if counted is None or counted.rows == 0:
            raise InputError(
                "There is nothing to fit, since not one training row came; pass a loader or "
                "features with rows in them."
            )
        self.statistic.store(counted)
        return self

    def _keep_scale(self, scale: float | None) -> Self:
        """Store a scale chosen from the training rows; forward passes store nothing."""
        if self.settings.scale == "auto" and scale is not None:
            self.statistic.keep_scale(scale)
        return self

    def _check_fitted(self) -> None:
        if not self.statistic.fitted:
            raise InputError(
                "This LastLayerPNML has seen no training rows; call fit(loader) or "
                "fit_features(features), or load a state_dict, first."
            )

    def _left_out(self) -> Reference:
        judge = self._judge()
        return Reference(judge.sample_regrets(self.scale_), leverages=judge.geometry.left_out)

    def _reference_state(self) -> tuple[Any, ...]:
        """All that the reference depends on, cheap to compare."""
        return self.statistic.revision, self.scale_, self.settings, self._parts.head_version()

    def _judge(self) -> Judge:
        self._check_fitted()
        if self._known is None or self._known[0] != self.statistic.revision:
            counted = self.statistic.counted
            width = counted.form.features
            head = self._parts.head(width)
            task = task_of(self.settings.task, head.outputs(width))
            geometry = Geometry.of(counted, self.settings.penalty)
            self._known = self.statistic.revision, Judge(geometry, head, task)
        return self._known[1]


def _floats(values: Any) -> Tensor:
    """A tensor of floats with an axis or more that shares memory with what came, where it can."""
    try:
        array = None if isinstance(values, Tensor) else np.asarray(values)
        if array is not None and array.dtype.kind not in "fiub":
            array = array.astype(np.float64)
        tensor: Tensor = values if array is None else tensor_of(array)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"A {type(values).__name__} came that cannot be read as rows of equally many numbers; "
            "pass an array or a tensor of them."
        ) from error
    if tensor.ndim == 0:
        raise InputError("One number came, but rows of features are needed; pass an array (n, d).")
    return tensor if tensor.is_floating_point() else tensor.double()
