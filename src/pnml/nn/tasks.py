"""Tasks of a head: how its outputs and the leverage become a regret."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from array_api_compat import array_namespace

from pnml.core import gaussian, softmax
from pnml.core.arrays import Array
from pnml.errors import InputError


@dataclass(frozen=True)
class Task:
    """What the outputs of a head are: how logits (n, C) and leverages (n,) become a regret.

    Both functions take logits and leverages: `regret` gives (n,) in nats, `log_prob` the pNML
    log-probabilities (n, C); it is None if outputs are not probabilities.
    """

    name: str
    regret: Callable[[Array, Array], Array]
    log_prob: Callable[[Array, Array], Array] | None  # None if outputs are not probabilities


def _class_regret(logits: Array, leverage: Array) -> Array:
    return softmax.regret_of_logits(logits, leverage)


def _class_log_prob(logits: Array, leverage: Array) -> Array:
    return softmax.predictive(softmax.log_softmax(logits), leverage).log_prob


def _yes_log_prob(logits: Array, leverage: Array) -> Array:
    """Log-probability (n, L) of yes for each label."""
    xp = array_namespace(leverage)
    shared = xp.broadcast_to(leverage[:, None], tuple(logits.shape))
    return softmax.predictive(softmax.sigmoid_log_probs(logits), shared).log_prob[..., 1]


def _number_regret(logits: Array, leverage: Array) -> Array:
    return gaussian.regret(leverage)


MULTICLASS = Task("multiclass", _class_regret, _class_log_prob)
MULTILABEL = Task("multilabel", softmax.sigmoid_regret, _yes_log_prob)
REGRESSION = Task("regression", _number_regret, None)
TaskName = Literal["auto", "multiclass", "multilabel", "regression"]
TASKS = {task.name: task for task in (MULTICLASS, MULTILABEL, REGRESSION)}


def task_of(name: str, outputs: int, link: str = "none") -> Task:
    """The task of this name; "auto" treats two or more outputs as classes, and raises for one.

    `link` is the function that the network applies to its logits: "none", "softmax" or "sigmoid".
    With "auto", a sigmoid of several outputs raises, as it means independent labels.

    >>> task_of("auto", 10).name
    'multiclass'
    """
    if name != "auto":
        return TASKS[name]
    if outputs > 1 and link == "sigmoid":
        raise InputError(
            f"The network returns sigmoids of {outputs} outputs, which are independent labels and "
            'no classes; pass task="multilabel", or task="multiclass" if they are classes.'
        )
    if outputs > 1:
        return MULTICLASS
    raise InputError(
        "The head has one output, which may be a number or the logit of a yes; pass "
        'task="regression" or task="multilabel" to say which.'
    )
