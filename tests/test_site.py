"""The site builds without a warning, and a reader without a network sees all of it."""

from __future__ import annotations

import os
import re
import shutil
import sys
from html.parser import HTMLParser
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest

import child
import colour_distance
import oracle

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
CHROMIUM = os.environ.get("PNML_CHROMIUM") or shutil.which("chromium")
LOADED = {"img": "src", "script": "src", "link": "href", "iframe": "src", "source": "src"}


class Page(HTMLParser):
    """What a page loads, what it links to, and the names that can be linked to."""

    def __init__(self, path):
        super().__init__()
        self.path, self.loads, self.links, self.names = path, [], [], set()
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if "id" in found:
            self.names.add(found["id"])
        if found.get(LOADED.get(tag)) and found.get("rel") != "canonical":
            self.loads.append(found[LOADED[tag]])
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    for package in ("mkdocs", "material", "mkdocstrings"):
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(folder)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = child.run(build, cwd=ROOT, env=quiet)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site):
    found = {path: Page(path) for path in site.rglob("*.html")}
    assert len(found) > 50
    return found


def is_elsewhere(address):
    return bool(urlsplit(address).netloc)


def target(page, address):
    parts = urlsplit(address)
    path = page.path if not parts.path else page.path.parent / unquote(parts.path)
    return path.resolve(), unquote(parts.fragment)


def test_no_page_loads_anything_from_the_network(pages):
    fetched = {
        address for page in pages.values() for address in page.loads if is_elsewhere(address)
    }
    assert not fetched


def test_no_style_loads_anything_from_the_network(site):
    for path in site.rglob("*.css"):
        addresses = re.findall(r"url\([\"']?([^\"')]+)", path.read_text())
        assert not [a for a in addresses if a.startswith(("http", "//"))], path
        here = [a for a in addresses if not a.startswith(("data:", "#"))]
        assert all((path.parent / urlsplit(a).path).is_file() for a in here), path


def test_all_that_pages_load_is_there(pages):
    missing = [
        (page.path.name, address)
        for page in pages.values()
        if page.path.name != "404.html"  # which is shown at any address
        for address in page.loads
        if not address.startswith("data:") and not target(page, address)[0].is_file()
    ]
    assert not missing


def test_links_within_the_site_lead_somewhere(pages):
    known = {path.resolve(): page for path, page in pages.items()}
    broken = []
    for page in pages.values():
        for address in page.links:
            if is_elsewhere(address) or address.startswith("mailto:") or page.path.stem == "404":
                continue
            path, name = target(page, address)
            there = known.get(path)
            if not path.exists() or (name and there and name not in there.names):
                broken.append((page.path.name, address))
    assert not broken


def test_equations_are_linked_to_where_they_are_defined(site, pages):
    for page in (DOCS / "math").glob("*.md"):
        labels = set(re.findall(r"^\*\*\(([A-Z]\d+)\)\*\*", page.read_text(), re.M))
        assert labels <= pages[site / "math" / f"{page.stem}.html"].names
    cited = set(pages[site / "errata.html"].links)
    assert {"math/least-squares.html#R2", "math/norm-ball.html#N16"} <= cited
    assert "least-squares.html#S2" in pages[site / "math" / "networks.html"].links


def test_terms_link_to_their_entry_in_the_glossary_at_first_use(site, pages):
    networks = pages[site / "guide" / "networks.html"]
    assert networks.links.count("../glossary.html#regret") == 1
    assert {"genie", "regret", "leverage", "luckiness", "expected-error"} <= (
        pages[site / "glossary.html"].names
    )


def test_every_formula_is_handed_to_the_renderer(site):
    """No dollar sign is left outside of code, where a formula would have begun."""
    html = "".join(page.read_text() for page in (site / "math").glob("*.html"))
    text = re.sub(r"<(pre|code|script).*?</\1>", "", html, flags=re.S)
    text = re.sub(r"<(span|div) class=\"arithmatex\">.*?</\1>", "", text, flags=re.S)
    assert "$" not in re.sub(r"<[^>]*>", "", text)
    assert html.count('class="arithmatex"') > 1000


@pytest.mark.slow
@pytest.mark.peers
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium; PNML_CHROMIUM may name one")
def test_a_browser_draws_every_formula_and_finds_words_without_a_network(site, pages):
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        tab = chromium.new_page()
        tab.set_default_timeout(300_000)
        asked = []
        tab.on("request", lambda request: asked.append(request.url))
        for path in pages:
            if 'class="arithmatex"' in path.read_text():
                tab.goto(path.as_uri())
                tab.evaluate("[...pending].forEach(draw)")
                assert tab.locator(".katex").count()
                assert not tab.locator(".katex-error").count(), path.name
        tab.goto((site / "index.html").as_uri())
        tab.fill("input.md-search__input", "jackknife")
        tab.locator(".md-search-result__item").first.wait_for()
        chromium.close()
    assert not [url for url in asked if url.startswith("http")]


def test_what_was_taken_from_others_is_small_and_says_whose_it_is():
    taken = [path for path in (DOCS / "assets").rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in taken) < 1.5e6
    for folder in ("katex", "iframe-worker"):
        assert "MIT" in (DOCS / "assets" / folder / "LICENSE").read_text()


@pytest.fixture(scope="module")
def pictures():
    pytest.importorskip("matplotlib")
    spec = spec_from_file_location("make_pictures", DOCS / "make_pictures.py")
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_lines_of_the_picture_are_refits(pictures):
    for x in (pictures.NEAR, pictures.FAR):
        labels, lines = pictures.told(x)
        for label, line in zip(labels, lines, strict=True):
            refit = np.polyfit(np.append(pictures.X, x), np.append(pictures.Y, label), 1)
            np.testing.assert_allclose(line, refit, rtol=1e-9)


def test_numbers_of_the_picture_are_the_log_of_the_mass_of_refits(pictures):
    for x, printed in ((pictures.NEAR, "0.08"), (pictures.FAR, "1.31")):
        mass = oracle.ridge_normaliser(
            pictures.X[:, None], pictures.Y, np.array([x]), 0.0, 0.1, True
        )
        assert pictures.regret(x) == pytest.approx(np.log(mass), abs=1e-6)
        assert f"{pictures.regret(x):.2f}" == printed
        assert f"{printed} nats" in (DOCS / "index.md").read_text()


@pytest.mark.parametrize("name", ["regret", "regret-narrow", "which-learner"])
def test_pictures_come_light_and_dark(name, pictures):
    assert name in pictures.DRAWN
    for scheme in pictures.SCHEMES:
        assert (DOCS / "pictures" / f"{name}-{scheme}.svg").read_text().startswith("<?xml")


@pytest.mark.parametrize("name", ["regret-narrow", "which-learner"])
def test_pictures_can_be_read_on_a_phone(name, pictures):
    """Letters are at least nine pixels high on a page 358 pixels wide, and none is cut off."""
    from matplotlib.text import Text

    figure = pictures.DRAWN[name](pictures.SCHEMES["light"])
    figure.canvas.draw()
    page = figure.bbox
    words = [text for text in figure.findobj(Text) if text.get_text() and text.get_visible()]
    assert len(words) > 5
    for text in words:
        assert text.get_fontsize() * 358 / (72 * figure.get_figwidth()) > 9, text
        held = text.get_window_extent()
        assert page.x0 <= held.x0, text
        assert held.x1 <= page.x1, text
        assert page.y0 <= held.y0, text
        assert held.y1 <= page.y1, text
    pictures.plt.close(figure)


def test_lines_of_results_differ_to_the_colour_blind():
    plt = pytest.importorskip("matplotlib.pyplot")
    from pnml_experiments.framework.colours import in_turn

    plain = plt.rcParams["axes.prop_cycle"].by_key()["color"]
    with in_turn():
        ours = plt.rcParams["axes.prop_cycle"].by_key()["color"]
    assert colour_distance.closest(ours[:7]) > 15  # matplotlib's own first seven come as near as 7
    assert plt.rcParams["axes.prop_cycle"].by_key()["color"] == plain
