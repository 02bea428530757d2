"""``pnml demo``: the whole job on data that ships with scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from rich.table import Table

    from pnml import PNMLRegressor
    from pnml.core.arrays import FloatArray

_COVERAGE = 0.9
_LEVEL = 0.99
_ORDINARY = 5

# Column, factor, what went wrong: mistakes that data entry makes and a model does not notice.
_MISTAKES = (
    ("age", 12.0, "age in months"),
    ("bp", 0.1333, "bp in kPa"),
    ("s1", 0.02586, "s1 in mmol/L"),
)


@dataclass(frozen=True)
class _Cohort:
    """Patients to learn from, and patients held out."""

    names: list[str]
    X: FloatArray
    y: FloatArray
    X_new: FloatArray
    y_new: FloatArray


@dataclass(frozen=True)
class _Answers:
    """What the model says of each row."""

    prediction: FloatArray  # (n,)
    interval: FloatArray  # (n, 2)
    regret: FloatArray  # (n,)
    trusted: npt.NDArray[np.bool_]  # (n,)
    parts: FloatArray  # (n, d) of the leverage


def demo() -> None:
    """Fit, score and explain real patients, some with one measurement in the wrong unit."""
    from rich.console import Console

    console = Console()
    with console.status("Fitting and scoring"):
        from pnml import PNMLRegressor
        from pnml.metrics import interval_coverage

        cohort = _load()
        model = PNMLRegressor().fit(cohort.X, cohort.y)
        shown, labels = _rows_to_show(cohort)
        table = _table(_ask(model, shown), labels, cohort.names)
        covered = interval_coverage(cohort.y_new, model.predict_interval(cohort.X_new, _COVERAGE))
        trusted = int(model.trusted(cohort.X_new, level=_LEVEL).sum())
    n, held_out = len(cohort.y), len(cohort.y_new)
    console.print(
        f"Least squares was fitted to {n} of the {n + held_out} diabetes patients that ship with "
        "scikit-learn, to predict the progress of the disease after a year; of the rows below, all "
        f"held out, the last {len(_MISTAKES)} repeat patients with one measurement in a wrong unit."
    )
    console.print(table)
    console.print(
        "A regret of Γ nats says that the model told the answer beforehand would have given it "
        "exp(Γ) times the density, and the interval is widened by that factor; a row is trusted "
        f"while its regret is within the {_LEVEL:.0%} quantile of those of the training rows, each "
        "left out in turn."
    )
    console.print(
        f"Of all {held_out} held-out patients, {covered:.0%} fell inside their {_COVERAGE:.0%} "
        f"interval and {trusted} were trusted."
    )


def _load() -> _Cohort:
    from sklearn.datasets import load_diabetes
    from sklearn.model_selection import train_test_split

    data = load_diabetes(scaled=False)
    X, X_new, y, y_new = train_test_split(data.data, data.target, test_size=100, random_state=0)
    return _Cohort(list(data.feature_names), X, y, X_new, y_new)


def _rows_to_show(cohort: _Cohort) -> tuple[FloatArray, list[str]]:
    """The first held-out patients, then some of them again with a mistake each."""
    import numpy as np

    wrong = cohort.X_new[: len(_MISTAKES)].copy()
    for row, (name, factor, _) in zip(wrong, _MISTAKES, strict=True):
        row[cohort.names.index(name)] *= factor
    labels = [str(i + 1) for i in range(_ORDINARY)]
    labels += [f"{i + 1}, {what}" for i, (_, _, what) in enumerate(_MISTAKES)]
    return np.vstack([cohort.X_new[:_ORDINARY], wrong]), labels


def _ask(model: PNMLRegressor, X: FloatArray) -> _Answers:
    return _Answers(
        prediction=model.predict(X),
        interval=model.predict_interval(X, _COVERAGE),
        regret=model.regret(X),
        trusted=model.trusted(X, level=_LEVEL),
        parts=model.explain(X),
    )


def _table(answers: _Answers, labels: list[str], names: list[str]) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("patient", no_wrap=True)
    for heading in ("prediction", f"{_COVERAGE:.0%} interval", "regret"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("trusted", no_wrap=True)
    table.add_column("because", no_wrap=True)
    for i, label in enumerate(labels):
        low, high = answers.interval[i]
        trusted = bool(answers.trusted[i])
        table.add_row(
            label,
            f"{answers.prediction[i]:.0f}",
            f"{low:.0f} … {high:.0f}",
            f"{answers.regret[i]:.3f}",
            "yes" if trusted else "NO",
            "" if trusted else _strongest(answers.parts[i], names),
            style=None if trusted else "bold red",
        )
    return table


def _strongest(parts: FloatArray, names: list[str]) -> str:
    """The features that carry most of the leverage, the largest first, three at most."""
    top = [j for j in parts.argsort()[::-1][:3] if parts[j] >= 0.2 * parts.max()]
    return ", ".join(names[j] for j in top)
