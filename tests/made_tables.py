"""Tables whose truth is known, for tests of everything that reads tables."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

CITIES = ("Oslo", "Rome", "Bern")


def mixed(n=150, seed=0, shift=0.0):
    """Numbers, words, dates, truth values and missing cells; `y` is linear in them, plus noise."""
    rng = np.random.default_rng(seed)
    size, age = rng.normal(size=n) + shift, 40 + 9 * rng.normal(size=n)
    city = rng.choice(CITIES, size=n)
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


def classes(n=150, seed=0, shift=0.0):
    """The same with three classes instead of an amount, by the thirds of `y`."""
    table = mixed(n, seed, shift)
    y = table["y"].to_numpy()
    words = np.array(["low", "middle", "high"])[np.digitize(y, [9.2, 11.2])]
    return table.set_column(table.num_columns - 1, "kind", pa.array(words.tolist()))


def numbers(n=100, d=4, seed=0):
    """Columns x0, x1, … of independent standard normal numbers, and a linear target."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    columns = {f"x{j}": X[:, j] for j in range(d)}
    return pa.table(columns | {"y": X @ np.arange(1.0, d + 1) + rng.normal(size=n)})


def replaced(table, name, cells):
    """The table with other cells in one column, of the same type where they fit it."""
    place = table.column_names.index(name)
    column = pa.array(cells, type=table.schema.field(name).type)
    return table.set_column(place, name, column)


def one_batch(table):
    """All rows in one record batch."""
    return table.combine_chunks().to_batches()[0]


def in_batches(table, cuts):
    """The rows in batches that end at these places."""
    ends = [0, *sorted(cuts), table.num_rows]
    parts = [table.slice(a, b - a) for a, b in zip(ends, ends[1:], strict=False) if b > a]
    return [one_batch(part) for part in parts]
