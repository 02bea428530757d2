"""Checks of the arguments of defences and attacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from pnml.adversarial.refinement import Refinement
from pnml.errors import InputError
from pnml.runtime.checks import is_number, is_whole

# Rounding errors by which inputs may leave the range: attacks add and subtract before clipping.
_ROUNDINGS = 16


def check_module(model: Any) -> nn.Module:
    """A model to defend or attack, checked to be a PyTorch network."""
    if not isinstance(model, nn.Module):
        raise InputError(
            f"The model is a {type(model).__name__}, but inputs are refined along the gradient of "
            "a network; pass a torch.nn.Module."
        )
    return model


def check_count(value: Any, name: str) -> int:
    """Argument `name` of an attack or a defence as an int, checked to be whole and at least 1."""
    if not is_whole(value, 1):
        raise InputError(f"{name} is {value!r}; pass a whole number of at least 1.")
    return int(value)


def check_bounds(bounds: Any) -> tuple[float, float]:
    """Least and greatest value of an input as floats, checked to be two rising numbers."""
    pair = isinstance(bounds, Sequence | np.ndarray) and len(bounds) == 2
    if not pair or not all(is_number(bound, -np.inf) for bound in bounds):
        raise InputError(
            f"bounds is {bounds!r}, but it is the least and the greatest value of an input; pass "
            "two numbers, for instance bounds=(0, 1)."
        )
    low, high = map(float, bounds)
    if low >= high:
        raise InputError(
            f"bounds is ({low:g}, {high:g}), whose first number is not below its second; pass the "
            "least value first."
        )
    return low, high


def check_length(value: Any, name: str, bounds: tuple[float, float]) -> float:
    """The largest change of an input, checked: at least 0 and at most the whole range.

    `name` says in the error which argument it is: the strength of a defence or the radius of an
    attack.
    """
    low, high = bounds
    if not is_number(value, 0.0) or float(value) > high - low:
        raise InputError(
            f"{name} is {value!r}, but inputs lie between {low:g} and {high:g}; pass a number from "
            f"0 to {high - low:g}."
        )
    return float(value)


def refinement_of(strength: Any, steps: Any, step_size: Any, bounds: Any) -> Refinement:
    """The refinement with these settings, checked; step_size None means strength / steps.

    >>> refinement_of(0.1, 4, None, (0, 1)).step_size
    0.025
    """
    pair = check_bounds(bounds)
    length, count = check_length(strength, "strength", pair), check_count(steps, "steps")
    size = length / count if step_size is None else step_size
    if step_size is not None and not (is_number(size, 0.0) and size > 0):
        raise InputError(
            f"step_size is {step_size!r}, but a step must lead somewhere; pass a number above 0, "
            "or None for strength / steps."
        )
    return Refinement(length, count, float(size), *pair)


def changed(settings: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a defence with some of them replaced; raises InputError for unknown names."""
    unknown = sorted(set(changes) - set(settings))
    if unknown:
        raise InputError(
            f"A defence has no setting {unknown[0]!r}; it has {', '.join(settings)}: pass one of "
            "them."
        )
    return {**settings, **changes}


def check_inputs(x: Any, bounds: tuple[float, float]) -> Tensor:
    """A batch of inputs (n, ...), checked: a tensor of floats without NaN, within the bounds."""
    if not isinstance(x, Tensor):
        raise InputError(
            f"The input is a {type(x).__name__}, but gradients need a tensor; pass one, for "
            "instance torch.as_tensor(x)."
        )
    if not x.is_floating_point():
        raise InputError(
            f"The input is {x.dtype}, but it is moved by fractions; convert it and scale it as in "
            "training, for instance x.float() / 255."
        )
    if x.ndim < 2:
        raise InputError(
            f"The input has shape {tuple(x.shape)}, but a batch is needed; pass (n, ...), for "
            "instance x[None]."
        )
    if not x.numel():
        return x
    least, most = (float(end) for end in torch.aminmax(x.detach()))
    low, high = bounds
    if np.isnan(least):
        count = int(torch.isnan(x.detach()).sum())
        raise InputError(f"The input holds {count} NaN, which nothing can refine; drop those rows.")
    slack = _ROUNDINGS * torch.finfo(x.dtype).eps * max(abs(low), abs(high))
    if least < low - slack or most > high + slack:
        raise InputError(
            f"The input goes from {least:g} to {most:g}, but the bounds are {low:g} and {high:g}; "
            "scale it, or pass the bounds= of your data."
        )
    return x


def check_labels(labels: Any, rows: int, classes: int) -> Tensor:
    """Labels of attacked inputs as an int64 tensor (rows,), checked: each from 0 to classes − 1."""
    y = torch.as_tensor(labels)
    whole = not (y.is_floating_point() or y.is_complex() or y.dtype == torch.bool)
    if tuple(y.shape) != (rows,) or not whole:
        raise InputError(
            f"The labels are {y.dtype} of shape {tuple(y.shape)}, but there are {rows} inputs; "
            "pass one whole number for each."
        )
    if rows and (int(y.min()) < 0 or int(y.max()) >= classes):
        raise InputError(
            f"The labels go from {int(y.min())} to {int(y.max())}, but the network has {classes} "
            f"classes; pass numbers from 0 to {classes - 1}."
        )
    return y.long()
