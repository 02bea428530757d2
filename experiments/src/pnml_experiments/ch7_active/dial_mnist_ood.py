"""Active learning on MNIST, from a pool of as many clothes as digits."""

from __future__ import annotations

from pnml_experiments.ch7_active.dial_mnist import run_pool
from pnml_experiments.framework.evidence import Claim, Evidence, Verdict, by_count, interval_text
from pnml_experiments.framework.experiment import Experiment, Progress, Scale
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.result import Result

EXPERIMENT = Experiment(
    id="dial-mnist-ood",
    chapter=7,
    title="Active learning on MNIST, as many clothes as digits in the pool",
    needs=("mnist", "fashion-mnist"),
    extras=("plots", "torch"),
    scales=("small", "medium", "full"),
    minutes=(1.5, 80.0, 800.0),
)


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """Labels to reach accuracies, and how many of them were spent on clothes."""
    return run_pool("dial-mnist-ood", scale, out, progress, polluted=True)


_ACCURACY_TABLE = "Accuracy in percent, on average over all rounds"


def _judge_labels(evidence: Evidence) -> Verdict:
    gains = {
        rival: evidence.ours(_ACCURACY_TABLE, number="DIAL less this", strategy=rival)
        for rival in ("random", "BALD", "EPIG")
    }
    said = "Mean accuracy of DIAL less that of " + "; ".join(
        f"{rival}: {interval_text(gain)} points" for rival, gain in gains.items()
    )
    clear = sum(gain.low > 0 for gain in gains.values())
    return by_count(clear, len(gains), f"{said}. Reduced network and rounds, 5 seeds.")


def _judge_strange_picks(evidence: Evidence) -> Verdict:
    shares = {
        name: evidence.ours("Picks out of distribution", strategy=name)
        for name in ("DIAL", "BALD", "EPIG", "random")
    }
    said = "Share of strange picks: " + ", ".join(
        f"{n} {interval_text(s)} %" for n, s in shares.items()
    )
    dial, rivals = shares["DIAL"], [shares[name] for name in ("BALD", "EPIG", "random")]
    if all(dial.high < rival.low for rival in rivals):
        return Verdict("holds", f"{said}.")
    fewer = all(dial.value < rival.value for rival in rivals)
    return Verdict("holds in part" if fewer else "does not hold", f"{said}; intervals overlap.")


CLAIMS = (
    Claim(
        7,
        "With strange images in the pool DIAL needs fewer labels than its rivals.",
        "dial-mnist-ood",
        _judge_labels,
    ),
    Claim(
        7,
        "DIAL picks fewer strange images than its rivals.",
        "dial-mnist-ood",
        _judge_strange_picks,
    ),
)
