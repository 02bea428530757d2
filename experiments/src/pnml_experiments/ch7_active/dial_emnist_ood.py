"""Active learning on EMNIST, from a pool of as many clothes as characters."""

from __future__ import annotations

from pnml_experiments.ch7_active.dial_emnist import run_pool
from pnml_experiments.framework.experiment import Progress, Scale
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.result import Result


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """Labels to reach accuracies, and how many of them were spent on clothes."""
    return run_pool("dial-emnist-ood", scale, out, progress, polluted=True)
