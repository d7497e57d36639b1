"""A store that an older version wrote is opened by this one, with everything that was in it."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.kept_stores import FOLDER, portrait, said

from holdfast.core.errors import IdempotencyConflict
from holdfast.store import Store
from holdfast.store.backup import restore

VERSIONS = sorted(folder.name for folder in FOLDER.iterdir() if folder.is_dir())


def test_there_are_kept_stores() -> None:
    assert "0.1.0-schema-16" in VERSIONS


async def reopened(version: str, engine_name: str, url: str, place: Path) -> Store:
    """The kept store of that version, brought up to date at this URL."""
    backup = place / "backup"
    backup.write_bytes(gzip.decompress((FOLDER / version / f"{engine_name}.backup.gz").read_bytes()))
    return await restore(backup, url)


@pytest.mark.parametrize("version", VERSIONS)
async def test_it_says_what_it_said(version: str, engine_name: str, empty_url: str, tmp_path: Path) -> None:
    expected: dict[str, Any] = json.loads((FOLDER / version / f"{engine_name}.json").read_text())
    async with await reopened(version, engine_name, empty_url, tmp_path) as store:
        assert covers(json.loads(json.dumps(await portrait(store))), expected)
        assert await store.verification.files() == []


@pytest.mark.parametrize("version", VERSIONS)
async def test_it_goes_on(version: str, engine_name: str, empty_url: str, tmp_path: Path) -> None:
    async with await reopened(version, engine_name, empty_url, tmp_path) as store:
        head = (await store.sessions.get("trip")).head_seq
        again = await store.append("trip", [said("a table for two", idempotency_key="k1")])
        assert (again.last_seq, (await store.sessions.get("trip")).head_seq) == (2, head)
        with pytest.raises(IdempotencyConflict):
            await store.append("trip", [said("a table for three", idempotency_key="k1")])
        assert (await store.append("trip", [said("and a window")], expected_seq=head)).last_seq == head + 1
        assert (await store.undeletion.undelete("gone")).session_id == "gone"
        assert (await store.keys.open("agent:main:a2a:c1")).session_id == "talk-2"
        assert [each.problem async for each in store.verification.every()] == [None] * 6


def covers(found: Any, expected: Any) -> bool:
    """Whether everything expected was found; a later version may say more of each thing."""
    if isinstance(expected, dict):
        return isinstance(found, dict) and all(
            name in found and covers(found[name], each) for name, each in expected.items()
        )
    if isinstance(expected, list):
        return isinstance(found, list) and len(found) == len(expected) and all(map(covers, found, expected))
    return bool(found == expected)
