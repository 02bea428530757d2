"""Run an experiment and write its page, rows and figures."""

from __future__ import annotations

import io
import json
from importlib.metadata import version
from pathlib import Path

from pnml.runtime.atomic import write_whole
from pnml.runtime.fingerprint import fingerprint
from pnml_experiments.framework.code import run_digest
from pnml_experiments.framework.colours import in_turn
from pnml_experiments.framework.experiment import ROWS, Experiment, Progress
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.page import page
from pnml_experiments.framework.result import Figure, Result
from pnml_experiments.framework.rows import lines
from pnml_experiments.framework.scales import Offered


def reproduce(
    experiment: Experiment,
    scale: str,
    folder: Path,
    progress: Progress = lambda done, total: None,
    *,
    fresh: bool = False,
) -> tuple[Result, Path]:
    """Run an experiment; its result, and the path of its page ``result.md``.

    An interrupted run resumes where it stopped. Beside the page are ``rows.jsonl`` and the
    figures as PNG and SVG.
    """
    asked = experiment.check(scale)
    place = experiment.place(folder, asked)
    out = Output(place, folder / "cache", stamp(experiment, asked), fresh=fresh)
    result = experiment.run(asked, out, progress)
    for figure in result.figures:
        _write_figure(figure, place)
    records = lines(experiment, asked, result)
    text = [json.dumps(record, ensure_ascii=False) + "\n" for record in records]
    write_whole(place / ROWS, [line.encode() for line in text])
    write_whole(place / "result.md", [page(experiment, asked, result).encode()])
    return result, place / "result.md"


def stamp(experiment: Experiment, scale: Offered) -> str:
    """What finished pieces depend on: pnml's version, the data files, and the code of `run`."""
    inputs = fingerprint(*experiment.files(), run_digest(experiment.module))
    return f"{experiment.id} {experiment.size(scale)} {version('pnml')} {inputs}"


def _write_figure(figure: Figure, folder: Path) -> None:
    from matplotlib import pyplot as plt

    with in_turn():
        canvas = figure.draw()
    try:
        for ending in ("png", "svg"):
            buffer = io.BytesIO()
            canvas.savefig(buffer, format=ending, dpi=150, bbox_inches="tight")
            write_whole(folder / f"{figure.name}.{ending}", [buffer.getvalue()])
    finally:
        plt.close(canvas)
