"""One table: the same numbers whichever convention a detector follows."""

from __future__ import annotations

import dataclasses
import io

import numpy as np
import pytest
import torch
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score

from pnml.errors import InputError
from pnml.metrics import detection_metrics
from pnml.ood import MSP, Energy, evaluate_ood


def head(rows):
    return rows


@pytest.fixture
def logits(rng):
    usual = 4 * np.eye(3)[rng.integers(3, size=150)] + rng.normal(size=(150, 3))
    return usual, {"flat": rng.normal(size=(80, 3)), "odd": 1 + rng.normal(size=(60, 3))}


class LikePytorchOOD:
    """Only what a detector of pytorch-ood has."""

    def predict(self, x):
        return -torch.as_tensor(x).softmax(dim=1).max(dim=1).values


@pytest.fixture
def table(logits):
    return evaluate_ood({"softmax": MSP(head), "energy": Energy(head)}, *logits)


def test_every_cell_is_what_the_metrics_say_of_the_scores(table, logits):
    usual, oods = logits
    for name, detector in {"softmax": MSP(head), "energy": Energy(head)}.items():
        for ood, rows in oods.items():
            s_in, s_out = -detector.predict(usual), -detector.predict(rows)
            assert table[name, ood] == detection_metrics(s_in, s_out)
            label = np.r_[np.ones(150), np.zeros(len(rows))]
            area = roc_auc_score(label, np.r_[s_in, s_out])
            assert table[name, ood].auroc.value == pytest.approx(area)
    mean = np.mean([table["energy", ood].tnr95.value for ood in oods])
    assert table.mean("tnr95")["energy"] == pytest.approx(mean)
    assert [(row.rows_in, row.rows_out) for row in table.rows[:2]] == [(150, 80), (150, 60)]


def test_all_conventions_rank_alike(logits):
    usual, oods = logits
    loader = [(torch.from_numpy(part), None) for part in np.array_split(usual, 4)]
    contenders = {
        "ours": MSP(head),
        "like pytorch-ood": LikePytorchOOD(),
        "function": MSP.score,
        "scikit-learn": IsolationForest(random_state=0).fit(usual),
    }
    table = evaluate_ood(contenders, usual, oods)
    assert table["ours", "flat"] == table["function", "flat"]
    alike = table["like pytorch-ood", "flat"].auroc.value
    assert table["ours", "flat"].auroc.value == pytest.approx(alike, abs=1e-6)
    assert table["scikit-learn", "flat"].auroc.value > 0.5
    streamed = evaluate_ood([MSP(head)], loader, oods)
    assert streamed["MSP", "flat"] == table["ours", "flat"]


def test_batches_that_come_only_once_serve_every_detector(table, logits):
    usual, oods = logits
    streams = {name: iter(np.array_split(rows, 3)) for name, rows in oods.items()}
    detectors = {"softmax": MSP(head), "energy": Energy(head)}
    assert evaluate_ood(detectors, iter(np.array_split(usual, 4)), streams) == table


def test_scores_of_ordinary_rows_alone_are_enough(logits):
    class OnlyScores:
        def score_samples(self, x):
            return -MSP.score(x)

    usual, oods = logits
    table = evaluate_ood({"a": OnlyScores(), "b": MSP(head)}, usual, oods)
    assert table["a", "flat"] == table["b", "flat"]


def test_detectors_without_a_name_are_called_by_their_class():
    rows = np.eye(3)
    table = evaluate_ood([MSP(head), Energy(head), MSP(head)], rows, {"x": -rows}, resamples=2)
    assert table.detectors == ("MSP 1", "Energy", "MSP 2")


def test_the_table_can_be_read_in_every_form(table):
    frame = table.to_pandas()
    assert len(frame) == 4
    at = frame.set_index(["detector", "ood"]).loc[("energy", "odd")]
    assert tuple(at[["auroc", "auroc_low", "auroc_high"]]) == table["energy", "odd"].auroc
    assert at["rows_out"] == 60
    lines = table.to_markdown("fpr95").splitlines()
    assert lines[0] == "| FPR95 | softmax | energy |"
    assert [line.split(" | ")[0] for line in lines[2:]] == ["| flat", "| odd", "| mean"]
    best = min(table.mean("fpr95").values())
    assert f"**{100 * best:.2f}**" in lines[-1]
    assert f"{100 * table.mean()['energy']:.2f}" in str(table)
    assert "**" not in str(table)
    assert table._repr_markdown_() == table.to_markdown()
    with pytest.raises(dataclasses.FrozenInstanceError):
        table.rows = ()
    with pytest.raises(KeyError):
        table["energy", "nowhere"]


def test_rich_draws_the_table_where_it_is_installed(table):
    console = pytest.importorskip("rich.console")
    page = io.StringIO()
    console.Console(file=page, width=120).print(table)
    value = table["softmax", "flat"].auroc
    assert f"{100 * value.value:.2f} [{100 * value.low:.1f}," in page.getvalue()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: evaluate_ood([], np.eye(2), {"x": np.eye(2)}), "no detectors"),
        (lambda: evaluate_ood([3], np.eye(2), {"x": np.eye(2)}), "'int' is a int without predict"),
        (lambda: evaluate_ood(MSP(head), np.eye(2), {"x": np.eye(2)}), "came as one MSP"),
        (
            lambda: evaluate_ood({"bad": lambda x: x[:, 0]}, np.eye(2) * np.nan, {"x": np.eye(2)}),
            "'bad' gives NaN for 2 of the ordinary rows, first for row 0",
        ),
        (
            lambda: evaluate_ood({"wide": head}, np.eye(2), {"x": np.eye(2)}),
            r"'wide' gives scores of shape \(2, 2\) for the ordinary rows",
        ),
        (lambda: evaluate_ood([MSP(head)], np.eye(2), {}), "ood must be a dict"),
        (lambda: evaluate_ood([MSP(head)], np.eye(2), np.eye(2)), "ood must be a dict"),
        (lambda: evaluate_ood([MSP(head)], np.eye(2), {"x": []}), "no rows in the outliers 'x'"),
        (
            lambda: evaluate_ood([MSP(head)], np.eye(2), {"x": np.eye(2)}).mean("auc"),
            "metric is 'auc'",
        ),
    ],
)
def test_bad_input_is_refused_in_one_sentence(call, says):
    with pytest.raises(InputError, match=says):
        call()
