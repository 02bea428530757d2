"""Small files in the format of MNIST."""

from __future__ import annotations

import gzip

import numpy as np


def write_idx(path, values):
    """Write an array of bytes as MNIST is published."""
    path.parent.mkdir(parents=True, exist_ok=True)
    head = bytes([0, 0, 8, values.ndim]) + np.array(values.shape, ">u4").tobytes()
    with gzip.open(path, "wb") as file:
        file.write(head + values.tobytes())
