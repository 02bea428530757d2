"""Experiments beyond the thesis on tables."""

from __future__ import annotations

from pnml_experiments.framework.experiment import Experiment
from pnml_experiments.framework.stored_files import CLINC, RESNET20, SHIFTS, TABLES

BENCHMARK = (
    Experiment(
        "uci-benchmark",
        4,
        "Learners side by side on the UCI sets",
        "studies.uci_benchmark",
        needs=TABLES[:3],
        uses=(*TABLES[3:], *SHIFTS),
        minutes=(0.8, 20.0),
        beyond=True,
    ),
)
STUDIES = (
    Experiment(
        "linear-active",
        7,
        "Active learning for least squares on UCI sets",
        "studies.linear_active",
        needs=TABLES[:3],
        uses=TABLES[3:],
        minutes=(0.1, 20.0),
        beyond=True,
    ),
    Experiment(
        "regret-stability",
        8,
        "Regret, and what leaving a row out moves",
        "studies.regret_stability",
        needs=TABLES[:3],
        uses=TABLES[3:],
        minutes=(0.7, 7.0),
        beyond=True,
    ),
    Experiment(
        "regret-complexity",
        8,
        "Regret, and effective degrees of freedom",
        "studies.regret_complexity",
        needs=TABLES[:3],
        uses=TABLES[3:],
        minutes=(0.1, 1.0),
        beyond=True,
    ),
    Experiment(
        "regret-calibration",
        8,
        "Regret, and probabilities that keep what they promise",
        "studies.regret_calibration",
        uses=(RESNET20, CLINC),
        extras=("plots", "torch"),
        minutes=(0.4, 3.0),
        beyond=True,
    ),
)
