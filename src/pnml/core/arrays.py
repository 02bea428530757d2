"""Names for the arrays that the maths passes around."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

# The fields of a value that goes into a model file name their axes, separated by spaces:
# Annotated[FloatArray, "d k"] is an array of d rows and k columns, Annotated[FloatArray, "q d+k"]
# has d + k columns. One letter means one length within a value; d (features), k (targets),
# r (directions) and w (width of a sampled row) also agree with the values it is made of, where
# Annotated[RowSample, "w=d+k+1"] gives one of them as a sum. Files are checked against this.
FloatArray = npt.NDArray[np.float64]

# A numpy array or a torch tensor: functions that take one keep its kind, device and gradient.
Array = Any
EPS = float(np.finfo(np.float64).eps)
