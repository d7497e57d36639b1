"""Every store test runs on both engines: a real SQLite file and a real PostgreSQL server."""

import asyncio
import gc
import os
import sys
from collections.abc import AsyncIterator, Generator, Iterator
from pathlib import Path

import pytest
from tests.support import import_ahead, longest_first, not_run
from tests.support.opening import store_with
from tests.support.postgres import Server, in_memory, running_server
from tests.support.shared_stores import SharedStores
from tests.support.tuned import tuning_of

from holdfast.store import Store, open_store


def pytest_configure(config: pytest.Config) -> None:
    """Keep the tests' files in memory where there is room: they kill processes, not machines. Say what was not run.

    They start hundreds of processes, which must not compile every module anew, whatever is set for other programs.
    """
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    config.pluginmanager.register(not_run)
    config.pluginmanager.register(longest_first)
    if config.option.basetemp is None and in_memory() is not None:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(in_memory()))
    for name in ("GITHUB_STEP_SUMMARY", "GITHUB_ACTIONS", "GITEA_ACTIONS", "FORGEJO_ACTIONS"):
        # The proofs that tests run disprove things on purpose: that is no news for the CI system which runs the tests.
        os.environ.pop(name, None)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Nothing of what the collection makes is garbage: it is not searched, now or while the tests run."""
    gc.disable()
    try:
        import_ahead.import_all(session.config)
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


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


ENGINES = ("sqlite", "postgresql")


@pytest.fixture(params=ENGINES)
def engine_name(request: pytest.FixtureRequest) -> str:
    """Each engine in turn."""
    name: str = request.param
    return name


@pytest.fixture
def store_url(request: pytest.FixtureRequest, engine_name: str) -> str:
    """A new store on each engine in turn."""
    url: str = request.getfixturevalue({"sqlite": "sqlite_url", "postgresql": "postgres_url"}[engine_name])
    return url


@pytest.fixture
def empty_url(request: pytest.FixtureRequest, engine_name: str, sqlite_url: str) -> str:
    """Where nothing is yet, on each engine in turn."""
    if engine_name == "sqlite":
        return sqlite_url
    server: Server = request.getfixturevalue("postgres")
    return server.new_database()


@pytest.fixture(scope="session")
def shared_stores(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedStores]:
    """One open store on each engine for all the tests that need no more than a tenant of their own."""

    def new_url(engine_name: str) -> str:
        if engine_name == "sqlite":
            return f"sqlite:///{tmp_path_factory.mktemp('shared')}/holdfast.db"
        server: Server = request.getfixturevalue("postgres")
        return server.new_store()

    stores = SharedStores(new_url)
    yield stores
    asyncio.run(stores.close())


@pytest.fixture
async def store(request: pytest.FixtureRequest, engine_name: str, shared_stores: SharedStores) -> AsyncIterator[Store]:
    """An open store on each engine in turn: a tenant of its own in the shared one, or, for a test that is marked
    `own_store` or takes its URL, a new one. What it is marked `tuned` with is its tuning."""
    tuning, own = tuning_of(request.node), request.node.get_closest_marker("own_store")
    if own is None and "store_url" not in request.fixturenames:
        yield await shared_stores.new_tenant(engine_name, tuning)
        return
    url: str = request.getfixturevalue("store_url")
    does_chores = own is None or own.kwargs.get("chores", True)
    async with await open_store(url, tuning=tuning) if does_chores else store_with(url, (), tuning) as opened:
        yield opened
