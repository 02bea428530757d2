"""What is fuzzed: where good files come from, how they are changed, and what is done with them."""

from __future__ import annotations

import gzip
import io
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

import pnml
from fuzz import changed_stores, changed_tables
from pnml.scale import RegretMonitor, fit_files, fit_mixed_files
from pnml.scale.checkpoint import Checkpoint, Stop

STORED = Path(__file__).parents[1] / "models" / "format_1"
Change = Callable[[Path, np.random.Generator], bytes]


@dataclass(frozen=True)
class Target:
    """One kind of file."""

    name: str
    seeds: Callable[[Path], list[Path]]  # good files, made in a folder
    mutant: Change
    use: Callable[[Path], None]  # may raise InputError and nothing else


def rows() -> pd.DataFrame:
    """A small table with numbers, words, gaps, dates and truth values."""
    rng = np.random.default_rng(0)
    n = 40
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n).round(3),
            "count": rng.integers(0, 99, n),
            "colour": rng.choice(["red", "green", "blue"], n),
            "day": pd.date_range("2024-01-01", periods=n).astype(str),
            "sold": rng.random(n) < 0.5,
        }
    )
    frame["price"] = (2 * frame["size"] + frame["count"] / 10 + rng.normal(size=n)).round(3)
    frame.loc[::9, "size"] = np.nan
    return frame


def tables(folder: Path) -> list[Path]:
    """The same table in every format."""
    frame = rows()
    text = frame.to_csv(index=False).encode()
    table = pa.Table.from_pandas(frame, preserve_index=False)
    stream = io.BytesIO()
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    files = {
        "a.csv": text,
        "b.csv": text.replace(b",", b";"),
        "c.tsv": text.replace(b",", b"\t"),
        "d.csv.gz": gzip.compress(text),
        "e.arrows": stream.getvalue(),
    }
    for name, content in files.items():
        (folder / name).write_bytes(content)
    pyarrow.parquet.write_table(table, folder / "f.parquet")
    pyarrow.feather.write_feather(table, str(folder / "g.arrow"), compression="uncompressed")
    return sorted(folder.iterdir())


def changed_table(seed: Path, rng: np.random.Generator) -> bytes:
    """A table with a few changes, as its format has them."""
    data = seed.read_bytes()
    if seed.suffix == ".gz":
        return changed_tables.changed_gzip(data, rng)
    change = changed_tables.changed_bytes
    if seed.suffix in (".csv", ".tsv"):
        change = changed_tables.changed_text
    return change(data, rng)


@cache
def _model() -> pnml.TableModel:
    return pnml.fit_table(rows(), target="price", learner="ridge")


def use_table(path: Path) -> None:
    """Score the rows with a model of the unchanged table, and fit another one to them."""
    _model().score(str(path))
    pnml.fit_table(str(path), target="price", learner="ridge")


def models(folder: Path) -> list[Path]:
    """Files of every kind of model that format 1 has stored, without those of networks."""
    named = sorted(STORED.glob("*.pnml"))
    return [path for path in named if not path.name.startswith(("last-layer", "head"))]


def use_model(path: Path) -> None:
    """Load a model and ask it everything."""
    model = pnml.load(path)
    if isinstance(model, pnml.TableModel):
        model.score(rows())
        return
    X = np.random.default_rng(0).normal(size=(3, getattr(model, "n_features_in_", 2)))
    for name in ("predict", "predict_proba", "regret", "trusted", "predict_interval", "explain"):
        if hasattr(model, name):
            getattr(model, name)(X)
    repr(model)


def monitors(folder: Path) -> list[Path]:
    """Monitors after few rows, after many, and after an alarm."""
    rng = np.random.default_rng(0)
    for name, count, shift in (("few", 3, 0.0), ("many", 500, 0.0), ("alarm", 200, 5.0)):
        monitor = RegretMonitor(rng.exponential(size=200))
        monitor.update(rng.exponential(size=count) + shift)
        monitor.save(folder / f"{name}.pnml")
    return sorted(folder.iterdir())


def use_monitor(path: Path) -> None:
    """Load a monitor and go on with it."""
    monitor = RegretMonitor.load(path)
    monitor.update(np.linspace(0, 3, 50))
    monitor.reset()
    monitor.update(np.linspace(0, 3, 50))


def _stopped(resume: Callable[[Path, Path], None], folder: Path) -> list[Path]:
    """The checkpoint of a pass over the files of a folder, stopped after the first piece."""
    write = Checkpoint.write

    def write_and_stop(self: Checkpoint, stop: Stop) -> None:
        write(self, stop)
        raise KeyboardInterrupt

    with patch.object(Checkpoint, "write", write_and_stop), suppress(KeyboardInterrupt):
        resume(folder, folder / "kept.part")
    return [folder / "kept.part"]


def checkpoints(folder: Path) -> list[Path]:
    """The checkpoint of a pass over two files of numbers."""
    for part in range(2):
        numbers = rows()[["size", "count", "price"]].dropna()
        numbers.to_csv(folder / f"{part}.csv", index=False)
    return _stopped(_resume, folder)


def _resume(folder: Path, checkpoint: Path) -> None:
    model, files = pnml.PNMLRegressor(), str(folder / "*.csv")
    fit_files(model, files, "price", checkpoint=checkpoint, checkpoint_seconds=0.0)


def use_checkpoint(path: Path) -> None:
    """Go on from a checkpoint with the files that it was made of."""
    _resume(path.parent / "seeds", path)


def table_checkpoints(folder: Path) -> list[Path]:
    """The checkpoint of a pass over two files of numbers, words and dates."""
    for part in range(2):
        rows().to_csv(folder / f"{part}.csv", index=False)
    return _stopped(_resume_table, folder)


def _resume_table(folder: Path, checkpoint: Path) -> None:
    files = str(folder / "*.csv")
    with patch("pnml.tables.fitting.MOST_ROWS", 20):  # more rows than this are read as a stream
        fit_mixed_files(files, "price", checkpoint=checkpoint, checkpoint_seconds=0.0)


def use_table_checkpoint(path: Path) -> None:
    """Go on from the checkpoint of a table with the files that it was made of."""
    _resume_table(path.parent / "seeds", path)


TARGETS = {
    target.name: target
    for target in (
        Target("models", models, changed_stores.mutant, use_model),
        Target("monitors", monitors, changed_stores.mutant, use_monitor),
        Target("checkpoints", checkpoints, changed_stores.mutant, use_checkpoint),
        Target("table_checkpoints", table_checkpoints, changed_stores.mutant, use_table_checkpoint),
        Target("tables", tables, changed_table, use_table),
    )
}


def quietly(use: Callable[[Path], None], path: Path) -> None:
    """Use a file; warnings are no failures."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        use(path)
