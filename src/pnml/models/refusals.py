"""The error and the warning about a model file that needs something beside itself to be loaded."""

from __future__ import annotations

from pnml.errors import InputError


class UnmetNeedError(InputError):
    """Error: an undamaged model file needs a library or a fitted model that is not there."""


class LeftOutModelWarning(UserWarning):
    """Warning: a file was written without the model inside, which must be passed to `load`."""
