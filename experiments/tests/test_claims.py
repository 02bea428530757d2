"""Claims are judged by rows: change the rows, and the verdict changes."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")  # curves of unfinished runs of networks are quoted

from pnml.errors import InputError
from pnml.metrics import Estimate
from pnml_experiments.claims import overparameterized, shift
from pnml_experiments.framework.claims import claims, claims_page, judged, with_tables_of
from pnml_experiments.framework.evidence import (
    Evidence,
    against_rivals,
    by_count,
    by_truth,
    interval_text,
    open_question,
)
from pnml_experiments.framework.registry import find
from pnml_experiments.framework.result import Result, Row, Table
from pnml_experiments.framework.rows import stored

RESULTS = Path(__file__).parents[2] / "docs" / "results"


@pytest.fixture(scope="module")
def published():
    return list(judged(RESULTS))


def claim(part):
    return next(each for each in claims() if part in each.words)


def about(title, *rows):
    return Evidence(Result((Table(title, tuple(rows)),)))


def at(value, low=None, high=None):
    return Estimate(float(value), float(value if low is None else low), float(high or value))


def test_there_are_claims_of_every_chapter_in_words_of_the_thesis(published):
    assert len(claims()) >= 45
    assert {each.chapter for each in claims()} == {2, 3, 4, 5, 6, 7, 8}
    assert len({(each.words, each.experiment) for each in claims()}) == len(claims())
    for each in claims():
        one = find(each.experiment)
        assert one.chapter in (each.chapter, each.chapter + 1)
        assert each.rule.endswith(".")


def test_rows_that_the_thesis_does_not_have_are_called_so(published):
    for each in published:
        one = find(each.claim.experiment)
        if one.beyond and not one.less and not one.other:
            assert each.extent in ("study of ours", "printed numbers alone"), one.id
            assert each.verdict.evidence.startswith("The thesis has no such rows"), one.id


def test_every_claim_is_judged_and_none_without_reason(published):
    assert [one.claim for one in published] == list(claims())
    for one in published:
        assert one.verdict.evidence.endswith("."), one.claim.words
        assert bool(one.verdict.settle) == (one.verdict.word == "not settled")


def changed(result, how):
    """The same rows with other numbers."""

    def row(one, place):
        return replace(one, ours=how(one.ours, place), fair=how(one.fair, place))

    tables = [
        replace(table, rows=tuple(row(one, i) for i, one in enumerate(table.rows)))
        for table in result.tables
    ]
    return replace(result, tables=tuple(tables))


def _scaled(factor):
    def how(value, place):
        return None if value is None else Estimate(*sorted_three(factor(value.value, place)))

    return how


def sorted_three(value):
    return value, value, value


CHANGES = {
    "opposite": _scaled(lambda value, place: -value),
    "rising": _scaled(lambda value, place: float(place)),
    "falling": _scaled(lambda value, place: -float(place)),
    "all one": _scaled(lambda value, place: 1.0),
    "huge": _scaled(lambda value, place: 1e6 * (1 + place % 7)),
    "shuffled": _scaled(lambda value, place: float(np.sin(37.0 * place + 1))),
    "not run": lambda value, place: None,
    "run at last": lambda value, place: at(1000.0 * (1 + place % 5)),
}


# Rules that count labels of rows, not their numbers; each has a test of its own.
WAITING = ("improves black-box accuracy by 1.5%", "For 300 samples, DIAL achieves")


def verdicts_after(rule, result):
    """What the rule says of changed rows: words and evidence."""
    found = []
    for how in CHANGES.values():
        try:
            found.append(rule(Evidence(changed(result, how))))
        except (InputError, ValueError, ZeroDivisionError, KeyError, StopIteration, IndexError):
            found.append(open_question("The rows are not there.", "Rows."))
    return found


def test_changed_rows_change_every_verdict(published):
    read = cache(lambda name: stored(RESULTS / "data" / f"{name}.jsonl"))
    for one in published:
        if one.extent == "printed numbers alone":
            continue  # nothing was run, or the printed numbers are judged
        beside = read(one.claim.beside) if one.claim.beside else None
        result = with_tables_of(read(one.claim.experiment).result, beside)
        again = one.claim.judge(Evidence(result))
        quoted = one.verdict.evidence.removeprefix(again.evidence)  # of a run that goes on
        assert again._replace(evidence=again.evidence + quoted) == one.verdict, one.claim.words
        assert not quoted or (one.claim.so_far and quoted.startswith(" So far in the unfinished"))
        if any(part in one.claim.words for part in WAITING):
            continue
        after = verdicts_after(one.claim.judge, result)
        other_data = one.verdict.word == "not settled"  # whatever rows say, they do not settle it
        assert any(
            each.word != again.word or (other_data and each.evidence != again.evidence)
            for each in after
        ), one.claim.words


@pytest.mark.parametrize(
    ("printed", "word"),
    [(240.0, "does not hold"), (237.0, "not settled")],
    ids=["as printed", "fewer"],
)
def test_a_headline_share_must_be_in_the_printed_table(printed, word):
    rows = [
        Row({"accuracy, %": accuracy, "strategy": name}, value)
        for accuracy, name, value in (
            ("96", "DIAL", printed),
            ("96", "BALD", 307.0),
            ("85", "DIAL", 73.0),
            ("85", "BALD", 83.0),
            ("85", "core-set", 117.0),
            ("85", "random", 145.0),
        )
    ]
    found = about("Labels to reach an accuracy", *rows)
    assert claim("[77.2%] of labeled").judge(found).word == word


@pytest.mark.parametrize(
    ("leads", "word"),
    [
        ((at(2, 1, 3), at(2, 1, 3), at(2, 1, 3)), "holds"),
        ((at(-1, -4, 3), at(0, -2, 3), at(8, 4, 11)), "not settled"),
        ((at(-3, -4, -2), at(0, -2, 3), at(8, 4, 11)), "holds in part"),
        ((at(-3, -4, -2), at(0, -2, 3), at(0, -2, 3)), "does not hold"),
    ],
)
def test_dial_must_be_clear_of_all_rivals_to_hold(leads, word):
    rows = [
        Row({"number": "DIAL less this", "strategy": name}, None, lead)
        for name, lead in zip(("BALD", "core-set", "random"), leads, strict=True)
    ]
    found = about("Accuracy in percent, on average over all rounds", *rows)
    assert claim("[MNIST with Fashion MNIST]").judge(found).word == word


def test_core_set_counts_among_those_who_pick_strange_images():
    def picks(core_set):
        shares = {"DIAL": 17, "BALD": 25, "core-set": core_set, "random": 52}
        rows = [Row({"strategy": n}, None, at(v, v - 1, v + 1)) for n, v in shares.items()]
        return claim("better select in-distribution").judge(
            about("Picks out of distribution", *rows)
        )

    assert picks(12).word == "holds in part"
    assert picks(20).word == "holds"


def test_a_densenet_is_judged_at_the_scale_of_the_thesis_and_ours_beside_it():
    def pair(ood, plain, added, fair):
        labels = {"IND": "a", "OOD": ood}
        yield Row(labels | {"method": "Gram"}, 1.0, plain)
        yield Row(labels | {"method": "Gram + pNML"}, 1.0, added, fair)

    rows = [*pair("b", at(90), at(80), at(95)), *pair("c", None, None, None)]
    gram = next(each for each in claims() if "DenseNet, Gram" in each.words)
    found = about("AUROC, percent", *rows)
    assert gram.judge(found).word == "does not hold"
    assert gram.variant(found).word == "holds"
    assert "of 1 pairs" in gram.judge(found).evidence


def test_the_counter_example_is_the_regret_by_its_definition():
    from pnml import NormBallRegressor

    regret, bound = overparameterized.counter_example()
    ball = NormBallRegressor(noise_variance=1e-6).fit([[2.0, 0.0, 0.0]], [1.0])
    assert regret == pytest.approx(ball.regret([[0.0, 10.0, 0.0]])[0], abs=1e-3)
    assert regret > bound


def test_ranks_are_those_of_scipy():
    from scipy.stats import spearmanr

    a, b = np.random.default_rng(0).normal(size=(2, 9))
    assert shift.rank_correlation(list(a), list(b)) == pytest.approx(spearmanr(a, b).statistic)


def test_the_fair_number_stands_before_the_printed_protocol():
    row = Row({"set": "a"}, None, at(1), at(2))
    assert about("t", row).fair("t", set="a").value == 2
    assert about("t", replace(row, fair=None)).fair("t", set="a").value == 1
    assert about("t", row).value("t", set="a") == 1


def test_what_is_not_there_is_said():
    found = about("t", Row({"set": "a"}))
    with pytest.raises(InputError, match="no table"):
        found.rows("u")
    with pytest.raises(InputError, match="0 rows"):
        found.row("t", set="b")
    with pytest.raises(InputError, match="not run"):
        found.ours("t", set="a")
    with pytest.raises(InputError, match="not run"):
        found.fair("t", set="a")


def test_counts_and_numbers_read_well():
    assert [by_count(n, 4, "").word for n in (4, 2, 1)] == [
        "holds",
        "holds in part",
        "does not hold",
    ]
    assert by_truth(False, "").word == "does not hold"
    assert open_question("a", "b").settle == "b"
    assert against_rivals({"a": at(-1, -2, -0.5)}, "", "").word == "does not hold"
    assert interval_text(Estimate(1.0, 1.0, 1.0)) == "1.0"
    assert interval_text(Estimate(1.0, 0.5, 1.5), 2) == "1.00 [0.50, 1.50]"


def test_the_page_of_the_documentation_is_the_one_its_rows_give():
    assert (RESULTS / "claims.md").read_text(encoding="utf-8") == claims_page(RESULTS)


def test_every_claim_is_on_the_page_with_its_rule_its_verdict_and_its_rows(published):
    page = claims_page(RESULTS)
    for one in published:
        line = next(
            line
            for line in page.splitlines()
            if one.claim.words in line and f"({one.claim.experiment}.md)" in line
        )
        assert one.claim.rule in line
        assert f"**{one.verdict.word}** | {one.verdict.evidence}" in line
        assert line.endswith(f", {one.extent} |")
        assert line.count(" | ") == 4


def test_rows_of_a_smaller_scale_leave_a_claim_open(tmp_path):
    (tmp_path / "data").mkdir()
    kept = (RESULTS / "data" / "polynomial.jsonl").read_text(encoding="utf-8")
    cut = kept.replace("Mass of the printed density", "Something else")
    (tmp_path / "data" / "polynomial.jsonl").write_text(cut, encoding="utf-8")
    last = [one for one in judged(tmp_path) if "regularization]" in one.claim.words]
    assert [one.verdict.word for one in last] == ["not settled"]
