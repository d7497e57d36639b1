"""Every store test runs on both engines: a real SQLite file and a real PostgreSQL server."""

import os
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from tests.support import not_run
from tests.support.postgres import Server, in_memory, running_server

from holdfast.store import Store, open_store


def pytest_configure(config: pytest.Config) -> None:
    """Keep the tests' files in memory where there is room: they kill processes, not machines. Say what was not run.

    They start hundreds of processes, which must not compile every module anew, whatever is set for other programs.
    """
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    config.pluginmanager.register(not_run)
    if config.option.basetemp is None and in_memory() is not None:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(in_memory()))
    for name in ("GITHUB_STEP_SUMMARY", "GITHUB_ACTIONS", "GITEA_ACTIONS", "FORGEJO_ACTIONS"):
        # The proofs that tests run disprove things on purpose: that is no news for the CI system which runs the tests.
        os.environ.pop(name, None)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """One server for the whole run."""
    with running_server() as server:
        yield server


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """A store file that does not exist yet."""
    return f"sqlite:///{tmp_path}/store/holdfast.db"


@pytest.fixture
def postgres_url(postgres: Server) -> str:
    """A store in a database of its own that nobody has opened yet."""
    return postgres.new_store()


@pytest.fixture
def empty_postgres_url(postgres: Server) -> str:
    """A database of its own in which nothing is yet."""
    return postgres.new_database()


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest) -> str:
    """A new store on each engine in turn."""
    fixture = {"sqlite": "sqlite_url", "postgresql": "postgres_url"}[request.param]
    url: str = request.getfixturevalue(fixture)
    return url


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request: pytest.FixtureRequest, sqlite_url: str) -> str:
    """Where nothing is yet, on each engine in turn."""
    if request.param == "sqlite":
        return sqlite_url
    server: Server = request.getfixturevalue("postgres")
    return server.new_database()


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[Store]:
    """A new, open store on each engine in turn."""
    opened = await open_store(store_url)
    yield opened
    await opened.close()
