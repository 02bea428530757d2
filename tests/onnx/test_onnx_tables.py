"""Exported models of tables read columns as `pnml score` does; and the command that exports."""

from __future__ import annotations

import json

import numpy as np
import pytest

onnx_sessions = pytest.importorskip("onnx_sessions")
pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pytest.importorskip("typer")

import pnml  # noqa: E402
from pnml.cli import main  # noqa: E402
from sentences import assert_one_sentence  # noqa: E402

NUMBERS = ["price", "weight"]


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    n = 250
    table = pd.DataFrame(
        {
            "price": 3 * rng.normal(size=n) + 10,
            "weight": rng.normal(size=n),
            "colour": rng.choice(["red", "green", "blue"], n),
            "new": rng.choice(["true", "false"], n),
            "day": pd.date_range("2024-01-01", periods=n),
        }
    )
    table.loc[rng.random(n) < 0.1, "price"] = np.nan
    table.loc[rng.random(n) < 0.1, "colour"] = None
    table["y"] = 2 * table.weight + (table.colour == "red") + 0.3 * rng.normal(size=n)
    return table


@pytest.fixture
def command(monkeypatch, capsys, tmp_path):
    """Runs the command in a folder: arguments → exit code, standard output and error."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["pnml", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code, *capsys.readouterr()

    return run


def strange(frame):
    """Rows with words, gaps and numbers that training has not seen."""
    new = frame.drop(columns="y")[:60].copy()
    new.loc[:4, "colour"] = "violet"
    new.loc[3:8, "weight"] = np.nan
    new.loc[10, "weight"] = np.inf
    new.loc[11:12, "new"] = ["TRUE", "False"]
    new.loc[13, "weight"] = 1e3
    new.loc[14, "new"] = "maybe"
    return new


def feeds(new, dtype):
    """What the graph takes: days since 1970 in the place of dates."""
    days = (new.day - pd.Timestamp(0)) / pd.Timedelta("1D")
    found = onnx_sessions.columns(new.drop(columns="day"), dtype)
    return found | {"day": days.to_numpy()[:, None]}


@pytest.mark.parametrize("learner", ["pnml", "lpnml", "ols", "logistic"])
def test_a_table_is_read_and_scored_the_same(learner, frame, command, tmp_path):
    table = frame.assign(y=frame.y > 0) if learner == "logistic" else frame
    table = table.assign(same=3)  # a column that never changes is no input
    table.to_csv(tmp_path / "train.csv", index=False)
    code, *_ = command("fit", "train.csv", "--target", "y", "--learner", learner, "-o", "m.pnml")
    assert code == 0
    model = pnml.load("m.pnml")
    for dtype in ("float64", "float32"):
        code, out, _ = command("export", "m.pnml", "-o", "m.onnx", "--dtype", dtype, "--json")
        assert code == 0
        assert set(json.loads(out)["inputs"]) == {"price", "weight", "colour", "new", "day"}
        new = strange(frame).astype(dict.fromkeys(NUMBERS, dtype))
        batch = pa.RecordBatch.from_pandas(new, preserve_index=False)
        found = onnx_sessions.run("m.onnx", feeds(new, dtype))
        answer = model.fitted.score(batch, 0.9, 0.99).answer
        tolerance = onnx_sessions.TOLERANCE[dtype]
        np.testing.assert_allclose(found["regret"], answer.regret, rtol=tolerance)
        if learner == "logistic":
            probabilities = np.exp(found["log_prob"])
            np.testing.assert_allclose(probabilities, answer.probabilities, rtol=tolerance)
        else:
            np.testing.assert_allclose(found["prediction"], answer.prediction, rtol=tolerance)
            std = model.estimator.predict_dist(model.encoder.encode(batch).X).std
            np.testing.assert_allclose(found["std"], std, rtol=tolerance)
        if learner == "ols":
            assert np.isinf(found["regret"][:9]).all()


def test_the_command_says_what_the_graph_takes_and_refuses_in_a_sentence(frame, command, tmp_path):
    frame.to_csv(tmp_path / "train.csv", index=False)
    command("fit", "train.csv", "--target", "y", "--learner", "kernel", "-o", "kernel.pnml")
    done = command("export", "kernel.pnml", "-o", "m.onnx")
    assert_one_sentence(*done, ["KernelPNMLRegressor", "ONNX"])
    done = command("export", "kernel.pnml", "-o", "m.txt")
    assert_one_sentence(*done, ["m.txt", ".onnx"])
    assert not (tmp_path / "m.onnx").exists()
    model = pnml.PNMLRegressor().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.5])
    pnml.save(model, "plain.pnml")
    code, out, _ = command("export", "plain.pnml", "-o", "m.onnx")
    assert code == 0
    assert "X: float (rows, 1)" in out
    assert "regret: float (rows)" in out
