"""Experiments on linear models of tables; the first paths of each kind are those of scale small."""

from __future__ import annotations

from pnml_experiments.framework.experiment import Experiment

_TABLES = tuple(
    f"uci/{name}.npz"
    for name in (
        "yacht",
        "energy",
        "power-plant",
        "concrete",
        "bostonHousing",
        "wine-quality-red",
        "kin8nm",
        "naval-propulsion-plant",
        "protein-tertiary-structure",
    )
)
_COLLECTION = tuple(
    f"pmlb/{name}.tsv.gz"
    for name in (
        "1089_USCrime",
        "195_auto_price",
        "542_pollution",
        "651_fri_c0_100_25",
        "192_vineyard",
        "666_rmftsa_ladata",
        "1199_BNG_echoMonths",
        "294_satellite_image",
        "banana",
        "695_chatfield_4",
        "503_wind",
        "560_bodyfat",
        "659_sleuth_ex1714",
        "344_mv",
        "229_pwLinear",
        "1027_ESL",
        "653_fri_c0_250_25",
        "230_machine_cpu",
        "1203_BNG_pwLinear",
        "561_cpu",
        "564_fried",
        "633_fri_c0_500_25",
        "598_fri_c0_1000_25",
        "706_sleuth_case1202",
        "635_fri_c0_250_10",
        "656_fri_c1_100_5",
        "1096_FacultySalaries",
        "595_fri_c0_1000_10",
        "1193_BNG_lowbwt",
        "650_fri_c0_500_50",
        "1028_SWD",
        "225_puma8NH",
        "634_fri_c2_100_10",
        "657_fri_c2_250_10",
        "603_fri_c0_250_50",
        "624_fri_c0_100_5",
        "606_fri_c2_1000_10",
        "579_fri_c0_250_5",
        "648_fri_c1_250_50",
        "1191_BNG_pbc",
        "618_fri_c3_1000_50",
        "631_fri_c1_500_5",
        "583_fri_c1_1000_50",
        "586_fri_c3_1000_25",
        "687_sleuth_ex1605",
        "645_fri_c3_500_50",
        "623_fri_c4_1000_10",
        "622_fri_c2_1000_50",
        "658_fri_c3_250_25",
        "201_pol",
    )
)
_SHIFTED = tuple(
    f"shift/{name}.npz" for name in ("wine", "parkinson", "fire", "fertility", "triazines")
)

LINEAR = (
    Experiment(
        "uci-double-descent",
        3,
        "Double descent and regret thresholds on UCI sets",
        "ch3_overparameterized.uci_double_descent",
        needs=_TABLES[:3],
        uses=_TABLES[3:],
        minutes=(0.2, 4.0),
    ),
    Experiment(
        "pmlb",
        4,
        "Luckiness, ridge and Bayes on PMLB sets",
        "ch4_luckiness.pmlb",
        needs=_COLLECTION[:6],
        uses=_COLLECTION[6:],
        minutes=(0.05, 4.0),
    ),
    Experiment(
        "shift",
        4,
        "Test rows of another make than the training rows",
        "ch4_luckiness.shift",
        needs=_SHIFTED,
        minutes=(0.5, 1.2),
    ),
    Experiment(
        "luckiness-choice",
        4,
        "Rules for the penalty of luckiness",
        "studies.luckiness_choice",
        needs=(*_COLLECTION[:6], *_SHIFTED),
        uses=_COLLECTION[6:],
        minutes=(0.2, 4.0),
        beyond=True,
    ),
)
