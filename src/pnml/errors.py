"""What our own checks raise and warn with."""

from __future__ import annotations


class InputError(ValueError):
    """What came, what it clashes with, what to do: in one sentence."""


class ConditionWarning(UserWarning):
    """The numbers asked for are less accurate than usual, and why."""
