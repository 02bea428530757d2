"""``pnml inspect``: print the contents of a model file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pnml.cli.options import DEFAULT_LEVEL, Json, Level, Model

if TYPE_CHECKING:
    from pnml.models.model_file import ModelFile
    from pnml.models.stored_layer import StoredLayer
    from pnml.tables.fitted_table import FittedTable

# Words for the outputs of a network, by task.
_OUTPUTS = {"multiclass": "classes", "multilabel": "yes-or-no labels", "regression": "numbers"}


def inspect(model: Model, level: Level = DEFAULT_LEVEL, as_json: Json = False) -> None:
    """Print what a model file holds.

    Learner, target, columns, training rows and the threshold of trust; no code in the file is run.
    """
    from pnml.cli.console import check_share, pairs, print_json, print_words
    from pnml.models.model_file import read

    check_share("--level", level, or_one=True)
    contents = read(model)
    file = {"file": model, "bytes": Path(model).stat().st_size} | contents.written_by
    facts, words = _contents(contents, level)
    if as_json:
        print_json(file | facts)
    else:
        print_words(pairs([(name, str(value)) for name, value in file.items()]), *words)


def _contents(contents: ModelFile, level: float) -> tuple[dict[str, Any], list[Any]]:
    """The contents of a model file twice: as JSON values, and as texts and tables to print."""
    from pnml.cli.console import pairs
    from pnml.tables.fitted_table import FittedTable

    layer = contents.last_layer
    if layer is not None:
        return _layer_document(layer), [pairs(_layer_facts(layer))]
    model = contents.model()
    if isinstance(model, FittedTable):
        return _of_table(model, level)
    facts = {"estimator": repr(model), "features": getattr(model, "n_features_in_", None)}
    return facts, [pairs([(name, str(value)) for name, value in facts.items()])]


def _of_table(model: FittedTable, level: float) -> tuple[dict[str, Any], list[Any]]:
    from pnml.cli.console import grid, pairs
    from pnml.tables import describe

    words: list[Any] = [
        pairs(describe.facts(model, level)),
        grid(["column", "role", ""], [list(row) for row in describe.columns(model)]),
        *model.remarks,
        *describe.left_out(model),
    ]
    return describe.document(model, level), words


def _layer_facts(layer: StoredLayer) -> list[tuple[str, str]]:
    """Facts about a network's last layer, as (name, value) pairs to print."""
    alpha, scale = layer.settings["alpha"], layer.settings["scale"]
    kind = "of unit norm" if layer.normalized else "as they are"
    source = "chosen from the training rows" if scale == "auto" else "as asked"
    scale_text = "the network's own" if layer.scale is None else f"{layer.scale:.4g}, {source}"
    facts = [
        ("holds", "the last layer of a network" + ("" if layer.head else ", without the network")),
        ("task", f"{layer.task}, {layer.outputs:,} {_OUTPUTS.get(layer.task, 'outputs')}"),
        ("rows", f"{layer.rows:,} counted, {layer.sampled:,} of them kept for thresholds"),
        ("features", f"{layer.features:,} {kind}" + (" and a bias" if layer.bias else "")),
        ("penalty", "by the features" if alpha == "auto" else f"{alpha:.4g}"),
    ]
    if layer.regions:
        facts.append(("regions", f"{layer.regions:,} of {layer.outputs:,} classes have rows"))
    if layer.task != "regression":
        facts.append(("scale", scale_text))
    return [
        *facts,
        ("to use it", "pnml.load(path)" if layer.head else "pnml.load(path, model=network)"),
    ]


def _layer_document(layer: StoredLayer) -> dict[str, Any]:
    return {
        "estimator": "LastLayerPNML",
        "task": layer.task,
        "outputs": layer.outputs,
        "rows": layer.rows,
        "sampled": layer.sampled,
        "features": layer.features,
        "regions": layer.regions,
        "scale": layer.scale,
        "holds_network": bool(layer.head),
        "settings": layer.settings,
    }
