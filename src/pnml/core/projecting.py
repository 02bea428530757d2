"""Old name of pnml.core.geometry.random_projection, removed in 0.4."""

from pnml.deprecation import moved

__getattr__ = moved(__name__, "pnml.core.geometry.random_projection")
