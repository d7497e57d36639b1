"""Conversations in files, in SQLite and in PostgreSQL: one suite for what all of them promise."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.runtime.conversation.places import Place
from tests.support.postgres import Server

from holdfast.runtime.conversation.store_thread import STORES


@pytest.fixture(scope="session")
def conversations_in_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A store for all tests: each has a project of its own in it."""
    yield f"sqlite:///{tmp_path_factory.mktemp('conversations')}/holdfast.db"
    STORES.close()


@pytest.fixture(scope="session")
def conversations_in_postgresql(postgres: Server) -> Iterator[str]:
    """The same on a server."""
    yield postgres.new_store()
    STORES.close()


@pytest.fixture
def file_place(tmp_path: Path) -> Place:
    """A project with its conversations in files."""
    return Place(tmp_path)


@pytest.fixture(params=["file", "sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """A project with its conversations in each storage in turn."""
    kind: str = request.param
    return Place(tmp_path, None if kind == "file" else request.getfixturevalue(f"conversations_in_{kind}"))
