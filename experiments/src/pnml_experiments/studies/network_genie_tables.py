"""Tables of the study of whole networks, the verdict last."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pnml.metrics import Estimate
from pnml_experiments.framework.result import Row, Table, exactly
from pnml_experiments.studies.network_genie_findings import (
    CANDIDATES,
    LAST_LAYER,
    Found,
    verdict,
)
from pnml_experiments.studies.network_genie_methods import (
    AUTO,
    DROPOUT,
    ENSEMBLE,
    HEAD,
    METHODS,
    PRECISIONS,
    STEPS,
)
from pnml_experiments.studies.network_genie_numbers import (
    LOSS,
    OWN_SCORE,
    UNKNOWN,
    auroc,
)

_DIGITS = (
    "The network has two convolutions of 8 and 16 filters and 32 features before its last layer, "
    "27,650 weights, trained by Adam with dropout of a quarter of these features. ACNML with all "
    "weights climbs log p(y | x, θ) plus the log-density of a normal posterior for each label; "
    "precisions are the number of training digits times the diagonal Fisher information, plus one "
    "of the prior. Influence takes one Newton step with the same precisions. Linearised is the "
    "maximum where logits are linear in the weights. ACNML of the last layer and the Laplace "
    "approximation have a full covariance of that layer; the first is at its maximum. MC dropout "
    "has 30 passes. ECE by 15 bins of equally many rows."
)
_UNKNOWN = (
    "Own scores: the regret, for dropout and the ensemble the mutual information of label and "
    "network. FPR95 is the share of unknown rows that pass where 95 % of the digits do."
)
_COST = (
    "Processor time of an input in batches of 100 on a busy machine, means over networks, and the "
    "least and the largest of them; in forward passes relative to softmax at the same network. "
    "What is needed once, as a Fisher information or two more trainings, is not counted. No "
    "product is shared among the steps of ACNML; a hand-written one might take a few times less."
)
_CHOICE = (
    "Log-loss of the held-out digits in nats, mean over the networks that tried a setting. Steps "
    "of ACNML and their first size were varied only at the precision chosen before, so these means "
    "may be over fewer networks."
)
_HINDSIGHT = (
    f"ACNML of all weights, {STEPS} steps, with every precision, for one network of each training "
    "set and fewer rows, and the last layer on the same: what another choice would have given. "
    "This was looked at afterwards and chose nothing. Informed are the weights whose Fisher "
    "information of all training digits exceeds the precision of the prior."
)


def tables(found: Found) -> tuple[Table, ...]:
    """All numbers; the last table decides."""
    paired = "First less second, by their own scores, on the same draws. "
    return (
        Table("Test digits", tuple(_digit_rows(found)), _DIGITS, digits=3),
        Table("Unknown rows", tuple(_unknown_rows(found)), _UNKNOWN, digits=3),
        Table("Cost", tuple(_cost_rows(found)), _COST, digits=2),
        Table("Settings tried on held-out digits", tuple(_choice_rows(found)), _CHOICE, digits=3),
        Table("Every precision, afterwards", tuple(_hindsight_rows(found)), _HINDSIGHT, digits=3),
        Table("Verdict", tuple(_paired_rows(found)), paired + verdict(found), digits=3),
    )


def _trained(n: int) -> dict[str, str]:
    return {"trained on": f"{n:,} digits"}


def _digit_rows(found: Found) -> Iterator[Row]:
    for (n, method), numbers in found.digits.items():
        for number, drawn in numbers.items():
            labels = _trained(n) | {"method": method, "number": number}
            yield Row(labels, ours=drawn.estimate(0.0, np.inf if number == LOSS else 1.0))


def _unknown_rows(found: Found) -> Iterator[Row]:
    for (n, method, score), numbers in found.unknown.items():
        if score == OWN_SCORE and not _has_own_score(method):
            continue
        for number, drawn in numbers.items():
            labels = _trained(n) | {"method": method, "score": score, "number": number}
            yield Row(labels, ours=drawn.estimate(0.0, 1.0))


def _has_own_score(method: str) -> bool:
    return method in (DROPOUT, ENSEMBLE, HEAD, *LAST_LAYER, *CANDIDATES)


def _cost_rows(found: Found) -> Iterator[Row]:
    for method in METHODS:
        seconds = [
            float(one["seconds"]) for n in found.sizes.trained for one in found.of(n, method)
        ]
        for number, values in (
            ("milliseconds", [1e3 * each for each in seconds]),
            ("forward passes", found.passes(method)),
        ):
            told = Estimate(float(np.mean(values)), min(values), max(values))
            yield Row({"method": method, "number": number}, ours=told)


def _choice_rows(found: Found) -> Iterator[Row]:
    for n in found.sizes.trained:
        for method in METHODS:
            losses: dict[str, list[float]] = {}
            chosen: list[str] = []
            for one in found.of(n, method):
                for *setting, loss in one["tried"].tolist():
                    losses.setdefault(_setting(setting), []).append(loss)
                chosen.append(_setting(one["chosen"].tolist()))
            for setting, values in losses.items():
                labels = {"method": method, "setting": setting} | _trained(n)
                times = chosen.count(setting)
                note = f"Chosen for {times} of {len(chosen)} networks." if times else ""
                yield Row(labels, ours=exactly(float(np.mean(values))), note=note)


def _setting(values: list[float]) -> str:
    """A setting in words.

    >>> _setting([1000.0, 5.0, 0.3])
    'precision 1,000, 5 steps from 0.3'
    """
    if not values:
        return ""
    precision, *ascent = values
    words = f"precision {precision:,.10g}"
    return f"{words}, {ascent[0]:g} steps from {ascent[1]:g}" if ascent else words


def _hindsight_rows(found: Found) -> Iterator[Row]:
    for n, looked in found.looked.items():
        *tried, last_layer = found.afterwards(n)
        for k, numbers in enumerate(tried):
            informed = {"informed": float(looked["informed"][k])}
            labels = _trained(n) | {"precision": f"{PRECISIONS[k]:,g}"}
            yield from _exact_rows(labels, numbers | informed)
        yield from _exact_rows(_trained(n) | {"precision": f"none: {AUTO}"}, last_layer)


def _exact_rows(labels: dict[str, str], numbers: dict[str, float]) -> Iterator[Row]:
    for number, value in numbers.items():
        yield Row(labels | {"number": number}, ours=exactly(value))


def _paired_rows(found: Found) -> Iterator[Row]:
    for n in found.sizes.trained:
        for method in CANDIDATES:
            for rival in (*LAST_LAYER, ENSEMBLE):
                labels = _trained(n) | {"first": method, "second": rival}
                for number in (LOSS, *map(auroc, UNKNOWN)):
                    told = found.less(n, method, rival, number).estimate()
                    yield Row(labels | {"number": number}, ours=told)
