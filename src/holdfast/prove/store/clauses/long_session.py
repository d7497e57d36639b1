"""long-session: an append to a long session costs about what one to a short session does, in time and in bytes."""

import time
from dataclasses import dataclass
from statistics import median

from holdfast.prove.store.clause import Clause
from holdfast.prove.store.client import StoreClient
from holdfast.prove.store.stage import StoreStage
from holdfast.prove.verdict import Finding, disproven, inconclusive, proven

LONG = "long"
SHORT_EVENTS = 100
CHUNK = 100
PAIRS = 50
TEXT = "x" * 200
MOST = 5.0
SHARE_OF_TIME = 0.7


@dataclass(frozen=True, slots=True)
class _Length:
    """What appends cost at a length of the session: median seconds beside a short session's; bytes for each event.

    `bytes_each` is None where the store's size cannot be seen.
    """

    events: int
    short_seconds: float
    long_seconds: float
    bytes_each: float | None

    @property
    def slower(self) -> float:
        """How many times slower than the short session, measured by turns."""
        return self.long_seconds / self.short_seconds


@dataclass(frozen=True, slots=True)
class _Facts:
    """The costs at each length, shortest first; `wanted` is the length to reach, `gone` says that events were lost."""

    wanted: int
    lengths: list[_Length]
    gone: bool = False


async def steps(stage: StoreStage) -> _Facts:
    """Grow a session tenfold and again, and at each length append by turns to it and to a short one."""
    deadline = time.monotonic() + stage.bounds.seconds * SHARE_OF_TIME
    wanted = stage.bounds.events
    client = await stage.client()
    await client.must("append", session="first", payload={"id": "first"})
    await client.must("read", session="first")
    size = await _closed_size(stage, client)
    lengths: list[_Length] = []
    there = 0
    for target in sorted({max(SHORT_EVENTS, wanted // 100), max(SHORT_EVENTS, wanted // 10), wanted}):
        stage.step(f"grow to {target} events")
        client = await stage.client()
        if there and len(await client.must("read_ids", session=LONG)) != there:
            return _Facts(wanted, lengths, gone=True)
        grown = await _grow(stage, client, LONG, there + 1, target, deadline - time.monotonic())
        size, before = await _closed_size(stage, client), size
        added, there = grown - there, grown
        if grown < target:
            break
        stage.step(f"append by turns at {target} events")
        client = await stage.client()
        short = f"short-{target}"
        await _grow(stage, client, short, 1, SHORT_EVENTS, deadline - time.monotonic())
        took = await client.must("pairs", short=short, long=LONG, count=PAIRS, text=TEXT)
        there += PAIRS
        bytes_each = None if size is None or before is None else max(size - before, 0) / max(added, 1)
        lengths.append(_Length(target, median(took["short"]), median(took["long"]), bytes_each))
        size = await _closed_size(stage, client)
        if _over(lengths):
            break
    return _Facts(wanted, lengths)


async def _grow(stage: StoreStage, client: StoreClient, session: str, first: int, last: int, seconds: float) -> int:
    chunk = CHUNK if "batch" in stage.offers else 1
    grown: int = await client.must(
        "grow", session=session, first=first, last=last, text=TEXT, chunk=chunk, seconds=max(seconds, 0.0)
    )
    return grown


async def _closed_size(stage: StoreStage, client: StoreClient) -> int | None:
    """The store's size once the client has closed it, so that what is only on its way to the file is in it."""
    told: int | None = await client.must("size")
    await client.close()
    files = sum(path.stat().st_size for path in stage.folder.rglob("*") if path.is_file())
    return told if told is not None else files or None


def _over(lengths: list[_Length]) -> str:
    """What of the newest length is too much, in words; empty if nothing is."""
    first, last = lengths[0], lengths[-1]
    if last.slower > MOST:
        return f"an append at {last.events} events takes {last.slower:.1f} times as long as at {SHORT_EVENTS}"
    if first.bytes_each and last.bytes_each and last.bytes_each > MOST * first.bytes_each:
        ratio = last.bytes_each / first.bytes_each
        return (
            f"an event takes {last.bytes_each:,.0f} bytes on the way to {last.events} events, "
            f"{ratio:.1f} times as many as on the way to {first.events}"
        )
    return ""


def check(facts: _Facts) -> Finding:
    """No length costs more than five times the shortest."""
    expected = f"time and bytes of an append do not grow with the session (at most {MOST:g} times)"
    if facts.gone:
        return inconclusive("the session was not there in the next process", hint="see the clause kept")
    if facts.lengths and (over := _over(facts.lengths)):
        return disproven(over, expected=expected, got=_told(facts.lengths[-1]))
    if not facts.lengths or facts.lengths[-1].events < facts.wanted:
        reached = facts.lengths[-1].events if facts.lengths else 0
        return inconclusive(
            f"only {reached} of {facts.wanted} events were reached in time",
            hint="give it more time with --timeout, or ask for fewer --events",
        )
    return proven(_told(facts.lengths[-1]))


def _told(length: _Length) -> str:
    size = "size not seen" if length.bytes_each is None else f"{length.bytes_each:,.0f} bytes for each event"
    return (
        f"{length.long_seconds * 1000:.2f} ms at {length.events} events, {length.short_seconds * 1000:.2f} ms at "
        f"{SHORT_EVENTS} ({length.slower:.1f} times); {size}"
    )


CLAUSE = Clause("long-session", "an append costs no more in a long session than in a short one", steps, check)
