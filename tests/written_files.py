"""Tables in several files of one kind, and statistics that are the same to the last bit."""

from __future__ import annotations

import numpy as np
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

WRITERS = {
    "parquet": pyarrow.parquet.write_table,
    "csv": pyarrow.csv.write_csv,
    "arrow": lambda table, path: pyarrow.feather.write_feather(table, path, "uncompressed"),
}


def write(table, folder, parts=4, ending="parquet"):
    folder.mkdir(exist_ok=True)
    ends = np.linspace(0, table.num_rows, parts + 1).astype(int)
    for i, (a, b) in enumerate(zip(ends, ends[1:], strict=False)):
        WRITERS[ending](table.slice(a, b - a), str(folder / f"part-{i}.{ending}"))
    return folder


def same_statistic(a, b):
    for name in ("xx", "xy", "yy", "x_mean", "y_mean"):
        assert getattr(a, name).tobytes() == getattr(b, name).tobytes(), name
    assert a.sample.keys.tobytes() == b.sample.keys.tobytes()
    assert a.sample.rows.tobytes() == b.sample.rows.tobytes()
    assert a.sample.bound == b.sample.bound
    assert (a.rows, a.weight, a.rounding) == (b.rows, b.weight, b.rounding)
    return True
