"""Figures of guide, how-to and tutorials are those that the code of their pages makes."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")
Image = pytest.importorskip("PIL.Image")

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def maker():
    sys.path.insert(0, str(DOCS))
    try:
        yield import_module("make_page_figures")
    finally:
        sys.path.remove(str(DOCS))


def stored(picture, scheme):
    with Image.open(DOCS / "pictures" / f"{picture}-{scheme}.webp") as image:
        return image.convert("RGB")


def small(image):
    """Grey values of an image at 104 × 78 pixels: what is drawn where, not how letters end."""
    return np.asarray(image.convert("L").resize((104, 78)), dtype=float)


def test_every_figure_is_there_light_and_dark_and_on_its_page(maker):
    for page, _, picture in maker.FIGURES:
        light, dark = (stored(picture, scheme) for scheme in ("light", "dark"))
        assert light.size == dark.size
        assert np.median(small(light)) > 200 > 60 > np.median(small(dark))
        text = (DOCS / page).read_text()
        for scheme in maker.SCHEMES:
            assert f"pictures/{picture}-{scheme}.webp" in text


@pytest.mark.integration
@pytest.mark.timeout(600)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("place", range(4))
def test_a_figure_is_what_the_code_of_its_page_draws(place, scheme, maker):
    for package in ("torch", "pandas"):
        pytest.importorskip(package)
    page, name, picture = maker.FIGURES[place]
    made = maker.drawn(page, name, scheme)
    assert made.size == stored(picture, scheme).size
    apart = {
        other: np.abs(small(made) - small(stored(other, scheme))).mean()
        for _, _, other in maker.FIGURES
    }
    assert min(apart, key=apart.get) == picture
    assert apart[picture] < 8  # of 255: a network trained with other kernels bends its curve
