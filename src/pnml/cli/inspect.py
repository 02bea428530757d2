"""``pnml inspect``: what a model file holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pnml.cli.options import Json, Level, Model


def inspect(model: Model, level: Level = 0.99, as_json: Json = False) -> None:
    """Print what a model file holds."""
    from pnml.cli.talk import check_share, grid, pairs, print_json, print_words
    from pnml.io import load
    from pnml.io.model_file import written_by
    from pnml.tables import describe
    from pnml.tables.model import TableModel

    check_share("--level", level, one=True)
    held = load(model)
    file = {"file": model, "bytes": Path(model).stat().st_size} | written_by(model)
    if not isinstance(held, TableModel):
        columns = getattr(held, "n_features_in_", None)
        file |= {"estimator": repr(held), "features": columns}
        if as_json:
            print_json(file)
        else:
            print_words(pairs([(name, str(value)) for name, value in file.items()]))
        return
    if as_json:
        print_json(file | describe.document(held, level))
        return
    lines: list[Any] = [
        pairs([(name, str(value)) for name, value in file.items()]),
        pairs(describe.facts(held, level)),
        grid(["column", "role", ""], [list(row) for row in describe.columns(held)]),
        *held.remarks,
        *describe.left_out(held),
    ]
    print_words(*lines)
