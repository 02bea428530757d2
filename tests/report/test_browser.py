"""The page in a browser: drawn, sorted, themed, narrow, offline, and without a way out."""

from __future__ import annotations

import os
import shutil
import struct
import zlib
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from pnml.report.page import render

pytest.importorskip("jinja2")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

CHROMIUM = os.environ.get("PNML_CHROMIUM") or shutil.which("chromium")
pytestmark = [
    pytest.mark.peers,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium; PNML_CHROMIUM may name one"),
]

GROUP = "#rows .group:first-of-type"  # the open group of the least trusted rows

# width, height and number of drawn traces of each chart
DRAWN = """() => Array.from(document.querySelectorAll(".chart"), (chart) => {
  const svg = chart.querySelector("svg.main-svg");
  const box = svg ? svg.getBoundingClientRect() : { width: 0, height: 0 };
  return [box.width, box.height, chart.querySelectorAll(".trace").length];
})"""


@dataclass
class Seen:
    """What a page asked for or complained of."""

    requests: list = field(default_factory=list)
    complaints: list = field(default_factory=list)


@pytest.fixture(scope="module")
def browser():
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"] if root else []
        )
        yield chromium
        chromium.close()


@pytest.fixture
def opened(browser, tmp_path):
    """Opens findings offline and checks, when done, that nothing was asked for or went wrong."""

    @contextmanager
    def open_page(findings, **options):
        path, seen = tmp_path / "a & b report.html", Seen()
        path.write_text(render(findings), encoding="utf-8")
        context = browser.new_context(**{"viewport": {"width": 1100, "height": 800}, **options})
        context.set_offline(True)
        page = context.new_page()
        page.on("request", lambda request: seen.requests.append(request.url))
        page.on("console", lambda message: seen.complaints.append(message.text))
        page.on("pageerror", lambda error: seen.complaints.append(str(error)))
        page.on("dialog", lambda dialog: (seen.complaints.append("dialog"), dialog.dismiss()))
        page.goto(path.as_uri())
        yield page
        context.close()
        assert seen.complaints == []
        assert [url for url in seen.requests if not url.startswith(("file:", "data:"))] == []

    return open_page


def _colours(png):
    """How many colours a PNG of 8 bits a channel has."""
    place, data = 8, b""
    while place < len(png):
        (length,), kind = struct.unpack(">I", png[place : place + 4]), png[place + 4 : place + 8]
        body = png[place + 8 : place + 8 + length]
        if kind == b"IHDR":
            width, height, _, colour = struct.unpack(">IIBB", body[:10])
        data += body if kind == b"IDAT" else b""
        place += 12 + length
    channels = {2: 3, 6: 4}[colour]
    lines = np.frombuffer(zlib.decompress(data), dtype=np.uint8).reshape(height, -1)
    pixels = np.zeros((height, width, channels), dtype=np.uint8)
    above = np.zeros((width, channels), dtype=np.uint8)
    for y, line in enumerate(lines):
        above = _unfiltered(int(line[0]), line[1:].reshape(width, channels), above)
        pixels[y] = above
    return len(np.unique(pixels.reshape(-1, channels), axis=0))


def _unfiltered(kind, line, above):
    if kind in (0, 2):
        return line + (above if kind == 2 else 0)
    if kind == 1:
        return np.cumsum(line, axis=0, dtype=np.uint8)
    out, left, corner = np.zeros(line.shape, dtype=np.int64), 0, 0
    for x in range(len(line)):
        up = above[x].astype(np.int64)
        guess = (left + up) // 2 if kind == 3 else _paeth(left + 0 * up, up, corner + 0 * up)
        left, corner = (line[x] + guess) % 256, up
        out[x] = left
    return out.astype(np.uint8)


def _paeth(a, b, c):
    p = a + b - c
    pa, pb, pc = abs(p - a), abs(p - b), abs(p - c)
    return np.where((pa <= pb) & (pa <= pc), a, np.where(pb <= pc, b, c))


def _column(page, name):
    index = [h.split("\n")[0].strip() for h in _headings(page)].index(name)
    cells = page.locator(f"{GROUP} tbody td:nth-child({index + 1})")
    return [cell.split("\n")[0].strip() for cell in cells.all_inner_texts()]


def _keys(page, name):
    index = [h.split("\n")[0].strip() for h in _headings(page)].index(name)
    cells = page.locator(f"{GROUP} tbody td:nth-child({index + 1})")
    return [float(key) for key in cells.evaluate_all("all => all.map((td) => td.dataset.key)")]


def _headings(page):
    return page.locator(f"{GROUP} thead button").all_inner_texts()


def _button(page, name):
    return page.locator(GROUP).get_by_role("button", name=name)


def _wait(condition, page):
    """Until the condition holds; the page forbids the eval that Playwright's own wait uses."""
    for _ in range(100):
        if condition():
            return
        page.wait_for_timeout(50)
    raise AssertionError("nothing changed in five seconds")


def _sorted_by(page):
    heads = page.locator(f"{GROUP} th").evaluate_all(
        "all => all.map((th) => [th.textContent.trim(), th.ariaSort])"
    )
    return [head for head in heads if head[1] != "none"]


@pytest.mark.parametrize("name", ["regression", "classification"])
def test_every_chart_is_drawn(opened, name, request):
    with opened(request.getfixturevalue(name)) as page:
        charts = page.evaluate(DRAWN)
        assert [traces for *_, traces in charts] == [3, 2, 2, 1]
        assert all(width > 200 and height > 200 for width, height, _ in charts)
        assert page.locator(".modebar").count() == 0


def test_a_screenshot_is_not_blank(opened, regression):
    with opened(regression, viewport={"width": 500, "height": 400}) as page:
        assert _colours(page.locator("#regrets").screenshot()) > 20


def test_headings_sort_numbers_with_infinity_largest(opened, regression):
    with opened(regression) as page:
        assert _sorted_by(page) == [["regret", "descending"]]
        _button(page, "regret").click()
        assert _sorted_by(page) == [["regret", "ascending"]]
        shown = _keys(page, "regret")
        assert shown == sorted(shown)
        assert shown[-1] == float("inf")
        assert _column(page, "regret")[-1] == "infinite"
        _button(page, "prediction").click()
        numbers = [float(v) for v in _column(page, "prediction")]
        assert numbers == sorted(numbers, reverse=True)
        assert min(numbers) < 0


def test_headings_sort_text_by_keyboard_and_say_so(opened, regression):
    with opened(regression) as page:
        button = _button(page, "because")
        button.focus()
        page.keyboard.press("Enter")
        assert _column(page, "because") == sorted(_column(page, "because"))
        assert _sorted_by(page) == [["because", "ascending"]]
        assert page.get_by_role("status").inner_text() == "Sorted by because, ascending."
        page.keyboard.press("Space")
        assert _column(page, "because") == sorted(_column(page, "because"), reverse=True)
        assert button.evaluate("button => document.activeElement === button")


def test_the_keyboard_reaches_the_verdict_first_with_a_focus_that_shows(opened, regression):
    with opened(regression) as page:
        page.keyboard.press("Tab")
        skip = page.get_by_role("link", name="Skip to the verdict")
        assert skip.evaluate("link => document.activeElement === link")
        assert skip.bounding_box()["y"] >= 0
        outline = skip.evaluate("link => getComputedStyle(link).outlineWidth")
        assert float(outline.removesuffix("px")) >= 2
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "verdict"


def test_dark_mode_changes_the_page_and_its_charts_while_it_is_open(opened, regression):
    ground = "getComputedStyle(document.body).backgroundColor"
    stroke = "getComputedStyle(document.querySelector('#spectrum path.js-line')).stroke"
    label = "getComputedStyle(document.querySelector('#spectrum .xtick text')).fill"
    with opened(regression, color_scheme="light") as page:
        light = [page.evaluate(what) for what in (ground, stroke, label)]
        page.emulate_media(color_scheme="dark")
        _wait(lambda: page.evaluate(stroke) != light[1], page)
        dark = [page.evaluate(what) for what in (ground, stroke, label)]
        assert all(a != b for a, b in zip(light, dark, strict=True))
        assert page.evaluate(DRAWN)[1][2] == 2
        page.emulate_media(color_scheme="light")
        _wait(lambda: page.evaluate(stroke) == light[1], page)


def test_printing_from_dark_mode_uses_the_light_colours(opened, regression):
    stroke = "getComputedStyle(document.querySelector('#spectrum path.js-line')).stroke"
    with opened(regression, color_scheme="light") as page:
        light = page.evaluate(stroke)
    with opened(regression, color_scheme="dark") as page:
        dark = page.evaluate(stroke)
        assert dark != light
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        _wait(lambda: page.evaluate(stroke) == light, page)
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        _wait(lambda: page.evaluate(stroke) == dark, page)


@pytest.mark.parametrize("name", ["regression", "classification", "hostile"])
def test_a_phone_scrolls_tables_not_the_page(opened, name, request):
    findings = request.getfixturevalue(name)
    long = replace(findings.least_trusted[0], id="x" * 500, because="y" * 500)
    reason = replace(findings.reasons[0], text="z" * 500)
    findings = replace(
        findings,
        least_trusted=(long, *findings.least_trusted),
        title="t" * 300,
        reasons=(reason, *findings.reasons),
    )
    with opened(findings, viewport={"width": 360, "height": 740}) as page:
        page.locator("details").evaluate_all("all => all.forEach((d) => (d.open = true))")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        box = page.locator("#rows .box").first
        assert box.evaluate("box => box.scrollWidth > box.clientWidth")
        assert all(width <= 360 for width, *_ in page.evaluate(DRAWN))


# elements of text that end outside of what holds them, outside of boxes that scroll
CUT_OFF = """() => Array.from(document.querySelectorAll("main *, header *"))
  .filter((e) => !e.closest("svg, .chart, .box, .unseen") && e.getClientRects().length)
  .filter((e) => {
    const box = e.getBoundingClientRect();
    return box.right > innerWidth + 1 || box.left < -1 || e.scrollWidth > e.clientWidth + 1
      && getComputedStyle(e).overflowX !== "visible";
  }).map((e) => e.outerHTML.slice(0, 80))"""


@pytest.mark.parametrize("name", ["regression", "classification"])
@pytest.mark.parametrize(("width", "height", "reasons"), [(1280, 800, 2), (390, 844, 2)])
def test_the_first_screen_has_verdict_reasons_and_an_example(
    opened, name, width, height, reasons, request
):
    findings = request.getfixturevalue(name)
    with opened(findings, viewport={"width": width, "height": height}) as page:
        ends = page.locator("#verdict, .reason").evaluate_all(
            "all => all.map((e) => e.getBoundingClientRect().bottom)"
        )
        assert all(end <= height for end in ends[: 1 + reasons])
        seen = page.locator(".reason summary").first.inner_text().replace("\u00a0", " ")
        assert f"{findings.reasons[0].rows} rows (" in seen
        assert "for example row" in seen
        page.locator("details").evaluate_all("all => all.forEach((d) => (d.open = true))")
        assert page.evaluate(CUT_OFF) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        size = page.evaluate("new Blob([document.documentElement.outerHTML]).size")
        assert size < 3_000_000  # with all that the charts added; the file is tested as text


def test_reasons_unfold_to_rows_with_values_and_training_ranges(opened, regression):
    with opened(regression) as page:
        first = page.locator(".reason").first
        assert not first.locator("table").is_visible()
        first.locator("summary").focus()
        page.keyboard.press("Enter")
        assert first.locator("table").is_visible()
        assert first.locator("tbody tr").count() == len(regression.reasons[0].examples)
        assert "training 62 to 133" in first.locator("tbody tr").first.inner_text()


def test_the_badge_says_its_verdict_in_words(opened, regression):
    with opened(regression) as page:
        assert page.locator("#verdict .badge").inner_text() == "Some rows stand out"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_pdf_is_printed_with_everything_open(opened, regression, scheme):
    with opened(regression, color_scheme=scheme) as page:
        folded = page.locator("details:not([open])").count()
        assert folded > 0
        page.evaluate(
            "addEventListener('beforeprint', () => (window.seen = "
            "[document.querySelectorAll('details:not([open])').length, "
            "...Array.from(document.querySelectorAll('.chart svg.main-svg'), (s) => "
            "s.getBoundingClientRect().width)]))"
        )
        printed = page.pdf(format="A4")
        assert printed.startswith(b"%PDF-")
        still_folded, *widths = page.evaluate("window.seen")
        assert still_folded == 0
        assert all(0 < width <= 660 for width in widths)  # 18 cm between the margins are 680
        assert page.locator("details:not([open])").count() == folded


def test_paper_is_white_whatever_the_screen(opened, regression):
    with opened(regression, color_scheme="dark") as page:
        page.emulate_media(media="print", color_scheme="dark")
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        ink = page.evaluate("getComputedStyle(document.body).color")
        assert ground == "rgba(0, 0, 0, 0)"
        assert ink == "rgb(28, 36, 48)"


def test_hostile_names_show_as_text_and_do_nothing(opened, hostile):
    with opened(hostile) as page:
        text = page.locator("body").inner_text()
        for name in ("<script>alert(1)</script>", "{{ 7*7 }}{% raw %}", "a & b.csv", "<b>bold</b>"):
            assert name in text
        assert page.locator("main img, main bdi b, main script").count() == 0
        title = page.locator("#scatter .xtitle")
        assert "<a href=" in title.text_content()
        assert title.locator("a").count() == 0
        assert page.title().startswith("a & b.csv")


def test_nothing_to_draw_or_list_is_still_a_page(opened, regression):
    nothing = np.zeros(0)
    model = replace(regression.model, singular_values=nothing, regrets=nothing)
    empty = replace(
        regression,
        model=model,
        prediction=nothing,
        regret=nothing,
        is_trusted=np.zeros(0, dtype=bool),
        loss=None,
        least_trusted=(),
        groups=(),
    )
    with opened(empty) as page:
        assert page.locator(".chart").count() == 0
        assert "There are no rows to list." in page.locator("#rows").inner_text()


@pytest.mark.parametrize("value", [0.0, np.inf, 0.25])
def test_regrets_that_are_all_the_same_are_drawn(opened, regression, value):
    same = np.full_like(regression.regret, value)
    model = replace(regression.model, regrets=np.array([value]), threshold=value)
    with opened(replace(regression, regret=same, model=model)) as page:
        assert [traces for *_, traces in page.evaluate(DRAWN)] == [3, 2, 2, 1]
