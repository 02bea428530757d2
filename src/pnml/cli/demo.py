"""``pnml demo``: the whole job on data that ships with scikit-learn."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pnml.cli.options import DEFAULT_LEVEL, Json

if TYPE_CHECKING:
    import pyarrow as pa

_COVERAGE = 0.9
_HELD_OUT = 100
_WRONG = 12  # of the patients held out

# Column, factor, what went wrong: mistakes that data entry makes and a model does not notice.
_MISTAKES = (
    ("age", 12.0, "age in months"),
    ("bp", 0.1333, "blood pressure in kPa"),
    ("s1", 0.02586, "cholesterol in mmol/L"),
)


def demo(
    folder: Annotated[Path, typer.Option("--folder", "-o", help="Where the files are put.")] = Path(
        "pnml-demo"
    ),
    as_json: Json = False,
) -> None:
    """Fit, score and report on real patients, some with one measurement in a wrong unit.

    It prints what was found and leaves tables, model and report in a folder to look around.
    """
    from pnml.cli.console import print_json, print_words
    from pnml.cli.fit import fit_file
    from pnml.cli.report import report_file
    from pnml.cli.score import score_file
    from pnml.cli.scored_table import document, words
    from pnml.errors import InputError
    from pnml.readers import ReadOptions, table_writer
    from pnml.tables.describe import chosen_by
    from pnml.tables.roles import Request

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{folder} cannot be made a folder ({error.strerror}); pass another --folder."
        ) from error
    train, new = str(folder / "train.csv"), str(folder / "new.csv")
    model, scored = str(folder / "model.pnml"), str(folder / "scored.csv")
    page = str(folder / "report.html")
    for path, rows in zip((train, new), _patients(), strict=True):
        with table_writer(path) as writer:
            for batch in rows.to_batches():
                writer.write(batch)
    options = ReadOptions()
    request = Request(target="progression", id=("patient", "mistake"))
    fitted = fit_file(train, request, "auto", model, options)
    findings = score_file(model, new, scored, _COVERAGE, DEFAULT_LEVEL, options)
    report_file(model, new, page, _COVERAGE, DEFAULT_LEVEL, options)
    if as_json:
        print_json(document(findings) | {"folder": str(folder)})
        return
    print_words(
        f"{fitted.rows} of the {fitted.rows + _HELD_OUT} diabetes patients that ship with "
        "scikit-learn were learnt from, to predict the progress of the disease after a year; the "
        f"other {_HELD_OUT} were scored, {_WRONG} of them with a measurement put in a wrong unit.",
        f"Learner: {type(fitted.estimator).__name__}, by {chosen_by(fitted)}.",
        "",
        *words(findings),
        _least_trusted(scored),
        "The same by hand:",
        f"  pnml fit {train} --target progression --id patient --id mistake -o {model}",
        f"  pnml score {model} {new} -o {scored}",
        f"  pnml report {model} {new} -o {page}",
        f"Open {page} in a browser to look around.",
    )


def _patients() -> tuple[pa.Table, pa.Table]:
    """Training patients, and others of whom some have a mistake in their data."""
    import numpy as np
    import pyarrow as pa
    from sklearn.datasets import load_diabetes
    from sklearn.model_selection import train_test_split

    data = load_diabetes(scaled=False)
    rows, held_out = train_test_split(
        np.arange(len(data.target)), test_size=_HELD_OUT, random_state=0
    )
    X = data.data.copy()
    mistakes = np.full(len(X), "", dtype=object)
    for i, patient in enumerate(held_out[:_WRONG]):
        name, factor, what = _MISTAKES[i % len(_MISTAKES)]
        X[patient, data.feature_names.index(name)] *= factor
        mistakes[patient] = what

    def table(patients: Any) -> pa.Table:
        columns: dict[str, Any] = {"patient": [f"P{i + 1:03d}" for i in patients]}
        for name, column in zip(data.feature_names, X[patients].T, strict=True):
            columns[name] = np.where(column == 1, "1", "2") if name == "sex" else column.round(4)
        columns["mistake"] = mistakes[patients].tolist()
        columns["progression"] = data.target[patients]
        return pa.table(columns)

    return table(rows), table(held_out)


def _least_trusted(scored: str) -> Any:
    """A rich table of the first 15 rows that are not trusted in the scored file."""
    from pnml.cli.console import grid
    from pnml.readers import open_table

    columns = ("patient", "prediction", "lower", "upper", "regret", "because", "mistake")
    listed: list[list[str]] = []

    def consume(batches: Any) -> None:
        listed.clear()
        for batch in batches:
            for row in batch.to_pylist():
                if not row["trusted"]:
                    shown = [row[name] for name in columns]
                    listed.append([_cell(value) for value in shown])

    with open_table(scored) as table:
        table.read(consume, text=["mistake"])
    return grid(list(columns), listed[:15], frozenset({1, 2, 3, 4}))


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.3g}" if isinstance(value, float) else str(value)
