"""Save and load models, those of tables as `TableModel`."""

from __future__ import annotations

import os
from functools import wraps
from typing import Any

from pnml.models import model_file
from pnml.onnx import export


@wraps(model_file.save)
def save(model: Any, path: str | os.PathLike[str]) -> None:  # noqa: D103
    model_file.save(getattr(model, "fitted", model), path)


@wraps(model_file.load)
def load(path: str | os.PathLike[str], *, model: Any = None, layer: Any = None) -> Any:  # noqa: D103
    return as_users_have_it(model_file.load(path, model=model, layer=layer))


@wraps(export.export_onnx)
def export_onnx(  # noqa: D103
    model: Any, path: str | os.PathLike[str], *, dtype: str = "float32", example: Any = None
) -> None:
    export.export_onnx(getattr(model, "fitted", model), path, dtype=dtype, example=example)


def as_users_have_it(model: Any) -> Any:
    """The model as `pnml.load` gives it: one of a table as a `TableModel`, any other as it is."""
    if type(model).__module__ != "pnml.tables.fitted_table":  # which needs pyarrow
        return model
    from pnml.job.table_model import TableModel

    return TableModel(model)
