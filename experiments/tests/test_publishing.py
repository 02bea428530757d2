"""Pages of the documentation are what their rows say, and nothing else."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("matplotlib")

from pnml.errors import InputError
from pnml.metrics import Estimate
from pnml.runtime.atomic import write_whole
from pnml_experiments.framework import publishing
from pnml_experiments.framework.catalogue import thesis
from pnml_experiments.framework.claims import judged
from pnml_experiments.framework.experiment import Experiment
from pnml_experiments.framework.page import page
from pnml_experiments.framework.publishing import (
    index_page,
    main,
    page_from_rows,
    publish,
    published_page,
)
from pnml_experiments.framework.registry import find
from pnml_experiments.framework.result import Figure, Result, Row, Table, exactly
from pnml_experiments.framework.rows import lines, stored
from pnml_experiments.framework.running import reproduce

RESULTS = Path(__file__).parents[2] / "docs" / "results"
PUBLISHED = sorted((RESULTS / "data").glob("*.jsonl"))
ODD = Experiment("odd", 3, "Odd ones, “quoted”", "x")


def written(path, experiment, scale, result):
    import json

    text = "".join(json.dumps(one) + "\n" for one in lines(experiment, scale, result))
    write_whole(path, [text.encode()])
    return path


def odd_result():
    rows = (
        Row({"a": "1", "b": "x"}, 90.0, Estimate(0.1 + 0.2, 0.1, 0.7), exactly(1 / 3), "Why."),
        Row({"a": "2"}, None, exactly(2.0)),
        Row({"a": "3"}, 80.0, note="Not run."),
    )
    tables = (Table("T", rows, "About.", 3), Table("T", rows[1:], digits=0), Table("Empty", ()))
    figures = (Figure("odd-one", "One.", lambda: None), Figure("odd-two", "Two.", lambda: None))
    return Result(tables, figures, (0, 1), 2, "bootstrap", ("First.", "Second."))


def test_a_page_is_the_same_from_its_rows_alone(tmp_path):
    path = written(tmp_path / "rows.jsonl", ODD, "stored", odd_result())
    assert page_from_rows(path) == page(ODD, "stored", odd_result())


def test_rows_are_the_same_after_they_were_written(tmp_path):
    found = stored(written(tmp_path / "rows.jsonl", ODD, "stored", odd_result())).result
    assert found.tables == odd_result().tables
    assert [one.name for one in found.figures] == ["odd-one", "odd-two"]
    with pytest.raises(InputError, match="PNG"):
        found.figures[0].draw()


def test_a_label_called_table_is_kept_beside_the_title_of_the_table(tmp_path):
    rows = tuple(Row({"table": name, "score": "regret"}, ours=exactly(1.0)) for name in "ab")
    result = Result((Table("Table by table", rows), Table("Both", (Row({"n": "2"}, 1.0),))))
    path = written(tmp_path / "rows.jsonl", ODD, "stored", result)
    assert stored(path).result == result
    assert "| score | a | b |" in page_from_rows(path)


@pytest.mark.parametrize("labels", [{"table": "Both"}, {"note": "x"}, {"ours_low": "x"}])
def test_labels_that_a_file_would_lose_are_refused(tmp_path, labels):
    result = Result((Table("Both", (Row(labels, 1.0),)),))
    with pytest.raises(InputError, match="other names"):
        written(tmp_path / "rows.jsonl", ODD, "stored", result)


def test_the_release_that_made_the_rows_stays_on_the_page(tmp_path):
    path = written(tmp_path / "rows.jsonl", ODD, "stored", odd_result())
    text = path.read_text().replace('"pnml": "', '"pnml": "9.')
    path.write_text(text)
    assert " · pnml 9." in page_from_rows(path)


@pytest.mark.parametrize("content", ["", "{}\n", "[1]\n", '{"tables": [', '{"tables": []}\n'])
def test_broken_rows_are_one_sentence(tmp_path, content):
    path = tmp_path / "rows.jsonl"
    path.write_text(content)
    with pytest.raises(InputError, match="--fresh"):
        stored(path)


def test_rows_cut_short_are_one_sentence(tmp_path):
    path = written(tmp_path / "rows.jsonl", ODD, "stored", odd_result())
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    with pytest.raises(InputError, match="not a whole file"):
        stored(path)


def test_a_run_is_published_with_its_figures_and_an_index(tmp_path):
    reproduce(find("regret-curve"), "small", tmp_path / "out")
    docs = tmp_path / "docs"
    assert publish(tmp_path / "out", docs) == ["regret-curve"]
    names = {str(path.relative_to(docs)) for path in docs.rglob("*") if path.is_file()}
    assert names == {
        "claims.md",
        "index.md",
        "printed-cells.md",
        "regret-curve.md",
        "regret-curve.png",
        str(Path("data", "regret-curve.jsonl")),
    }
    assert (docs / "regret-curve.md").read_text() == published_page("regret-curve", docs)
    assert "[regret-curve](regret-curve.md), small" in (docs / "index.md").read_text()


def test_what_someone_says_of_a_result_outlives_its_rows(tmp_path):
    docs = tmp_path / "docs"
    (docs / "data").mkdir(parents=True)
    (docs / "data" / "regret-curve.txt").write_text("It says much.\n")
    for scale in ("small", "printed"):
        reproduce(find("regret-curve"), scale, tmp_path / "out")
        publish(tmp_path / "out", docs)
        text = (docs / "regret-curve.md").read_text()
        assert text.index("It says much.") < text.index("![")
        said = [part for part in text.split("\n\n") if part not in ("It says much.", "")]
        bare = page_from_rows(docs / "data" / "regret-curve.jsonl").split("\n\n")
        assert [part for part in said if not part.startswith("**“")] == bare


def test_the_largest_scale_wins_and_a_smaller_one_does_not_replace_it(tmp_path):
    docs = tmp_path / "docs"
    for scale in ("printed", "small"):
        reproduce(find("regret-curve"), scale, tmp_path / scale)
    reproduce(find("regret-curve"), "small", tmp_path / "printed")
    publish(tmp_path / "printed", docs)
    assert publish(tmp_path / "small", docs) == []
    assert stored(docs / "data" / "regret-curve.jsonl").scale == "printed"


def test_the_script_takes_two_folders(tmp_path, capsys):
    reproduce(find("regret-curve"), "small", tmp_path / "out")
    main([str(tmp_path / "out"), str(tmp_path / "docs")])
    assert capsys.readouterr().out == "regret-curve\n"
    with pytest.raises(InputError, match="folder"):
        main([])


def test_the_index_names_all_of_the_thesis(tmp_path):
    text = index_page(tmp_path)
    for entry in thesis():
        assert f"| {entry.number} | {entry.title} | `{entry.id}` |" in text
    assert "not run: needs a GPU" in text
    assert "not run: needs images/cifar10.npz" not in text  # of no use without a GPU


@pytest.mark.parametrize("path", PUBLISHED, ids=lambda path: path.stem)
def test_a_published_page_is_what_its_rows_say(path):
    here = RESULTS / f"{path.stem}.md"
    assert here.read_text(encoding="utf-8") == published_page(path.stem, RESULTS)
    for figure in stored(path).result.figures:
        assert (RESULTS / f"{figure.name}.png").is_file()


@pytest.mark.parametrize("path", PUBLISHED, ids=lambda path: path.stem)
def test_every_row_of_a_published_page_says_what_it_is_of(path):
    for table in stored(path).result.tables:
        labels = Counter(tuple(sorted(row.labels.items())) for row in table.rows)
        assert [each for each, times in labels.items() if times > 1] == []


def test_the_published_index_is_up_to_date():
    here = RESULTS / "index.md"
    assert here.read_text(encoding="utf-8") == publishing.index_page(RESULTS)


def test_a_page_begins_with_what_its_rows_say_of_the_claims():
    text = published_page("ablation-table", RESULTS)
    head, _, _ = text.partition("\n## ")
    for one in judged(RESULTS, "ablation-table"):
        assert f"**“{one.claim.words}”** That holds" in head
