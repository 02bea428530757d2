"""Which predictions of LightGBM must not be trusted: our scores beside those of other methods."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pnml_experiments.framework.colours import COLOURS
from pnml_experiments.framework.experiment import Experiment, Progress, Scale, counted
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.result import Figure, Result, Table
from pnml_experiments.studies.trust_answers import answers, methods_of
from pnml_experiments.studies.trust_class_rivals import CLASS_RIVALS
from pnml_experiments.studies.trust_files import DEVELOPMENT, FRESH, ShiftedTable, development
from pnml_experiments.studies.trust_findings import class_findings, findings
from pnml_experiments.studies.trust_fresh import PACKAGE, fresh
from pnml_experiments.studies.trust_means import INTERVAL, FileNumbers, Files
from pnml_experiments.studies.trust_measures import AURC, AUROC, numbers
from pnml_experiments.studies.trust_ours import CLASS_OURS, OURS
from pnml_experiments.studies.trust_report import OWN, class_tables, regression_tables
from pnml_experiments.studies.trust_rivals import RIVALS
from pnml_experiments.studies.trust_sentinel import DESIGNS, diamonds_table, sizes_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure

EXPERIMENT = Experiment(
    id="trust-tables",
    chapter=4,
    title="Which predictions of a boosted model must not be trusted",
    minutes=(1.5, 20.0, 60.0),
    extras=("plots",),
    needs=("trust-small",),
    uses=("trust",),
    scales=("small", "medium", "stored"),
    beyond=True,
)

_WORDS = {DEVELOPMENT: "development tables", FRESH: "fresh tables"}
Reader = Callable[[], ShiftedTable]


@dataclass(frozen=True)
class Sizes:
    """Tables that are looked at, None for all; and training rows of made tables → repeats."""

    tables: tuple[str, ...] | None
    fresh: tuple[str, ...] | None
    rows: dict[int, int]


_MADE = {50: 20, 100: 20, 200: 20, 500: 20, 1_000: 10, 5_000: 5, 20_000: 3, 100_000: 2}
SIZES = {
    "small": Sizes(("quakes",), (), {50: 5, 200: 5, 1_000: 2}),
    "medium": Sizes(None, (), _MADE),
    "full": Sizes(None, None, _MADE),
}


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """All methods on all tables of the scale, larger diamonds, and few and many rows."""
    sizes = SIZES[scale]
    readers = [*fresh(sizes.fresh), *development(sizes.tables)]
    most = max(len(RIVALS) + len(OURS), len(CLASS_RIVALS) + len(CLASS_OURS))
    tell = counted(progress, most * len(readers) + len(DESIGNS) * len(sizes.rows))
    files = Files(tuple(_numbers(read, out, tell, most) for read in readers))
    parts = [(files.where(group, False), files.where(group, True), group) for group in _WORDS][::-1]
    tables: list[Table] = []
    said: list[str] = []
    for regression, classes, group in parts:
        tables += [*regression_tables(regression, _WORDS[group])]
        tables += [*class_tables(classes, _WORDS[group])]
        said += [*findings(regression, _WORDS[group]), *class_findings(classes, _WORDS[group])]
    if sizes.tables is None:
        tables.append(diamonds_table(out))
    tables.append(sizes_table(sizes.rows, out, tell))
    shown = [(regression, group) for regression, _, group in parts if regression.files]
    figures = tuple(_figure(regression, group) for regression, group in shown)
    remarks = (*said, *_remarks(sizes))
    return Result(tuple(tables), figures, (0,), len(files.tables), INTERVAL, remarks)


def _numbers(read: Reader, out: Output, tell: Callable[[int], None], most: int) -> FileNumbers:
    """The numbers of one file; `most` steps of progress whatever is installed."""
    table = read()
    found = numbers(answers(table, out, tell))
    tell(most - len(methods_of(table)))
    return FileNumbers.of(table, found)


def _figure(files: Files, group: str) -> Figure:
    caption = (
        f"Mean AUROC of telling shifted from ordinary rows, and mean normalised AURC of ranking "
        f"errors, {_WORDS[group]}, with intervals over tables; lower right is better. Scores of "
        "this package in blue."
    )
    return Figure(f"trust-tables-{group}", caption, lambda: _drawn(files))


def _drawn(files: Files) -> MatplotlibFigure:
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(7.5, 5.5), layout="constrained")
    ax = canvas.subplots()
    for method in files.methods(AUROC):
        x, y = files.mean(method, AUROC), files.mean(method, AURC)
        if x is None or y is None:
            continue
        colour = COLOURS[0] if method in OWN else COLOURS[1]
        ax.plot([x.low, x.high], [y.value] * 2, color=colour, alpha=0.3)
        ax.plot([x.value] * 2, [y.low, y.high], color=colour, alpha=0.3)
        ax.plot(x.value, y.value, "o", color=colour)
        side = {"xytext": (-5, -9), "ha": "right"} if method in OWN else {"xytext": (5, 4)}
        ax.annotate(method, (x.value, y.value), textcoords="offset points", size=8, **side)
    ax.set(xlabel="AUROC of shifted rows", ylabel="normalised AURC of |error|")
    return canvas


def _remarks(sizes: Sizes) -> Iterator[str]:
    yield (
        "The model is LightGBM as it comes, on one thread. Every score is fitted to the training "
        "rows alone and judges the same predictions. kNN, LOF, isolation forest, Mahalanobis, the "
        "Gaussian process (at most 1,000 rows), linear and kernel pNML get columns in standard "
        "units. Bagged boosting is the spread of 20 LightGBMs on bootstrapped rows; bagged "
        "boosting × LOF is the product of the two values. CQR is LightGBM at the 5 and 95 % "
        "quantiles, with a third of the rows held back; split conformal holds back as many, CV+ is "
        "MAPIE's with five folds. NGBoost and CatBoost (posterior sampling, ten virtual ensembles) "
        "are as they come."
    )
    missing = [name for name, one in {**RIVALS, **OURS}.items() if not one.installed]
    if missing:
        yield f"Not installed here, so without a number: {', '.join(missing)}."
    if not CLASS_OURS:
        yield "This release has no TrustedClassifier, so classes have numbers of rivals alone."
    if sizes.fresh is None:
        yield (
            f"The fresh tables come with the package {PACKAGE}. They and their rules were listed "
            "before any of them was scored."
        )
