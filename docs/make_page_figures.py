"""Figures of guide, how-to and tutorials: python docs/make_page_figures.py runs these pages.

The code of a page makes a Display; its picture, light and dark, goes to docs/pictures.
"""

from __future__ import annotations

import re
import sys
import tempfile
from contextlib import chdir
from pathlib import Path

from make_gallery import SCHEMES, as_image, save_image

from pnml.plots import style

DOCS = Path(__file__).parent
# Page, the name of its Display, and the name of the picture.
FIGURES = (
    ("tutorials/table.md", "display", "table-regret"),
    ("guide/networks.md", "display", "network-regret"),
    ("how-to/explain.md", "display", "explain-row"),
    ("how-to/trust-level.md", "display", "trust-level-risk"),
)


def drawn(page, name, scheme):
    """The figure of a Display that a page makes, in a style."""
    names = {}
    text = (DOCS / page).read_text()
    with tempfile.TemporaryDirectory() as folder, chdir(folder), style(scheme):
        for number, code in enumerate(re.findall(r"```python\n(.*?)```", text, re.S)):
            exec(compile(code, f"{page}, snippet {number}", "exec"), names)
            if name in names:
                return as_image(names[name].figure_)
    raise ValueError(f"{page} makes no {name}")


def main(pages):
    """Write the pictures of some pages, all by default."""
    for page, name, picture in FIGURES:
        if pages and page not in pages:
            continue
        for scheme in SCHEMES:
            save_image(drawn(page, name, scheme), DOCS / "pictures" / f"{picture}-{scheme}.webp")


if __name__ == "__main__":
    main(sys.argv[1:])
