"""Write ``.ci/locked.txt``: the versions of constraints.txt with the SHA-256 of every file of them.

``.ci/locked-build.txt`` holds those among them that build a wheel.
``python .ci/lock.py`` reads the hashes from PyPI, and those of torch without GPUs from PyTorch's
own index; ``--wheels FOLDER`` takes the hash of wheels that are there already. Run it whenever
constraints.txt changes: a test compares the two.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[1]
PYPI = "https://pypi.org/simple/"
PYTORCH = "https://download.pytorch.org/whl/cpu/"
BUILD = {
    "build",
    "hatch-fancy-pypi-readme",
    "hatchling",
    "packaging",
    "pathspec",
    "pluggy",
    "pyproject-hooks",
    "tomlkit",
    "trove-classifiers",
}
_HEAD = "# Written by .ci/lock.py from constraints.txt: pip install --require-hashes --no-deps -r\n"
_HASH = " \\\n    --hash=sha256:"
_PIN = re.compile(r"([A-Za-z0-9._-]+)==([^\s;]+)")


def pins(text: str) -> dict[str, str]:
    """Names and versions in a file of constraints or of locked packages."""
    found = (_PIN.match(line) for line in text.splitlines())
    return {_plain(pin[1]): pin[2] for pin in found if pin}


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, str] = {}  # file name → SHA-256

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        address = urlsplit(dict(attrs).get("href") or "")
        if tag == "a" and address.fragment.startswith("sha256="):
            name = unquote(address.path).rpartition("/")[2]
            self.found[name] = address.fragment.removeprefix("sha256=")


def _files(index: str, name: str) -> dict[str, str]:
    request = urllib.request.Request(f"{index}{name}/", headers={"Accept": "text/html"})  # noqa: S310
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
        links = _Links()
        links.feed(answer.read().decode())
    return links.found


def _version(file: str, name: str) -> str | None:
    """The version in the name of a wheel or an sdist of a package; None for another file."""
    stem = re.sub(r"(\.tar\.gz|\.zip|\.tar\.bz2|\.whl)$", "", file)
    if stem == file:
        return None
    if file.endswith(".whl"):
        return stem.split("-")[1]
    return stem[len(name) + 1 :] if _plain(stem[: len(name)]) == name else None


def _is_of(file: str, name: str, version: str) -> bool:
    return _version(file, name) == version


def locked(name: str, version: str, wheels: Path | None) -> str:
    """The lines of a package; on Linux torch is the one without GPUs, from PyTorch's own index."""
    files = _files(PYPI, name)
    if name != "torch":
        return _lines(name, version, files)
    built = _of_folder(wheels) if wheels else _files(PYTORCH, name)
    linux = {file: digest for file, digest in built.items() if "linux" in file}
    others = {file: digest for file, digest in files.items() if "linux" not in file}
    return _lines(name, f"{version}+cpu", linux, "; sys_platform == 'linux'") + _lines(
        name, version, others, "; sys_platform != 'linux'"
    )


def _lines(name: str, version: str, files: dict[str, str], where: str = "") -> str:
    digests = sorted({digest for file, digest in files.items() if _is_of(file, name, version)})
    if not digests:
        raise SystemExit(f"There is no file of {name} {version}; check constraints.txt.")
    return f"{name}=={version}{where}" + "".join(f"{_HASH}{one}" for one in digests) + "\n"


def _of_folder(folder: Path) -> dict[str, str]:
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.glob("torch-*.whl")}


def main() -> None:
    """Write the locked file beside this script."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wheels", type=Path, help="folder with wheels of torch")
    given = parser.parse_args()
    wanted = pins((ROOT / "constraints.txt").read_text())
    with ThreadPoolExecutor(8) as pool:
        lines = dict(
            zip(
                wanted,
                pool.map(lambda pin: locked(*pin, given.wheels), wanted.items()),
                strict=True,
            )
        )
    folder = ROOT / ".ci"
    (folder / "locked.txt").write_text(_HEAD + "".join(lines.values()))
    build = "".join(text for name, text in lines.items() if name in BUILD)
    (folder / "locked-build.txt").write_text(_HEAD + build)
    sys.stdout.write(f"{len(wanted)} packages\n")


if __name__ == "__main__":
    main()
