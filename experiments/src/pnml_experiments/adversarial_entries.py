"""Experiments on attacked inputs."""

from __future__ import annotations

from pnml_experiments.framework.experiment import Experiment
from pnml_experiments.framework.stored_files import ATTACKED

ADVERSARIAL = (
    Experiment(
        "adversarial-toy",
        6,
        "Two mechanisms of the adversarial defence, in the plane",
        "ch6_adversarial.adversarial_toy",
        extras=("plots", "torch"),
        minutes=(0.2, 1.0),
    ),
    Experiment(
        "adversarial-scheme",
        6,
        "The adversarial defence from end to end",
        "ch6_adversarial.adversarial_scheme",
        extras=("plots", "torch"),
        minutes=(0.05, 0.5),
    ),
    Experiment(
        "adversarial-digits",
        6,
        "The adversarial defence on a very small network, several seeds",
        "ch6_adversarial.adversarial_digits",
        extras=("plots", "torch"),
        minutes=(0.3, 60.0),
        beyond=True,
    ),
    Experiment(
        "adversarial-mnist",
        6,
        "The adversarial defence on MNIST, in both protocols",
        "ch6_adversarial.adversarial_mnist",
        needs=ATTACKED,
        extras=("plots", "torch"),
        minutes=(0.5, 240.0),
    ),
    Experiment(
        "adversarial-curves",
        6,
        "The adversarial defence by radius, strength and steps",
        "ch6_adversarial.adversarial_curves",
        needs=ATTACKED,
        extras=("plots", "torch"),
        minutes=(0.8, 60.0),
    ),
    Experiment(
        "adversarial-holds",
        6,
        "Versions of the adversarial defence in the worst case",
        "ch6_adversarial.adversarial_holds",
        needs=ATTACKED,
        extras=("plots", "torch"),
        minutes=(0.2, 120.0),
        beyond=True,
    ),
)
