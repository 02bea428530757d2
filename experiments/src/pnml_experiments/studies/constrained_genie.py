"""Whether a last layer of bounded norm makes a better genie than a penalised one."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from pnml.core import softmax
from pnml.core.arrays import FloatArray
from pnml.metrics import Estimate, detection_metrics
from pnml_experiments.framework.data import arrays
from pnml_experiments.framework.experiment import Experiment, Progress, Scale, counted
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.result import Result, Row, Table, exactly
from pnml_experiments.studies.bounded_heads import Bounded, Rows, Whitening

EXPERIMENT = Experiment(
    id="constrained-genie",
    chapter=8,
    title="A last layer of bounded norm as the genie",
    minutes=(0.2, 3.0),
    less=(
        "1,000 of 50,000 training rows, 50 of 10,000 test rows and 15 rows of each other set: "
        "every label of every row is a fit to all training rows."
    ),
    extras=(),
    needs=("features/cifar10_resnet20.npz",),
    beyond=True,
)

_FILE = "features/cifar10_resnet20.npz"
IND = "cifar10_test"
OOD = ("cifar100_test", "svhn_test", "tiny_resize", "tiny_crop", "gaussian", "uniform")
SHARES = (0.05, 0.25)  # radius, as a share of the norm of the network's own last layer
_FEW = 8  # rows whose genies are fitted at that norm itself
BOUNDED, PENALISED, CLOSED, FIT = "bounded", "penalised", "closed form", "fit alone"
METHODS = (BOUNDED, PENALISED, CLOSED, FIT)
_CLASSES = 10
_AREA, REGRET = "AUROC of all other sets", "mean regret, bounded"
_SEED = 0
INTERVAL = "95 %: DeLong's for AUROC, 1.96 standard errors over rows for log-loss"
_REMARKS = (
    (
        "The class: softmax heads on the features of ResNet-20 whose slopes have at most a norm, "
        "in columns of unit covariance; the constants are free. Bounded: for every label the best "
        "head of the class with the row added, found to 0.01 % of the norm; the multiplier of the "
        "bound then depends on the label. Penalised: the same with the multiplier of the fit "
        "without the row, our refit of a last layer. Both have one fit without the row. Closed "
        "form: our one-step genie from that fit and the leverage. Fit alone: no genie, score the "
        "largest probability."
    ),
    ("Times are processor seconds of one core of a busy machine, for comparison among themselves."),
)


@dataclass(frozen=True)
class Sizes:
    """Training rows, rows in distribution, and rows of each other set."""

    trained: int
    inside: int
    outside: int
    shares: tuple[float, ...]


_SIZES = {"small": Sizes(150, 12, 3, SHARES[1:]), "full": Sizes(1_000, 50, 15, SHARES)}
Answers = dict[str, Any]


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """Regret, log-loss, detection and cost of both genies at every radius."""
    sizes = _SIZES[scale]
    sets = (IND, *OOD)
    tell = counted(progress, len(sizes.shares) * len(sets))
    found: dict[str, dict[str, Answers]] = {}
    for share in sizes.shares:
        found[f"{share:g}"] = {}
        for name in sets:
            key = f"{share:g} {name}"
            found[f"{share:g}"][name] = out.piece(key, partial(answers, sizes, share, name))
            tell(1)
    few = replace(sizes, inside=_FEW)
    own = {"1": {IND: out.piece("few at the network's norm", partial(answers, few, 1.0, IND))}}
    tables = (quality(found), by_set(found), differences(found), bounds(found | own))
    return Result(tables, (), (_SEED,), 1, INTERVAL, (*findings(tables), *_REMARKS))


def answers(sizes: Sizes, share: float, name: str) -> Answers:
    """Log-probabilities and regrets of the rows of one set by every method, and the times."""
    stored = arrays(_FILE)
    rng = np.random.default_rng(_SEED)
    train = rng.permutation(len(stored["y_cifar10_train"]))[: sizes.trained]
    features = stored["f_cifar10_train"][train].astype(float)
    labels = stored["y_cifar10_train"][train].astype(np.intp)
    whitening = Whitening.of(features)
    X = whitening.rows(features)
    radius = share * whitening.norm(stored["fc_weight"].astype(float))
    head = Bounded(Rows(X, labels, _CLASSES), radius)
    count = sizes.inside if name == IND else sizes.outside
    rows = rng.permutation(len(stored[f"f_{name}"]))[:count]
    new = whitening.rows(stored[f"f_{name}"][rows].astype(float))
    multiplier = head.best[1]
    found: Answers = {"multiplier": multiplier, "seconds": {}, "log_prob": {}, "regret": {}}
    found["training loss"] = float(-head.log_prob(X)[np.arange(len(X)), labels].mean())
    for method in METHODS:
        start = time.process_time()
        log_prob, regret = _answer(method, head, X, new)
        found["seconds"][method] = (time.process_time() - start) / len(new)
        found["log_prob"][method], found["regret"][method] = log_prob.tolist(), regret.tolist()
    if name == IND:
        found["labels"] = stored["y_cifar10_test"][rows].tolist()
    return found


def _answer(
    method: str, head: Bounded, X: FloatArray, new: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Log-probabilities (n, C), and regrets (n,); of the fit alone, minus its confidence."""
    own = head.log_prob(new)
    if method == FIT:
        return own, -own.max(axis=1)
    if method == CLOSED:
        leverage = np.einsum("np,np->n", new @ np.linalg.pinv(X.T @ X), new)
        dist = softmax.predictive(own, leverage)
        return np.asarray(dist.log_prob), np.asarray(dist.regret)
    genies = head.genies(new, penalised=method == PENALISED)
    regret = np.logaddexp.reduce(genies, axis=1)
    return genies - regret[:, None], regret


def quality(found: Mapping[str, Mapping[str, Answers]]) -> Table:
    """One line for each radius and method."""
    rows = []
    for share, sets in found.items():
        outside = [sets[name] for name in OOD]
        for method in METHODS:
            inside = np.array(sets[IND]["regret"][method])
            others = np.concatenate([one["regret"][method] for one in outside])
            area = detection_metrics(-inside, -others, resamples=2).auroc
            labels = {"radius": share, "method": method}
            numbers = {
                "log-loss": _log_loss(sets[IND], method),
                _AREA: Estimate(*(100 * part for part in area)),
                "seconds a row": exactly(_seconds(sets, method)),
            }
            if method != FIT:
                numbers["mean regret"] = exactly(inside.mean())
                numbers["mean regret of other sets"] = exactly(others.mean())
            rows += [Row(labels | {"number": n}, None, value) for n, value in numbers.items()]
    about = (
        "Radius: share of the norm of the network's own last layer. Log-loss in nats, of CIFAR-10 "
        "test rows; regrets in nats, at most log 10 = 2.303."
    )
    return Table("Genies of the last layer", tuple(rows), about, digits=3)


def _seconds(sets: Mapping[str, Answers], method: str) -> float:
    return float(np.mean([one["seconds"][method] for one in sets.values()]))


def _log_loss(inside: Answers, method: str) -> Estimate:
    labels = np.array(inside["labels"])
    losses = -np.array(inside["log_prob"][method])[np.arange(len(labels)), labels]
    error = 1.96 * float(losses.std(ddof=1)) / np.sqrt(len(losses))
    mean = float(losses.mean())
    return Estimate(mean, mean - error, mean + error)


def by_set(found: Mapping[str, Mapping[str, Answers]]) -> Table:
    """AUROC of every other set."""
    rows = []
    for share, sets in found.items():
        for name in OOD:
            for method in METHODS:
                inside, others = (np.array(sets[one]["regret"][method]) for one in (IND, name))
                area = detection_metrics(-inside, -others, resamples=2).auroc
                labels = {"radius": share, "other set": name, "method": method}
                rows.append(Row(labels, None, exactly(100 * area.value)))
    about = "AUROC in percent, test rows of CIFAR-10 against the rows of one other set."
    return Table("Detection by set", tuple(rows), about, digits=1)


def differences(found: Mapping[str, Mapping[str, Answers]]) -> Table:
    """How far the bounded genie is from the others, over all rows."""
    from scipy.stats import spearmanr

    rows = []
    for share, sets in found.items():
        each = {m: np.concatenate([one["regret"][m] for one in sets.values()]) for m in METHODS}
        for other in (PENALISED, CLOSED):
            apart = np.abs(each[BOUNDED] - each[other])
            numbers = {
                "median difference of regrets": np.median(apart),
                "largest difference": apart.max(),
                "rank correlation": spearmanr(each[BOUNDED], each[other]).statistic,
            }
            labels = {"radius": share, "bounded against": other}
            rows += [Row(labels | {"number": n}, None, exactly(v)) for n, v in numbers.items()]
    about = "Regrets of the same rows, all sets together, in nats."
    return Table("What the bound changes", tuple(rows), about, digits=4)


def bounds(found: Mapping[str, Mapping[str, Answers]]) -> Table:
    """Table of the fit to the training rows alone, with its mean regret, by radius."""
    rows = []
    for share, sets in found.items():
        one = sets[IND]
        rows += [
            Row({"radius": share, "number": name}, None, exactly(one[name]))
            for name in ("multiplier", "training loss")
        ]
        regrets = one["regret"][BOUNDED]
        rows.append(Row({"radius": share, "number": REGRET}, None, exactly(np.mean(regrets))))
        rows.append(Row({"radius": share, "number": "test rows"}, None, exactly(len(regrets))))
    about = "The fit to the training rows alone, and regrets of test rows; losses in nats a row."
    return Table("The fit at every radius", tuple(rows), about, digits=6)


def findings(tables: tuple[Table, ...]) -> tuple[str, ...]:
    """What came out, from the rows."""
    lines: dict[tuple[str, str], dict[str, Estimate]] = {}
    for row in tables[0].rows:
        if row.ours is not None:
            key = row.labels["radius"], row.labels["method"]
            lines.setdefault(key, {})[row.labels["number"]] = row.ours
    told = []
    for share in dict.fromkeys(radius for radius, _ in lines):
        parts = []
        for method in METHODS:
            one = lines[share, method]
            area, loss = one[_AREA], one["log-loss"]
            cost = one["seconds a row"].value
            parts.append(
                f"{method} AUROC {area.value:.1f} [{area.low:.1f}, {area.high:.1f}] %, log-loss "
                f"{loss.value:.2f}, {1000 * cost:.3g} ms"
            )
        told.append(f"At {share} of the network's norm: {'; '.join(parts)}.")
    apart = {
        (row.labels["radius"], row.labels["number"]): row.ours.value
        for row in tables[2].rows
        if row.ours is not None and row.labels["bounded against"] == PENALISED
    }
    most = max(value for (_, number), value in apart.items() if number == "largest difference")
    least = min(value for (_, number), value in apart.items() if number == "rank correlation")
    own = [row.ours for row in tables[3].rows if row.labels["number"] == REGRET and row.ours]
    return (" ".join(told), _verdict(lines, most, least, own[-1].value))


def _verdict(
    lines: Mapping[Any, Mapping[str, Estimate]], most: float, least: float, usual: float
) -> str:
    shares = dict.fromkeys(radius for radius, _ in lines)
    ratio = np.mean(
        [
            lines[s, BOUNDED]["seconds a row"].value / lines[s, PENALISED]["seconds a row"].value
            for s in shares
        ]
    )
    return (
        "**Is it worth it?** The bounded genie differs from the penalised one by at most "
        f"{most:.3f} nats of regret, with a rank correlation of at least {least:.4f}, and takes "
        f"{ratio:.1f} times as long. By the AUROC it {_beside(lines, PENALISED)}, and it "
        f"{_beside(lines, CLOSED)}. At the network's own norm the mean regret of a few ordinary "
        f"rows is {usual:.2f} of at most {np.log(_CLASSES):.2f} nats: where a head may fit every "
        "label, the bound tells nothing."
    )


def _beside(lines: Mapping[Any, Mapping[str, Estimate]], rival: str) -> str:
    """At which radii the bounded genie detects better or worse than a rival, or neither."""
    radii: dict[str, list[str]] = {}
    for share in dict.fromkeys(radius for radius, _ in lines):
        ours, theirs = (lines[share, method][_AREA] for method in (BOUNDED, rival))
        words = "cannot be told apart (the intervals overlap) from"
        if ours.low > theirs.high:
            words = "detects better than"
        elif theirs.low > ours.high:
            words = "detects worse than"
        radii.setdefault(words, []).append(share)
    named = "the closed form" if rival == CLOSED else "the penalised one"
    return " and ".join(
        f"{words} {named} at {' and '.join(at)} of the network's norm"
        for words, at in radii.items()
    )
