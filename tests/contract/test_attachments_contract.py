"""What attachments do, on every engine."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.contract.attaching import (
    FIVE_MB,
    NAMED,
    change,
    counted,
    digest_of,
    stream,
    whole,
)
from tests.support.interrupted import Twice, upload, upload_until_killed
from tests.support.opening import store_with
from tests.support.processes import CONTEXT, spawn

from holdfast.core.errors import (
    Corrupt,
    IdempotencyConflict,
    InvalidInput,
    LeaseLost,
    NotFound,
    StorageFull,
    TooLarge,
)
from holdfast.store import NewEvent, Store, StoreTuning
from holdfast.store.attachments.attachments import StoredAttachment
from holdfast.store.attachments.byte_buffer import PART, spooled
from holdfast.store.attachments.sweep import SweepResult


def alone(test: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a test that looks at the bytes of all tenants: nobody else's are there, and nobody sweeps."""
    marked: Callable[..., Any] = pytest.mark.own_store(chores=False)(test)
    return marked


@pytest.mark.parametrize("size", [0, 1, PART - 1, PART, PART + 1, 2 * PART, len(FIVE_MB)])
async def test_bytes_come_back_as_they_came_from_memory_and_from_a_stream(store: Store, size: int) -> None:
    data = FIVE_MB[:size]
    assert await store.attachments.put(data) == StoredAttachment(digest_of(data), size)
    other = store.for_tenant(f"{store.tenant}-other")
    streamed = await other.attachments.put(stream(data))
    assert streamed == await store.attachments.get(digest_of(data)) == StoredAttachment(digest_of(data), size)
    for view in (store, other):
        assert await whole(view, digest_of(data)) == data
    sql = "SELECT max(length(bytes)) FROM attachment_parts JOIN attachments USING (attachment_no) WHERE tenant = ?1"
    longest = await store.attachments.workers.read(lambda tx: tx.one(sql, store.tenant))
    assert longest == (min(size, PART),)


async def test_what_was_put_is_there_after_a_restart(store_url: str) -> None:
    async with store_with(store_url, ()) as store:
        put = await store.attachments.put(FIVE_MB)
    async with store_with(store_url, ()) as store:
        assert await whole(store, put.digest) == FIVE_MB


@alone
async def test_the_same_bytes_are_kept_once(store: Store) -> None:
    first = await store.attachments.put(FIVE_MB)
    parts = await counted(store, "attachment_parts")
    assert await store.attachments.put(stream(FIVE_MB)) == first
    assert await asyncio.gather(*(store.attachments.put(FIVE_MB) for _ in range(4))) == [first] * 4
    assert (await counted(store, "attachments"), await counted(store, "attachment_parts")) == (1, parts)


async def test_processes_that_put_the_same_bytes_at_once_all_succeed(store_url: str) -> None:
    async with store_with(store_url, ()) as store:
        start = CONTEXT.Barrier(3)
        children = [spawn(upload, store_url, FIVE_MB, start) for _ in range(3)]
        for child in children:
            await asyncio.to_thread(child.join)
        assert [child.exitcode for child in children] == [0, 0, 0]
        assert await whole(store, digest_of(FIVE_MB)) == FIVE_MB
        assert await counted(store, "attachments") == 1


@alone
async def test_other_bytes_than_expected_are_refused(store: Store) -> None:
    with pytest.raises(InvalidInput) as refusal:
        await store.attachments.put(b"one", expected_digest=digest_of(b"other"))
    assert refusal.value.details["digest"] == digest_of(b"one")
    assert await counted(store, "attachments") == 0
    await store.attachments.put(stream(b"one"), expected_digest=digest_of(b"one"))


@alone
async def test_a_stream_that_breaks_leaves_nothing(store: Store) -> None:
    async def breaks() -> AsyncIterator[bytes]:
        yield FIVE_MB
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        await store.attachments.put(breaks())
    assert await counted(store, "attachments") == 0


@alone
@pytest.mark.tuned(max_attachment=100)
async def test_too_much_is_refused_as_soon_as_it_is_seen(store: Store) -> None:
    assert StoreTuning().max_attachment == 256 * 1024 * 1024
    taken = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal taken
        while True:
            taken += 1
            yield b"x" * 10

    for data in (b"x" * 101, endless()):
        with pytest.raises(TooLarge) as refusal:
            await store.attachments.put(data)
        assert refusal.value.details["limit"] == 100
    assert taken == 11
    assert await counted(store, "attachments") == 0
    assert (await store.attachments.put(b"x" * 100)).size_bytes == 100


async def test_no_room_for_an_upload_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with Path("/dev/full").open("wb", buffering=0) as full:
        monkeypatch.setattr("tempfile.SpooledTemporaryFile", lambda **_: full)
        with pytest.raises(StorageFull):
            async with spooled(stream(FIVE_MB), 2 * len(FIVE_MB)):
                pass


@pytest.mark.parametrize("data", ["text", None, [b"list"], bytearray(b"changing")])
async def test_what_is_not_bytes_is_refused(store: Store, data: Any) -> None:
    async def chunks() -> AsyncIterator[Any]:
        yield data

    before = await counted(store, "attachments")
    for wrong in (data, chunks()):
        with pytest.raises(InvalidInput):
            await store.attachments.put(wrong)
    assert await counted(store, "attachments") == before


async def test_what_was_never_put_is_not_found(store: Store) -> None:
    digest = digest_of(b"nobody")
    for attempt in (
        store.attachments.get(digest),
        whole(store, digest),
        store.attachments.attach("s", digest, **NAMED),
        store.attachments.of_session("s"),
    ):
        with pytest.raises(NotFound):
            await attempt
    with pytest.raises(NotFound):
        await store.sessions.get("s")


@pytest.mark.parametrize("digest", ["", "x" * 64, "A" * 64, "a" * 63, "a" * 64 + "\n", "../" + "a" * 61])
async def test_what_is_no_digest_is_refused(store: Store, digest: str) -> None:
    for attempt in (
        store.attachments.get(digest),
        whole(store, digest),
        store.attachments.attach("s", digest, **NAMED),
        store.attachments.put(b"", expected_digest=digest),
    ):
        with pytest.raises(InvalidInput):
            await attempt


async def test_attaching_is_an_event_and_a_use(store: Store) -> None:
    put = await store.attachments.put(b"hello")
    done = await store.attachments.attach(
        "s", put.digest, name="hello wörld.txt", media_type="text/plain; charset=utf-8"
    )
    (event,) = await store.read("s")
    assert (event.seq, event.event_id, event.type) == (done.first_seq, done.event_ids[0], "holdfast.attachment_added")
    assert event.value() == {
        "digest": put.digest,
        "name": "hello wörld.txt",
        "mediaType": "text/plain; charset=utf-8",
        "sizeBytes": 5,
    }
    assert await store.attachments.of_session("s") == [put]
    other = await store.attachments.put(b"other")
    for _ in range(2):
        await store.attachments.attach("s", other.digest, **NAMED)
    assert len(await store.read("s")) == 3
    assert await store.attachments.of_session("s") == sorted([put, other], key=lambda each: each.digest)
    assert (await store.verification.session("s")).problem is None


async def test_attaching_again_with_the_same_key_changes_nothing(store: Store) -> None:
    put = await store.attachments.put(b"hello")
    first = await store.attachments.attach("s", put.digest, **NAMED, idempotency_key="k")
    again = await store.attachments.attach("s", put.digest, **NAMED, idempotency_key="k")
    assert (again.seqs, again.event_ids, again.replayed) == (first.seqs, first.event_ids, 1)
    with pytest.raises(IdempotencyConflict):
        await store.attachments.attach("s", put.digest, name="other", media_type="text/plain", idempotency_key="k")
    with pytest.raises(InvalidInput):
        await store.attachments.attach("s", put.digest, **NAMED, idempotency_key="holdfast.session_created")
    assert len(await store.read("s")) == 1


async def test_an_attach_that_runs_again_after_a_lost_acknowledgement_is_not_doubled(store: Store) -> None:
    twice = replace(store.attachments, workers=Twice(store.attachments.workers))
    put = await twice.put(FIVE_MB)
    await twice.attach("s", put.digest, **NAMED)
    assert len(await store.read("s")) == 1
    assert await whole(store, put.digest) == FIVE_MB


async def test_a_fenced_writer_attaches_nothing(store: Store) -> None:
    put = await store.attachments.put(b"hello")
    await store.append("s", [NewEvent("n", 1)])
    old = await store.leases.acquire("s", "one", ttl_ms=60_000)
    await store.leases.release(old)
    await store.leases.acquire("s", "two", ttl_ms=60_000)
    with pytest.raises(LeaseLost):
        await store.attachments.attach("s", put.digest, **NAMED, lease=old)
    assert await store.attachments.of_session("s") == []


BAD_NAMES = ["", ".", "..", "a/b", "/etc/passwd", "..\\x", "nul\0", "line\nfeed", "tab\t", "\x7f", "\ud800", "x" * 513]


@pytest.mark.parametrize("name", BAD_NAMES, ids=repr)
async def test_a_name_that_could_be_a_path_or_a_control_is_refused(store: Store, name: str) -> None:
    put = await store.attachments.put(b"hello")
    before = await counted(store, "attachment_uses")
    with pytest.raises(InvalidInput):
        await store.attachments.attach("s", put.digest, name=name, media_type="text/plain")
    assert await counted(store, "attachment_uses") == before


@pytest.mark.parametrize("media_type", ["", "text", "text/", "/plain", "a b/c", "text/plain\r\nX: y", "text/plän"])
async def test_a_media_type_that_is_none_is_refused(store: Store, media_type: str) -> None:
    put = await store.attachments.put(b"hello")
    with pytest.raises(InvalidInput):
        await store.attachments.attach("s", put.digest, name="a", media_type=media_type)


@alone
async def test_tenants_never_see_each_other(store: Store) -> None:
    other = store.for_tenant("other")
    put = await store.attachments.put(FIVE_MB)
    await store.attachments.attach("s", put.digest, **NAMED)
    for attempt in (
        other.attachments.get(put.digest),
        whole(other, put.digest),
        other.attachments.attach("s", put.digest, **NAMED),
        other.attachments.of_session("s"),
    ):
        with pytest.raises(NotFound):
            await attempt
    assert await other.attachments.put(FIVE_MB) == put
    assert await counted(store, "attachments") == 2
    assert await other.attachments.sweep(0) == SweepResult(1, len(FIVE_MB))
    assert await whole(store, put.digest) == FIVE_MB


DAMAGE = [
    "DELETE FROM attachment_parts WHERE part = 2",
    "DELETE FROM attachment_parts",
    "UPDATE attachment_parts SET bytes = {short} WHERE part = 2",
    "UPDATE attachment_parts SET bytes = (SELECT o.bytes FROM attachment_parts o WHERE o.part = 1) WHERE part = 2",
    "UPDATE attachments SET size_bytes = size_bytes - 1",
]


@pytest.mark.own_store(chores=False)
@pytest.mark.parametrize("sql", DAMAGE)
async def test_damage_is_found_before_the_last_bytes_are_given(store_url: str, store: Store, sql: str) -> None:
    put = await store.attachments.put(FIVE_MB)
    await change(store, sql.format(short="x'00'" if store_url.startswith("sqlite") else "'\\x00'::bytea"))
    got = 0
    with pytest.raises(Corrupt) as error:
        async for part in store.attachments.read(put.digest):
            got += len(part)
    assert error.value.details["digest"] == put.digest
    assert got < len(FIVE_MB)


@pytest.mark.own_store(chores=False)
@pytest.mark.parametrize("sql", DAMAGE[:3])
async def test_putting_the_bytes_again_repairs_parts_that_are_missing(store_url: str, store: Store, sql: str) -> None:
    put = await store.attachments.put(FIVE_MB)
    await change(store, sql.format(short="x'00'" if store_url.startswith("sqlite") else "'\\x00'::bytea"))
    await store.attachments.put(FIVE_MB)
    assert await whole(store, put.digest) == FIVE_MB


@alone
async def test_a_use_without_its_bytes_is_corrupt_and_no_shorter_list(store: Store) -> None:
    put = await store.attachments.put(b"hello")
    await store.attachments.attach("s", put.digest, **NAMED)
    await change(store, "DELETE FROM attachment_parts")
    await change(store, "DELETE FROM attachments")
    with pytest.raises(Corrupt):
        await store.attachments.of_session("s")


@pytest.mark.parametrize("writes", [1, 3, 5])
async def test_an_upload_killed_between_its_parts_is_never_readable_is_swept_and_can_be_tried_again(
    store_url: str, writes: int
) -> None:
    digest = digest_of(FIVE_MB)
    async with store_with(store_url, ()) as store:
        for retry in (False, True):
            child = spawn(upload_until_killed, store_url, FIVE_MB, writes)
            await asyncio.to_thread(child.join)
            assert child.exitcode == -9
            assert await counted(store, "attachment_parts") == writes
            for attempt in (
                store.attachments.get(digest),
                whole(store, digest),
                store.attachments.attach("s", digest, **NAMED),
            ):
                with pytest.raises(NotFound):
                    await attempt
            if retry:
                assert (await store.attachments.put(FIVE_MB)).digest == digest
                assert await whole(store, digest) == FIVE_MB
            else:
                assert await store.attachments.sweep(60_000) == SweepResult(0, 0)
                assert await store.attachments.sweep(0) == SweepResult(1, writes * PART)
                assert await counted(store, "attachment_parts") == 0


async def test_an_upload_killed_at_any_moment_is_never_readable_unless_whole(store_url: str) -> None:
    data = FIVE_MB * 4
    async with store_with(store_url, ()) as store:
        start = CONTEXT.Barrier(1)
        child = spawn(upload, store_url, data, start)
        while await counted(store, "attachment_parts") < 3:
            assert child.is_alive() or child.exitcode == 0
            await asyncio.sleep(0)
        child.kill()
        await asyncio.to_thread(child.join)
        parts = await counted(store, "attachment_parts")
        if parts < 21:
            with pytest.raises(NotFound):
                await whole(store, digest_of(data))
        await store.attachments.put(data)
        assert await whole(store, digest_of(data)) == data
