"""Claims on networks are judged by the pairs, rivals and data of the thesis; ours may have more."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pnml.metrics import Estimate
from pnml_experiments.framework.claims import claims
from pnml_experiments.framework.evidence import Evidence
from pnml_experiments.framework.result import Result, Row, Table

AUROC, TNR = "AUROC, percent", "TNR at TPR 95 %, percent"


def claim(part, experiment=""):
    return next(
        each for each in claims() if part in each.words and experiment in (each.experiment, "")
    )


def about(title, rows, *more):
    return Evidence(Result((Table(title, tuple(rows)), *more)))


def at(value, spread=0.0):
    return None if value is None else Estimate(value, value - spread, value + spread)


def pairs(method, found, ind="CIFAR-10", labels=None):
    """Rows of (unknown set, number alone, number with pNML, is it printed)."""
    for ood, plain, added, printed in found:
        shown = 50.0 if printed else None
        names = (labels or {"IND": ind}) | {"OOD": ood}
        yield Row(names | {"method": method}, shown, at(plain))
        yield Row(names | {"method": f"{method} + pNML"}, shown and 60.0, at(added), at(added))


@pytest.mark.parametrize("method", ["Baseline", "Gram", "OECC"])
def test_pairs_that_are_not_printed_count_in_ours_alone(method):
    found = about(AUROC, pairs(method, [("a", 80.0, 90.0, True), ("b", 90.0, 20.0, False)]))
    one = claim(f"[DenseNet, {method}]")
    assert one.experiment == "ood-gram"  # where all images are
    assert one.judge(found).word == "holds"
    assert "of 1 pairs" in one.judge(found).evidence
    assert one.variant(found).word == "holds in part"
    assert "1 of them are not printed" in one.variant(found).evidence


def test_training_sets_without_rows_are_named():
    rows = [*pairs("OECC", [("a", 80.0, 90.0, True)])]
    rows += pairs("OECC", [("a", None, None, True)], "CIFAR-100")
    said = claim("[DenseNet, OECC]").judge(about(AUROC, rows)).evidence
    assert "2 pairs are printed; no network of CIFAR-100 was run with all images" in said


def odin(better, one_step=None):
    """ODIN has 80 with a step for each set, or another number with one step for all."""
    alone, added = pairs("ODIN", [("a", 80.0, better, True)])
    alone = replace(alone, fair=at(one_step))
    return about(AUROC, [alone, added, *pairs("Baseline", [("a", 70.0, better, True)])])


@pytest.mark.parametrize("words", ["[DenseNet, ODIN]", "outperforms ODIN"])
@pytest.mark.parametrize(("better", "word"), [(90.0, "holds"), (10.0, "does not hold")])
def test_odin_is_tuned_for_each_set_in_the_first_verdict_and_for_all_in_ours(words, better, word):
    one = claim(words)
    assert one.experiment == "ood-odin"  # where all images and all steps are
    for one_step, ours in ((better - 1, "holds"), (better + 1, "does not hold")):
        rows = odin(better, one_step)
        assert one.judge(rows).word == word
        assert one.variant(rows).word == ours


def test_without_rows_of_odin_nothing_is_settled():
    rows = [*pairs("ODIN", [("a", None, None, True)])]
    rows += pairs("Baseline", [("a", 70.0, 90.0, True)])
    for words in ("[DenseNet, ODIN]", "outperforms ODIN"):
        assert claim(words).judge(about(AUROC, rows)).word == "not settled"
    assert claim("6 experiments of ODIN", "ood-odin").judge(about(TNR, rows)).word == "not settled"


@pytest.mark.parametrize(
    ("gram", "word"), [(90.0, "holds"), (70.0, "holds in part"), (None, "holds")]
)
def test_no_rate_of_true_negatives_may_fall_but_those_of_odin(gram, word):
    rows = [*pairs("Baseline", [("a", 80.0, 90.0, True)])]
    rows += pairs("Gram", [("a", 80.0, gram, True)])
    rows += pairs("OECC", [("a", 80.0, 90.0, True)])
    verdict = claim("except for 6 experiments", "ood-gram").judge(about(TNR, rows))
    assert verdict.word == word
    assert "4 of ODIN by the TNR, 3 of ODIN by the detection accuracy" in verdict.evidence


def test_rates_that_fall_everywhere_do_not_hold():
    rows = [
        row
        for name in ("Baseline", "Gram", "OECC")
        for row in pairs(name, [("a", 80.0, 70.0, True)])
    ]
    found = about(TNR, rows)
    assert claim("except for 6 experiments", "ood-gram").judge(found).word == "does not hold"


@pytest.mark.parametrize(
    ("falls", "word"),
    [(1, "holds"), (2, "holds in part"), (6, "holds in part"), (7, "does not hold")],
)
def test_rates_of_odin_may_fall_as_seldom_as_in_the_thesis(falls, word):
    found = [(str(i), 80.0, 70.0 if i < falls else 90.0, True) for i in range(10)]
    verdict = claim("6 experiments of ODIN", "ood-odin").judge(about(TNR, pairs("ODIN", found)))
    assert verdict.word == word
    assert f"Lower in {falls} of 10 cases of ODIN" in verdict.evidence


def wide(good, of=16):
    found = [(str(i), 80.0, 81.0 if i < good else 79.0, True) for i in range(of)]
    found += [(str(i), None, None, True) for i in range(of, 16)]
    return about(AUROC, pairs("Energy", found))


@pytest.mark.parametrize(
    ("good", "of", "word"),
    [
        (14, 16, "holds"),
        (13, 16, "holds in part"),
        (2, 16, "does not hold"),
        (9, 9, "not settled"),
    ],
)
def test_fourteen_of_sixteen_pairs_are_enough_and_all_must_be_run(good, of, word):
    assert claim("14 out of 16").judge(wide(good, of)).word == word


@pytest.mark.parametrize(
    ("most", "word"), [(95.2, "holds"), (95.6, "holds in part"), (None, "not settled")]
)
def test_the_headline_gain_is_the_largest(most, word):
    found = about(AUROC, pairs("Energy", [("a", 80.0, most, True), ("b", 80.0, 81.0, True)]))
    assert claim("up to +15.2%").judge(found).word == word


@pytest.mark.parametrize(
    ("words", "experiment"), [("2.4% and 2.1%", "ood-resnet34"), ("3.1% and 2.2%", "ood-gram")]
)
@pytest.mark.parametrize(
    ("gram", "oecc", "word"),
    [
        (93.1, 92.2, "holds"),
        (93.1, 91.0, "holds in part"),
        (91.0, 91.0, "does not hold"),
        (93.1, None, "not settled"),
    ],
)
def test_a_gain_on_a_pair_is_as_large_as_the_words_say(words, experiment, gram, oecc, word):
    rows = [*pairs("Gram", [("LSUN (C)", 90.0, gram, True)], "CIFAR-100")]
    rows += pairs("OECC", [("LSUN (C)", 90.0, oecc, True)], "CIFAR-100")
    rows += pairs("OECC", [("SVHN", 90.0, 95.0, True)], "CIFAR-100")
    rows += pairs("Gram", [("SVHN", 90.0, 95.0, True)], "CIFAR-100")
    assert claim(words, experiment).judge(about(AUROC, rows)).word == word


@pytest.mark.parametrize(("after", "word"), [(100.0, "holds"), (60.0, "does not hold")])
def test_a_gain_may_be_of_true_negatives(after, word):
    found = about(TNR, pairs("Energy", [("Gaussian", 9.6, after, True)], "CIFAR-100"))
    assert claim("by 90.4%").judge(found).word == word


@pytest.mark.parametrize(
    ("first", "second", "word"),
    [
        (99.8, 98.23, "holds"),
        (99.8, 91.0, "holds in part"),
        (91.0, 91.0, "does not hold"),
        (99.8, None, "not settled"),
    ],
)
def test_each_network_has_its_own_largest_gain(first, second, word):
    rows = [
        row
        for name, after in (("ResNet-18", first), ("ResNet-101", second))
        for row in pairs("Baseline", [("a", 90.0, after, True)], labels={"network": name})
    ]
    assert claim("[ImageNet-30]").judge(about(AUROC, rows)).word == word


RIVALS = ("Max-prob", "ODIN", "Entropic Open-Set", "Objectosphere", "Max. Discrepancy")


def areas(refit, cosine=0.5, sets=("SVHN",), printed=0.9, note="", spread=0.0, left_out=()):
    """OSCR areas of the refitted layer, of rivals at 0.8 and of a cosine that is not printed."""
    scores = dict.fromkeys(RIVALS, 0.8) | {"Cosine Similarity": cosine, "pNML refit": refit}
    rows = [
        Row({"unknown": name, "score": score}, printed, at(value, spread), note=note)
        for name in sets
        for score, value in scores.items()
        if score not in left_out
    ]
    for name, score in [(each, "Cosine to class means") for each in sets] + [("else", "ODIN")]:
        rows.append(Row({"unknown": name, "score": score}, None, at(0.99)))
    rows += [
        Row({"unknown": "else", "score": score}, None, at(0.1 if score == "pNML refit" else 0.8))
        for score in scores
        if score != "ODIN"
    ]
    return about("OSCR area, all rows", rows)


CIFAR10 = "highest AUC values … [CIFAR10]"


@pytest.mark.parametrize(
    ("found", "word"),
    [
        (areas(0.9), "holds"),
        (areas(0.9, left_out=["Objectosphere"]), "holds in part"),
        (areas(0.9, note="Printed for another network."), "not settled"),
        (areas(0.7, note="Printed for another network."), "not settled"),
        (areas(0.7), "does not hold"),
        (areas(0.75, spread=0.06), "not settled"),
        (areas(0.75, spread=0.04), "does not hold"),
        (areas(0.9, printed=None), "not settled"),
    ],
    ids=[
        "best",
        "rival left out",
        "another network",
        "behind on another network",
        "behind",
        "behind within the interval",
        "behind beyond the interval",
        "other sets",
    ],
)
def test_the_refit_must_be_best_of_the_methods_and_sets_of_the_thesis(found, word):
    assert claim(CIFAR10).judge(found).word == word


def test_a_printed_set_without_rows_leaves_a_part_open():
    found = areas(0.9)
    lacking = Row({"unknown": "LSUN", "score": "pNML refit"}, 0.94)
    table = found.result.tables[0]
    assert claim(CIFAR10).judge(about(table.title, [*table.rows, lacking])).word == "holds in part"


def every_score(refit, spread=0.0, **more):
    """Areas on two sets: of rivals at 0.8, of the refit, and of what else is named."""
    scores = dict.fromkeys((*RIVALS, "Cosine Similarity"), 0.8)
    scores |= {name.replace("_", " "): value for name, value in more.items()}
    scores |= {"pNML refit": refit}
    return [
        Row({"unknown": name, "score": score}, None, at(value, spread))
        for name in "ab"
        for score, value in scores.items()
    ]


@pytest.mark.parametrize("rival", ["Cosine to class means", "Energy", "pNML", "one more"])
def test_every_score_on_the_page_is_a_rival_of_the_refit_in_ours(rival):
    def judged(value, spread=0.0):
        rows = every_score(0.9, spread, **{rival.replace(" ", "_"): value})
        return claim(CIFAR10).variant(about("OSCR area, 9 rows of each set", rows))

    assert judged(0.85).word == "holds"
    assert "on 2 of 2 unknown sets" in judged(0.85).evidence
    assert judged(0.95).word == "does not hold"
    named = "the closed form" if rival == "pNML" else rival
    assert f"a 0.900 against 0.950 of {named}" in judged(0.95).evidence
    assert judged(0.95, spread=0.06).word == "not settled"


def test_the_closed_form_stands_beside_the_refit_in_ours_with_all_its_rows():
    few = every_score(0.9)
    everything = [row for row in every_score(0.0, pNML=0.85) if row.labels["score"] != "pNML refit"]
    found = about(
        "OSCR area, all rows", everything, Table("OSCR area, 9 rows of each set", tuple(few))
    )
    verdict = claim(CIFAR10).variant(found)
    assert verdict.word == "holds"
    assert "On all rows the closed form has the largest area on 2 of 2." in verdict.evidence


def test_without_a_refit_ours_is_open():
    rows = [row for row in every_score(0.9, pNML=0.9) if row.labels["score"] != "pNML refit"]
    verdict = claim(CIFAR10).variant(about("OSCR area, all rows", rows))
    assert verdict.word == "not settled"
    assert "not run" in verdict.evidence


@pytest.mark.parametrize(
    ("words", "missing"), [("[CelebA]", "CelebA"), ("AUC metric … [CIFAR100]", "CIFAR-100")]
)
@pytest.mark.parametrize("refit", [0.9, 0.1])
def test_other_data_neither_confirm_nor_refute(words, missing, refit):
    verdict = claim(words).judge(areas(refit, printed=None))
    assert verdict.word == "not settled"
    assert "was not run" in verdict.evidence
    assert missing in verdict.settle


def accuracies(refit):
    return about(
        "CCR at FPR 1, 40 rows of each set",
        [
            Row({"unknown": "a", "score": "Max-prob"}, None, at(0.924)),
            Row({"unknown": "a", "score": "pNML refit"}, None, at(refit)),
        ],
    )


@pytest.mark.parametrize(("refit", "word"), [(0.923, "holds in part"), (0.9, "does not hold")])
def test_the_accuracy_on_one_closed_set_of_three_decides_in_part(refit, word):
    verdict = claim("performance on closed-set data").judge(accuracies(refit))
    assert verdict.word == word
    assert "40 rows" in verdict.evidence
    assert claim("closed-set task. [CIFAR100]").judge(accuracies(refit)).word == "not settled"


def noise(note, found, digits=0.93):
    rows = [Row({"unknown": "Gaussian", "score": n}, 0.9, at(v), note=note) for n, v in found]
    rows.append(Row({"unknown": "SVHN", "score": "pNML refit"}, 0.9, at(digits), note=note))
    right = [Row({"unknown": "Gaussian", "score": n}, 0.96, at(0.96)) for n, _ in found]
    return about("OSCR area, 9 rows", rows, Table("CCR at FPR 1, 9 rows", tuple(right)))


@pytest.mark.parametrize("note", ["", "Printed for another network."])
def test_histograms_of_another_network_settle_nothing(note):
    def word(part, found, digits=0.93):
        return claim(part).judge(noise(note, found, digits)).word

    def told(good):
        return "not settled" if note else ("holds" if good else "does not hold")

    trusted = "even higher confidence for noise"
    assert word(trusted, [("Max-prob", 0.2), ("ODIN", 0.4)]) == told(True)
    assert word(trusted, [("Max-prob", 0.2), ("ODIN", 0.8)]) == told(False)
    clear = "clear distinction between CIFAR10"
    assert word(clear, [("Cosine Similarity", 0.95), ("pNML refit", 0.95)]) == told(True)
    assert word(clear, [("Cosine Similarity", 0.8), ("pNML refit", 0.95)]) == told(False)
    alike = "about the same"
    assert word(alike, [("pNML refit", 0.94)]) == told(True)
    assert word(alike, [("pNML refit", 0.96)], digits=0.92) == told(False)


@pytest.mark.parametrize(
    ("words", "larger", "smaller"),
    [
        (
            "1205 and 891",
            "known images that Gram takes for outliers",
            "known images that Gram + pNML takes for outliers",
        ),
        (
            "473 samples",
            "outliers that Gram + pNML finds and Gram does not",
            "outliers that Gram finds and Gram + pNML does not",
        ),
    ],
)
def test_images_of_another_set_do_not_count_for_those_of_lsun(words, larger, smaller):
    def word(note, less):
        rows = [
            Row({"number": larger}, 12.0, at(12.5), note=note),
            Row({"number": smaller}, 8.9, at(less), note=note),
        ]
        return claim(words).judge(about("Images told wrong", rows)).word

    assert word("Printed for LSUN (C).", 11.5) == "not settled"
    assert word("", 11.5) == "holds"
    assert word("", 13.5) == "does not hold"


@pytest.mark.parametrize(
    ("falling", "word"),
    [("0.1 0.5 0.9 1", "holds"), ("0.1 0.5", "holds in part"), ("", "does not hold")],
)
def test_a_regret_that_falls_within_the_span_alone_holds_in_part(falling, word):
    rows = [
        Row({"p₁": p, "xᵀg": g}, None, at(0.3 if p == "0.55" else (0.2 if fall else 0.4)))
        for p in ("0.55", "0.85", "0.99")
        for g in ("0.1", "0.5", "0.9", "1")
        for fall in [g in falling.split()]
    ]
    assert claim("regret is 0 no matter").judge(about("Regret over log 2", rows)).word == word


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ((200.0, 1000.0, 2000.0), "holds in part"),
        ((200.0, 1000.0, None), "holds in part"),
        ((2000.0, 1000.0, None), "does not hold"),
        ((200.0, None, None), "not settled"),
    ],
)
def test_spectra_of_the_densenet_alone_hold_in_part_at_most(values, word):
    note = "All of 50,000 in the thesis, 2,500 here: more directions look empty."
    rows = [
        Row(
            {"embeddings": f"DenseNet-BC-100, {name}", "number": "first eigenvalue over the 50th"},
            None,
            at(value),
            note=note,
        )
        for name, value in zip(("CIFAR-100", "CIFAR-10", "SVHN"), values, strict=True)
    ]
    one = claim("For both DensNet and ResNet models")
    verdict = one.judge(about("Spectra", rows))
    assert verdict.word == word
    assert "2,500 here" in verdict.evidence
    assert "No ResNet" in verdict.evidence


@pytest.mark.parametrize(
    ("spread", "word"),
    [
        ((0.9, 0.3, 0.2), "holds"),
        ((0.9, 0.3, 0.4), "holds in part"),
        ((0.1, 0.3, 0.4), "does not hold"),
    ],
)
def test_larger_classes_must_lower_the_worst_case_step_by_step(spread, word):
    rows = [
        Row({"layers": layers, "number": "log-loss, std"}, None, at(value))
        for layers, value in zip(("0", "2", "7"), spread, strict=True)
    ]
    found = about("By the number of tuned layers, log base 10", rows)
    assert claim("worst-case loss is indeed reduced").judge(found).word == word
