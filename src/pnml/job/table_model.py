"""The model of a table as users have it: score, report, save."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pnml.errors import how_to_install

try:
    import pyarrow as pa
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"pnml.fit_table needs pyarrow, which is not installed; {how_to_install('cli')}.",
        name="pyarrow",
    ) from error

from pnml.core.trust import DEFAULT_LEVEL
from pnml.errors import InputError
from pnml.job.python_words import in_python_words
from pnml.job.score_pass import ScorePass
from pnml.models.model_file import save
from pnml.readers import ReadOptions
from pnml.readers.data_frames import as_kind
from pnml.report.findings import Findings
from pnml.report.page import render
from pnml.runtime.atomic import write_whole
from pnml.scale.checkpoint import remove_finished
from pnml.tables import describe
from pnml.tables.fitted_table import FittedTable


@dataclass(frozen=True)
class TableModel:
    """A model of a table, which `fit_table` makes: predicts new rows and says which not to trust.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from pnml import fit_table
    >>> rows = pa.table({"size": [1.0, 2, 3, 4, 5, 6], "price": [2.1, 3.9, 6.2, 7.8, 10.1, 12.0]})
    >>> model = fit_table(rows, target="price", learner="pnml")
    >>> model.score(pa.table({"size": [2.5, 40.0]})).column_names[:4]
    ['size', 'prediction', 'lower', 'upper']
    """

    fitted: FittedTable
    _checkpoint: Path | None = field(default=None, compare=False, repr=False)

    @property
    def estimator(self) -> Any:
        """The fitted estimator inside; it takes encoded rows, not the table itself."""
        return self.fitted.estimator

    @property
    def learner(self) -> str:
        """Name of the learner, such as "pnml"; with "auto", that of the one chosen."""
        return self.fitted.learner

    @property
    def target(self) -> str:
        """Name of the column that is predicted."""
        return self.fitted.target.name

    @property
    def task(self) -> str:
        """The task: "regression" or "classification"."""
        return self.fitted.target.task

    @property
    def classes(self) -> tuple[str, ...]:
        """Class labels of a classification, in the order of probabilities; () in regression."""
        return self.fitted.classes

    @property
    def rows(self) -> int:
        """Number of training rows."""
        return self.fitted.rows

    def score(
        self,
        new: Any,
        *,
        coverage: float = 0.9,
        level: float = DEFAULT_LEVEL,
        prefix: str = "",
        strict: bool = False,
        options: ReadOptions | None = None,
    ) -> Any:
        """The new rows with a prediction, an interval, a regret, a verdict and a reason each.

        Parameters
        ----------
        new : data frame, path, pattern or address
            As for `fit_table`; it needs the columns that the model learnt from.
        coverage : float, default=0.9
            Of the intervals ``lower`` to ``upper``.
        level : float, default=0.99
            Share of ordinary rows that is trusted.
        prefix : str, default=""
            Put before the names of the added columns.
        strict : bool, default=False
            Refuse a table with cells that cannot be read, in place of trusting those rows not.
        options : pnml.readers.ReadOptions, optional

        Returns
        -------
        A data frame of the kind that came in, with the index and the columns of a pandas one as
        they are; of files, one of pandas where that is installed; else of pyarrow.

        Warns
        -----
        UserWarning
            Where the model is of no use: no better than a constant guess when it was fitted.
        """
        parts: list[pa.RecordBatch] = []

        @contextmanager
        def sink() -> Iterator[Callable[[pa.RecordBatch], None]]:
            parts.clear()
            yield parts.append

        job = ScorePass(self.fitted, coverage, level, prefix, strict)
        with in_python_words():
            job.run(new, "model", sink, options=options)
        if useless := describe.warning_of_use(self.fitted):
            warnings.warn(useless, stacklevel=2)
        return as_kind(pa.Table.from_batches(parts), new)

    def findings(
        self,
        new: Any,
        *,
        coverage: float = 0.9,
        level: float = DEFAULT_LEVEL,
        options: ReadOptions | None = None,
    ) -> Findings:
        """Findings about new rows, as the report shows them: counts, reasons, drift, groups.

        Arguments are those of `score`.
        """
        job = ScorePass(self.fitted, coverage, level)
        with in_python_words():
            return job.run(new, "model", options=options)

    def report(
        self,
        new: Any,
        path: str | Path,
        *,
        coverage: float = 0.9,
        level: float = DEFAULT_LEVEL,
        options: ReadOptions | None = None,
    ) -> Findings:
        """Write an HTML page that says which of the new rows not to trust, and why.

        Arguments are those of `score`. Returns the findings that are on the page.
        """
        findings = self.findings(new, coverage=coverage, level=level, options=options)
        write_page(findings, path)
        return findings

    def save(self, path: str | Path) -> None:
        """Write a model file, which `pnml.load` and ``pnml score`` read."""
        save(self.fitted, path)
        remove_finished(self._checkpoint)

    def __getattr__(self, name: str) -> Any:
        """Parts of the fitted table, such as ``encoder``, ``losses`` and ``roles``."""
        if name.startswith("__") or name == "fitted":
            raise AttributeError(name)
        return getattr(self.fitted, name)

    def __str__(self) -> str:
        facts = describe.facts(self.fitted, DEFAULT_LEVEL)
        width = max(len(name) for name, _ in facts)
        return "\n".join(f"{name:<{width}}  {value}" for name, value in facts)


def write_page(findings: Findings, path: str | Path) -> None:
    """Write findings as an HTML page; the file is replaced only once the page is complete."""
    page = render(findings).encode()
    try:
        write_whole(Path(path), [page])
    except OSError as error:
        raise InputError(
            f"{path} cannot be written ({error.strerror}); make room, or choose another place."
        ) from error
