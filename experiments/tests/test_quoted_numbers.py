"""Numbers that a person wrote into the README and into comments are those of the stored rows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pnml_experiments.framework.evidence import Evidence
from pnml_experiments.framework.rows import stored

ROOT = Path(__file__).parents[2]
DATA = ROOT / "docs" / "results" / "data"
NUMBER = re.compile(r"\d+(?:\.\d+)?")


def rows_of(name):
    return Evidence(stored(DATA / f"{name}.jsonl").result)


def comment(name):
    """The comment of a page in one line, with the minus that programs write."""
    return " ".join((DATA / f"{name}.txt").read_text(encoding="utf-8").split()).replace("−", "-")


def readme():
    return (ROOT / "README.md").read_text(encoding="utf-8")


def quoted(header, first):
    """Numbers in the line that begins with this cell, in the README's table with this header."""
    table = readme().partition(header)[2].partition("\n\n")[0]
    found = [line for line in table.splitlines() if line.startswith(f"| {first} |")]
    assert len(found) == 1, first
    return NUMBER.findall(found[0].split("|", 2)[2])


def rounded(value, like):
    """The value with as many decimals as in a quoted number."""
    return f"{value:.{len(like.partition('.')[2])}f}"


def assert_quoted(header, first, values):
    found = quoted(header, first)
    assert len(found) == len(values), first
    assert found == [rounded(*pair) for pair in zip(values, found, strict=True)], first


SCORES = {
    "`TrustedRegressor`: `regret`": ("regret",),
    "… `expected_error`, `predict_interval`": ("expected error",),
    "Gaussian process": ("Gaussian process",),
    "kNN, LOF": ("kNN-10 distance", "LOF"),
    "bagging of 20 boosted models": ("bagged boosting × 20",),
    "… times LOF": ("bagged boosting × LOF",),
    "forest variance": ("forest variance",),
    "CQR": ("CQR",),
    "NGBoost": ("NGBoost",),
}
REFUSING = {
    "`TrustedRegressor`: `regret`": ("TrustedRegressor",),
    "kNN, LOF": ("kNN-10 distance", "LOF"),
}
COVERING = {
    "… `expected_error`, `predict_interval`": "TrustedRegressor",
    "CQR": "CQR",
    "NGBoost": "NGBoost",
}


@pytest.mark.parametrize("first", SCORES)
def test_scores_around_a_boosted_model(first):
    found = rows_of("trust-tables")
    values = [
        found.value("Scores, fresh", score=score, number=number)
        for number in ("AUROC", "AURC")
        for score in SCORES[first]
    ]
    values += [
        found.value("False distrust, fresh", method=method, number="ordinary rows")
        for method in REFUSING.get(first, ())
    ]
    if first in COVERING:
        values += [
            100 * found.value("Intervals, fresh", intervals=COVERING[first], number=number)
            for number in ("coverage, ordinary", "coverage, shifted")
        ]
    assert_quoted("shifted rows told from ordinary ones", first, values)


LEARNERS = {
    '`PNMLRegressor(alpha="loo")`': "pNML",
    "`LpNMLRegressor()`": "LpNML",
    "`KernelPNMLRegressor`": "kernel pNML",
    "[`PNMLRegressor` on features of a small network](docs/how-to/network-features.md)": (
        "pNML, network features"
    ),
    "`NormBallRegressor()`, more features than rows": "norm-ball pNML",
    "BayesianRidge": "BayesianRidge",
    "least squares, textbook intervals": "OLS",
    "GaussianProcessRegressor": "GPR",
    "NGBoost": "NGBoost",
    "MAPIE split": "MAPIE split",
    "crepes split": "crepes split",
    "… with our regret as difficulty": "crepes, regret",
}
MEASURES = {
    "log-loss, nats": 1,
    "RMSE": 1,
    "coverage": 100,
    "coverage, highest regret": 100,
}


@pytest.mark.parametrize("first", LEARNERS)
def test_learners_on_uci_sets(first):
    found, learner = rows_of("uci-benchmark"), LEARNERS[first]
    values = [
        times * row.ours.value
        for number, times in MEASURES.items()
        for row in found.rows("Mean over all sets", rows="30", number=number, learner=learner)
        if row.ours is not None
    ]
    shifted = "Intervals of 90% on shifted rows"
    values += [
        100 * row.ours.value
        for rows, features in (("60", "40"), ("40", "120"))
        for row in found.rows(
            shifted, rows=rows, features=features, learner=learner, number="coverage"
        )
    ]
    if learner == "kernel pNML":
        few = {"rows": "40", "features": "120", "learner": learner}
        values.append(100 * found.value(shifted, **few, number="trusted"))
    assert_quoted("log-loss, nats |", first, values)


def test_none_of_the_rows_of_linear_learners_is_trusted_where_the_readme_says_so():
    few = {"rows": "40", "features": "120", "number": "trusted"}
    for learner in ("pNML", "LpNML"):
        assert rows_of("uci-benchmark").value("Intervals of 90%", learner=learner, **few) == 0


DETECTORS = ("regret", "ViM", "fDBD", "NCI", "KNN", "Energy")
FEATURES = ("ResNet-20", "DenseNet, CIFAR-10", "DenseNet, CIFAR-100")


@pytest.mark.parametrize("first", DETECTORS)
def test_detectors(first):
    found = rows_of("ood-detectors")
    name = {"regret": "pNML", "fDBD": "FDBD"}.get(first, first)
    values = [
        found.value("Mean AUROC", features=features, detector=name, sets=sets)
        for features in FEATURES
        for sets in ("all", "near")
    ]
    values.append(found.value("Mean AUROC", features="CLINC150", detector=name, sets="all"))
    assert_quoted("ResNet-20, CIFAR-10 |", first, values)


def labels_to(found, accuracy, strategy):
    """Labels that a strategy needs to reach an accuracy."""
    return found.value("Labels to reach", accuracy=accuracy, strategy=strategy)


def test_comment_on_dial_and_clothes_quotes_its_own_rows():
    text, found = comment("dial-mnist-ood"), rows_of("dial-mnist-ood")
    over = found.ours("Accuracy in percent, on average", number="DIAL less this", strategy="EPIG")
    interval = f"[{-over.high:.1f}, {-over.low:.1f}]"
    lead = f"EPIG is ahead of it by {-over.value:.1f} points on average over the rounds, {interval}"
    assert lead in text

    labels = [labels_to(found, "65", strategy) for strategy in ("DIAL", "EPIG")]
    assert f"(65 % after {labels[0]:.0f} and {labels[1]:.0f} labels)" in text

    def clothes(strategy):
        return found.value("Picks out of distribution", strategy=strategy)

    picks = {name: clothes(name) for name in ("DIAL", "DIAL, T = 1", "EPIG", "BALD", "core-set")}
    assert f"At 5, {picks['DIAL']:.0f} % of DIAL's picks are clothes" in text
    assert f"at 1 {picks['DIAL, T = 1']:.0f} %" in text
    digits = [90 * (1 - picks[name] / 100) for name in ("DIAL", "DIAL, T = 1")]
    assert f"with {digits[0]:.0f} and {digits[1]:.0f} digits to train on" in text
    assert (
        f"core-set fewest ({picks['core-set']:.0f} %), then DIAL at temperature 5 "
        f"({picks['DIAL']:.0f} %) and EPIG ({picks['EPIG']:.0f} %), BALD ({picks['BALD']:.0f} %)"
    ) in text


def test_comment_on_dial_and_clothes_quotes_the_variants_and_the_masks():
    text, found = comment("dial-mnist-ood"), rows_of("dial-variants")

    def both(strategy):
        mean = found.value("Accuracy in percent, on", number="accuracy", strategy=strategy)
        return f"{mean:.1f} and {labels_to(found, '75', strategy):.0f}"

    for words, strategy in (
        ("DIAL at temperature 5", "DIAL"),
        ("at 2", "DIAL, T = 2"),
        ("at 1", "DIAL, T = 1"),
        ("at 5 with three times the passes", "DIAL, 3 × passes"),
        ("EPIG", "EPIG"),
        ("Picks in view of each other have", "DIAL, batch"),
        ("four times the targets", "DIAL, 4 × targets"),
        ("of the rivals BALD has", "BALD"),
    ):
        assert f"{words} {both(strategy)}" in text
    masks = rows_of("dial-stability")

    def range_of(table, temperature, form):
        rows = masks.rows(table, masks="shared", temperature=temperature, passes="100")
        values = [row.ours.value for row in rows]
        return f"{min(values):{form}} to {max(values):{form}}"

    correlation = "Rank correlation of the worst cases"
    assert f"the rank correlation of the scores is {range_of(correlation, '5', '.2f')}" in text
    assert range_of(correlation, "1", ".2f") == "0.98 to 0.98"
    assert "at temperature 1 it is 0.98" in text
    picks = "Share of mask sets whose pick is a piece of clothing"
    of = {t: range_of(picks, t, ".0%").replace("%", "", 1).replace("%", " %") for t in "51"}
    assert f"its pick is one for {of['5']} of the sets of masks" in text
    assert f"at temperature 1 for {of['1']}." in text


@pytest.mark.parametrize(("page", "method"), [("ood-gram", "Baseline"), ("ood-odin", "ODIN")])
def test_comments_on_networks_quote_a_number_that_comes_out_otherwise(page, method):
    row = rows_of(page).row("AUROC, percent", IND="CIFAR-100", OOD="Gaussian", method=method)
    assert f"printed {row.printed:.1f}, here {row.ours.value:.1f}" in comment(page)
