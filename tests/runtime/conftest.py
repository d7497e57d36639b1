"""What the agent does depends on the engine only through the store: a SQLite file is enough."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from holdfast.store import Store, open_store


@pytest.fixture
async def store(sqlite_url: str) -> AsyncIterator[Store]:
    """A new, open store."""
    async with await open_store(sqlite_url) as opened:
        yield opened


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """An empty workspace."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder
