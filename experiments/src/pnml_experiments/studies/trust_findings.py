"""What the numbers of the trust study say, in sentences that are written from them."""

from __future__ import annotations

from collections.abc import Iterator

from pnml.metrics import Estimate
from pnml_experiments.framework.evidence import interval_text
from pnml_experiments.studies.trust_files import KINDS, ORDINARY
from pnml_experiments.studies.trust_means import Files
from pnml_experiments.studies.trust_measures import AURC, AUROC, COVERED, REJECTED, SCORE
from pnml_experiments.studies.trust_ours import EXPECTED, REGRET, TRUSTED, TRUSTED_CLASSES
from pnml_experiments.studies.trust_report import OWN
from pnml_experiments.studies.trust_rivals import CQR


def findings(files: Files, about: str) -> Iterator[str]:
    """Detection, ranking, false distrust and intervals of regression, a paragraph each."""
    yield from _score(files, about, "Shifted rows", (REGRET, "regret"), AUROC)
    yield from _score(files, about, "Ranking of errors", (EXPECTED, "expected error"), AURC)
    yield from _distrust(files, about, TRUSTED)
    yield from _intervals(files, about)


def class_findings(files: Files, about: str) -> Iterator[str]:
    """The same for classes, without intervals."""
    yield from _score(
        files, f"{about}, classes", "Wrong classes", (EXPECTED, "expected error"), AURC
    )
    yield from _distrust(files, f"{about}, classes", TRUSTED_CLASSES)


def _score(
    files: Files, about: str, title: str, ours: tuple[str, str], measure: str
) -> Iterator[str]:
    """Our mean, the best rival's, and the number of rivals that are clearly behind or ahead."""
    method, words = ours
    mine = files.mean(method, measure)
    if mine is None:
        return
    sign = 1 if measure == AUROC else -1
    rivals = [name for name in files.methods(measure) if name not in OWN]
    means = {name: value for name in rivals if (value := files.mean(name, measure)) is not None}
    best = max(means, key=lambda name: sign * means[name].value)
    gaps = {name: files.gap((method, name), measure) for name in means}
    ahead = [name for name, gap in gaps.items() if gap is not None and _clear(gap, sign) > 0]
    behind = [name for name, gap in gaps.items() if gap is not None and _clear(gap, sign) < 0]
    gap = gaps[best]
    difference = "" if gap is None else f", a difference of {interval_text(gap, 3)}"
    yield (
        f"**{title} ({about}).** Mean {measure} of the {words} {interval_text(mine, 3)}; the best "
        f"rival is {best} with {interval_text(means[best], 3)}{difference}. The interval of the "
        f"difference is on our side against {len(ahead)} of {len(means)} rivals"
        + (f", and on the other side against {', '.join(behind)}." if behind else ".")
    )


def _clear(gap: Estimate, sign: int) -> int:
    """1 where the interval is on our side of 0, −1 where it is on the other, else 0."""
    low, high = sorted((sign * gap.low, sign * gap.high))
    return int(low > 0) - int(high < 0)


def _distrust(files: Files, about: str, method: str) -> Iterator[str]:
    mean = files.mean(method, REJECTED, [ORDINARY])
    caught = files.mean(method, REJECTED, KINDS)
    if mean is None or caught is None:
        return
    worst, file = files.worst(method, REJECTED)
    yield (
        f"**False distrust ({about}).** `trusted` rejects {mean.value:.1%} of ordinary rows, at "
        f"most {worst:.1%} of a file ({file}), and {caught.value:.0%} of shifted rows."
    )


def _intervals(files: Files, about: str) -> Iterator[str]:
    ordinary, shifted, rival = (
        files.mean(method, COVERED, kinds)
        for method, kinds in ((TRUSTED, [ORDINARY]), (TRUSTED, KINDS), (CQR, KINDS))
    )
    scores = [files.mean(method, SCORE, KINDS) for method in (TRUSTED, CQR)]
    if ordinary is None or shifted is None or rival is None or None in scores:
        return
    mine, other = (score.value for score in scores if score is not None)
    yield (
        f"**Intervals ({about}).** Our 90 % intervals cover {ordinary.value:.1%} of ordinary and "
        f"{shifted.value:.1%} of shifted rows; CQR covers {rival.value:.1%} of shifted rows. Mean "
        f"interval score on shifted rows: {mine:.2f} against {other:.2f} of CQR."
    )
