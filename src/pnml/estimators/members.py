"""Estimators made of several others, each with a name."""

from __future__ import annotations

from typing import Any, Self

from sklearn.utils.metaestimators import _BaseComposition

from pnml.errors import InputError


class NamedMembers(_BaseComposition):
    """Base of an estimator whose one parameter is the list of its named members."""

    def __init__(self, estimators: list[tuple[str, Any]] | None = None) -> None:
        self.estimators = estimators

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of this estimator and, if deep, of its members as ``name__parameter``."""
        params: dict[str, Any] = self._get_params("estimators", deep=deep)
        return params

    def set_params(self, **params: object) -> Self:
        """Set parameters as ``estimators=…``, ``name=…`` or ``name__parameter=…``."""
        self._set_params("estimators", **params)
        return self

    def _named(
        self, default: list[tuple[str, Any]], member: str, example: str
    ) -> list[tuple[str, Any]]:
        """The (name, estimator) pairs that were passed, checked, or `default` if none were.

        `member` and `example` are words for the error messages.
        """
        if self.estimators is None:
            return default
        members = list(self.estimators)
        if not all(isinstance(pair, tuple) and len(pair) == 2 for pair in members):
            raise InputError(
                f"estimators is {self.estimators!r}, but each {member} needs a name; pass a list "
                f"of (name, estimator) pairs such as {example}."
            )
        if not members:
            raise InputError(
                f"estimators is an empty list, but there must be a {member} to follow; pass a list "
                "of (name, estimator) pairs, or None for the default."
            )
        self._validate_names([name for name, _ in members])
        return members
