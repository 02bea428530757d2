"""Arguments of LastLayerPNML, checked."""

from __future__ import annotations

from dataclasses import dataclass

from pnml.errors import InputError
from pnml.nn.feature_rows import RowForm
from pnml.nn.scaled_head import PRECISIONS
from pnml.nn.tasks import MULTICLASS, REGRESSION, TASKS, Task
from pnml.runtime.checks import is_number


@dataclass(frozen=True)
class Settings:
    """Settings of LastLayerPNML: its arguments, with "auto" not yet resolved."""

    task: str
    alpha: float | str
    normalize: bool | str
    bias_column: bool | str
    scale: float | str | None
    regions: bool = True
    precision: str = "double"

    def __post_init__(self) -> None:
        names = ("auto", *TASKS)
        if self.task not in names:
            known = ", ".join(f'"{name}"' for name in names)
            raise InputError(f"task is {self.task!r}, which is none of {known}; pass one of them.")
        for name in ("normalize", "bias_column"):
            value = getattr(self, name)
            if not isinstance(value, bool) and value != "auto":
                raise InputError(f'{name} is {value!r}; pass True, False or "auto".')
        if self.precision not in PRECISIONS:
            raise InputError(f'precision is {self.precision!r}; pass "double" or "single".')
        if not isinstance(self.regions, bool):
            raise InputError(f"regions is {self.regions!r}; pass True or False.")
        if self.alpha != "auto" and not is_number(self.alpha, 0.0):
            raise InputError(
                f"alpha is {self.alpha!r}, but it must be a finite number of at least 0; pass "
                'alpha="auto" to leave it to the features.'
            )
        positive = is_number(self.scale, 0.0) and self.scale != 0
        if self.scale is not None and self.scale != "auto" and not positive:
            raise InputError(
                f"scale is {self.scale!r}, but it multiplies unit features; pass a positive "
                'number, "auto", or None for the network\'s own probabilities.'
            )

    def form(self, features: int, task: Task, outputs: int) -> RowForm:
        """How features become rows of the statistic: unit norm or not, bias column, regions.

        `features` and `outputs` are the numbers of inputs and logits of the head. "auto" leaves
        features of a regression head as they are and adds a bias column; others get unit norm and
        no bias column. Rows are grouped by predicted class, in regions, only for MULTICLASS.
        """
        raw = task is REGRESSION
        normalize = not raw if self.normalize == "auto" else bool(self.normalize)
        bias = raw if self.bias_column == "auto" else bool(self.bias_column)
        regions = outputs if self.regions and task is MULTICLASS else 0
        return RowForm(features, normalize, bias, regions)

    @property
    def penalty(self) -> float | None:
        """The ridge penalty of the leverage as given; None for "auto", which the features set."""
        return None if self.alpha == "auto" else float(self.alpha)
