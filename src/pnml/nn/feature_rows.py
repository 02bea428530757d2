"""Rows of the statistic: features of unit norm, with columns for the bias and the norm if asked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from pnml.core.arrays import FloatArray

# Rows are scaled in blocks of about this many numbers, which stay in cache.
_BLOCK_NUMBERS = 2**16


@dataclass(frozen=True)
class RowForm:
    """How features (n, d) become rows (n, width) of the statistic. Eq. (F10).

    `features` is d; `normalize` scales features to unit norm; `bias` adds a column of ones;
    `regions` is the number of classes by which rows are grouped, 0 for no groups.
    """

    features: int
    normalize: bool
    bias: bool
    regions: int = 0  # classes whose rows are centred apart, Eq. (F13); 0 for none

    def __str__(self) -> str:
        kind = "normalised" if self.normalize else "raw"
        regions = f" in {self.regions} regions" if self.regions else ""
        return f"{self.features} {kind} features" + (" and a bias" if self.bias else "") + regions

    @property
    def width(self) -> int:
        """Number of columns of a row: features, then the bias and the log of the norm if used."""
        return self.features + self.bias + self.has_norm

    @property
    def has_norm(self) -> bool:
        """Whether the last column is the log of the norm. Eq. (F13)."""
        return self.normalize and self.regions > 0

    @property
    def needs_direction(self) -> bool:
        """Whether features that are all zero have no row, and so infinite leverage."""
        return self.normalize and (self.has_norm or not self.bias)

    def write(self, features: npt.NDArray[np.floating], out: FloatArray) -> FloatArray:
        """Write the rows of features into out (n, width); return the norms (n,) of the features."""
        norms = np.empty(len(features))
        step = max(1, _BLOCK_NUMBERS // max(self.width, 1))
        for start in range(0, len(features), step):
            part = slice(start, start + step)
            given, block = features[part], out[part, : self.features]
            if given.dtype != np.float64 or not self.normalize:
                np.copyto(block, given)
                given = block
            with np.errstate(over="ignore", invalid="ignore"):  # the norms show it
                norms[part] = np.sqrt(np.vecdot(given, given))
                if self.normalize:
                    size = norms[part, None]
                    safe = size if size.all() else np.where(size > 0, size, 1.0)
                    np.divide(given, safe, out=block)
        if self.bias:
            out[:, self.features] = 1.0
        if self.has_norm:
            np.log(np.where(norms > 0, norms, 1.0), out=out[:, -1])
        return norms

    def of_tensor(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """Rows (n, width) and norms (n,) of features (n, d), with gradients, on their device."""
        rows = features.double()
        norms = torch.linalg.vector_norm(rows, dim=1)
        safe = torch.where(norms > 0, norms, torch.ones_like(norms))[:, None]
        columns = [rows / safe if self.normalize else rows]
        if self.bias:
            columns.append(torch.ones_like(safe))
        if self.has_norm:
            columns.append(safe.log())
        return torch.cat(columns, dim=1) if len(columns) > 1 else columns[0], norms


def numpy_rows(features: Tensor) -> npt.NDArray[np.floating]:
    """Features as numpy rows that share their memory where possible; no digit is lost.

    >>> numpy_rows(torch.ones(2, 3, dtype=torch.bfloat16)).dtype
    dtype('float32')
    """
    features = features.detach()
    if features.dtype in (torch.bfloat16, torch.float16):
        features = features.float()
    array: npt.NDArray[np.floating] = features.cpu().numpy()
    return array
