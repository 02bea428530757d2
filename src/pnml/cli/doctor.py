"""``pnml doctor``: which parts of the library can be used here."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Any

from pnml.cli.options import Json

_EXTRA = "extra == "
_SAME_LIBRARY = {"xgboost": "xgboost-cpu"}  # another package with the same modules


def doctor(as_json: Json = False) -> None:
    """Tell which optional packages are installed, and how to install the others."""
    from pnml.cli.console import grid, print_json, print_words

    extras = _extras()
    installed = {
        extra: {package: _version(package) for package in packages}
        for extra, packages in extras.items()
    }
    about = {"pnml": version("pnml"), "python": platform.python_version()}
    if as_json:
        ready = {extra: None not in packages.values() for extra, packages in installed.items()}
        print_json(about | {"extras": installed, "ready": ready})
        return
    rows = []
    for extra, packages in installed.items():
        lacking = [package for package, here in packages.items() if here is None]
        there = ", ".join(f"{p} {v}" for p, v in packages.items() if v is not None)
        cure = f'pip install "pnml[{extra}]"' if lacking else ""
        rows.append(
            [extra or "always", "no" if lacking else "yes", there, ", ".join(lacking), cure]
        )
    headings = ["extra", "ready", "installed", "lacking", "to install"]
    print_words(
        f"pnml {about['pnml']} on Python {about['python']}",
        grid(headings, rows),
    )


def _extras() -> dict[str, list[str]]:
    """Packages by the extra that asks for them; "" for those that are always needed."""
    extras: dict[str, list[str]] = {}
    for line in requires("pnml") or ():
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
