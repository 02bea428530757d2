"""The report of the demo, from the command to the browser."""

from __future__ import annotations

import os
import shutil
import sys

import pytest

pytest.importorskip("typer")
pytest.importorskip("pyarrow")
pytest.importorskip("jinja2")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

CHROMIUM = os.environ.get("PNML_CHROMIUM") or shutil.which("chromium")
pytestmark = [
    pytest.mark.peers,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium; PNML_CHROMIUM may name one"),
]


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    from pnml.cli import main

    folder = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.showwarning", None)
        patch.setattr(sys, "argv", ["pnml", "demo", "--folder", str(folder)])
        with pytest.raises(SystemExit) as ended:
            main()
    assert ended.value.code == 0
    return folder / "report.html"


def test_the_page_of_the_demo_draws_its_charts_and_names_the_mistakes(page_file):
    complaints, requests = [], []
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"] if root else []
        )
        context = browser.new_context(viewport={"width": 1100, "height": 800})
        context.set_offline(True)
        page = context.new_page()
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(page_file.as_uri())
        drawn = page.evaluate(
            """() => Array.from(document.querySelectorAll(".chart"), (chart) => {
                const box = chart.querySelector("svg.main-svg").getBoundingClientRect();
                return [box.width, box.height, chart.querySelectorAll(".trace").length];
            })"""
        )
        text = page.locator("body").inner_text()
        page.locator("details").evaluate_all("all => all.forEach((d) => (d.open = true))")
        rows = page.locator("#rows tbody tr").all_inner_texts()
        browser.close()
    assert complaints == []
    assert all(url.startswith(("file:", "data:")) for url in requests)
    assert len(drawn) == 4
    assert all(width > 200 and height > 200 and traces for width, height, traces in drawn)
    assert "progression" in text
    mistaken = [row for row in rows if " in " in row.split("\n")[0] or "in months" in row]
    assert any("age in months" in row for row in rows[:12])
    assert len(mistaken) >= 4
