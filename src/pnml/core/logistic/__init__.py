"""Logistic regression refitted with every label of every row: batched, warm and certified."""

from pnml.core.logistic.model import LogisticModel
from pnml.core.logistic.refit import Refits, refit, refit_left_out

__all__ = ["LogisticModel", "Refits", "refit", "refit_left_out"]
