"""One server for each module, asked in both versions."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio
from tests.a2a.conformance.speaker import Script, Speaker
from tests.a2a.harness import Client, running
from tests.gateway.holders import Wanted, make_tokens
from tests.gateway.process import running as gateway_running

from holdfast.a2a import UrlGuard
from holdfast.store import open_store


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def agent(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Client, Script]]:
    """A server that runs for the whole module, and its handler."""
    folder = tmp_path_factory.mktemp("agent")
    script = Script()
    async with (
        await open_store(f"sqlite:///{folder}/holdfast.db") as store,
        running(store, script, workspace=folder, card="both", url=None, guard=UrlGuard(["127.0.0.1"])) as client,
    ):
        yield client, script


@pytest.fixture(scope="module")
def v10(agent: tuple[Client, Script]) -> Speaker:
    """A client of version 1.0."""
    return Speaker("1.0", *agent)


@pytest.fixture(scope="module")
def v03(agent: tuple[Client, Script]) -> Speaker:
    """A client of version 0.3."""
    return Speaker("0.3", *agent)


@dataclass(frozen=True, slots=True)
class Guarded:
    """A gateway that asks for tokens, and the tokens by who has them."""

    url: str
    tokens: dict[str, str]


@pytest.fixture(scope="session")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """A gateway of two tenants, as a process of its own."""
    data: Path = tmp_path_factory.mktemp("guarded")
    wanted = {
        "ada": Wanted(["read", "write"]),
        "reader": Wanted(["read"]),
        "other": Wanted(["read", "write"], tenant="other"),
        "revoked": Wanted(["read", "write"], revoked=True),
    }
    tokens = make_tokens(f"sqlite:///{data}/holdfast.db", wanted)
    with gateway_running(data, "--a2a-card", "both") as made:
        yield Guarded(made.url, tokens)
