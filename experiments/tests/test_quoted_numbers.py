"""Numbers that a person wrote into the README, guides and comments are those of the stored rows."""

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


def text_of(page):
    return (ROOT / page).read_text(encoding="utf-8")


def quoted(header, first, page="README.md"):
    """Numbers in the line that begins with this cell, in the page's table with this header."""
    table = text_of(page).partition(header)[2].partition("\n\n")[0]
    found = [line for line in table.splitlines() if line.startswith(f"| {first} |")]
    assert len(found) == 1, first
    return NUMBER.findall(found[0].split("|", 2)[2])


def rounded(value, like):
    """The value with as many decimals as in a quoted number."""
    return f"{value:.{len(like.partition('.')[2])}f}"


def assert_quoted(header, first, values, page="README.md"):
    """The line of a table quotes these values; None is for a number that no stored row has."""
    found = quoted(header, first, page)
    assert len(found) == len(values), first
    pairs = zip(values, found, strict=True)
    assert found == [like if value is None else rounded(value, like) for value, like in pairs], (
        first
    )


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


GUIDE = "docs/guide/networks.md"
OTHERS = ("MSP", "MaxLogit", "Energy", "GEN", "Mahalanobis", "RMD", "KNN", "ViM")
# Line of the guide → page of its features alone, features, sets of outliers there and here.
GUIDE_LINES = {
    "ResNet-20, CIFAR-10, mean of six sets": ("ood-resnet20", "ResNet-20", "all", "mean"),
    "the same, CIFAR-100 alone": ("ood-resnet20", "ResNet-20", "near", "CIFAR-100"),
    "CLINC150, MiniLM sentences": ("ood-clinc150", "CLINC150", "all", "out of scope"),
}


@pytest.mark.parametrize("first", GUIDE_LINES)
def test_detectors_in_the_guide(first):
    page, features, sets, ood = GUIDE_LINES[first]
    regret, *others = (
        rows_of("ood-detectors").value("Mean AUROC", features=features, sets=sets, detector=name)
        for name in ("pNML", *OTHERS)
    )
    fixed, own = (
        rows_of(page).value("AUROC", OOD=ood, detector=name) for name in ("pNML", "pNML, own p")
    )
    without_regions = None
    values = [regret, without_regions, fixed, own, *others]
    assert_quoted("| regret | `regions=False` |", first, values, GUIDE)


REFITTED = {
    "mean log-loss; the network has": ("Test digits", "log-loss, nats"),
    "expected calibration error; the network has": ("Test digits", "ECE"),
    "AUROC against clothes; softmax has": ("Unknown rows", "AUROC, clothes"),
    "AUROC against letters; softmax has": ("Unknown rows", "AUROC, letters"),
}


@pytest.mark.parametrize("words", REFITTED)
def test_refitted_layer_in_the_guide(words):
    table, number = REFITTED[words]

    def values(trained_on):
        found = []
        for method in ("softmax", "LastLayerPNML, scale auto", "RefitLastLayerPNML"):
            labels = {"trained on": trained_on, "method": method, "number": number}
            if table == "Unknown rows":
                labels["score"] = "1 − confidence" if method == "softmax" else "own"
            found.append(rows_of("network-genie").value(table, **labels))
        return found

    network, *both = values("1,000 digits")
    first = f"{words} {rounded(network, '0.000')}"
    assert_quoted("| | `LastLayerPNML` | `RefitLastLayerPNML` |", first, both, GUIDE)
    one_step, refitted = values("10,000 digits")[1:]
    assert abs(one_step - refitted) < 0.01


def test_calibration_in_the_guide():
    found = rows_of("regret-calibration")

    def error(features, method):
        table = "Probabilities of known rows"
        value = found.value(table, set=features, method=method, number="ECE")
        return f"{value:.3f}".removeprefix("0")

    text = text_of(GUIDE)
    before, after = (error("CIFAR-10", method) for method in ("softmax", "pNML"))
    assert before == after
    assert f"expected calibration error {before} before and after" in text
    before, after = (error("CLINC150", method) for method in ("softmax", "pNML"))
    assert f"(CLINC150) becomes a little more so ([{before} to {after}]" in text


def test_how_to_on_detectors_says_where_the_regret_is_first():
    found = rows_of("ood-detectors")

    def first_two(features, sets):
        rows = found.rows("Mean AUROC", features=features, sets=sets)
        return sorted(rows, key=lambda row: -row.ours.value)[:2]

    for features in ("ResNet-20", "DenseNet, CIFAR-10"):
        first, second = first_two(features, "near")
        assert first.labels["detector"] == "pNML"
        assert second.ours.high > first.ours.value
    for features, sets in (("ResNet-20", "far"), ("CLINC150", "all")):
        assert first_two(features, sets)[0].labels["detector"] == "pNML"
    vim, regret = first_two("DenseNet, CIFAR-10", "far")
    assert (vim.labels["detector"], regret.labels["detector"]) == ("ViM", "pNML")
    level = f"level with `ViM` on the DenseNet ({regret.ours.value:.2f} and {vim.ours.value:.2f})"
    assert level in text_of("docs/how-to/ood-detectors.md")


def labels_to(found, accuracy, strategy):
    """Labels that a strategy needs to reach an accuracy."""
    return found.value("Labels to reach", accuracy=accuracy, strategy=strategy)


ON_AVERAGE = "Accuracy in percent, on average"
BY_LABELS = "Accuracy in percent, by labels paid for"
CLOTHES = "Picks out of distribution"


def lead_of_epig(found):
    """By how much EPIG is ahead of DIAL, with its interval, as the page says it."""
    over = found.ours(ON_AVERAGE, number="DIAL less this", strategy="EPIG")
    return (
        f"{-over.value:.1f} points on average over the rounds, [{-over.high:.1f}, {-over.low:.1f}]"
    )


def cannot_be_told(found, strategy):
    over = found.ours(ON_AVERAGE, number="DIAL less this", strategy=strategy)
    return over.low < 0 < over.high


def test_comment_on_dial_and_clothes_quotes_its_own_rows():
    text, found = comment("dial-mnist-ood"), rows_of("dial-mnist-ood")
    assert f"EPIG is ahead of it by {lead_of_epig(found)}" in text
    assert "three seeds cannot tell EPIG, BALD or core-set from it" in text
    assert all(cannot_be_told(found, rival) for rival in ("EPIG", "BALD", "core-set"))
    assert "clearly ahead of random alone" in text
    assert not cannot_be_told(found, "random")
    behind = found.value(ON_AVERAGE, number="DIAL less this", strategy="random")
    assert f"random is {behind:.1f} points below" in text

    assert f"EPIG has 85 % after {labels_to(found, '85', 'EPIG'):.0f} labels" in text
    rows = found.rows("Labels to reach", accuracy="85")
    assert [row.labels["strategy"] for row in rows if row.ours is not None] == ["EPIG"]
    last = {row.labels["strategy"]: row.ours.value for row in found.rows(BY_LABELS, labels="60")}
    assert f"DIAL has {last['DIAL']:.1f} % and EPIG {last['EPIG']:.1f} %" in text

    def printed(strategy, accuracy):
        return found.rows("Labels to reach", accuracy=accuracy, strategy=strategy)[0].printed

    strategies = ("DIAL", "BALD", "EPIG", "core-set", "random")
    first = [labels_to(found, "65", strategy) for strategy in strategies]
    assert f"65 % after {min(first):.0f} or {max(first):.0f} labels" in text
    assert set(first) <= {min(first), max(first)}
    before = [printed(strategy, "65") for strategy in strategies]
    assert f"where print has {min(before):.0f} to {max(before):.0f}" in text

    needed = {name: labels_to(found, "75", name) for name in ("DIAL", "BALD", "EPIG", "core-set")}
    assert needed["DIAL"] == needed["BALD"]
    said = f"DIAL and BALD {needed['DIAL']:.0f}, core-set {needed['core-set']:.0f}, random not"
    assert said in text
    notebook = [printed(name, "75") for name in ("EPIG", "BALD")]
    assert f"behind BALD ({notebook[0]:.0f} and {notebook[1]:.0f})" in text
    assert f"is before them here ({needed['EPIG']:.0f})" in text

    spent = [found.value(CLOTHES, strategy=name) for name in strategies]
    dial, bald, epig, core_set, random = (f"{share:.1f} %" for share in spent)
    assert f"of 40 picks**: EPIG {epig}, core-set {core_set} (three with each seed), " in text
    assert found.value(CLOTHES, strategy="core-set") == 100 * 3 / 40
    assert f"DIAL {dial}, BALD {bald}, random {random}" in text


def test_guide_of_active_learning_quotes_the_published_network():
    text, found = text_of("docs/guide/active.md"), rows_of("dial-mnist-ood")
    margin = rows_of("dial-variants").value(CLOTHES, strategy="margin")
    names = ("random", "BALD", "DIAL", "core-set", "EPIG")
    spent = {name: found.value(CLOTHES, strategy=name) for name in names}
    assert ", ".join(f"{name} {share:.1f} %" for name, share in spent.items()) in text
    assert f"margin {margin:.0f} % in a smaller run" in text

    mean = {name: found.value(ON_AVERAGE, number="accuracy", strategy=name) for name in names}
    assert f"has {mean['EPIG']:.1f} %, DIAL {mean['DIAL']:.1f}, BALD {mean['BALD']:.1f}, " in text
    assert f"core-set {mean['core-set']:.1f}, random {mean['random']:.1f}" in text
    assert all(cannot_be_told(found, rival) for rival in ("EPIG", "BALD", "core-set"))


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
    spent = [found.value(CLOTHES, strategy=name) for name in ("DIAL", "DIAL, T = 1", "margin")]
    at_5, at_1, margin = (f"{share:.0f} %" for share in spent)
    assert (
        f"at 5, {at_5} of the picks there are clothes, at 1 {at_1}, of the margin's {margin}"
        in text
    )
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


def test_comment_on_small_copies_of_images_quotes_its_rows():
    found, text = rows_of("ood-gram"), comment("ood-gram")
    tuned = {"IND": "CIFAR-100", "method": "OECC"}
    smooth = found.value("AUROC, percent", OOD="Imagenet (R), smoothed", **tuned)
    sharp = found.row("AUROC, percent", OOD="Imagenet (R)", **tuned)
    assert f"come out at {smooth:.1f}; with every other pixel it is {sharp.ours.value:.1f}" in text
    assert f"printed is {sharp.printed:.1f}" in text


def test_comment_on_tuned_networks_quotes_its_rows():
    found, text = rows_of("ood-gram"), comment("ood-gram")
    rows = {
        (row.labels["IND"], row.labels["OOD"], row.labels["method"]): row
        for row in found.rows("AUROC, percent")
        if row.labels["method"].startswith("OECC") and row.printed and row.ours
    }
    alone = [row for (_, _, method), row in rows.items() if method == "OECC"]
    furthest = max(abs(row.ours.value - row.printed) for row in alone)
    assert f"within {furthest:.1f} points of print" in text
    gains = [
        (
            rows[ind, ood, "OECC + pNML"].printed - row.printed,
            rows[ind, ood, "OECC + pNML"].ours.value - row.ours.value,
        )
        for (ind, ood, method), row in rows.items()
        if method == "OECC" and ind == "CIFAR-100" and ood not in ("Gaussian", "Uniform")
    ]
    printed, ours = zip(*gains, strict=True)
    assert f"print has {min(printed):.1f} to {max(printed):.1f} points more" in text
    assert f"here it is {min(ours):.1f} to {max(ours):.1f}" in text


def test_comment_on_the_steps_of_odin_quotes_its_rows():
    found, text = rows_of("ood-odin"), comment("ood-odin")
    images = [
        row
        for row in found.rows("AUROC, percent")
        if row.ours and row.printed and row.labels["OOD"] not in ("Gaussian", "Uniform")
    ]
    furthest = max(abs(row.ours.value - row.printed) for row in images)
    assert f"within {furthest:.1f} points of print" in text
    curves = {}
    for row in found.rows("AUROC by the step", method="ODIN + pNML"):
        pair = row.labels["IND"], row.labels["OOD"]
        curves.setdefault(pair, {})[row.labels["step"]] = row.ours.value
    adds = {pair: max(curve.values()) - curve["0"] for pair, curve in curves.items()}
    digits = adds.pop(("CIFAR-100", "SVHN"))
    assert f"the best one adds at most {max(adds.values()):.1f} points" in text
    assert f"On SVHN it adds {digits:.1f}." in text
    tiny = [curve for (_, ood), curve in curves.items() if ood.startswith("Imagenet")]
    loses = [curve["0"] - curve["0.01"] for curve in tiny]
    assert f"A step of 0.01 takes {min(loses):.1f} to {max(loses):.1f} points" in text
