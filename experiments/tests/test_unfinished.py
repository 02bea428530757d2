"""Unfinished runs: the page says how far they are and what they show, from stored journals."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch")

from pnml.active import Strategy
from pnml.errors import InputError
from pnml_experiments.ch5_networks import ablation_mnist
from pnml_experiments.ch7_active import dial_pools, dial_unfinished
from pnml_experiments.framework.claims import judged
from pnml_experiments.framework.publishing import published_page
from pnml_experiments.framework.registry import EXPERIMENTS, find
from pnml_experiments.framework.result import Result
from pnml_experiments.framework.rows import lines, stored
from pnml_experiments.framework.scales import SCALES
from pnml_experiments.framework.unfinished import UNFINISHED, how_far, so_far

RESULTS = Path(__file__).parents[2] / "docs" / "results"


def journal(docs, name, scale, keys):
    folder = docs / UNFINISHED / name / scale
    folder.mkdir(parents=True)
    values = keys if isinstance(keys, dict) else dict.fromkeys(keys, 0)
    lines = [{"stamp": "x"}, *({"piece": key, "value": value} for key, value in values.items())]
    (folder / "long-0123.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    # what else a run writes does not count
    (folder / "pieces.jsonl").write_text("not read")
    (folder / "rows.jsonl").write_text("not read")


def test_a_page_says_how_many_rows_are_judged_and_how_to_go_on(tmp_path):
    journal(tmp_path, "ablation-mnist", "stored", ["1 known 0", "1 known 4", "all 4 unknown 8"])
    (said,) = how_far("ablation-mnist", tmp_path)
    rows = ablation_mnist.SIZES["full"].known + ablation_mnist.SIZES["full"].unknown
    assert f"1, to the end 0 %, 1 {800 / rows:.0f} %, 2 0 %, all 4 {400 / rows:.0f} %" in said
    command = "pnml reproduce ablation-mnist --scale stored -o docs/results/data/unfinished"
    assert said.endswith(f"It goes on with `{command}`.")


def test_a_run_of_two_cases_is_told_which_it_is(tmp_path):
    journal(tmp_path, "dial-mnist-ood", "printed", ["0 DIAL 0 accuracy", "0 DIAL 0 picks"])
    journal(tmp_path, "dial-mnist-ood", "stored", ["0 DIAL 0 accuracy"])
    stored, said = how_far("dial-mnist-ood", tmp_path)
    assert stored.startswith("**A run at the scale stored is unfinished.** Rounds of 41")
    assert said.startswith("**A run at the scale printed is unfinished.** Rounds of 301")
    assert "seed 0: DIAL 1, BALD 0" in said
    assert how_far("dial-mnist", tmp_path) == []


def test_a_journal_that_is_none_is_one_sentence(tmp_path):
    journal(tmp_path, "dial-mnist", "printed", [])
    next((tmp_path / UNFINISHED).rglob("long-*")).write_text("{}\n[1]\n")
    with pytest.raises(InputError, match="restore it"):
        how_far("dial-mnist", tmp_path)


def test_stored_journals_are_of_runs_that_are_offered_and_not_published():
    offered = {(one.id, scale) for one in EXPERIMENTS for scale in one.scales}
    for path in (RESULTS / UNFINISHED).glob("*/*/*.jsonl"):
        name, scale = path.parts[-3:-1]
        assert (name, scale) in offered
        published = stored(RESULTS / "data" / f"{name}.jsonl").scale
        assert SCALES.index(published) < SCALES.index(scale)
        assert f"**A run at the scale {scale} is unfinished.**" in "".join(how_far(name, RESULTS))


def two_strategies(seeds=3):
    setting = dial_pools.settings("MNIST")["small"]
    strategies = (Strategy("DIAL", None), Strategy("DIAL, T = 1", None))
    return replace(setting, strategies=strategies, seeds=seeds, start=10, stop=30, step=1)


def rounds(seed, name, accuracies, picks=()):
    """Pieces of one run: an accuracy in each round, and a pick after each but the last."""
    found = {f"{seed} {name} {t} accuracy": value for t, value in enumerate(accuracies)}
    picks = picks or [0] * (len(accuracies) - 1)
    return found | {f"{seed} {name} {t} picks": [row] for t, row in enumerate(picks)}


def test_how_far_counts_the_finished_rounds_of_every_seed():
    pieces = rounds(0, "DIAL", [0.5, 0.6]) | rounds(1, "DIAL, T = 1", [0.5])
    assert dial_unfinished.how_far(two_strategies(2), pieces) == (
        "Rounds of 21 that are finished: seed 0: DIAL 2, DIAL, T = 1 0; "
        "seed 1: DIAL 0, DIAL, T = 1 1."
    )


def test_curves_so_far_are_of_the_rounds_that_all_strategies_finished():
    pieces = rounds(0, "DIAL", [0.1, 0.2, 0.3, 0.4, 0.5], [3, 100, 101, 7])
    pieces |= rounds(0, "DIAL, T = 1", [0.1, 0.3, 0.4, 0.6])
    pieces |= rounds(1, "DIAL", [0.2, 0.4, 0.5], [99, 5])
    pieces |= rounds(1, "DIAL, T = 1", [0.2, 0.2, 0.2], [100, 200])
    pieces |= rounds(2, "DIAL", [0.9])  # its other strategy has not begun
    found = dial_unfinished.finished_curves(two_strategies(), pieces, known=100)
    assert found.seeds == (0, 1)
    assert found.labels.tolist() == [10, 11, 12]
    assert found.accuracy["DIAL"].tolist() == [[0.1, 0.2, 0.3], [0.2, 0.4, 0.5]]
    assert found.accuracy["DIAL, T = 1"].tolist() == [[0.1, 0.3, 0.4], [0.2, 0.2, 0.2]]
    assert found.strange["DIAL"].tolist() == [[0, 0, 1], [0, 0, 0]]
    assert found.strange["DIAL, T = 1"].tolist() == [[0, 0, 0], [0, 1, 2]]


def test_a_seed_alone_has_no_interval():
    pieces = rounds(0, "DIAL", [0.5, 0.6]) | rounds(0, "DIAL, T = 1", [0.5, 0.6])
    assert dial_unfinished.finished_curves(two_strategies(), pieces, known=100) is None


def test_a_run_shows_nothing_that_its_page_has(tmp_path):
    names = [rule.name for rule in dial_pools.settings("MNIST")["full"].strategies]

    def pieces(seeds, accuracies):
        found = {}
        for seed in range(seeds):
            for at, name in enumerate(names):
                mine = [one + (seed + at) / 100 for one in accuracies]
                found |= rounds(seed, name, mine, [seed] * (len(mine) - 1))
        return found

    def shown(seeds, accuracies):
        shutil.rmtree(tmp_path / UNFINISHED, ignore_errors=True)
        journal(tmp_path, "dial-mnist-ood", "printed", pieces(seeds, accuracies))
        return so_far("dial-mnist-ood", tmp_path)

    assert not shown(1, [0.6, 0.7])
    (found,) = shown(3, [0.6, 0.7]).values()  # nothing is published yet
    assert found.how_much == "up to 21 labels, seeds 0, 1, 2"
    (tmp_path / "data").mkdir(exist_ok=True)
    with (tmp_path / "data" / "dial-mnist-ood.jsonl").open("w") as rows:
        result = Result(found.tables)
        for line in lines(find("dial-mnist-ood"), "stored", result):
            rows.write(json.dumps(line) + "\n")
    assert not shown(3, [0.6, 0.7])
    assert "end of this page" not in how_far("dial-mnist-ood", tmp_path)[0]
    assert shown(3, [0.6, 0.7, 0.8])
    assert "end of this page" in how_far("dial-mnist-ood", tmp_path)[0]
    assert shown(4, [0.6, 0.7])


def test_a_page_shows_at_its_end_what_an_unfinished_run_shows_so_far(tmp_path):
    names = [rule.name for rule in dial_pools.settings("MNIST")["stored"].strategies]
    shutil.copytree(RESULTS / "data", tmp_path / "data", ignore=lambda *_: [UNFINISHED.name])
    before = published_page("dial-mnist-ood", tmp_path)
    pieces = {}
    for seed in (0, 1):
        for name in names:
            picks = [10_000, 1] if name == "BALD" else [0, 1]
            pieces |= rounds(seed, name, [0.5, 0.6 + seed / 100, 0.66], picks)
    journal(tmp_path, "dial-mnist-ood", "stored", pieces)
    after = published_page("dial-mnist-ood", tmp_path)
    assert "What it shows so far is at the end of this page." in after
    more = after[after.index("## Labels to reach an accuracy: unfinished run at the scale") :]
    assert more not in before
    assert more.count("Up to 22 labels, seeds 0, 1.") == 4  # under every title
    # after 21 labels: 60.5 percent, and 66.9 = 60.5 + 12.71 · 0.5 at the end of the interval
    assert "| 65 | DIAL | 30 | 22 [21, 22] | -8 |" in more
    assert "| 75 |" not in more  # nobody is there yet
    assert "| BALD | 50.0 |" in more
    assert "| DIAL | 0.0 |" in more
    # the mean over the rounds of the two seeds is 58.67 and 59 percent
    assert "| DIAL | 58.83 [" in more
    assert "| 21 | 60.5 [" in more


def test_an_open_claim_quotes_the_unfinished_run_and_stays_open(tmp_path):
    shutil.copytree(RESULTS / "data", tmp_path / "data", ignore=lambda *_: [UNFINISHED.name])
    before = {one.claim.words: one for one in judged(tmp_path, "dial-mnist-ood")}
    names = [rule.name for rule in dial_pools.settings("MNIST")["stored"].strategies]
    pieces = {}
    for seed in (0, 1):
        for name in names:
            lead = 0.1 + seed / 500 if name == "DIAL" else 0.0
            pieces |= rounds(seed, name, [0.5 + lead, 0.6 + lead], [0 if lead else 10_000])
    journal(tmp_path, "dial-mnist-ood", "stored", pieces)
    for one in judged(tmp_path, "dial-mnist-ood"):
        same, said = before[one.claim.words], one.verdict.evidence
        assert one.verdict.word == same.verdict.word
        if not one.claim.so_far:
            assert one == same
            continue
        assert one.verdict.word == "not settled"
        quoted = said.removeprefix(same.verdict.evidence)
        where = "unfinished run at the scale stored (up to 21 labels, seeds 0, 1): "
        assert quoted.startswith(f" So far in the {where}")
        if "73, 48 and 30" in one.claim.words:
            assert quoted.endswith("The rows end at 21 labels.")
    (ahead,) = (
        one for one in judged(tmp_path, "dial-mnist-ood") if "In this setting" in one.claim.words
    )
    # leads of 10 and 10.2 points: 10.1 ± 12.71 · 0.1
    assert (
        "seeds 0, 1): mean accuracy of DIAL less that of BALD: 10.1 [8.8, 11.4];"
        in ahead.verdict.evidence
    )
    assert "EPIG: 10.1 [8.8, 11.4] points." in ahead.ours.evidence
