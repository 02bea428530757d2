"""Old name of pnml.models, removed in 0.4."""

from pnml.deprecation import moved

__getattr__ = moved(__name__, "pnml.models")
