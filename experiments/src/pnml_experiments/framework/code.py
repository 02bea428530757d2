"""Fingerprint of the code that a number depends on, so that only a change of that code counts."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

# Decorators after which a definition still has no effect until somebody uses its name.
_HARMLESS = {"cache", "contextmanager", "dataclass", "lru_cache"}
_DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_EVERYTHING = "*"


class Name(NamedTuple):
    """A top-level name of a module; ``*`` stands for all of them."""

    module: str
    name: str


class Code:
    """The source of one package.

    Parameters
    ----------
    root : folder of the package
    package : its name in imports
    """

    def __init__(self, root: Path, package: str) -> None:
        self._root = root
        self._package = package
        self._parsed: dict[str, _Module | None] = {}
        self._digests: dict[tuple[Name, ...], str] = {}

    def digest(self, *starts: Name) -> str:
        """Digest of these names and of everything in the package that they use.

        Docstrings, comments, layout and definitions that are never reached do not count.
        """
        if starts not in self._digests:
            texts = sorted(self._reached(starts))
            self._digests[starts] = hashlib.sha256("\n".join(texts).encode()).hexdigest()
        return self._digests[starts]

    def _reached(self, starts: Iterable[Name]) -> set[str]:
        waiting, seen, texts = list(starts), set[Name](), set[str]()
        while waiting:
            here = waiting.pop()
            module = self._module(here.module)
            if here in seen or module is None:
                continue
            seen.add(here)
            base, _, attribute = here.name.partition(".")
            if base in module.imported:
                waiting += self._targets(module.imported[base], attribute)
            for statement in (*module.effects, *module.bound(base)):
                use = module.uses(statement)
                texts.add(use.text)
                waiting += [Name(here.module, name) for name in use.names]
                waiting += [target for source in use.imports for target in self._targets(source)]
        return texts

    def _targets(self, source: Name, attribute: str = "") -> list[Name]:
        """What an import brings: a name of a module, or a module, of which one name is used."""
        submodule = f"{source.module}.{source.name}"
        if source.name != _EVERYTHING and self._path(submodule) is not None:
            return [Name(submodule, attribute or _EVERYTHING)]
        return [source]

    def _path(self, module: str) -> Path | None:
        first, *parts = module.split(".")
        if first != self._package:
            return None
        stem = self._root.joinpath(*parts)
        candidates = (stem.with_suffix(".py") if parts else stem, stem / "__init__.py")
        return next((path for path in candidates if path.is_file()), None)

    def _module(self, name: str) -> _Module | None:
        if name not in self._parsed:
            path = self._path(name)
            self._parsed[name] = None if path is None else _Module(ast.parse(path.read_bytes()))
        return self._parsed[name]


class _Uses(NamedTuple):
    """A statement of a module: its text, the names that it uses, and its own imports."""

    text: str
    names: set[str]
    imports: list[Name]


class _Module:
    """Top-level statements of a module by the names that they bind."""

    def __init__(self, tree: ast.Module) -> None:
        _remove_docstrings(tree)
        self.imported: dict[str, Name] = {}
        self.effects: list[ast.stmt] = []  # statements that act when the module is imported
        self._bound: dict[str, list[ast.stmt]] = {}
        self._uses: dict[ast.stmt, _Uses] = {}
        for statement in tree.body:
            names = _binds(statement)
            if isinstance(statement, ast.Import | ast.ImportFrom):
                self.imported |= dict(_imports(statement))
            elif names is None:
                self.effects.append(statement)
            for name in names or ():
                self._bound.setdefault(name, []).append(statement)

    def bound(self, name: str) -> list[ast.stmt]:
        """The statements that bind this name."""
        if name == _EVERYTHING:
            return [statement for item in self._bound.values() for statement in item]
        return self._bound.get(name, [])

    def uses(self, statement: ast.stmt) -> _Uses:
        """What a statement of this module says and uses, found once."""
        if statement not in self._uses:
            imports = [source for node in ast.walk(statement) for _, source in _imports(node)]
            self._uses[statement] = _Uses(ast.dump(statement), set(_names(statement)), imports)
        return self._uses[statement]


def _binds(statement: ast.stmt) -> list[str] | None:
    """The names that a statement binds if that is all it does, else None."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return []
    if isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING":
        return []
    if isinstance(statement, _DEFINITIONS):
        harmless = all(_HARMLESS & set(_names(each)) for each in statement.decorator_list)
        return [statement.name] if harmless else None
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    else:
        return None
    flat = [
        leaf
        for target in targets
        for leaf in (target.elts if isinstance(target, ast.Tuple) else [target])
    ]
    names = [leaf.id for leaf in flat if isinstance(leaf, ast.Name)]
    return names if len(names) == len(flat) else None


def _imports(node: ast.AST) -> Iterator[tuple[str, Name]]:
    """Local name → what it is imported from."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            local = alias.asname or alias.name.partition(".")[0]
            yield local, Name(alias.name, _EVERYTHING)
    elif isinstance(node, ast.ImportFrom) and node.module is not None:
        for alias in node.names:
            yield alias.asname or alias.name, Name(node.module, alias.name)


def _names(node: ast.AST) -> Iterator[str]:
    """Names that the code uses, ``a.b`` for an attribute of a name; annotations do not count."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        yield f"{node.value.id}.{node.attr}"
        return
    if isinstance(node, ast.Name):
        yield node.id
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _names(child)


def _remove_docstrings(tree: ast.Module) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | _DEFINITIONS) and node.body:
            first = node.body[0]
            value = first.value if isinstance(first, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                node.body = node.body[1:]


@cache
def _here() -> Code:
    package = __name__.partition(".")[0]
    return Code(Path(__file__).parents[1], package)


def run_digest(module: str) -> str:
    """Digest of the code behind the function ``run`` of an experiment's module."""
    package = __name__.partition(".")[0]
    return _here().digest(Name(f"{package}.{module}", "run"))


def function_digest(function: Callable[..., Any]) -> str:
    """Digest of the code behind a function, and behind the functions that it holds."""
    return _here().digest(*_held(function))


def _held(function: Any) -> list[Name]:
    """The top-level names around a function and around the functions that it was made of.

    These are the functions in its closure and, of a partial, its arguments.
    """
    waiting, names, seen = [function], [], set[int]()
    while waiting:
        item = waiting.pop()
        if isinstance(item, partial):
            given = (*item.args, *item.keywords.values())
            waiting += [value for value in given if callable(value)]
        item = getattr(item, "__func__", getattr(item, "func", item))  # bound methods, partials
        if id(item) in seen:
            continue
        seen.add(id(item))
        if hasattr(item, "__qualname__"):
            names.append(Name(item.__module__, item.__qualname__.partition(".")[0]))
        cells = getattr(item, "__closure__", None) or ()
        waiting += [cell.cell_contents for cell in cells if callable(_content(cell))]
    return names


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # the cell is still empty
        return None
