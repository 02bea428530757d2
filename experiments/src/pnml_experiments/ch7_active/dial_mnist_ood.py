"""Active learning on MNIST, from a pool of as many clothes as digits."""

from __future__ import annotations

from pnml_experiments.ch7_active.dial_mnist import run_pool
from pnml_experiments.framework.experiment import Progress, Scale
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.result import Result


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """Labels to reach accuracies, and how many of them were spent on clothes."""
    return run_pool("dial-mnist-ood", scale, out, progress, polluted=True)
