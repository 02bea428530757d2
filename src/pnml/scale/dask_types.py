"""Types of Dask collections: what users pass in, and what is used of it here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt


class DaskCollection(Protocol):
    """A Dask array, dataframe or series."""

    def __dask_graph__(self) -> object:
        """Tasks that compute it."""


class DaskRows(DaskCollection, Protocol):
    """What is used of Dask arrays and dataframes; each has its part of these names."""

    shape: tuple[Any, ...]
    dtype: np.dtype[Any]
    ndim: int
    npartitions: int
    chunks: Any
    columns: Any
    _meta: Any

    def to_delayed(self) -> Any:
        """The partitions, not computed yet."""

    def map_partitions(
        self, function: Callable[..., object], *args: object, **options: object
    ) -> Any:
        """A function of each partition of a dataframe."""

    def map_blocks(self, function: Callable[..., object], *args: object, **options: object) -> Any:
        """A function of each block of an array."""

    def rechunk(self, chunks: object) -> DaskRows:
        """The same array in other blocks."""

    def __getitem__(self, key: object) -> DaskRows:
        """A column, or some columns."""

    def __iter__(self) -> Iterator[Any]:
        """Columns or rows."""


class Block(Protocol):
    """One partition in memory: an array or a data frame."""

    def __len__(self) -> int:
        """Rows of it."""

    def __getitem__(self, key: Any) -> Any:
        """A part of the array."""

    def __array__(self, *args: Any, **options: Any) -> npt.NDArray[Any]:
        """The numbers of the array."""
