"""Active learning on EMNIST, from a pool of as many clothes as characters."""

from __future__ import annotations

from pnml_experiments.ch7_active.dial_emnist import run_pool
from pnml_experiments.framework.experiment import Experiment, Progress, Scale
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.result import Result

EXPERIMENT = Experiment(
    id="dial-emnist-ood",
    chapter=7,
    title="Active learning on EMNIST, as many clothes as characters in the pool",
    needs=("emnist", "fashion-mnist"),
    extras=("plots", "torch"),
    scales=("small", "medium", "full"),
    minutes=(2.1, 120.0, 1200.0),
)


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """Labels to reach accuracies, and how many of them were spent on clothes."""
    return run_pool("dial-emnist-ood", scale, out, progress, polluted=True)
