"""Which optional packages are installed, as text or JSON; imports none, so it always runs."""

from __future__ import annotations

import json
import platform
import sys
import textwrap
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Any

from pnml.errors import how_to_install
from pnml.version import __version__

_EXTRA = "extra == "
_SAME_LIBRARY = {"xgboost": "xgboost-cpu"}  # another package with the same modules
_WIDTH = 100  # characters of a line


def tell(as_json: bool) -> None:
    """Print which optional packages are installed, and how to install the others."""
    installed = {
        extra: {package: _version(package) for package in packages}
        for extra, packages in _extras().items()
    }
    sys.stdout.write(_as_json(installed) if as_json else _as_text(installed))


def _as_json(installed: dict[str, dict[str, str | None]]) -> str:
    ready = {extra: None not in packages.values() for extra, packages in installed.items()}
    about = {"pnml": __version__, "python": platform.python_version()}
    document = about | {"extras": installed, "ready": ready}
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def _as_text(installed: dict[str, dict[str, str | None]]) -> str:
    system = f"{platform.system()} {platform.machine()}"
    lines = [f"pnml {__version__} on Python {platform.python_version()}, {system}", ""]
    if not installed:
        return (
            lines[0]
            + "; it runs from its folder and is not installed, so that extras are unknown.\n"
        )
    width = max(map(len, installed))
    for extra, packages in installed.items():
        lacking = [package for package, here in packages.items() if here is None]
        there = ", ".join(f"{p} {v}" for p, v in packages.items() if v is not None)
        words = [there or "nothing"] + [f"lacking: {', '.join(lacking)}"] * bool(lacking)
        start = f"{extra or 'always':<{width}}  {'no ' if lacking else 'yes'}  "
        lines += textwrap.wrap(start + "; ".join(words), _WIDTH, subsequent_indent=" " * len(start))
        if lacking and extra:
            lines.append(" " * len(start) + f'pip install "pnml[{extra}]"')
    if any(None in packages.values() for packages in installed.values()):
        lines += ["", f"To add an extra, for instance torch: {how_to_install('torch')}."]
    return "\n".join(lines) + "\n"


def _extras() -> dict[str, list[str]]:
    """Packages by the extra, such as "torch", that needs them; "" for those always needed."""
    try:
        lines = requires("pnml") or []
    except PackageNotFoundError:
        return {}
    extras: dict[str, list[str]] = {}
    for line in lines:
        requirement, _, condition = line.partition(";")
        extra = condition.partition(_EXTRA)[2].strip(" \"'")
        name = _name(requirement)
        if name != "pnml" and extra != "dev":
            extras.setdefault(extra, []).append(name)
    return extras


def _name(requirement: str) -> str:
    end = next((i for i, c in enumerate(requirement) if c in "[<>=!~ ("), len(requirement))
    return requirement[:end].strip()


def _version(package: str) -> Any:
    try:
        return version(package)
    except PackageNotFoundError:
        other = _SAME_LIBRARY.get(package)
        return None if other is None else _version(other)
