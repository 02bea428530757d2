"""The words of the summary follow from the numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pnml.report.comparison import comparison
from pnml.report.findings import Group
from pnml.report.standing import Standing, standing
from pnml.report.verdict import sentences

TRAINING = np.arange(1, 101) / 100  # 0.01 … 1, so that the quantile of level p is p


def _told(findings):
    return " ".join(sentences(findings))


def _ordinary(findings, *, training=TRAINING, new=None, mean=None, rows=None, untrusted=0):
    """Findings whose regrets are these, the mean of the finite ones unless it is given."""
    new = np.asarray([0.4] if new is None else new, dtype=float)
    finite = new[np.isfinite(new)]
    computed = float(finite.mean()) if finite.size else float("nan")
    rows = new.size if rows is None else rows
    return replace(
        findings,
        model=replace(
            findings.model, regrets=np.asarray(training, dtype=float), threshold=0.99, level=0.99
        ),
        rows=rows,
        trusted=rows - untrusted,
        never_seen=0,
        infinite=int(np.isinf(new).sum()),
        mean_regret=computed if mean is None else mean,
        regret=new,
        warnings=(),
    )


@pytest.mark.parametrize(
    ("mean", "expected", "words"),
    [
        (0.2, Standing.ORDINARY, "is larger than 19 % of the training rows'"),
        (0.9, Standing.ORDINARY, "The table looks like the training rows"),
        (0.975, Standing.RAISED, "is larger than 97 % of the training rows': the table lies at"),
        (3.0, Standing.RAISED, "is larger than all 100 of the training rows'"),
    ],
)
def test_trusted_rows_are_no_shift_but_a_high_mean_is_told(regression, mean, expected, words):
    findings = _ordinary(regression, new=[mean] * 9)
    assert standing(findings) is expected
    assert words in _told(findings)
    assert "does not come from" not in _told(findings)


def test_a_few_rows_that_carry_the_mean_are_not_called_a_shift_of_the_table(regression):
    findings = _ordinary(regression, new=[0.3] * 90 + [200.0] * 9, untrusted=9)
    assert standing(findings) is Standing.FEW
    assert "some rows of large regret carry it" in _told(findings)
    assert "does not come from" not in _told(findings)


def test_many_untrusted_rows_are_a_shift_however_ordinary_their_mean(regression):
    findings = _ordinary(regression, new=[0.3] * 100, untrusted=60)
    findings = replace(findings, never_seen=60)
    assert standing(findings) is Standing.SHIFT
    assert "60 rows hold a category" in _told(findings)


def test_one_row_that_is_not_trusted_is_not_called_ordinary(regression):
    findings = _ordinary(regression, new=[0.4], untrusted=1)
    assert standing(findings) is Standing.UNSURE
    assert "cannot tell a difference from chance" in _told(findings)


def test_half_of_the_rows_far_away_are_a_shift_of_the_table(regression):
    findings = _ordinary(regression, new=[0.3] * 9 + [20.0] * 11, untrusted=11)
    assert standing(findings) is Standing.SHIFT


def test_an_equal_mean_up_to_rounding_is_not_above(regression):
    findings = _ordinary(regression, training=[0.3] * 7, new=[0.3] * 7, mean=0.3 * (1 + 1e-15))
    assert standing(findings) is Standing.ORDINARY


def test_all_regrets_zero_are_ordinary(regression):
    findings = _ordinary(regression, training=np.zeros(5), new=np.zeros(8))
    assert standing(findings) is Standing.ORDINARY
    assert "no larger than any of the training rows'" in _told(findings)


def test_many_infinite_rows_are_a_shift_whatever_the_mean_of_the_others(regression):
    findings = _ordinary(regression, new=[0.1] * 28 + [np.inf] * 12, untrusted=12)
    assert standing(findings) is Standing.SHIFT
    assert "(12 rows of infinite regret left out)" in _told(findings)


def test_infinite_rows_are_held_against_those_of_training(regression):
    training = [*TRAINING, *[np.inf] * 25]
    findings = _ordinary(regression, training=training, new=[0.1] * 8 + [np.inf] * 2, untrusted=2)
    assert "20 % of the table, against 20 % of training" in _told(findings)
    assert standing(findings) is Standing.ORDINARY


def test_no_finite_regret_leaves_no_mean(regression):
    findings = _ordinary(regression, new=[np.inf] * 4, untrusted=4)
    assert standing(findings) is Standing.SHIFT
    assert "there is no mean regret to compare" in _told(findings)
    assert "4 rows were scored; none of them is to be trusted." in _told(findings)


def test_infinite_training_regrets_are_no_yardstick(regression):
    findings = _ordinary(regression, training=[0.1, np.inf, np.inf], new=[0.2] * 5)
    assert standing(findings) is Standing.UNKNOWN
    assert "infinite regret when left out" in _told(findings)


def test_no_training_regrets_are_said_to_be_none(regression):
    findings = _ordinary(regression, training=[], new=[0.2] * 5)
    assert standing(findings) is Standing.UNKNOWN
    assert "keeps no regrets of training rows" in _told(findings)


def test_one_training_regret_is_compared_with(regression):
    findings = _ordinary(regression, training=[0.1], new=[0.2, 0.2])
    assert "larger than all 1 of the training rows'" in _told(findings)


@pytest.mark.parametrize(("untrusted", "words"), [(13, "in keeping with"), (40, "more than")])
def test_the_untrusted_share_is_held_against_the_level(regression, untrusted, words):
    training = np.arange(1, 1001) / 1000
    findings = _ordinary(regression, training=training, rows=1000, untrusted=untrusted)
    assert f"That is {words} the 1 % expected" in _told(findings)


def test_the_same_share_may_be_chance_after_a_short_training_table(regression):
    # A tenth of the new rows is expected above the largest of nine, and often far more.
    findings = _ordinary(regression, training=np.arange(1, 10) / 10, rows=1000, untrusted=150)
    assert standing(findings) is Standing.UNSURE
    assert "so short a training table" in _told(findings)


def test_more_than_chance_is_rare_on_rows_like_the_training_rows(regression, rng):
    called, repeats = 0, 400
    for _ in range(repeats):
        training, new = rng.exponential(size=60), rng.exponential(size=300)
        threshold = float(np.quantile(training, 0.9))
        findings = _ordinary(
            regression, training=training, new=new, untrusted=int((new > threshold).sum())
        )
        model = replace(findings.model, threshold=threshold, level=0.9)
        called += "more than" in _told(replace(findings, model=model))
    assert called <= 12  # 1 % of 400 is 4, and 12 are four standard deviations above


def test_infinite_training_rows_raise_the_share_expected(regression):
    training = [*TRAINING, *[np.inf] * 25]
    findings = _ordinary(regression, training=training, rows=100, untrusted=20)
    assert "in keeping with the 20.8 % expected" in _told(findings)  # 1 − 0.99 · 0.8


@pytest.mark.parametrize(
    ("rows", "untrusted", "words"),
    [
        (1, 0, "1 row was scored; it is to be trusted."),
        (1, 1, "1 row was scored; it is not to be trusted."),
        (8, 0, "8 rows were scored; all of them are to be trusted."),
        (8, 7, "8 rows were scored; 7 (87.5 %) are not to be trusted."),
        (4000, 1, "4,000 rows were scored; 1 (under 0.1 %) is not to be trusted."),
    ],
)
def test_counts_are_told_in_words_that_agree(regression, rows, untrusted, words):
    assert sentences(_ordinary(regression, rows=rows, untrusted=untrusted))[0] == words


def test_rows_never_seen_and_warnings_are_told_and_warnings_come_last(regression):
    told = sentences(replace(regression, never_seen=1, warnings=("Mind the gap.",)))
    assert any(
        s.startswith("1 row holds a category, an infinite number or a pattern") for s in told
    )
    assert told[-1] == "Mind the gap."


def test_a_table_without_rows_is_told_as_such(regression):
    empty = replace(regression, rows=0, trusted=0, infinite=0, never_seen=0, warnings=())
    assert sentences(empty) == ["The table has no rows to judge."]


def _groups(findings, trusted, others, *, rows=100, coverage=float("nan")):
    return replace(
        findings,
        groups=(
            Group("trusted", 100, coverage, 1.0, trusted),
            Group("not trusted", rows, coverage, 1.0, others),
            Group("all rows", 100 + rows, coverage, 1.0, (trusted + others) / 2),
        ),
    )


@pytest.mark.parametrize(
    ("trusted", "others", "words"),
    [
        (50.0, 80.0, "came out better: their root mean squared error is 50, against 80"),
        (80.0, 50.0, "did not come out better"),
        (50.0, 51.0, "about the same"),
        (0.0, 0.0, "about the same"),
        (float("nan"), 50.0, "cannot be compared"),
    ],
)
def test_groups_are_read_out_as_they_are(regression, trusted, others, words):
    assert words in comparison(_groups(regression, trusted, others))[0]


def test_few_rows_in_a_group_are_said_to_be_few(regression):
    assert "only 7 rows" in comparison(_groups(regression, 50.0, 80.0, rows=7))[-1]
    assert "nothing to compare" in comparison(_groups(regression, 50.0, 80.0, rows=0))[0]
    assert comparison(replace(regression, groups=())) == []


def test_coverage_is_held_against_what_the_intervals_promise(regression):
    told = comparison(_groups(regression, 50.0, 80.0, coverage=0.85))
    assert "Of the trusted rows 85 % fell inside their 90 % interval, of the others 85 %." in told


def test_errors_of_classification_are_shares(classification):
    assert "their share of wrong labels is 10 %, against 40 %" in comparison(classification)[0]


def test_where_more_than_the_regret_counts_the_expectation_is_that_of_both(classification):
    model = replace(classification.model, usual=0.96)
    told = sentences(replace(classification, model=model, rows=1000, trusted=958))
    assert any("in keeping with the 4 % expected" in sentence for sentence in told)
