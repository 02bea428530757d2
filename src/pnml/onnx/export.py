"""Write a fitted model as one ONNX file."""

from __future__ import annotations

import os
import sys
from typing import Any

from pnml.errors import InputError, how_to_install
from pnml.runtime.atomic import check_path, reason, write_whole

_DTYPES = ("float32", "float64")
# Packages of `pip install "pnml[onnx]"`.
_EXTRA = {"onnx", "skl2onnx", "onnxscript"}


def export_onnx(
    model: Any, path: str | os.PathLike[str], *, dtype: str = "float32", example: Any = None
) -> None:
    """Write an ONNX file with the prediction and the regret of a model, for use without Python.

    The graph takes any number of rows. Regressors have the outputs ``prediction``, ``std`` and
    ``regret``; classifiers ``log_prob``, with the classes in the metadata of the file, and
    ``regret``. Sums are in float64 for either dtype, as everywhere in this library. The file is
    written completely or not at all.

    Parameters
    ----------
    model : fitted PNMLRegressor, LpNMLRegressor with ``penalty="l2"``, PNMLClassifier with
        ``method="analytic"``, Pipeline that ends in one of them, `pnml.nn.LastLayerPNML`, or
        model of a table from `pnml fit`.
    path : str or path
        It usually ends in ``.onnx``. An existing file is replaced.
    dtype : "float32" or "float64", default="float32"
        Of the inputs and outputs. A network keeps the dtype of its own inputs.
    example : optional
        Some rows as the model takes them: needed for networks, and for Pipelines that read text.
        Columns of a DataFrame become one input each.

    Examples
    --------
    >>> import os, tempfile
    >>> from pnml import PNMLRegressor, export_onnx
    >>> model = PNMLRegressor().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.5])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export_onnx(model, os.path.join(folder, "model.onnx"))
    ...     os.listdir(folder)
    ['model.onnx']
    """
    path = check_path(path)
    if dtype not in _DTYPES:
        raise InputError(
            f'dtype is {dtype!r}, but graphs are made in two; pass dtype="float32" or '
            'dtype="float64".'
        )
    if _is(model, "pnml.job.table_model", "TableModel"):
        model = model.fitted
    try:
        proto = _built(model, dtype, example)
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in _EXTRA:
            raise
        raise InputError(
            f"export_onnx needs {missing}, which is not installed; {how_to_install('onnx')}."
        ) from error
    try:
        write_whole(path, [proto])
    except InputError:
        raise
    except (OSError, ValueError) as error:
        raise InputError(f"Cannot write {path}: {reason(error)}; check the path.") from error


def _built(model: Any, dtype: str, example: Any) -> bytes:
    """The bytes of the ONNX file; the converter for the kind of model is imported on demand."""
    proto: Any
    if _is(model, "pnml.nn.last_layer", "LastLayerPNML"):
        from pnml.onnx.networks import network_graph

        proto = network_graph(model, dtype, example)
    elif _is(model, "pnml.tables.fitted_table", "FittedTable"):
        from pnml.onnx.tables import table_graph

        proto = table_graph(model, dtype)
    else:
        from pnml.onnx.pipelines import pipeline_graph

        proto = pipeline_graph(model, dtype, example)
    data: bytes = proto.SerializeToString()
    return data


def _is(model: Any, home: str, name: str) -> bool:
    """Whether a model is of a class that is imported only where it is used."""
    module = sys.modules.get(home)
    return module is not None and isinstance(model, getattr(module, name))
