"""What a release says of itself is the same everywhere, and its README works on PyPI."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import pnml

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
REPOSITORY = PROJECT["project"]["urls"]["Source"]
PLACE = REPOSITORY.removeprefix("https://github.com/")


def text(path):
    return (ROOT / path).read_text(encoding="utf-8")


def readme_on_pypi():
    """README.md as the build backend rewrites it."""
    found = text("README.md")
    for change in PROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"][
        "substitutions"
    ]:
        found = re.sub(change["pattern"], change["replacement"], found)
    return found.replace("$HFPR_VERSION", pnml.__version__)


def links(page):
    return re.findall(r"\]\(([^)\s]+)\)", page) + re.findall(r'(?:src|srcset|href)="([^"]+)"', page)


def test_one_version_everywhere():
    version = pnml.__version__
    assert PROJECT["project"]["version"] == version
    assert tomllib.loads(text("experiments/pyproject.toml"))["project"]["version"] == version
    assert f"\nversion: {version}\n" in text("CITATION.cff")
    assert f"version = {{{version}}}" in text("docs/cite.md")
    assert f"\n{version.rpartition('.')[0]}, alpha." in text("README.md")


def test_the_changelog_has_the_release_on_the_date_of_the_citation():
    date = re.search(r'^date-released: "(\d{4}-\d\d-\d\d)"$', text("CITATION.cff"), re.M)[1]
    assert f"\n## [{pnml.__version__}] - {date}\n" in text("CHANGELOG.md")
    assert text("CHANGELOG.md").index("## [Unreleased]") < text("CHANGELOG.md").index(date)


@pytest.mark.parametrize("path", ["CITATION.cff", "mkdocs.yml", "docs/cite.md", "SECURITY.md"])
def test_one_repository_everywhere(path):
    assert REPOSITORY in text(path)


def test_the_readme_on_pypi_leads_nowhere_but_to_full_addresses():
    """A relative link would be dead there; every file that it names is in the repository."""
    found = links(readme_on_pypi())
    tag = f"v{pnml.__version__}"
    places = (f"{REPOSITORY}/blob/{tag}/", f"https://raw.githubusercontent.com/{PLACE}/{tag}/")
    inside = 0
    for link in found:
        assert re.match(r"https?://", link), link
        for place in places:
            if link.startswith(place):
                assert (ROOT / link.removeprefix(place).partition("#")[0]).is_file(), link
                inside += 1
    assert inside == len([link for link in links(text("README.md")) if "://" not in link]) > 10


@pytest.mark.parametrize("path", sorted((ROOT / ".github" / "workflows").glob("*.yml")))
def test_every_action_is_pinned_by_its_commit(path):
    found = re.findall(r"uses: (\S+)(.*)", path.read_text(encoding="utf-8"))
    assert found
    for action, comment in found:
        assert re.fullmatch(r"[\w.-]+(/[\w.-]+)+@[0-9a-f]{40}", action), action
        assert re.match(r" # v\d", comment), action
