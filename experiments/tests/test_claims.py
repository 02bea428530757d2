"""Claims are judged by rows: change the rows, and the verdict changes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch")

from pnml.errors import InputError
from pnml.metrics import Estimate
from pnml_experiments.framework.claims import claims, claims_page, judged
from pnml_experiments.framework.evidence import Evidence, by_count, interval_text
from pnml_experiments.framework.registry import find
from pnml_experiments.framework.result import Result, Row, Table

RESULTS = Path(__file__).parents[2] / "docs" / "results"


def claim(part):
    return next(each for each in claims() if part in each.text)


def about(title, *rows):
    return Evidence(Result((Table(title, rows),)))


def test_every_claim_names_an_experiment():
    for each in claims():
        assert find(each.experiment).chapter in (each.chapter, each.chapter + 1)


@pytest.mark.parametrize(
    ("low", "word"), [(1.0, "holds"), (-1.0, "does not hold")], ids=["clear of 0", "not clear"]
)
def test_a_defence_must_gain_in_the_worst_case_to_hold(low, word):
    rows = (
        Row({"λ": "0.05"}, None, None, Estimate(2.0, low, 3.0)),
        Row({"λ": "0.3"}, None, None, Estimate(-80.0, -82.0, -78.0)),
    )
    found = about("Gain over the robust network, points of percent", *rows)
    assert claim("attacks that know of it").judge(found).word == word


@pytest.mark.parametrize(
    ("gains", "word"),
    [((1, 1, 1), "holds"), ((1, 1, -1), "holds in part"), ((1, -1, -1), "does not hold")],
)
def test_dial_must_be_clear_of_all_rivals_to_hold(gains, word):
    rows = [
        Row({"number": "DIAL less this", "strategy": name}, None, Estimate(gain, gain - 0.5, 2.0))
        for name, gain in zip(("random", "BALD", "EPIG"), gains, strict=True)
    ]
    found = about("Accuracy in percent, on average over all rounds", *rows)
    assert claim("needs fewer labels").judge(found).word == word


def test_rows_that_were_not_run_do_not_count():
    def pair(ood, plain, added):
        labels = {"IND": "a", "OOD": ood}
        yield Row(labels | {"method": "Gram"}, 1.0, plain)
        yield Row(labels | {"method": "Gram + pNML"}, 1.0, added)

    at = [Estimate(float(value), value - 1.0, value + 1.0) for value in (90, 95, 80)]
    rows = [*pair("b", at[0], at[1]), *pair("c", None, None)]
    gram = next(each for each in claims() if "Gram" in each.text)
    verdict = gram.judge(about("AUROC, percent", *rows))
    assert verdict.word == "holds"
    assert "1 of 1" in verdict.evidence
    assert "5.0 points" in verdict.evidence
    worse = [*rows, *pair("d", at[0], at[2]), *pair("e", at[0], at[2])]
    assert gram.judge(about("AUROC, percent", *worse)).word == "does not hold"


def test_the_fair_number_stands_before_the_printed_protocol():
    row = Row({"set": "a"}, None, Estimate(1.0, 1.0, 1.0), Estimate(2.0, 2.0, 2.0))
    assert about("t", row).fair("t", set="a").value == 2
    assert about("t", replace(row, fair=None)).fair("t", set="a").value == 1


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
    assert interval_text(Estimate(1.0, 1.0, 1.0)) == "1.0"
    assert interval_text(Estimate(1.0, 0.5, 1.5), 2) == "1.00 [0.50, 1.50]"


def test_the_page_of_the_documentation_is_the_one_its_rows_give():
    assert (RESULTS / "claims.md").read_text(encoding="utf-8") == claims_page(RESULTS)


def test_every_claim_with_rows_is_judged_on_the_page():
    page = claims_page(RESULTS)
    for each, verdict in judged(RESULTS):
        assert f"| {each.text} | **{verdict.word}** | {verdict.evidence} [" in page


def test_all_published_claims_are_settled():
    verdicts = list(judged(RESULTS))
    assert len(verdicts) == len(claims())
    assert all(verdict.word != "not settled here" for _, verdict in verdicts)


def test_rows_of_a_smaller_scale_leave_a_claim_open(tmp_path):
    (tmp_path / "data").mkdir()
    kept = (RESULTS / "data" / "open-set-resnet20.jsonl").read_text(encoding="utf-8")
    cut = kept.replace("1000 rows of each set", "100 rows of each set")
    (tmp_path / "data" / "open-set-resnet20.jsonl").write_text(cut, encoding="utf-8")
    ((_, verdict),) = judged(tmp_path)
    assert verdict.word == "not settled here"
