"""Pages of the gallery: python docs/make_gallery.py [NAME ...] runs docs/gallery/src/NAME.py.

A script is the only source of its page, its pictures (light and dark) and its notebook. Cells begin
with a line ``# %%`` (code), ``# %% figure: words for those who do not see it`` (code that makes
`figure`, run once for each style) or ``# %% [markdown]`` (text in comments, where an expression in
double braces is filled in from what the code computed). Scripts that read PNML_DATA are left out
where it is not set.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import matplotlib as mpl

mpl.use("agg")

import matplotlib.pyplot as plt
from PIL import Image

from pnml.plots import style

FOLDER = Path(__file__).parent / "gallery"
SCHEMES = ("light", "dark")
# Thumbnails stand in this order.
PAGES = (
    "diamonds-above-one-carat",
    "a-wrong-unit",
    "errors-by-expected-error",
    "drift-over-time",
    "most-and-least-trusted",
    "intents-out-of-scope",
    "dial-picks",
    "double-descent",
    "risk-against-coverage",
    "a-streaming-monitor",
)
_COLOURS = 128  # of a picture, so that its file stays small
_DPI = 130


@dataclass(frozen=True)
class Cell:
    """A cell of a script: its kind (code, figure or markdown), its text, and what it shows."""

    kind: str
    text: str
    shows: str = ""


@dataclass
class Ran:
    """A script that was run: filled-in cells, and a picture for each figure and style."""

    cells: list[Cell]
    pictures: list[dict[str, Image.Image]] = field(default_factory=list)


def source(name):
    """The script of a page."""
    return FOLDER / "src" / f"{name.replace('-', '_')}.py"


def needs_data(name):
    """Whether a page reads the folder that PNML_DATA names."""
    return "PNML_DATA" in source(name).read_text()


def cells(text):
    """The cells of a script."""
    found = []
    for part in re.split(r"^# %%", text, flags=re.M)[1:]:
        head, _, body = part.partition("\n")
        body = body.strip("\n")
        if head.strip() == "[markdown]":
            lines = [re.sub(r"^# ?", "", line) for line in body.splitlines()]
            found.append(Cell("markdown", "\n".join(lines).strip()))
        elif head.strip().startswith("figure:"):
            found.append(Cell("figure", body, head.partition(":")[2].strip()))
        else:
            found.append(Cell("code", body))
    return found


def run(name):
    """Run a script; the figures are drawn in both styles."""
    names, pictures, parts = {}, [], cells(source(name).read_text())
    with warnings.catch_warnings(), style("light"):
        warnings.filterwarnings("ignore", module="lightgbm|sklearn|statsmodels")
        for number, cell in enumerate(parts):
            if cell.kind == "code":
                exec(compile(cell.text, f"{name}, cell {number}", "exec"), names)
            elif cell.kind == "figure":
                pictures.append({s: _drawn(cell.text, names, s) for s in SCHEMES})
    filled = [
        Cell("markdown", _filled(c.text, names)) if c.kind == "markdown" else c for c in parts
    ]
    return Ran(filled, pictures)


def _drawn(code, names, scheme):
    with style(scheme):
        exec(code, names)
        return as_image(names["figure"])


def as_image(figure):
    """A figure as an image of few colours; all figures are closed."""
    raw = io.BytesIO()
    figure.savefig(raw, dpi=_DPI, format="png")
    plt.close("all")
    image = Image.open(raw).convert("RGB")
    return image.quantize(_COLOURS, method=Image.Quantize.MEDIANCUT).convert("RGB")


def save_image(image, path):
    """Write an image as WebP without loss."""
    image.save(path, lossless=True, quality=100, method=6)


def _filled(text, names):
    """Text with what ``{{expression:format}}`` stands for."""

    def value(found):
        return eval(f"f'''{{{found.group(1)}}}'''", names)

    return re.sub(r"\{\{(.+?)\}\}", value, text)


def page(name, ran):
    """The page of a script that was run: its title and question, the picture, then the rest."""
    first, *rest = ran.cells
    shown = [cell.shows for cell in ran.cells if cell.kind == "figure"]
    button = f"[Download this page as a notebook](notebooks/{name}.ipynb)."
    if needs_data(name):
        button += " It reads data from the folder that the variable `PNML_DATA` names."
    parts = [first.text, _picture(name, 0, shown[0]), button]
    figures = 0
    for cell in rest:
        if cell.kind == "markdown":
            parts.append(cell.text)
            continue
        parts.append(f"```python\n{cell.text}\n```")
        if cell.kind == "figure":
            if figures:
                parts.append(_picture(name, figures, cell.shows))
            figures += 1
    return "\n\n".join(parts) + "\n"


def _picture(name, number, shows):
    return (
        f"![{shows}](pictures/{_file(name, number, 'light')}#only-light)\n"
        f"![{shows}](pictures/{_file(name, number, 'dark')}#only-dark)"
    )


def _file(name, number, scheme):
    return f"{name}{f'-{number + 1}' if number else ''}-{scheme}.webp"


def notebook(name, ran):
    """The notebook of a script (nbformat 4.5), without outputs, as text."""
    made = []
    for number, cell in enumerate(ran.cells):
        text = _for_notebooks(cell.text) if cell.kind == "markdown" else cell.text
        one = {
            "cell_type": "markdown" if cell.kind == "markdown" else "code",
            "id": f"{name[:40]}-{number}",
            "metadata": {},
            "source": text.splitlines(keepends=True),
        }
        if cell.kind != "markdown":
            one |= {"execution_count": None, "outputs": []}
        made.append(one)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    whole = {"cells": made, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def _for_notebooks(text):
    """Text without links and pictures of the site, which a downloaded file cannot reach."""
    text = re.sub(r"^!\[[^\]]*\]\([^)]*\)\n?", "", text, flags=re.M)
    return re.sub(r"\[([^\]]+)\]\((?!https?:)[^)]*\)", r"\1", text)


INDEX = """# Gallery

One picture for one question. Every page has the whole code and can be downloaded as a notebook.
The pictures are made by this code, light and dark, in colours that the colour-blind can tell apart.

<div class="gallery" markdown>

{cards}

</div>

Most are drawn by the Displays of [pnml.plots](../api/plots.md), which work as scikit-learn's do.
"""


def index():
    """The page of thumbnails, from the pages as they are on disk."""
    cards = []
    for name in PAGES:
        text = (FOLDER / f"{name}.md").read_text()
        title = re.search(r"^# (.+)$", text, re.M).group(1)
        shows = re.search(r"^!\[(.+?)\]\(", text, re.M).group(1)
        pictures = "\n".join(
            f"[![{shows}](pictures/{_file(name, 0, s)}#only-{s})]({name}.md)" for s in SCHEMES
        )
        cards.append(f"<div markdown>\n\n{pictures}\n\n[{title}]({name}.md)\n\n</div>")
    return INDEX.format(cards="\n\n".join(cards))


def write(name):
    """Write the page, the pictures and the notebook of a script."""
    ran = run(name)
    for folder in ("pictures", "notebooks"):
        (FOLDER / folder).mkdir(exist_ok=True)
    for number, both in enumerate(ran.pictures):
        for scheme, image in both.items():
            save_image(image, FOLDER / "pictures" / _file(name, number, scheme))
    (FOLDER / f"{name}.md").write_text(page(name, ran))
    (FOLDER / "notebooks" / f"{name}.ipynb").write_text(notebook(name, ran))


def main(names):
    """Write some pages, all by default, and the page of thumbnails."""
    for name in names or PAGES:
        if needs_data(name) and not os.environ.get("PNML_DATA"):
            print(f"{name} needs PNML_DATA, which is not set: left as it is")
            continue
        print(name)
        write(name)
    if all((FOLDER / f"{name}.md").exists() for name in PAGES):
        (FOLDER / "index.md").write_text(index())


if __name__ == "__main__":
    main(sys.argv[1:])
