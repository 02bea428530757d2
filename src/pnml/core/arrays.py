"""Names for the arrays that the maths passes around."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

# A numpy array or a torch tensor: functions that take one keep its kind, device and gradient.
Array = Any
EPS = float(np.finfo(np.float64).eps)
