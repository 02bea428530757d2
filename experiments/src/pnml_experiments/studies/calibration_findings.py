"""What came out of the study of calibration, said in sentences from its numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pnml_experiments.studies.calibration_heads import (
    DOUBT,
    FRESH,
    PNML,
    REFITTED,
    REGRET,
    SOFTMAX,
    TEMPERATURE,
)

ECE, GAP, LOSS, BRIER, RIGHT = (
    "ECE",
    "confidence less accuracy",
    "log-loss, nats",
    "Brier score",
    "accuracy",
)
RANK, EXTRA, FOUND = (
    "rank correlation with the distance of correct and confidence",
    "gap of the higher less the lower, of two of like confidence",
    "mean size of the gaps of ten groups",
)
MIXED = "gap by regret, of two of like confidence"
_LITTLE, _DIGITS = 1e-3, 3  # what is too small to be named, and how it is written
# set → what was found
Found = Mapping[str, Mapping[str, Any]]
Told = Sequence[float]  # value, low, high
_LIMITS = (
    "The noise of digits is in their pixels; noise in the features of a network is not noise in "
    "its images, and it leaves the directions that training rows fill, which is what a leverage "
    "sees best. One split, one network and one set of sentences; the intervals are over test rows "
    "alone. The thesis names calibration among its open questions and has no table on it."
)


def findings(found: Found) -> tuple[str, ...]:
    """The answer first, then why, where softmax is too sure, and noise."""
    return (_answer(found), _why(found), _where(found), _noise(found), _LIMITS)


def _answer(found: Found) -> str:
    """Whether the calibration error falls, against softmax and temperature scaling."""
    softmax, held, fresh = (
        {name: one["known"]["pairs"][f"{PNML} less {rival}"][ECE] for name, one in found.items()}
        for rival in (SOFTMAX, TEMPERATURE, FRESH)
    )
    better, worse = len(_below(softmax)), len(_above(softmax))
    some = "Yes" if better == len(found) else "In part"
    verdict = some if better > worse else "No"
    seen = [name for name, one in found.items() if one["about"]["seen"]]
    but = f" (of {_names(seen)} from training rows, for want of others)" if seen else ""
    return (
        f"**Does pNML calibrate? {verdict}.** Its ECE on known rows is lower than "
        f"that of softmax on {_listed(_below(softmax), softmax)} and higher on "
        f"{_listed(_above(softmax), softmax)}; lower than that of temperature scaling from "
        f"held-out rows{but} on {_listed(_below(held), held)} and higher on "
        f"{_listed(_above(held), held)}; lower than that of temperature scaling from other test "
        f"rows on {_listed(_below(fresh), fresh)} and higher on {_listed(_above(fresh), fresh)}. "
        f"On the others of {len(found)} sets the difference is within its interval or below "
        f"{_LITTLE:g}."
    )


def _why(found: Found) -> str:
    """Flattening by the leverage, whatever softmax needs."""
    far = {name: one["about"]["leverage"] for name, one in found.items()}
    least, most = min(far, key=far.__getitem__), max(far, key=far.__getitem__)
    gap = {name: one["known"]["methods"][SOFTMAX][GAP] for name, one in found.items()}
    exact = [
        f"{one['known']['methods'][REFITTED][ECE][0]:.3f} instead of "
        f"{one['known']['methods'][PNML][ECE][0]:.3f} on {name}"
        for name, one in found.items()
        if REFITTED in one["known"]["methods"]
    ]
    return (
        "**Why.** With one step, Eq. (F2), pNML only ever makes probabilities more alike, as far "
        f"as the leverage of the row asks (mean {far[least]:.4f} on {least} to {far[most]:.3f} on "
        f"{most}), while softmax is too sure on {_listed(_above(gap), gap)} and too cautious on "
        f"{_listed(_below(gap), gap)}. With genies trained to the end its ECE is "
        f"{_names(exact)}."
    )


def _where(found: Found) -> str:
    """The regret against the confidence as signs of overconfidence."""
    order = {name: one["order"] for name, one in found.items()}
    last = {name: one[REGRET]["groups"][-1] for name, one in order.items()}
    extra = {name: one[REGRET][EXTRA] for name, one in order.items()}
    strengths = list(next(iter(found.values()))["flags"])
    middle = strengths[len(strengths) // 2]
    mixed = {name: one["flags"][middle][MIXED] for name, one in found.items()}
    ranks, doubts = ([one[score][RANK][0] for one in order.values()] for score in (REGRET, DOUBT))
    return (
        "**Does the regret say where softmax is wrong?** In the tenth of known rows with the "
        f"highest regret softmax is too sure on {_listed(_above(last), last)} and too cautious on "
        f"{_listed(_below(last), last)}; the rank correlation with the error of softmax is "
        f"{_range(ranks)} for the regret and {_range(doubts)} for 1 − confidence. Of two known "
        "rows of like confidence the one of higher regret is the more overconfident on "
        f"{_listed(_above(extra), extra)} and the less on {_listed(_below(extra), extra)}; with "
        f"rows of noise {middle} among them, the more on {_listed(_above(mixed), mixed)} and the "
        f"less on {_listed(_below(mixed), mixed)}."
    )


def _noise(found: Found) -> str:
    """Calibration errors under noise, and whether it is seen."""
    weakest, *_, strongest = next(iter(found.values()))["flags"]
    areas = [
        [one["flags"][weakest][score][0] for one in found.values()] for score in (REGRET, DOUBT)
    ]

    def against(rival: str, strength: str) -> str:
        told = {name: one["shift"][strength][f"{PNML} less {rival}"] for name, one in found.items()}
        return f"lower on {_listed(_below(told), told)} and higher on {_listed(_above(told), told)}"

    return (
        f"**Noise.** Against softmax the ECE of pNML is, at strength {weakest}, "
        f"{against(SOFTMAX, weakest)}; at strength {strongest}, {against(SOFTMAX, strongest)}. "
        f"Against temperature scaling from other test rows it is, at strength {strongest}, "
        f"{against(FRESH, strongest)}. The regret tells rows of strength {weakest} from the same "
        f"rows clean with an AUROC of {_range(areas[0])}, 1 − confidence with {_range(areas[1])}."
    )


def _below(told: Mapping[str, Told]) -> list[str]:
    return [name for name, (value, _, high) in told.items() if high < 0 and value <= -_LITTLE]


def _above(told: Mapping[str, Told]) -> list[str]:
    return [name for name, (value, low, _) in told.items() if low > 0 and value >= _LITTLE]


def _listed(names: Iterable[str], told: Mapping[str, Told]) -> str:
    """Names with their numbers; none where there are none.

    >>> _listed(["a"], {"a": (0.5, 0.4, 0.6)})
    'a (+0.500)'
    """
    return _names([f"{name} ({told[name][0]:+.{_DIGITS}f})" for name in names])


def _names(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"


def _range(values: Sequence[float]) -> str:
    """The least and the largest.

    >>> _range([0.7, 0.25, 0.5])
    '0.25 to 0.70'
    """
    return f"{min(values):.2f} to {max(values):.2f}"
