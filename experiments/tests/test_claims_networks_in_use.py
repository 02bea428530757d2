"""Claims on attacked networks, on active learning and on stability, by rows made up for them."""

from __future__ import annotations

from math import inf

import pytest

from pnml.metrics import Estimate
from pnml_experiments.claims import active, adversarial_versions
from pnml_experiments.framework.claims import claims
from pnml_experiments.framework.evidence import Evidence
from pnml_experiments.framework.result import Result, Row, Table

VERSIONS = "Worst-case gain of each version, percent"
LABELS, CURVE = "Labels to reach an accuracy", "Accuracy in percent, by labels paid for"
MEAN = "Accuracy in percent, on average over all rounds"


def claim(part, experiment):
    return next(each for each in claims() if part in each.words and each.experiment == experiment)


def of(tables):
    return Evidence(Result(tuple(Table(title, tuple(rows)) for title, rows in tables.items())))


def at(value, spread=0.0):
    return Estimate(float(value), float(value - spread), float(value + spread))


def versions(**numbers):
    """Rows of three networks; a gain is that over the network itself."""
    names = {"plain": "as printed", "through": "trained through the defence"}
    names |= {"tuned": "tuned without it"}
    return [
        Row({"version": names[version], "number": number}, fair=value)
        for version, found in numbers.items()
        for number, value in found.items()
    ]


GAIN, WORST = "gain over its own network", "worst case, network"


BETTER = [
    (at(3, 1), "holds"),
    (at(-3, 1), "does not hold"),
    (at(1, 1), "not settled"),
]


def attacked(gain, clean=98, fair=None):
    """Rows of the network of the thesis: paired gains, and what both networks have."""
    models = {"robust network": 98, "trained through the defence, λ = 0.1": clean}
    accuracy = [
        Row({"model": model, "attack": attack}, ours=at(value))
        for model, natural in models.items()
        for attack, value in (("none", natural), ("PGD", 90), ("worst", 80))
    ]
    gains = [Row({"attack": attack}, ours=gain, fair=fair) for attack in ("PGD", "worst")]
    return of({"Accuracy, percent": accuracy, "Gain over the robust network by attack": gains})


@pytest.mark.parametrize(("gain", "word"), BETTER)
def test_more_points_must_stand_than_chance_would_leave(gain, word):
    one = claim("91.2%", "adversarial-printed")
    assert one.judge(attacked(gain, fair=at(-50, 1))).word == word
    assert one.variant(attacked(at(-50, 1), fair=gain)).word == word


@pytest.mark.parametrize(
    ("gain", "clean", "word"),
    [
        (at(3, 1), 98, "holds"),
        (at(3, 1), 97.5, "holds in part"),
        (at(-3, 1), 98, "does not hold"),
        (at(-3, 1), 97.5, "does not hold"),
        (at(0, 1), 98, "not settled"),
    ],
)
def test_robustness_and_clean_accuracy_are_judged_on_one_network(gain, clean, word):
    one = claim("improves the robustness by 0.8%", "adversarial-printed")
    assert "no loss to natural accuracy" in one.words
    assert one.judge(attacked(gain, clean, fair=at(0, 9))).word == word
    assert one.variant(attacked(at(0, 9), clean, fair=gain)).word == word
    assert "1,000 of 10,000 test digits" in one.judge(attacked(gain, clean)).evidence


def test_any_model_is_every_model():
    one = claim("any model can easily combine", "adversarial-holds")

    def word(*gains):
        found = {n: {GAIN: g} for n, g in zip(("plain", "through", "tuned"), gains, strict=True)}
        return one.judge(of({VERSIONS: versions(**found)})).word

    assert word(at(3, 1), at(3, 1), at(3, 1)) == "holds"
    assert word(at(3, 1), at(3, 1), at(0, 1)) == "holds in part"
    assert word(at(-90, 1), at(-2, 1), at(-90, 1)) == "does not hold"


def test_a_small_network_may_gain():
    table = "Accuracy and gains, percent"
    one = claim("any model can easily combine", "adversarial-digits")

    def judged(*gains):
        names = {"last epochs": "without the defence", "λ": "0.05"}
        rows = [Row(names | {"number": "gain"}, fair=gain) for gain in gains]
        other = Row({"number": "gain over the network of the other training"}, fair=at(2.8, 1))
        return one.judge(of({table: [*rows, other]}))

    assert judged(at(3, 1), at(3, 1)).word == "holds"
    assert judged(at(3, 1), at(1, 2)).word == "holds in part"
    assert "2.8 [1.8, 3.8]" in judged(at(3, 1)).evidence


def test_a_detector_is_judged_by_those_who_know_of_it():
    one = claim("adversarial attack detector", "adversarial-holds")

    def judged(plain, through):
        names = {"plain": "as printed", "through": "trained through the defence"}
        rows = [
            Row({"version": names[n], "refused": "1 %", "number": "standing"}, fair=at(value, 2))
            for n, value in (("plain", plain), ("through", through))
        ]
        alone = {name: {WORST: at(86, 2)} for name in ("plain", "through", "tuned")}
        return one.judge(
            of({VERSIONS: versions(**alone), "Accuracy against abstention, percent": rows})
        )

    assert judged(5, 80).word == "does not hold"
    assert judged(5, 93).word == "holds in part"
    assert judged(93, 93).word == "holds"
    assert adversarial_versions.STRENGTH in judged(5, 93).evidence


def test_the_attack_on_the_detector_is_as_strong_as_is_said():
    pytest.importorskip("torch")
    from pnml_experiments.ch6_adversarial.adversarial_holds import SIZES

    full = SIZES["full"]
    assert full.budget.targets is None
    said = f"{full.joint_steps} steps towards {full.joint_targets} labels, those on the network"
    assert f"{said} alone {full.budget.steps} towards every label" in adversarial_versions.STRENGTH


def by_radius(model, values):
    return [
        Row({"radius": str(radius), "model": name}, None, at(value))
        for radius, (plain, ours) in values.items()
        for name, value in (("network", plain), (model, ours))
    ]


def test_as_robust_is_not_more_robust_and_digits_are_not_pictures():
    one = claim("more robust for all ε", "adversarial-curves")
    values = {0.1: (97.5, 97.5), 0.2: (94, 95)}
    first = one.judge(
        of({"Accuracy by radius, percent": by_radius("defence, transferred", values)})
    )
    assert first.word == "not settled"
    assert "higher at 1 of 2 radii" in first.evidence
    assert "run" in first.settle
    rows = by_radius("defence, end to end", values)
    assert one.variant(of({"Accuracy by radius, percent": rows})).word == "holds in part"


def test_a_balance_needs_clean_accuracy_too():
    one = claim("good balance", "adversarial-mnist")

    def judged(clean, attacked):
        numbers = {"robust network": (98, 89), "robust, λ = 0.05": (90, 50)}
        numbers |= {"robust, λ = 0.15": (clean, attacked), "robust, λ = 0.3": (98, 97)}
        rows = [
            Row({"model": model, "attack": attack}, None, at(value, 1))
            for model, pair in numbers.items()
            for attack, value in zip(("none", "PGD"), pair, strict=True)
        ]
        return one.judge(of({"Accuracy, percent": rows})).word

    assert judged(98, 96) == "holds"
    assert judged(97, 96) == "holds in part"
    assert judged(98, 89) == "holds in part"


def test_one_more_gradient_that_works_is_enough():
    one = claim("only viable", "adversarial-mnist")

    def word(adaptive, same, through):
        accuracy = Row({"model": "robust, λ = 0.1", "attack": "adaptive"}, None, at(adaptive))
        chain = [
            Row({"model": "λ = 0.1", "attack": attack, "points tried": "9"}, fair=at(value))
            for attack, value in (("apgd-ce identity", same), ("apgd-ce autograd", through))
        ]
        tables = {
            "Accuracy, percent": [accuracy],
            "One attack after the other, percent left": chain,
        }
        return one.judge(of(tables)).word

    assert word(14, 14, 14) == "holds"
    assert word(14, 14, 13) == "does not hold"
    assert word(14, 1, 1) == "does not hold"


def test_queries_are_counted_in_the_rows():
    one = claim("black-box accuracy by 1.5%", "adversarial-mnist")
    rows = [
        Row({"λ": "0.1", "attack": "hop-skip-jump", "queries": queries}, fair=at(100))
        for queries in ("50", "7,000")
    ]
    tried = Row({"model": "λ = 0.1", "attack": "hop-skip-jump", "points tried": "12"}, fair=at(1))
    found = one.judge(
        of(
            {
                "Attacks that see labels or scores only": rows,
                "One attack after the other, percent left": [tried],
            }
        )
    )
    assert found.word == "not settled"
    assert "12 points" in found.evidence
    assert "7,000 queries" in found.evidence


@pytest.mark.parametrize("part", ["by 4.2%", "by 6.0%", "by 0.4%", "WRN model by 8%", "5.7%"])
def test_pictures_that_were_not_run_show_what_was_printed(part):
    found = claim(part, "adversarial-mnist").judge(of({}))
    assert found.word == "not settled"
    assert "Printed: " in found.evidence
    assert "a run" in found.settle


def labels(accuracy, strategy, value=None, printed=None, note=""):
    return Row({"accuracy, %": accuracy, "strategy": strategy}, printed, value, note=note)


def curve(last):
    return [Row({"labels": str(last), "strategy": "DIAL"}, None, at(50))]


def test_a_run_that_stops_early_says_so():
    one = claim("0.95 where DIAL uses 169", "dial-mnist")
    rows = [labels("95", "DIAL", printed=169.0), labels("95", "BALD", printed=209.0)]
    found = one.judge(of({LABELS: rows, CURVE: curve(34)}))
    assert found.word == "not settled"
    assert "DIAL printed at 169. The rows end at 34 labels." in found.evidence


def test_a_rival_that_is_not_there_yet_is_behind():
    one = claim("0.95 where DIAL uses 169", "dial-mnist")

    def word(dial, bald, note=""):
        rows = [labels("95", "DIAL", dial, note=note), labels("95", "BALD", bald)]
        return one.judge(of({LABELS: rows, CURVE: curve(300)})).word

    assert word(at(169, 5), None) == "holds"
    assert word(None, at(169, 5)) == "does not hold"
    assert word(at(169, 5), at(209, 5)) == "holds"
    assert word(at(169, 5), at(209, 5), "The upper end is open: so it is.") == "not settled"


def test_the_open_end_of_an_interval_has_no_end():
    assert active._needed(None, 30).high == inf
    assert active._needed(labels("65", "DIAL", at(20, 5)), 30) == at(20, 5)


def picks(dial, bald, core_set, random):
    shares = {"DIAL": dial, "BALD": bald, "core-set": core_set, "random": random}
    return of(
        {"Picks out of distribution": [Row({"strategy": n}, None, v) for n, v in shares.items()]}
    )


@pytest.mark.parametrize("experiment", ["dial-mnist-ood", "dial-emnist-ood"])
def test_strange_picks_whose_intervals_overlap_settle_nothing(experiment):
    one = claim("better select in-distribution", experiment)
    found = one.judge(picks(at(17, 6), at(25, 5), at(12, 2), at(52, 4)))
    assert found.word == "not settled"
    assert "fewest by core-set" in found.evidence
    assert one.judge(picks(at(17, 1), at(25, 1), at(30, 1), at(52, 4))).word == "holds"
    assert one.judge(picks(at(17, 1), at(25, 1), at(12, 1), at(52, 4))).word == "holds in part"


def test_labels_at_an_accuracy_are_part_of_being_the_top():
    one = claim("accuracy rate of 0.56", "dial-emnist")
    rivals = ("BALD", "core-set", "random")

    def judged(lead, needed):
        mean = [Row({"number": "DIAL less this", "strategy": name}, None, lead) for name in rivals]
        rows = [labels("56", "DIAL", at(200, 5)), *(labels("56", n, needed) for n in rivals)]
        rows = rows if needed else []
        return one.judge(of({MEAN: mean, LABELS: rows, CURVE: curve(300)})).word

    assert judged(at(2, 1), at(250, 5)) == "holds"
    assert judged(at(2, 1), at(150, 5)) == "holds in part"
    assert judged(at(2, 1), at(201, 5)) == "not settled"
    assert judged(at(2, 1), None) == "not settled"
    assert judged(at(-2, 1), at(150, 5)) == "does not hold"


def test_accuracy_at_so_many_labels_needs_a_run_that_gets_there():
    one = claim("For 300 samples", "dial-emnist-ood")

    def judged(last, dial):
        values = {"DIAL": dial, "BALD": 51, "core-set": 42, "random": 40}
        rows = [
            Row({"labels": str(last), "strategy": n}, None, at(v, 1)) for n, v in values.items()
        ]
        printed = [labels("53", "DIAL", printed=288.0)]
        return one.judge(of({CURVE: rows, LABELS: printed}))

    assert judged(87, 60).word == "not settled"
    assert "stops at 87" in judged(87, 60).evidence
    assert judged(310, 60).word == "holds"
    assert judged(310, 47).word == "holds in part"


def printed(*lines):
    return of({LABELS: [labels(accuracy, name, printed=value) for accuracy, name, value in lines]})


def test_all_rivals_and_accuracies_of_print_may_give_a_share():
    one = claim("[77.2%] of labeled", "dial-mnist-ood")
    without = printed(("85", "DIAL", 73.0), ("85", "BALD", 83.0))
    assert one.judge(without).word == "does not hold"
    found = printed(("75", "DIAL", 77.2), ("75", "core-set", 100.0), ("85", "DIAL", 73.0))
    assert one.judge(found).word == "not settled"  # in print, but not run
    assert one.judge(printed(("75", "DIAL", 77.2), ("75", "BALD", 90.0))).word == "does not hold"
    rival = printed(
        ("75", "DIAL", 77.2), ("75", "EPIG", 100.0), ("85", "DIAL", 73.0), ("85", "BALD", 83.0)
    )
    assert one.judge(rival).word == "does not hold"  # the thesis knows no EPIG


def test_savings_that_follow_from_their_table_still_need_a_run():
    one = claim("21.3%, 34.8%, and 31.1% less", "dial-cifar10")
    table = [("65", "DIAL", 2484.0), ("65", "BALD", 3156.0), ("65", "core-set", 3812.0)]
    assert one.judge(printed(*table, ("65", "random", 3604.0))).word == "not settled"
    assert one.judge(printed(*table, ("65", "random", 3000.0))).word == "does not hold"


def test_the_largest_scale_has_the_seeds_that_are_named():
    torch = pytest.importorskip("torch")
    assert torch
    from pnml_experiments.ch7_active.dial_pools import settings

    digits, letters = (settings(name)["full"] for name in ("MNIST", "EMNIST"))
    assert (digits.seeds, digits.stop) == (6, 320)
    assert "six seeds" in active.MORE
    assert "up to 320 labels" in active.MORE
    assert (letters.seeds, letters.stop) == (3, 347)
    assert "three seeds" in active.EMNIST
    assert "up to 347 labels" in active.EMNIST


def test_a_small_regret_allows_a_small_move_only():
    one = claim("does not change the model drastically", "regret-stability")

    def word(judge, *shares):
        names = ("ridge", "classifier, refitted", "kernel", "forest, splits kept")
        names += ("forest, grown again", "classifier, one step")
        labelled = {"set": "all", "number": "share of own moves within the bound"}
        rows = [
            Row(labelled | {"learner": name}, None, at(share))
            for name, share in zip(names, shares, strict=True)
        ]
        return judge(of({"Regret against what leaving a row out moves": rows})).word

    assert word(one.judge, 1, 1, 0, 0, 0, 0) == "holds"
    assert word(one.judge, 1, 0.9, 1, 1, 1, 1) == "holds in part"
    assert word(one.variant, 1, 1, 1, 0.7, 0.1, 0.6) == "does not hold"
