"""A store in a fresh folder, and the gateway over it: in process, and on a real socket."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx2
import pytest
from fastapi import FastAPI
from tests.gateway.calling import Caller
from tests.gateway.process import Running, running
from tests.gateway.tight import tight
from tests.support.web import web_client

from holdfast.gateway.app import create_app
from holdfast.store import Store, open_store


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with await open_store(f"sqlite:///{tmp_path}/holdfast.db") as opened:
        yield opened


@pytest.fixture
def app(store: Store) -> FastAPI:
    return create_app(store)


@pytest.fixture
async def client(app: FastAPI) -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost", trust_env=False) as made:
        yield made


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def caller(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    """A program beside a real gateway process, on each engine in turn; the tests of a run share it."""
    data = tmp_path_factory.mktemp(request.param)
    url = f"sqlite:///{data}/holdfast.db"
    if request.param == "postgresql":
        url = request.getfixturevalue("postgres").new_database()
    with (
        running(data, "--store", url) as gateway,
        web_client(base_url=gateway.url) as client,
    ):
        yield Caller(gateway.url, request.param, url, client)


@pytest.fixture(scope="session", params=["httptools", "h11"])
def tight_gateway(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A gateway process with small limits, over each parser of HTTP in turn; the tests of a run share it."""
    with tight(
        tmp_path_factory.mktemp(request.param),
        request.param,
        max_connections=40,
        header_seconds=0.5,
        body_seconds=0.5,
        body_rate=1_000,
        linger_seconds=0.5,
    ) as started:
        yield started
        assert started.process.poll() is None
