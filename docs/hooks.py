"""What the site needs beyond Markdown: formulas as on GitHub, links to equations, all pages."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

DOCS = Path(__file__).parent
NOTES = "release-notes.md"
MATHS = "math"
GLOSSARY = "glossary.md"
TERMS = ("genie", "regret", "leverage", "luckiness", "expected error")
_FENCES = re.compile(r"(^(`{3,})[^\n]*\n.*?^\2[ ]*$)", re.M | re.S)
_DISPLAYED = re.compile(r"\$\$(.+?)\$\$", re.S)
_DEFINED = re.compile(r"^\*\*\(([A-Z]\d+)\)\*\*", re.M)
_TERM = re.compile(rf"\b(?:{'|'.join(TERMS)})\b", re.I)
_LABEL = re.compile(r"\(([A-Z]\d+)\)")
_CITED = re.compile(r"(Eqs?\.\s+)(\([A-Z]\d+\)(?:(?:,| and|, and|–)\s*\([A-Z]\d+\))*)")
_INTERVAL = re.compile(r"(\S) (\[[-−+]?[\d.]+,) ([-−+]?[\d.]+\])")  # of 0.92 [0.90, 0.94]
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
    if page.file.src_uri == NOTES:  # links of the changelog start at the root of the repository
        markdown = (DOCS.parent / "CHANGELOG.md").read_text(encoding="utf-8")
        markdown = markdown.replace("](docs/", "](")
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
    if source == GLOSSARY:
        text = re.sub(r"^\*\*([^*]+)\.\*\*", _named_entry, text, flags=re.M)
    return _DISPLAYED.sub(lambda found: f"\n\n$${found.group(1).strip()}$$\n\n", text)


def _named_entry(found):
    name = found.group(1).lower().replace(" ", "-")
    return f'<span id="{name}"></span>{found.group(0)}'


def defined_labels():
    """Label of every equation → page of the maths that defines it."""
    return {
        label: page.relative_to(DOCS).with_suffix(".html").as_posix()
        for page in sorted((DOCS / MATHS).glob("*.md"))
        for label in _DEFINED.findall(page.read_text())
    }


def on_page_content(html, page, **_):
    """Link equations and terms to where they are defined; keep intervals on one line."""
    here = posixpath.dirname(page.file.dest_uri) or "."
    if page.file.src_uri != GLOSSARY:
        html = _with_terms(html, posixpath.relpath(GLOSSARY.replace(".md", ".html"), here))
    in_maths = posixpath.dirname(page.file.src_uri) == MATHS
    pattern = _LABEL if in_maths else _CITED  # other pages say Eq. before a label
    linked = _label_linker(here)
    parts = _TAGS_AND_CODE.split(html)
    for i in range(0, len(parts), 2):  # the others are tags, code, links and formulas
        text = pattern.sub(lambda found: _LABEL.sub(linked, found.group(0)), parts[i])
        parts[i] = _INTERVAL.sub("\\1\N{NO-BREAK SPACE}\\2\N{NO-BREAK SPACE}\\3", text)
    return "".join(parts)


def _label_linker(here):
    labels = defined_labels()

    def linked(found):
        label = found.group(1)
        if label not in labels:
            return found.group(0)
        return f'<a href="{posixpath.relpath(labels[label], here)}#{label}">({label})</a>'

    return linked


def _with_terms(html, glossary):
    """Link the first use of each term in a paragraph of the page to the glossary."""
    wanted = dict.fromkeys(TERMS)

    def linked(found):
        term = found.group(0)
        if term.lower() not in wanted:
            return term
        del wanted[term.lower()]
        return f'<a class="term" href="{glossary}#{term.lower().replace(" ", "-")}">{term}</a>'

    def paragraph(found):
        parts = _TAGS_AND_CODE.split(found.group(0))
        parts[::2] = [_TERM.sub(linked, part) for part in parts[::2]]
        return "".join(parts)

    return re.sub(r"<p>.*?</p>", paragraph, html, flags=re.S)
