"""Settings of DIAL that might serve it better, on seeds that no other table uses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from pnml.active import LearningCurves, Strategy
from pnml.active.strategies import by_bald, by_dial, by_dial_batch, by_epig, by_margin, by_ual
from pnml_experiments.ch7_active.dial import DIAL, Setting, curves_of, result_of
from pnml_experiments.ch7_active.dial_pools import LEVELS, digits, settings
from pnml_experiments.framework.experiment import Experiment, Progress, Scale
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.result import Result

EXPERIMENT = Experiment(
    id="dial-variants",
    chapter=7,
    title="What might serve DIAL better on a polluted pool",
    minutes=(1.0, 80.0, 23000.0),
    extras=("plots", "torch"),
    scales=("small", "medium", "stored"),
    needs=("mnist", "fashion-mnist"),
    beyond=True,
)

_FIRST_SEED = 100
_SEEDS = {"small": 2, "medium": 3, "full": 6}
_WORDS = (
    "What might serve DIAL better: another temperature, more passes, more targets, or a batch "
    "whose members know of each other; EPIG, UAL, which picks as EPIG does, BALD and the margin "
    f"for comparison. The seeds are from {_FIRST_SEED} on, which no other table uses, so that a "
    "setting can be chosen here and "
    "judged there. "
)


@dataclass(frozen=True)
class _Variant:
    """A strategy, and in what its setting differs from the others'."""

    strategy: Strategy
    more_passes: int = 1  # times as many
    more_targets: int = 1

    def setting(self, usual: Setting, scale: Scale) -> Setting:
        return replace(
            usual,
            passes=self.more_passes * usual.passes,
            targets=self.more_targets * usual.targets,
            strategies=(self.strategy,),
            seeds=_SEEDS[scale],
            first_seed=_FIRST_SEED,
        )


VARIANTS = (
    _Variant(by_dial(5.0, DIAL)),
    _Variant(by_dial(2.0, "DIAL, T = 2")),
    _Variant(by_dial(1.0, "DIAL, T = 1")),
    _Variant(by_dial(5.0, "DIAL, 3 × passes"), more_passes=3),
    _Variant(by_dial(5.0, "DIAL, 4 × targets"), more_targets=4),
    _Variant(by_dial_batch(5.0, "DIAL, batch")),
    _Variant(by_epig()),
    _Variant(by_ual()),
    _Variant(by_bald()),
    _Variant(by_margin()),
)


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """Curves of all variants from the pool of digits and clothes."""
    usual = settings("MNIST")[scale]
    data = digits(usual.test, polluted=True, validated=usual.training.patience > 0)
    curves: list[LearningCurves] = []
    for at, variant in enumerate(VARIANTS):
        setting = variant.setting(usual, scale)

        def tell(done: int, total: int, at: int = at) -> None:
            progress(at * total + done, len(VARIANTS) * total)

        curves.append(curves_of(data, setting, out, tell))
    joined = replace(
        curves[0],
        accuracy=_joined(curves, "accuracy"),
        strange=_joined(curves, "strange"),
    )
    words = _WORDS + usual.words
    return result_of("dial-variants", "MNIST", "polluted", LEVELS["MNIST"][:2], joined, words)


def _joined(curves: list[LearningCurves], field: str) -> dict[str, Any]:
    return {name: values for part in curves for name, values in getattr(part, field).items()}
