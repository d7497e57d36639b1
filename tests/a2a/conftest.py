"""Most promises of A2A do not depend on the engine: a SQLite file is enough."""

from collections.abc import AsyncIterator, Iterator

import pytest
from tests.support.scripted_server import ScriptedServer, webhook

from holdfast.store import Store, open_store


@pytest.fixture
async def store(sqlite_url: str) -> AsyncIterator[Store]:
    """A new, open store."""
    opened = await open_store(sqlite_url)
    yield opened
    await opened.close()


@pytest.fixture
def hook() -> Iterator[ScriptedServer]:
    """Where news are posted to."""
    with webhook() as made:
        yield made
