"""Promise 7: what goes in comes out. Export, import, export: the same bytes and hashes; nothing is half-imported."""

import itertools
import random
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.postgres import Server

from holdfast.core.errors import BadArchive, Conflict, NotFound
from holdfast.store import NewEvent, Store, open_store
from holdfast.store.portable import ArchiveReader

HAZARDS = [
    b'{"a":1.0,"b":1,"big":123456789012345678901234567890,"e":1E5}',
    b' { "spaced" : [ 1 ,2 ] } ',
    b'{"lines":\r\n[1,\n2]}',
    '{"text":"größer 東京 \\u0000 \\ud83d\\ude00 😀"}'.encode(),
    b'"just text"',
    b"null",
    b"-0.0",
]


async def filled(store: Store) -> None:
    """Sessions with every kind of row, awkward payloads, keys, attachments and memories."""
    await store.sessions.create("alpha", user_id="u1", metadata={"m": [1]}, tags=["t1", "t2"], initial={"input": "hi"})
    await store.append("alpha", [NewEvent("note", payload) for payload in HAZARDS])
    await store.append("alpha", [NewEvent("keyed", {"n": 1}, event_id="e-1", idempotency_key="k-1")])
    await store.append("alpha", [NewEvent("child", {}, parent_id="e-1")])
    await store.state.patch("alpha", {"phase": "execution", "deep": {"a": None, "b": [1, 2]}})
    await store.goals.add("alpha", "reach it", priority="high")
    await store.goals.update("alpha", "goal-001", {"status": "completed"})
    await store.agents.spawn("alpha", "helper", {"do": "it"}, agent_id="h1")
    await store.effects.start("alpha", "call-1", "mail", {"to": "x"})
    await store.usage.record("alpha", "m", input_tokens=3, output_tokens=4)
    await store.checkpoints.create("alpha", "before")
    await store.checkpoints.compact("alpha", "all of it", last_seq=5)
    kept = await store.attachments.put(b"\x00\x01" * 700_000)
    await store.attachments.attach("alpha", kept.digest, name="blob.bin", media_type="application/octet-stream")
    await store.keys.resolve("agent:main:alpha", session_id="alpha")
    await store.erasure.erase("alpha", [2], reason="asked")
    await store.sessions.finalize("alpha", "completed", outcome={"ok": True})
    await store.append("beta", [NewEvent("note", {"n": n}) for n in range(1_200)])
    await store.memories.put("facts", "name", {"value": "Mira"})
    await store.memories.put("facts", "name", b'{"value":\n"Ada"}', idempotency_key="w1")
    await store.memories.put("facts", "gone", 1)
    await store.memories.forget("facts", "gone")


async def test_export_import_export_is_the_same_to_the_byte(
    store: Store, tmp_path: Path, sqlite_url: str, postgres: Server
) -> None:
    await filled(store)
    first = tmp_path / "first.holdfast"
    totals = await store.exporting.archive(first)
    assert (totals.sessions, totals.attachments) == (2, 1)

    for number, url in enumerate((f"sqlite:///{tmp_path}/other/holdfast.db", postgres.new_database())):
        async with await open_store(url) as other:
            done = await other.importing.archive(first)
            assert done.sessions == ["alpha", "beta"]
            again = tmp_path / f"again{number}.holdfast"
            await other.exporting.archive(again)
            assert again.read_bytes() == first.read_bytes()
            for session_id in ("alpha", "beta"):
                assert (await other.verification.session(session_id)).problem is None
                assert await other.read(session_id) == await store.read(session_id)
                assert await other.sessions.get(session_id) == await store.sessions.get(session_id)
            assert await other.state.get("alpha") == await store.state.get("alpha")
            assert await other.goals.list("alpha") == await store.goals.list("alpha")
            assert (await other.keys.get("agent:main:alpha")).session_id == "alpha"
            assert await other.memories.history("facts", "name") == await store.memories.history("facts", "name")
            assert (await other.search.find("größer")).hits[0].session_id == "alpha"
            # Once more changes nothing, and a session that went on here is left as it is.
            await other.append("beta", [NewEvent("later", {})])
            repeated = await other.importing.archive(first)
            assert (repeated.sessions, repeated.there_before) == ([], ["alpha", "beta"])
            assert (await other.sessions.get("beta")).head_seq == 1_201


async def test_another_log_under_the_same_id_is_a_conflict_and_nothing_is_written(store: Store, tmp_path: Path) -> None:
    await filled(store)
    archive = tmp_path / "a.holdfast"
    await store.exporting.archive(archive)
    async with await open_store(f"sqlite:///{tmp_path}/other/holdfast.db") as other:
        await other.append("beta", [NewEvent("note", {"n": "another"})])
        with pytest.raises(Conflict, match="beta"):
            await other.importing.archive(archive)
        with pytest.raises(NotFound):
            await other.sessions.get("alpha")
        assert await other.memories.namespaces() == []


async def test_a_deleted_session_is_not_brought_back_by_an_import(store: Store, tmp_path: Path) -> None:
    await filled(store)
    archive = tmp_path / "a.holdfast"
    await store.exporting.archive(archive)
    await store.deletion.delete("beta")
    with pytest.raises(Conflict, match="beta"):
        await store.importing.archive(archive)


def forged(source: Path, target: Path, old: bytes, new: bytes) -> None:
    """The archive with other bytes in its members, whatever its manifest says."""
    with zipfile.ZipFile(source) as there, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as made:
        for name in there.namelist():
            made.writestr(name, there.read(name).replace(old, new))


def damages(whole: bytes) -> Iterator[bytes]:
    """The archive cut short, or with some of its bits changed, in one way after another.

    The seed is one whose damages all matter: a bit after the end of what is packed may change, and nothing is lost.
    """
    rng = random.Random(7)
    for number in itertools.count():
        damaged = bytearray(whole)
        if number % 3 == 0:
            del damaged[rng.randrange(len(damaged)) :]
        else:
            for _ in range(rng.randrange(1, 4)):
                damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        yield bytes(damaged)


@pytest.mark.parametrize("count", [60, pytest.param(1_000, marks=pytest.mark.long(seconds=15))])
async def test_a_damaged_archive_is_refused_and_nothing_is_half_imported(
    count: int, engine_name: str, store: Store, tmp_path: Path
) -> None:
    """Other damages on each engine: two thousand in the counted runs."""
    await filled(store)
    archive = tmp_path / "a.holdfast"
    await store.exporting.archive(archive)
    path = tmp_path / "damaged.holdfast"
    target = store.for_tenant(f"{store.tenant}-elsewhere")
    first = 0 if engine_name == "sqlite" else count
    for damaged in itertools.islice(damages(archive.read_bytes()), first, first + count):
        path.write_bytes(damaged)
        with pytest.raises(BadArchive):
            await target.importing.archive(path)
        assert (await target.sessions.list()).sessions == []
        assert await target.memories.namespaces() == []


async def test_a_forged_archive_is_refused(store: Store, tmp_path: Path) -> None:
    await filled(store)
    archive = tmp_path / "a.holdfast"
    await store.exporting.archive(archive)
    for old, new in ((b'"reach it"', b'"forged it"'), (b'"goalId":"goal-001"', b'"goalId":17'), (b"note", b"nope")):
        path = tmp_path / "forged.holdfast"
        forged(archive, path, old, new)
        with pytest.raises(BadArchive):
            await store.for_tenant(f"{store.tenant}-elsewhere").importing.archive(path)


async def test_an_export_stands_complete_or_not_at_all(store: Store, tmp_path: Path) -> None:
    await filled(store)
    path = tmp_path / "a.holdfast"
    with pytest.raises(NotFound):
        await store.exporting.archive(path, ["alpha", "nobody"])
    assert list(tmp_path.glob("a.holdfast*")) == []
    await store.exporting.archive(path, ["beta"])
    with ArchiveReader(path) as reader:
        assert [session.header.session_id for session in reader.sessions()] == ["beta"]
