"""No two sentences of the verdict contradict each other, whatever is found."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from pnml.core.trust import Reference
from pnml.report.findings import Findings, ModelFacts
from pnml.report.regret_rank import rank_text, short_rank
from pnml.report.standing import Standing, expected_share, standing
from pnml.report.verdict import headline, judgement, sentences
from pnml.tables.drift import DriftRow

# Of each set at most one may be told of a table.
EXCLUSIVE = [
    [
        r"looks like the training rows",
        r"none of them is to be trusted|it is not to be trusted",
        r"the others are like the training rows",
        r"the table lies at the edge",
    ],
    [
        r"looks like the training rows|the table lies at the edge",
        r"another table than that of training",
        r"does not come from where",
        r"cannot tell a difference from chance",
        r"cannot be told",
        r"the others are like the training rows",
    ],
    [r"does not come from where|another table than that of training", r"in keeping with"],
    [r"does not come from where", r"all of them are to be trusted|it is to be trusted"],
    [r"in keeping with", r"That is more than", r"all of them are to be trusted"],
    [r"the others are like the training rows", r"none of them is to be trusted"],
]


@st.composite
def tables(draw):
    """Findings with counts and regrets that one table could have: distrust has its causes."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    training = rng.exponential(size=draw(st.sampled_from([0, 1, 2, 9, 60, 400, 4000])))
    training[rng.random(training.size) < draw(st.sampled_from([0, 0, 0, 0.2, 0.6, 1]))] = np.inf
    level = draw(st.sampled_from([0.05, 0.2, 0.5, 0.9, 0.99, 0.99, 1.0]))
    threshold = Reference(training).thresholds(level).regret
    rows = draw(st.sampled_from([0, 1, 2, 5, 30, 300, 3000]))
    regret = rng.exponential(size=rows) * draw(st.sampled_from([0.0, 0.3, 1, 1.5, 4, 50]))
    moved = rng.random(rows) < draw(st.sampled_from([0, 0.02, 0.3, 0.6]))
    regret = np.where(moved, regret + draw(st.sampled_from([3.0, 100.0])), regret)
    regret[rng.random(rows) < draw(st.sampled_from([0, 0, 0, 0.05, 0.5, 1]))] = np.inf
    never_seen = rng.random(rows) < draw(st.sampled_from([0, 0, 0.02, 0.3, 0.7, 1]))
    trusted = np.isfinite(regret) & (regret <= threshold) & ~never_seen
    finite = regret[np.isfinite(regret)]
    return _findings(draw, level, threshold, training, regret, trusted, never_seen, finite)


def _findings(draw, level, threshold, training, regret, trusted, never_seen, finite):
    usual = draw(st.sampled_from([None, None, 0.9 * level]))
    moved = draw(st.sampled_from([0, 0, 1, 3]))
    drift = tuple(
        DriftRow(f"x{j}", "number", "", "", 0.0, 0.0, 0.0, 0, psi, 1e-6, psi > 0.1, "")
        for j, psi in enumerate([0.4] * moved + [0.01] * 2)
    )
    facts = ModelFacts((), (), (), np.ones(1), 0.0, training, threshold, level, usual)
    return Findings(
        title="t",
        task="regression",
        target="y",
        coverage=0.9,
        model=facts,
        rows=regret.size,
        trusted=int(trusted.sum()),
        never_seen=int(never_seen.sum()),
        infinite=int(np.isinf(regret).sum()),
        mean_regret=float(finite.mean()) if finite.size else math.inf,
        prediction=regret,
        regret=regret,
        is_trusted=trusted,
        loss=None,
        least_trusted=(),
        groups=(),
        warnings=(),
        drift=drift,
    )


@given(findings=tables())
@settings(max_examples=examples(500), deadline=None)
def test_contradicting_sentences_never_stand_together(findings):
    told = " ".join(sentences(findings))
    for claims in EXCLUSIVE:
        for one, other in combinations(claims, 2):
            assert not (re.search(one, told) and re.search(other, told)), told
    assert told.count("training rows came") <= 1


@given(findings=tables())
@settings(max_examples=examples(500), deadline=None)
def test_the_standing_never_denies_the_counts(findings):
    place = standing(findings)
    assert (place is Standing.EMPTY) == (findings.rows == 0)
    if not findings.rows:
        return
    untrusted = (findings.rows - findings.trusted) / findings.rows
    if place in (Standing.ORDINARY, Standing.RAISED):
        assert findings.trusted > 0
        assert untrusted <= expected_share(findings) + 0.1 + 1e-9
        assert findings.never_seen <= findings.rows / 4
    if place is Standing.SHIFT:
        assert findings.trusted < findings.rows
    if place is Standing.MOVED:
        assert len(findings.drift) == 5
        assert "3 of 5 columns have moved (x0, x1, x2)" in judgement(findings)
    if "more than" in judgement(findings):
        assert untrusted > expected_share(findings)
    shown = headline(findings)
    assert f"{findings.rows:,} row" in shown
    if 0 < findings.rows - findings.trusted < findings.rows:
        assert f"; {findings.rows - findings.trusted:,} (" in shown


@given(findings=tables())
@settings(max_examples=examples(200), deadline=None)
def test_more_untrusted_rows_never_make_a_table_ordinary_again(findings):
    if standing(findings) is Standing.SHIFT:
        worse = replace(findings, trusted=findings.trusted // 2)
        assert standing(worse) is Standing.SHIFT


@pytest.mark.parametrize("size", [100, 4000, 250_000])
def test_a_rank_means_the_same_however_many_training_rows_there_are(size, rng):
    training = rng.exponential(size=size) / size  # regrets fall as rows are added
    middle, rare = np.quantile(training, [0.5, 0.97], method="inverted_cdf")
    assert rank_text(middle * (1 + 1e-6), training) == "larger than 50 % of the training rows'"
    assert rank_text(rare * (1 + 1e-6), training) == "larger than 97 % of the training rows'"
    assert (
        rank_text(2 * training.max(), training) == f"larger than all {size:,} of the training rows'"
    )
    assert rank_text(math.inf, training) == "infinite"
    assert short_rank(2 * training.max(), training) == f"> all {size:,}"


@given(below=st.integers(1, 249_999))
def test_a_rank_never_rounds_up_to_all(below):
    training = np.arange(250_000.0) + 1
    share = float(rank_text(below + 0.5, training).split()[2])
    assert share <= 100 * below / 250_000
    assert share < 100
