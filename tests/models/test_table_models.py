"""Models of tables in files: the same scores, and nothing odd is loaded."""

from __future__ import annotations

import sys

import numpy as np
import pyarrow as pa
import pytest

import child
from made_tables import classes, mixed, one_batch, replaced
from pnml import InputError, PNMLRegressor
from pnml.models import load, save
from pnml.tables.fitting import fit_table
from pnml.tables.learners import LEARNERS
from pnml.tables.roles import Request


def fitted(learner, n=60):
    if LEARNERS[learner].task == "classification":
        return fit_table(classes(n).to_batches(), Request(target="kind"), learner, "t.csv")
    request = Request(target="y", id=("day",))
    return fit_table(mixed(n).to_batches(), request, learner, "t.csv")


def odd_rows():
    """Familiar rows, far ones, and ones with something never seen."""
    table = mixed(24, seed=7, shift=1.0)
    city = [*table["city"].to_pylist()[:20], "Atlantis", None, None, "Oslo"]
    size = [*table["size"].to_pylist()[:20], 1.0, 1.0, None, np.inf]
    return one_batch(replaced(replaced(table, "city", city), "size", size))


def said(model, batch):
    """Everything that scoring says, by name, as bytes or texts."""
    scores = model.score(batch, 0.9, 0.99)
    answer = scores.answer
    values = {
        "prediction": scores.prediction.to_pylist(),
        "because": scores.because.to_pylist(),
        "trusted": scores.trusted.tolist(),
        "never seen": scores.never_seen.tolist(),
        "regret": answer.regret.tobytes(),
    }
    if answer.interval is not None:
        values["interval"] = answer.interval.tobytes()
        values["log-loss"] = answer.outcome.log_loss.tobytes()
    else:
        values["probabilities"] = answer.probabilities.tobytes()
    return values


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_loaded_model_scores_the_same_to_the_last_bit(learner, tmp_path):
    model = fitted(learner, 30 if learner == "lpnml-l1" else 60)
    save(model, tmp_path / "model.pnml")
    again = load(tmp_path / "model.pnml")
    assert said(again, odd_rows()) == said(model, odd_rows())
    assert again.encoder.columns == model.encoder.columns
    assert (again.encoder.patterns.seen == model.encoder.patterns.seen).all()
    for name in ("target", "learner", "losses", "roles", "types", "id_columns", "rows", "remarks"):
        assert getattr(again, name) == getattr(model, name), name
    assert again.threshold(0.95) == model.threshold(0.95)


def test_a_streamed_model_scores_the_same_to_the_last_bit(tmp_path, monkeypatch):
    monkeypatch.setattr("pnml.tables.fitting.MOST_ROWS", 30)
    batches = mixed(90).to_batches(max_chunksize=30)
    model = fit_table(batches, Request(target="y"), "auto", "t.csv")
    save(model, tmp_path / "model.pnml")
    assert said(load(tmp_path / "model.pnml"), odd_rows()) == said(model, odd_rows())


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.bool_(), pa.string()])
def test_labels_come_back_in_the_type_of_the_target(kind, tmp_path):
    labels = pa.array([0, 1] * 30).cast(kind)
    table = mixed(60).drop_columns("y").append_column("label", labels)
    model = fit_table(
        table.to_batches(), Request(target="label", task="classification"), "auto", "t.csv"
    )
    save(model, tmp_path / "model.pnml")
    scores = load(tmp_path / "model.pnml").score(one_batch(table), 0.9, 0.99)
    assert scores.prediction.type == kind
    assert set(scores.prediction.to_pylist()) <= set(labels.to_pylist())
    assert np.isfinite(scores.answer.outcome.log_loss).all()


# ---- descriptions that do not fit together


@pytest.fixture(scope="module")
def pnml_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / "model.pnml"
    words = pa.array([f"w{i % 201}" for i in range(603)])
    table = mixed(603).append_column("same", pa.array(["x"] * 603)).append_column("many", words)
    save(fit_table(table.to_batches(), Request(target="y", id=("day",)), "pnml", "t.csv"), path)
    return path


def objects(parts, name):
    return [item["params"] for item in parts.document["objects"] if item["class"] == name]


def outside(parts):
    objects(parts, "NumberColumn")[0]["value"] = 99


def twice(parts):
    numbers = objects(parts, "NumberColumn")
    numbers[0]["value"] = numbers[1]["value"]


def never_seen_place(parts):
    objects(parts, "NumberColumn")[0]["value"] = 0


def negative(parts):
    objects(parts, "NumberColumn")[0]["value"] = -1


def too_wide(parts):
    objects(parts, "Encoder")[0]["width"] += 1


def levels_without_places(parts):
    objects(parts, "CategoryColumn")[0]["levels"]["tuple"].append("more")


def one_word_twice(parts):
    levels = objects(parts, "CategoryColumn")[0]["levels"]["tuple"]
    levels[1] = levels[0]


def unknown_learner(parts):
    objects(parts, "TableModel")[0]["learner"] = "oracle"


def other_learner(parts):
    objects(parts, "TableModel")[0]["learner"] = "lpnml"


def other_task(parts):
    objects(parts, "Target")[0]["task"] = "classification"


def unknown_task(parts):
    objects(parts, "Target")[0]["task"] = "clustering"


def number_as_name(parts):
    objects(parts, "NumberColumn")[0]["name"] = 3


def role_as_text(parts):
    objects(parts, "TableModel")[0]["roles"] = {"tuple": ["number"]}


def no_encoder(parts):
    objects(parts, "TableModel")[0]["encoder"] = None


def huge(parts):
    objects(parts, "Encoder")[0]["width"] = 10**15


def one_name_twice(parts):
    numbers = objects(parts, "NumberColumn")
    numbers[0]["name"] = numbers[1]["name"]


def no_losses(parts):
    objects(parts, "TableModel")[0]["losses"] = {"tuple": []}


def no_spread(parts):
    objects(parts, "NumberColumn")[0]["scale"] = 0.0


def nan_fill(parts):
    objects(parts, "NumberColumn")[0]["fill"] = {"float": "nan"}


def range_without_an_end(parts):
    objects(parts, "NumberColumn")[0]["high"] = None


def range_backwards(parts):
    column = objects(parts, "NumberColumn")[0]
    column["low"], column["high"] = column["high"], column["low"]


def constant_of_no_kind(parts):
    objects(parts, "ConstantColumn")[0]["kind"] = "thing"


def constant_without_its_word(parts):
    objects(parts, "ConstantColumn")[0]["word"] = None


def too_few_hash_places(parts):
    objects(parts, "HashedColumn")[0]["hash_places"]["tuple"].pop()


@pytest.mark.parametrize(
    "change",
    [
        range_without_an_end,
        range_backwards,
        constant_of_no_kind,
        constant_without_its_word,
        too_few_hash_places,
        outside,
        twice,
        never_seen_place,
        negative,
        too_wide,
        levels_without_places,
        one_word_twice,
        unknown_learner,
        other_learner,
        other_task,
        unknown_task,
        number_as_name,
        role_as_text,
        no_encoder,
        huge,
        one_name_twice,
        no_losses,
        no_spread,
        nan_fill,
    ],
    ids=lambda change: change.__name__,
)
def test_a_description_that_does_not_fit_together_is_refused(change, pnml_file, tmp_path, layout):
    parts, path = layout.take_apart(pnml_file), tmp_path / "changed.pnml"
    change(parts)
    layout.put_together(path, parts)
    with pytest.raises(InputError) as caught:
        load(path)
    assert str(caught.value).startswith(f"Cannot load {path}: ")
    assert "\n" not in str(caught.value)


def test_patterns_of_other_columns_are_refused(pnml_file, tmp_path, layout):
    parts, path = layout.take_apart(pnml_file), tmp_path / "changed.pnml"
    (name,) = (name for name in parts.entries if name.endswith(".seen"))
    patterns, columns = parts.entries[name]["shape"]
    parts.entries[name]["shape"] = [patterns * columns, 1]
    layout.put_together(path, parts)
    with pytest.raises(InputError, match="patterns"):
        load(path)


def test_an_unchanged_description_still_loads(pnml_file, tmp_path, layout):
    parts, path = layout.take_apart(pnml_file), tmp_path / "same.pnml"
    layout.put_together(path, parts)
    rows = odd_rows().append_column("many", pa.array(["w1", "w2", None, "new"] * 6))
    assert said(load(path), rows) == said(load(pnml_file), rows)


WITHOUT_PYARROW = """
import sys
sys.modules["pyarrow"] = None
import pnml
try:
    print(type(pnml.load(sys.argv[1])).__name__)
except pnml.InputError as error:
    print(error)
"""


def test_without_pyarrow_plain_models_load_and_models_of_tables_say_what_is_lacking(
    pnml_file, tmp_path
):
    plain = tmp_path / "plain.pnml"
    save(PNMLRegressor().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.5]), plain)

    def loaded(path):
        command = [sys.executable, "-c", WITHOUT_PYARROW, str(path)]
        done = child.run(command, check=True)
        return done.stdout.strip()

    assert loaded(plain) == "PNMLRegressor"
    assert 'pip install "pnml[cli]"' in loaded(pnml_file)
