"""Moments: equal ones have no commit between them, whoever commits."""

import asyncio
import subprocess
from pathlib import Path

import pytest

from holdfast.store import NewEvent, Store, StoreSnapshot, open_store
from holdfast.store.engine import Tx

pytestmark = pytest.mark.own_store

PATIENCE = 30.0


async def moment(store: Store) -> str:
    found = await store.commit_versions.reread(None, lambda _: True)
    assert found.found
    return found.moment


async def quiet(store: Store) -> str:
    """A moment that lasts: the chores of a new store are done."""
    async with asyncio.timeout(PATIENCE):
        while True:
            before = await moment(store)
            await asyncio.sleep(0.25)
            if await moment(store) == before:
                return before


async def test_a_moment_lasts_until_anybody_commits(store: Store, store_url: str) -> None:
    before = await quiet(store)
    await store.sessions.list()
    with pytest.raises(ValueError, match="refused"):
        await store.sessions.workers.write(_refused, ("lock",))
    if store.engine.name == "sqlite":  # PostgreSQL may end a moment for less
        assert (await moment(store), store.commit_versions.now()) == (before, before)
    await store.append("s", [NewEvent("x", {})])
    after = await moment(store)
    assert after != before
    async with await open_store(store_url) as other:
        await other.append("s", [NewEvent("y", {})])
        assert await moment(store) != after
        await store.append("s", [NewEvent("z", {})])
        seen = await moment(other)
        await store.append("s", [NewEvent("z", {})])
        assert await moment(other) != seen


async def test_what_is_known_is_not_read_again(store: Store) -> None:
    def count(snapshot: StoreSnapshot) -> tuple[int]:
        return (snapshot.totals().events,)

    known = await quiet(store)
    assert await store.commit_versions.reread(known, count) == (known, None)
    await store.append("s", [NewEvent("x", {})])
    moment, found = await store.commit_versions.reread(known, count)
    assert found == (1,)
    assert moment != known


async def test_looking_at_moments_keeps_no_log_and_leaves_no_file(sqlite_url: str) -> None:
    path = Path(sqlite_url.removeprefix("sqlite:///"))
    async with await open_store(sqlite_url) as store:
        await store.append("s", [NewEvent("x", {"text": "secret" * 100})])
        await quiet(store)
        await store.erasure.erase("s", [1], reason="asked for")
        async with asyncio.timeout(PATIENCE):
            while await asyncio.to_thread(holds, path.parent, "secretsecret"):
                assert store.commit_versions.now() is not None
    assert [each.name for each in path.parent.glob("*-wal")] == []
    assert (store.commit_versions.now() or "").startswith("unknown")
    assert store.commit_versions.now() != store.commit_versions.now()


def holds(folder: Path, text: str) -> bool:
    """Whether a file has the text; asked from another process, since opening the store's files here drops its locks."""
    return subprocess.run(["grep", "-rqaF", text, folder], check=False).returncode == 0


def _refused(tx: Tx) -> None:
    tx.run("DELETE FROM sessions")
    raise ValueError("refused")
