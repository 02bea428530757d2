"""Rows, tables and networks of fixed seeds, the same for both versions."""

from __future__ import annotations

from importlib import import_module

import numpy as np

LEVELS = (0.9, 0.99, 1.0)
NAMES = ["age", "größe", "dose"]


def amounts(n=24, d=3):
    """Rows and a target that is not quite linear."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, d))
    return X, X[:, 0] - X[:, -1] ** 2 + 0.3 * rng.normal(size=n)


def new_rows(d=3):
    """Rows like those of training, and some far out."""
    X = np.random.default_rng(2).normal(size=(9, d))
    X[5:] *= 20
    return X


def gram_of(*rows):
    """The statistic that `fit_gram` takes; its home is no public module, so it may have moved."""
    for home in ("pnml.core.statistic.gram", "pnml.core.gram"):
        try:
            return import_module(home).Gram.of(*rows)
        except (ModuleNotFoundError, AttributeError):
            continue
    raise ModuleNotFoundError("pnml.core has no Gram where it was or where it was to go")


def classes(n=36, k=3):
    """Rows of overlapping classes with labels that are words."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % k
    X = rng.normal(size=(n, 3)) + y[:, None]
    return X, np.array(["ill", "well", "fine", "odd"])[y]


def tree_rows():
    """Rows with a gap, an amount and a class."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    X[3, 1] = np.nan
    return X, X[:, 0] + (X[:, 2] > 1), np.array(["a", "b", "c"])[(X[:, 0] > 0) + (X[:, 2] > 1) * 1]


def mixed(n=150, seed=0, shift=0.0):
    """A table of numbers, words, dates, truth values and gaps; `y` is linear in them."""
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    size, age = rng.normal(size=n) + shift, 40 + 9 * rng.normal(size=n)
    city = rng.choice(("Oslo", "Rome", "Bern"), size=n)
    member = rng.random(n) < 0.4
    day = rng.integers(0, 300, size=n)
    y = 5 + 2 * size + 0.1 * age + (city == "Rome") - 2.0 * member + 0.01 * day
    y = y + 0.4 * rng.normal(size=n)
    return pa.table(
        {
            "size": size,
            "age": pa.array(age, mask=rng.random(n) < 0.15),
            "city": pa.array(city.tolist(), mask=rng.random(n) < 0.1),
            "member": member,
            "day": pa.array(np.datetime64("2024-01-01") + day, type=pa.date32()),
            "y": y,
        }
    )


def kinds(n=150, seed=0, shift=0.0):
    """The same table with three classes by the thirds of `y`."""
    import pyarrow as pa

    table = mixed(n, seed, shift)
    words = np.array(["low", "middle", "high"])[np.digitize(table["y"].to_numpy(), [9.2, 11.2])]
    return table.set_column(table.num_columns - 1, "kind", pa.array(words.tolist()))


def odd(seed=7):
    """Rows to score: familiar, far out, and with words and gaps never seen."""
    import pyarrow as pa

    table = mixed(24, seed=seed, shift=1.0)
    city = [*table["city"].to_pylist()[:20], "Atlantis", None, None, "Oslo"]
    size = [*table["size"].to_pylist()[:20], 1.0, 1.0, None, 50.0]
    table = table.set_column(0, "size", pa.array(size, pa.float64()))
    return table.set_column(2, "city", pa.array(city))


def network(features=6, classes=4, seed=0):
    import torch

    torch.manual_seed(seed)
    net = torch.nn.Sequential(
        torch.nn.Linear(features, 12), torch.nn.ReLU(), torch.nn.Linear(12, classes)
    )
    return net.requires_grad_(False)


def inputs(n=300, features=6, seed=1):
    import torch

    return torch.randn(n, features, generator=torch.Generator().manual_seed(seed))


def images(n=60, seed=1):
    import torch

    return torch.randn(n, 2, 6, 6, generator=torch.Generator().manual_seed(seed)).double()


def convolutions():
    import torch

    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Conv2d(2, 4, 3),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(64, 8),
        torch.nn.Tanh(),
        torch.nn.Linear(8, 3),
    ).double()
