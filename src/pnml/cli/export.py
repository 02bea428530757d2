"""``pnml export``: a model as one ONNX file."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pnml.cli.options import Json, Model


class Dtype(StrEnum):
    """Option of ``pnml export``: type of the numbers that the exported model takes and gives."""

    FLOAT32 = "float32"
    FLOAT64 = "float64"


def export(
    model: Model,
    output: Annotated[str, typer.Option("--output", "-o", help="ONNX file to write: .onnx.")],
    dtype: Annotated[
        Dtype, typer.Option(help="What numbers go in and come out as.")
    ] = Dtype.FLOAT32,
    as_json: Json = False,
) -> None:
    """Write a model as an ONNX file that gives prediction and regret without Python.

    Linear models and classifiers can be exported; for others one sentence says why not.
    """
    from pnml.cli.console import print_json, print_words
    from pnml.models.model_file import load
    from pnml.onnx import export_onnx
    from pnml.readers import check_output

    check_output(output, [Path(model)], endings=(".onnx",))
    export_onnx(load(model), output, dtype=dtype.value)
    from pnml.onnx.contents import contents  # by now it is known that onnx is installed

    inputs, outputs = contents(output)
    if as_json:
        print_json({"output": output, "inputs": inputs, "outputs": outputs})
        return
    print_words(f"Wrote {output}, which takes", *_lines(inputs), "and gives", *_lines(outputs))


def _lines(values: dict[str, str]) -> list[str]:
    return [f"  {name}: {kind}" for name, kind in values.items()]
