"""Old name of pnml.core.statistic.gram, removed in 0.4."""

from pnml.deprecation import moved

__getattr__ = moved(__name__, "pnml.core.statistic.gram")
