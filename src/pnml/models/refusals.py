"""The refusal of a sound file that needs something more than itself, and the warning before."""

from __future__ import annotations

from pnml.errors import InputError


class UnmetNeedError(InputError):
    """Refusal of a sound file that needs a library or a model that is not there."""


class LeftOutModelWarning(UserWarning):
    """A file was written without the model inside, which must be passed to load it."""
