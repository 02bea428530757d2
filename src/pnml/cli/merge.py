"""``pnml merge``: one model of the rows of several."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pnml.cli.options import Json


def merge(
    models: Annotated[list[str], typer.Argument(help="Model files, of one kind and one target.")],
    output: Annotated[str, typer.Option("--output", "-o", help="Model file to write.")],
    as_json: Json = False,
) -> None:
    """Put models together, as if one had been fitted to the rows of all.

    The models must have the same columns, target and learner; linear learners can be merged.
    """
    from pnml.cli.console import print_json, print_words
    from pnml.models import save
    from pnml.models.model_file import read
    from pnml.readers import check_output
    from pnml.scale.merging import merge as put_together

    check_output(output, [], endings=(".pnml",))  # one of the models may be what is written
    whole = put_together([_model(read(path)) for path in models], models)
    save(whole, output)
    rows = int(getattr(whole, "rows", None) or whole._counted().rows)
    if as_json:
        print_json({"model": output, "models": len(models), "rows": rows})
    else:
        what = "1 model" if len(models) == 1 else f"{len(models)} models"
        print_words(f"Put {what} of {rows:,} rows together and wrote {output}.")


def _model(held: Any) -> Any:
    from pnml.errors import InputError

    if held.last_layer is not None:
        raise InputError(
            f"{held.path} holds the last layer of a network, which needs the network to be put "
            "together; load both in Python and add them with +."
        )
    return held.model()
