"""Histories to try: on both databases, empty, as often as one likes."""

from __future__ import annotations

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.history.postgres_server import PostgresServer, programs


class Backend(ABC):
    """A database for histories."""

    @abstractmethod
    def empty_place(self) -> str:
        """A place with no history in it."""

    @abstractmethod
    def sql(self, place: str, *statements: str) -> list[tuple]:
        """Do something to what is there, as somebody with a database's own tools does; the last answer."""

    @abstractmethod
    def set_version(self, place: str, version: int) -> None:
        """Pretend that it is of that format."""


class SqliteBackend(Backend):
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.number = 0

    def empty_place(self) -> str:
        self.number += 1
        return str(self.directory / f"{self.number}" / "history.db")

    def sql(self, place: str, *statements: str) -> list[tuple]:
        database = sqlite3.connect(place, isolation_level=None)
        try:
            for statement in statements:
                answer = database.execute(statement).fetchall()
            return answer
        finally:
            database.close()

    def set_version(self, place: str, version: int) -> None:
        self.sql(place, f"PRAGMA user_version={version}")


class PostgresBackend(Backend):
    """One place, made empty again and again."""

    def __init__(self, server: PostgresServer) -> None:
        self.server = server

    def empty_place(self) -> str:
        self.server.sql("DROP SCHEMA IF EXISTS headway CASCADE")
        return self.server.url

    def sql(self, place: str, *statements: str) -> list[tuple]:
        return self.server.sql("SET search_path TO headway", *statements)

    def set_version(self, place: str, version: int) -> None:
        self.sql(place, "DELETE FROM format", f"INSERT INTO format VALUES ({version})")


@pytest.fixture(scope="session")
def only_postgres_server() -> Iterator[PostgresServer]:
    pytest.importorskip("psycopg")
    binaries = programs()
    if binaries is None:
        pytest.skip("needs PostgreSQL's initdb and postgres")
    server = PostgresServer(binaries)
    yield server
    server.remove()


@pytest.fixture
def server(only_postgres_server: PostgresServer) -> Iterator[PostgresServer]:
    """A server that is up, with no history on it."""
    only_postgres_server.start()
    only_postgres_server.sql("DROP SCHEMA IF EXISTS headway CASCADE")
    yield only_postgres_server
    only_postgres_server.thaw()


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.tools)])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    if request.param == "sqlite":
        return SqliteBackend(tmp_path)
    return PostgresBackend(request.getfixturevalue("server"))


@pytest.fixture
def place(backend: Backend) -> str:
    """Where no history is yet."""
    return backend.empty_place()
