"""Experiments on points that are made here."""

from __future__ import annotations

from pnml_experiments.framework.experiment import Experiment

SYNTHETIC = (
    Experiment(
        "polynomial",
        2,
        "Polynomials fitted by least squares",
        "ch2_least_squares.polynomial",
        minutes=(0.05, 0.1),
    ),
    Experiment(
        "trigonometric",
        3,
        "More cosines than points",
        "ch3_overparameterized.trigonometric",
        minutes=(0.1, 0.5),
    ),
    Experiment(
        "null-space-histograms",
        4,
        "Ridge and luckiness inside and outside the span",
        "ch4_luckiness.null_space_histograms",
        minutes=(0.1, 0.1),
    ),
    Experiment(
        "luckiness-polynomials",
        4,
        "Polynomials with luckiness",
        "ch4_luckiness.luckiness_polynomials",
        minutes=(0.1, 1.2),
    ),
)
