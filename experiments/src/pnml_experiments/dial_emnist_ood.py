"""Active learning on EMNIST, from a pool of as many clothes as characters."""

from __future__ import annotations

from pnml_experiments.dial_emnist import run_pool
from pnml_experiments.experiment import Progress, Scale
from pnml_experiments.output import Output
from pnml_experiments.result import Result


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """Labels to reach accuracies, and how many of them were spent on clothes."""
    return run_pool("dial-emnist-ood", scale, out, progress, polluted=True)
