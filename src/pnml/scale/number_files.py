"""Fit estimators to files of numbers of any size: one pass, bounded memory, checkpoints."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
from sklearn.base import BaseEstimator, is_classifier

from pnml.errors import MOST_PATH, InputError, shorten
from pnml.readers import ReadOptions, Retyped, TableSource, open_table
from pnml.runtime.progress import FileProgress
from pnml.scale.checkpoint import Checkpoint, LeftOutWarning, remove_finished
from pnml.scale.file_statistic import Columns, FileStatistic
from pnml.scale.from_gram import check_additive, fitted
from pnml.scale.resumable_pass import EVERY, Plan, accumulate, warn_of_bad
from pnml.tables.roles import nearest


def fit_files(
    estimator: BaseEstimator,
    source: str | Path,
    target: str,
    *,
    columns: Collection[str] | None = None,
    weight: str | None = None,
    skip_bad: bool = False,
    checkpoint: str | Path | None = None,
    checkpoint_seconds: float = EVERY,
    threads: int | None = None,
    progress: FileProgress = None,
    options: ReadOptions | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Any:
    """Fit an estimator to files of numbers that need not fit in memory, in one pass.

    The files are read piece by piece and only the columns asked for; pieces are always the same
    and are added up in the order of the files, so that the answer is the same to the last bit
    whatever the number of threads and however often the pass was killed and resumed.

    Parameters
    ----------
    estimator : PNMLRegressor, LpNMLRegressor with penalty="l2", or PNMLClassifier
        A classifier goes with ``method="analytic"`` around a ``FrozenEstimator``: the leverage
        adds up over rows, the training of a classifier does not. ``loo_``, ``trusted`` and
        ``alpha="loo"`` come from a uniform sample of the rows. Others need all rows at once.
    source : str or path
        A Parquet, CSV or Arrow file, a folder of them, a pattern such as ``"part-*.parquet"``,
        or an address that fsspec can open, such as ``"s3://bucket/part-*.parquet"``.
    target : str
        Column to predict. Rows without a value there are left out, with a warning.
    columns : names of columns, optional
        Features, in this order; by default all other columns. All of them must be numbers
        without missing cells; see `fit_mixed_files` for words, dates and missing cells.
    weight : str, optional
        Column that says how many copies of a row to count.
    skip_bad : bool, default=False
        Leave out files that cannot be read to their end, all rows of them, with a warning. Files
        with other columns are refused all the same.
    checkpoint : str or path, optional
        File with the state of the pass, written every `checkpoint_seconds`. Where it exists at
        the start, the pass resumes from it. It is removed at the end.
    threads : int, optional
        Threads that make statistics of pieces, by default one for each core, at most 8. BLAS
        keeps to one thread in each.
    progress : bool or function, optional
        A bar, or a function of bytes done, all bytes and rows; by default a bar on a terminal.
    options : pnml.readers.ReadOptions, optional
        How to read text files.
    storage_options : dict, optional
        Options of fsspec for the address.

    Returns
    -------
    The estimator itself.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet
    >>> from pnml import PNMLRegressor
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for part in range(3):
    ...         rows = pa.table({"size": [1.0, 2.0 + part, 4.0], "price": [1.0, 2.0 + part, 5.0]})
    ...         pyarrow.parquet.write_table(rows, f"{folder}/part-{part}.parquet")
    ...     model = fit_files(PNMLRegressor(), f"{folder}/*.parquet", target="price")
    >>> model.feature_names_in_.tolist(), model.coef_.round(2).tolist()
    (['size'], [1.25])
    """
    check_additive(estimator)
    plan = Plan.of(checkpoint, checkpoint_seconds, threads, progress)
    wanted = None if columns is None else _wanted(columns, target, weight)
    with open_table(
        source, options, columns=wanted, skip_bad=skip_bad, access=storage_options
    ) as table:
        asked = _columns(table, columns, target, weight, estimator)
        statistic = _statistic(estimator, table, asked, plan)
        if statistic.total is None:
            raise InputError(
                f"{shorten(table.name, MOST_PATH)} has no rows with a value of "
                f"{shorten(target)!r}; give a table with some."
            )
        estimator = fitted(estimator, statistic.total, _names(estimator, asked))
        warn_of_bad(table)
    if statistic.unlabelled:
        rows = "1 row" if statistic.unlabelled == 1 else f"{statistic.unlabelled:,} rows"
        warnings.warn(
            f"{rows} without a value of {shorten(target)!r} left out.", LeftOutWarning, stacklevel=2
        )
    remove_finished(plan.checkpoint)
    return estimator


def _statistic(
    estimator: BaseEstimator, table: TableSource, asked: Columns, plan: Plan
) -> FileStatistic:
    """The statistic of all files, from one pass; text in a column of numbers is refused."""
    classes = is_classifier(estimator)
    about = {"features": list(asked.features), "target": asked.target, "weight": asked.weight}
    identity = {"files": table.identity, "columns": about | {"classes": classes}}
    checkpoint = Checkpoint(plan.checkpoint, identity, plan.seconds)
    stop = checkpoint.load()
    numeric = [*asked.features, *([asked.weight] if asked.weight else [])]
    numeric += [] if classes else [asked.target]
    text = [asked.target] if classes and estimator.estimator.classes_.dtype.kind in "OU" else []
    schema = _as_floats(table.wanted(numeric, text), table, numeric)
    if stop is not None:
        schema = stop.schema
    while True:
        statistic = FileStatistic(estimator, asked, table.file_name, final=not table.skips_bad)
        try:
            accumulate(table, schema, statistic, checkpoint, stop, plan, numeric=numeric)
        except Retyped as news:  # labels of a CSV file
            schema, stop = news.schema, None
            checkpoint.remove()
        else:
            return statistic


def _as_floats(schema: pa.Schema, table: TableSource, numeric: Collection[str]) -> pa.Schema:
    """The schema with float64 for numeric columns of text files, whose first rows may mislead."""
    if not table.is_text:
        return schema
    return pa.schema([f.with_type(pa.float64()) if f.name in numeric else f for f in schema])


def _wanted(columns: Collection[str], target: str, weight: str | None) -> list[str]:
    if isinstance(columns, str) or not all(isinstance(name, str) for name in columns):
        raise InputError(
            f"columns is {columns!r}, but it must be a list of names; pass such as columns=['x0']."
        )
    names = [*columns, target, *([] if weight is None else [weight])]
    if not columns or len(set(names)) != len(names):
        raise InputError(
            "columns must name at least one column, each once, and neither the target nor the "
            "weight; leave it out to learn from all others."
        )
    return names


def _columns(
    table: TableSource,
    columns: Collection[str] | None,
    target: str,
    weight: str | None,
    est: BaseEstimator,
) -> Columns:
    """The columns to read, checked: all exist, and features and regression target are numbers."""
    names = table.schema.names
    for role, name in (("target", target), ("weight", weight)):
        if name is not None and name not in names:
            meant = nearest(str(name), names)
            hint = (
                f"did you mean {shorten(meant)!r}?"
                if meant
                else f"it has {', '.join(map(shorten, names[:12]))}."
            )
            raise InputError(
                f"{shorten(table.name, MOST_PATH)} has no column {shorten(name)!r} for the {role}; "
                f"{hint}"
            )
    features = [n for n in names if n not in (target, weight)] if columns is None else columns
    if not features:
        raise InputError(
            f"{shorten(table.name, MOST_PATH)} has no column beside {shorten(target)!r}; give one "
            "to learn from."
        )
    numbers = list(features) if is_classifier(est) else [*features, target]
    for name in numbers:
        _refuse_words(table, name, est, is_target=name == target)
    kinds = {table.schema.field(name).type for name in features}
    eps = np.finfo(np.float32 if kinds == {pa.float32()} else np.float64).eps
    return Columns(tuple(features), target, weight, float(eps))


def _refuse_words(
    table: TableSource, name: str, estimator: BaseEstimator, *, is_target: bool
) -> None:
    kind = table.schema.field(name).type
    plain = kind.value_type if pt.is_dictionary(kind) else kind
    number = pt.is_integer(plain) or pt.is_floating(plain) or pt.is_decimal(plain)
    if number or pt.is_boolean(plain) or pt.is_null(plain):
        return
    if is_target:
        raise InputError(
            f"The target {shorten(name)!r} of {shorten(table.name, MOST_PATH)} is of type "
            f"{shorten(plain)}, but {type(estimator).__name__} predicts numbers; pick another "
            "target."
        )
    raise InputError(
        f"Column {shorten(name)!r} of {shorten(table.name, MOST_PATH)} is of type "
        f"{shorten(plain)}, but a sum takes numbers; name the columns to learn from with columns=, "
        "or use fit_mixed_files, which takes words and dates."
    )


def _names(estimator: BaseEstimator, asked: Columns) -> list[str] | None:
    """Names of the estimator's columns, or None if they are not known."""
    if is_classifier(estimator):
        known = getattr(estimator.estimator, "feature_names_in_", None)
        return None if known is None else list(known)
    return list(asked.features)
