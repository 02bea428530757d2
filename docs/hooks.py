"""What the site needs beyond Markdown: formulas as on GitHub, links to equations, all pages."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

DOCS = Path(__file__).parent
MATHS = "math"
_FENCES = re.compile(r"(^(`{3,})[^\n]*\n.*?^\2[ ]*$)", re.M | re.S)
_DISPLAYED = re.compile(r"\$\$(.+?)\$\$", re.S)
_DEFINED = re.compile(r"^\*\*\(([A-Z]\d+)\)\*\*", re.M)
_LABEL = re.compile(r"\(([A-Z]\d+)\)")
_CITED = re.compile(r"(Eqs?\.\s+)(\([A-Z]\d+\)(?:(?:,| and|, and|–)\s*\([A-Z]\d+\))*)")
_TAGS_AND_CODE = re.compile(
    r"(<pre.*?</pre>|<a [^>]*>.*?</a>"
    r'|<(?:span|div) class="arithmatex">.*?</(?:span|div)>|<[^>]*>)',
    re.S,
)


def on_config(config):
    """Put all results into the navigation, and pages that nobody listed into the guide."""
    results = sorted((DOCS / "results").glob("*.md"), key=lambda page: (page.stem != "index", page))
    listed = set(_listed(config.nav))
    rest = [page for page in sorted(DOCS.rglob("*.md")) if page not in {*listed, *results}]
    for section in config.nav:
        if "Results" in section:
            section["Results"] = by_chapter(results)
        if "Guide" in section:
            section["Guide"] += [_entry(page) for page in rest]
    return config


CHAPTERS = {
    "2": "Least squares",
    "3": "More features than rows",
    "4": "Luckiness",
    "5": "Networks and unknown classes",
    "6": "Attacked inputs",
    "7": "Active learning",
}


def by_chapter(pages):
    """Pages of no chapter, then the others in a section for each chapter."""
    found = {}
    for page in pages:
        said = re.search(r"^`pnml reproduce .*· chapter (\d+) ·", page.read_text(), re.M)
        found.setdefault(said and CHAPTERS.get(said.group(1), "Further"), []).append(_entry(page))
    order = [name for name in (*CHAPTERS.values(), "Further") if name in found]
    return [*found.get(None, []), *({name: found[name]} for name in order)]


def _listed(nav):
    for entry in nav:
        for inner in entry.values() if isinstance(entry, dict) else [entry]:
            yield from _listed(inner) if isinstance(inner, list) else [DOCS / inner]


def _entry(page):
    path = page.relative_to(DOCS).as_posix()
    return path if page.stem == "index" else {title(page): path}


def title(page):
    """First heading of a page."""
    found = re.search(r"^# (.+)$", page.read_text(), re.M)
    return found.group(1) if found else page.stem


def on_page_markdown(markdown, page, **_):
    """Give displayed formulas paragraphs of their own, and equations names to link to."""
    parts = _FENCES.split(markdown)
    # of three parts the first is text, the second a fenced block, the third its fence
    texts = [
        part if i % 3 == 1 else "" if i % 3 == 2 else _prepared(part, page.file.src_uri)
        for i, part in enumerate(parts)
    ]
    return "".join(texts)


def _prepared(text, source):
    if posixpath.dirname(source) == MATHS:
        text = _DEFINED.sub(r'<span id="\1"></span>**(\1)**', text)
    return _DISPLAYED.sub(lambda found: f"\n\n$${found.group(1).strip()}$$\n\n", text)


def defined_labels():
    """Label of every equation → page of the maths that defines it."""
    return {
        label: page.relative_to(DOCS).with_suffix(".html").as_posix()
        for page in sorted((DOCS / MATHS).glob("*.md"))
        for label in _DEFINED.findall(page.read_text())
    }


def on_page_content(html, page, **_):
    """Link every cited equation to where it is defined; in the maths, every label."""
    here = posixpath.dirname(page.file.dest_uri)
    labels = defined_labels()

    def linked(found):
        label = found.group(1)
        if label not in labels:
            return found.group(0)
        return f'<a href="{posixpath.relpath(labels[label], here or ".")}#{label}">({label})</a>'

    def linked_citation(found):
        return found.group(1) + _LABEL.sub(linked, found.group(2))

    in_maths = posixpath.dirname(page.file.src_uri) == MATHS
    parts = _TAGS_AND_CODE.split(html)
    return "".join(
        part
        if i % 2
        else _LABEL.sub(linked, part)
        if in_maths
        else _CITED.sub(linked_citation, part)
        for i, part in enumerate(parts)
    )
