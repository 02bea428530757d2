"""All that can be run again. Listing it imports none of it."""

from __future__ import annotations

from difflib import get_close_matches

from pnml.errors import InputError
from pnml_experiments.active_entries import ACTIVE
from pnml_experiments.adversarial_entries import ADVERSARIAL
from pnml_experiments.framework.experiment import Experiment
from pnml_experiments.linear_entries import LINEAR
from pnml_experiments.network_entries import NETWORKS
from pnml_experiments.synthetic_entries import SYNTHETIC
from pnml_experiments.table_entries import BENCHMARK, STUDIES

EXPERIMENTS: tuple[Experiment, ...] = (
    *SYNTHETIC,
    *BENCHMARK,
    *LINEAR,
    *NETWORKS,
    *ADVERSARIAL,
    *ACTIVE,
    *STUDIES,
)


def find(name: str) -> Experiment:
    """The experiment of this name.

    >>> find("iris-maps").chapter
    5
    """
    named = {experiment.id: experiment for experiment in EXPERIMENTS}
    if name not in named:
        near = get_close_matches(name, named, n=1)
        meant = f"did you mean {near[0]}?" if near else "run pnml reproduce to list all."
        raise InputError(f"There is no experiment {name}; {meant}")
    return named[name]
