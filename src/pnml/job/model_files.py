"""Save and load models; models of tables are wrapped as `TableModel`."""

from __future__ import annotations

import os
from functools import wraps
from typing import Any, Protocol, TypeVar, overload

from pnml.core.arrays import FloatArray
from pnml.core.user_types import ArrayOrFrame, BoolArray, LabelArray
from pnml.errors import InputError
from pnml.models import model_file
from pnml.onnx import export


@wraps(model_file.save)
def save(model: Any, path: str | os.PathLike[str]) -> None:  # noqa: D103
    model_file.save(getattr(model, "fitted", model), path)


Kind = TypeVar("Kind")


class LoadedModel(Protocol):
    """Type of what `load` returns, for type checkers; the file decides on the real class.

    Estimators have these methods, and others that depend on the class.
    """

    def predict(self, X: ArrayOrFrame) -> LabelArray:
        """Predicted label of each row."""

    def regret(self, X: ArrayOrFrame) -> FloatArray:
        """Regret of each row, in nats."""

    def trusted(self, X: ArrayOrFrame, level: float = ...) -> BoolArray:
        """Whether each row (n,) is like the training rows, at this level of trust."""

    def __getattr__(self, name: str) -> Any:
        """Any other attribute, untyped; pass `kind` to `load` to have types."""


@overload
def load(
    path: str | os.PathLike[str],
    *,
    model: object = None,
    layer: object = None,
    kind: type[Kind],
    max_bytes: int | None = None,
) -> Kind: ...
@overload
def load(
    path: str | os.PathLike[str],
    *,
    model: object = None,
    layer: object = None,
    kind: None = None,
    max_bytes: int | None = None,
) -> LoadedModel: ...
def load(
    path: str | os.PathLike[str],
    *,
    model: object = None,
    layer: object = None,
    kind: type[Any] | None = None,
    max_bytes: int | None = None,
) -> Any:
    """The model that `save` wrote into a file; loading never runs code from the file.

    Parameters
    ----------
    path : str or path
    model : torch.nn.Module or fitted model, optional
        The network that a LastLayerPNML was fitted with, or the fitted model inside an estimator
        of which the file holds only a fingerprint. A model with another fingerprint is refused.
    layer : optional
        Where the last layer of that network is, as for `pnml.nn.LastLayerPNML`.
    kind : class, optional
        The class that the model must have, for instance ``pnml.PNMLRegressor``. Editors and type
        checkers then know its methods.
    max_bytes : int, optional
        Length of the longest file that is read, 16 GiB if left out. Longer ones are refused before
        their checksum is computed.

    Raises
    ------
    InputError
        Where the file is missing, foreign, cut short, changed, of a newer format, or where it
        holds a model of another class than `kind`.

    Examples
    --------
    >>> import os, tempfile
    >>> from pnml import PNMLRegressor, load, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.pnml")
    ...     save(PNMLRegressor().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0]), path)
    ...     load(path, kind=PNMLRegressor)
    PNMLRegressor()
    """
    loaded = as_users_have_it(model_file.load(path, model=model, layer=layer, max_bytes=max_bytes))
    if kind is not None and not isinstance(loaded, kind):
        raise InputError(
            f"{os.fspath(path)} holds a {type(loaded).__name__}, but kind is {kind.__name__}; "
            f"pass kind={type(loaded).__name__}, or leave it out."
        )
    return loaded


@wraps(export.export_onnx)
def export_onnx(  # noqa: D103
    model: Any, path: str | os.PathLike[str], *, dtype: str = "float32", example: Any = None
) -> None:
    export.export_onnx(getattr(model, "fitted", model), path, dtype=dtype, example=example)


def as_users_have_it(model: Any) -> Any:
    """The model as `pnml.load` gives it: a FittedTable becomes a TableModel, others stay."""
    if type(model).__module__ != "pnml.tables.fitted_table":  # which needs pyarrow
        return model
    from pnml.job.table_model import TableModel

    return TableModel(model)
