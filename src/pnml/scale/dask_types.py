"""Protocols for types: the Dask collections that users pass, and the members of them used here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt


class DaskCollection(Protocol):
    """Protocol: a Dask array, dataframe or series."""

    def __dask_graph__(self) -> object:
        """The tasks that compute the collection."""


class DaskRows(DaskCollection, Protocol):
    """Protocol: the members of Dask arrays and dataframes used here; neither has all of them."""

    shape: tuple[Any, ...]
    dtype: np.dtype[Any]
    ndim: int
    npartitions: int
    chunks: Any
    columns: Any
    _meta: Any

    def to_delayed(self) -> Any:
        """The partitions as delayed objects, not computed yet."""

    def map_partitions(
        self, function: Callable[..., object], *args: object, **options: object
    ) -> Any:
        """A lazy dataframe of the results of a function for each partition of this dataframe."""

    def map_blocks(self, function: Callable[..., object], *args: object, **options: object) -> Any:
        """A lazy array of the results of a function for each block of this array."""

    def rechunk(self, chunks: object) -> DaskRows:
        """The same array, cut into other blocks."""

    def __getitem__(self, key: object) -> DaskRows:
        """One column of a dataframe, or some of its columns."""

    def __iter__(self) -> Iterator[Any]:
        """Iterator over the names of columns, or over rows of an array."""


class Block(Protocol):
    """Protocol: one partition in memory, a numpy array or a pandas DataFrame."""

    def __len__(self) -> int:
        """Number of rows."""

    def __getitem__(self, key: Any) -> Any:
        """A column of a data frame, or a part of an array."""

    def __array__(self, *args: Any, **options: Any) -> npt.NDArray[Any]:
        """The values as a numpy array."""
