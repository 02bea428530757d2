"""Addresses of databases, such as sqlite:///my.db?table=sales; passwords are never shown."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlencode

from pnml.errors import MOST_PATH, InputError, shorten
from pnml.readers.file_errors import brief_reason

_SCHEMES = {
    "sqlite": "sqlite",
    "duckdb": "duckdb",
    "postgresql": "postgresql",
    "postgres": "postgresql",
}
_HIDDEN = "***"


def is_database(name: str) -> bool:
    """Whether a source is the address of a database.

    >>> is_database("sqlite:///my.db"), is_database("s3://bucket/my.db"), is_database("my.db")
    (True, False, False)
    """
    scheme, mark, _ = name.partition("://")
    return bool(mark) and scheme.lower() in _SCHEMES


@dataclass(frozen=True)
class DatabaseAddress:
    """Address of a database, and of one of its tables.

    >>> DatabaseAddress.of("postgresql://ann:secret@host/db?table=sales").name
    'postgresql://ann:***@host/db?table=sales'
    """

    kind: str  # sqlite, duckdb or postgresql
    name: str  # for messages: without password
    place: str  # path of a file, or the address of a server with its password
    table: str | None
    secrets: tuple[str, ...] = ()

    @classmethod
    def of(cls, text: str) -> DatabaseAddress:
        """The parts of an address given as text; raises InputError if it is not a valid one."""
        scheme, _, rest = text.partition("://")
        kind = _SCHEMES[scheme.lower()]
        place, _, settings = rest.partition("?")
        given = parse_qsl(settings, keep_blank_values=True)
        tables = [value for key, value in given if key == "table"]
        if len(tables) > 1 or tables == [""]:
            raise InputError(
                f"{_shown(kind, place, given)[0]} must name one table; end it such as "
                "?table=sales, or pass a query."
            )
        others = [(key, value) for key, value in given if key != "table"]
        name, secrets = _shown(kind, place, given)
        if kind == "postgresql":
            place = f"{kind}://{place}" + (f"?{urlencode(others, quote_via=quote)}" * bool(others))
        else:
            place = _path(kind, place, name, others)
        return cls(kind, name, place, tables[0] if tables else None, secrets)

    @property
    def label(self) -> str:
        """The name for messages, cut where it is long."""
        return shorten(self.name, MOST_PATH)

    @property
    def path(self) -> Path:
        """Path of the file of an SQLite or DuckDB database."""
        return Path(self.place).expanduser()

    def reason(self, error: Exception) -> str:
        """The first line of a database's error, cut short and without passwords."""
        text = next(iter(str(error).strip().splitlines()), "")
        for secret in self.secrets:
            text = text.replace(secret, _HIDDEN)
        return brief_reason(ValueError(text or type(error).__name__))

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Context that turns errors of a query into an InputError without passwords."""
        try:
            yield
        except InputError:
            raise
        except Exception as error:  # every database has errors of its own
            reason = self.reason(error)
            if "read-only" in reason or "readonly" in reason or "not authorized" in reason:
                raise self.would_write() from None
            raise InputError(
                f"The query to {self.label} fails ({reason}); correct it."
            ) from None  # the cause may show the password

    def would_write(self) -> InputError:
        """The error for a query that would do more than read."""
        return InputError(
            f"The query to {self.label} would do more than read; pass one SELECT statement."
        )


def _path(kind: str, place: str, name: str, others: list[tuple[str, str]]) -> str:
    if others:
        raise InputError(
            f"{shorten(name, MOST_PATH)} has the setting {shorten(others[0][0])!r}, but a file of "
            f"{kind} has table= only; leave it out."
        )
    path = unquote(place[1:])
    if not place.startswith("/") or not path:
        raise InputError(
            f"{shorten(name, MOST_PATH)} names no file; write {kind}:///my.db, or "
            f"{kind}:////data/my.db for a path from the root."
        )
    return path


def _shown(kind: str, place: str, given: list[tuple[str, str]]) -> tuple[str, tuple[str, ...]]:
    """The address without its passwords, and these passwords, longest first."""
    secrets = []
    if kind == "postgresql":
        server, slash, rest = place.partition("/")
        user, at, host = server.rpartition("@")
        user, colon, password = user.partition(":")
        if colon:
            secrets.append(password)
            place = f"{user}:{_HIDDEN}{at}{host}{slash}{rest}"
    settings = []
    for key, value in given:
        hidden = "password" in key.lower()
        if hidden:
            secrets.append(value)
        settings.append(f"{key}={_HIDDEN if hidden else value}")
    words = {word for secret in secrets for word in (secret, unquote(secret)) if word}
    longest_first = tuple(sorted(words, key=len, reverse=True))
    return f"{kind}://{place}" + (f"?{'&'.join(settings)}" * bool(settings)), longest_first
