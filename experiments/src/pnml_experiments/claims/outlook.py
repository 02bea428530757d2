"""Claims of chapter 8: what the thesis expects of further research."""

from __future__ import annotations

from pnml_experiments.framework.evidence import Claim, Evidence, Rule, Verdict, by_count

_TABLE = "Regret against what leaving a row out moves"
_WITHIN = "share of own moves within the bound"
_REFITTED = ("ridge", "classifier, refitted")  # the learners of the thesis, refitted exactly
_OTHERS = ("kernel", "forest, splits kept", "forest, grown again", "classifier, one step")


def _small_regret_small_move(learners: tuple[str, ...]) -> Rule:
    """A row's label moves its own prediction by no more than its regret allows."""

    def judge(evidence: Evidence) -> Verdict:
        shares = {
            name: evidence.ours(_TABLE, set="all", learner=name, number=_WITHIN)
            for name in learners
        }
        said = ", ".join(f"{name} {100 * share.value:.1f} %" for name, share in shares.items())
        good = sum(share.low >= 1 for share in shares.values())
        return by_count(
            good,
            len(shares),
            f"The thesis has no such rows. Moves that are within what the regret allows: {said}.",
        )

    return judge


CLAIMS = (
    Claim(
        8,
        "Small pNML regret usually means … that the test label value does not change the model "
        "drastically.",
        "No label moves the prediction of its own row by more than the regret allows, with "
        "learners that are refitted exactly. Ours: kernels, forests and a single step.",
        "regret-stability",
        _small_regret_small_move(_REFITTED),
        _small_regret_small_move(_OTHERS),
    ),
)
