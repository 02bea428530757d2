"""The training features of a network as a geometry: leverage of new rows, and of those left out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from pnml.core.arrays import FloatArray
from pnml.core.softmax_loo import left_out_leverages
from pnml.core.spectrum import Spectrum
from pnml.nn.counting import Counted

# Share of the rows' total energy that is the penalty where none is asked for. Eq. (F11).
SHARE = 1e-8


@dataclass(frozen=True)
class Geometry:
    """Spectrum and penalty of the rows that were counted."""

    counted: Counted
    spectrum: Spectrum
    alpha: float

    @classmethod
    def of(cls, counted: Counted, alpha: float | None) -> Geometry:
        """Geometry at a penalty; None takes a share of the energy of the rows. Eq. (F11)."""
        found = SHARE * float(np.trace(counted.xx)) if alpha is None else alpha
        spectrum = Spectrum.of_gram(counted.gram, intercept=False, unit_columns=found == 0)
        return cls(counted, spectrum, found)

    def leverage(self, rows: FloatArray, norms: FloatArray) -> FloatArray:
        """Leverage (n,) of rows of features with these norms. Eq. (S2)."""
        if self._whitening is None:
            found: FloatArray = self._complete.leverage(rows, self.alpha)
        else:
            white = rows @ self._whitening
            found = np.vecdot(white, white)
        return np.where(norms == 0, np.inf, found) if self._directions_only else found

    def leverage_of_tensor(self, rows: Tensor, norms: Tensor) -> Tensor:
        """The same with gradients, on the device of the rows."""
        if self._whitening is None:
            found: Tensor = self._complete.leverage(rows, self.alpha)
        else:
            white = rows @ self._whitening_on(rows.device)
            found = torch.linalg.vecdot(white, white)
        return found.masked_fill(norms == 0, torch.inf) if self._directions_only else found

    @property
    def typical_norm(self) -> float:
        """Root mean square of the norms of all features counted."""
        return float(np.sqrt(self.counted.energy / self.counted.rows))

    @property
    def sample(self) -> FloatArray:
        """The rows in the sample, (m, width)."""
        return self.counted.sample.rows[:, :-1]

    @property
    def sample_norms(self) -> FloatArray:
        """The norms of their features, (m,)."""
        return self.counted.sample.rows[:, -1]

    @cached_property
    def left_out(self) -> FloatArray:
        """Leverage (m,) that each row of the sample would have without itself. Eq. (F6)."""
        ones = np.ones(len(self.sample))
        found = left_out_leverages(self.spectrum, self.sample, ones, self.alpha)
        return np.where(self.sample_norms == 0, np.inf, found) if self._directions_only else found

    @property
    def _directions_only(self) -> bool:
        """Whether features that are all zero are like none in training: they have no direction."""
        return self.counted.form.normalize and not self.counted.form.bias

    @cached_property
    def _complete(self) -> Spectrum:
        return self.spectrum.completed(self.alpha) if self.alpha > 0 else self.spectrum

    @cached_property
    def _whitening(self) -> FloatArray | None:
        """Matrix (width, r) that takes rows to coordinates whose squares add up to the leverage.

        None where a row can be outside of all directions there are.
        """
        spectrum = self._complete
        if not spectrum.spans_everything:
            return None
        whitening = spectrum.components(np.eye(self.counted.form.width))
        return np.ascontiguousarray(whitening / np.sqrt(spectrum.h2 + self.alpha))

    def _whitening_on(self, device: torch.device) -> Tensor:
        if device not in self._copies:
            self._copies[device] = torch.tensor(self._whitening, device=device)
        return self._copies[device]

    @cached_property
    def _copies(self) -> dict[torch.device, Tensor]:
        return {}
