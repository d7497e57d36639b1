"""A client of the store under proof: a process that opens it and does what it is told, one JSON line at a time.

    python -m holdfast.prove.store.child ADAPTER FOLDER

Each line on stdin is a request, each line on stdout an answer. What the store or its libraries print goes to stderr.
A request with `at` begins at that moment of the machine's monotonic clock, which all processes share.
"""

import asyncio
import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from holdfast.prove.store.adapter import Refused, StoreAdapter, faults_of
from holdfast.prove.store.adapter_factory import load

SPIN_SECONDS = 0.001

Say = Callable[[dict[str, Any]], None]


class ClientProcess:
    """The store, open in this process, and the heads it was last seen at."""

    def __init__(self, adapter: StoreAdapter, say: Say) -> None:
        self._adapter = adapter
        self._say = say
        self._heads: dict[tuple[str | None, str], Any] = {}
        self._tenants: dict[str | None, StoreAdapter] = {None: adapter}

    async def open(self) -> None:
        await self._adapter.open()

    async def close(self) -> None:
        await self._adapter.close()

    async def append(
        self,
        session: str,
        payload: dict[str, Any],
        key: str | None = None,
        tenant: str | None = None,
        at: float | None = None,
        *,
        as_seen: bool = False,
    ) -> int | None:
        """Append one event; `as_seen` expects the head that this process last looked at."""
        expected = self._heads[tenant, session] if as_seen else None
        await until(at)
        return await self._view(tenant).append(session, payload, key=key, expected=expected)

    async def append_many(self, session: str, payloads: list[dict[str, Any]], at: float | None = None) -> list[Any]:
        """Append one after the other; for each its place and what went wrong."""
        await until(at)
        done = []
        for payload in payloads:
            try:
                done.append({"place": await self._adapter.append(session, payload), "error": ""})
            except Exception as error:
                done.append({"place": None, "error": in_words(error)})
        return done

    async def append_all(self, session: str, payloads: list[dict[str, Any]]) -> None:
        await self._adapter.append_all(session, payloads)

    async def write_on(self, session: str, prefix: str, size: int, text: str) -> None:
        """Append without end, saying what is tried and what is acknowledged; `size` events at a time."""
        number = 0
        while True:
            number += 1
            # A store may have work of its own on the loop.
            await asyncio.sleep(0)
            self._say({"try": number})
            payloads = [{"id": f"{prefix}-{number}-{part}", "text": text} for part in range(size)]
            try:
                if size == 1:
                    await self._adapter.append(session, payloads[0])
                else:
                    await self._adapter.append_all(session, payloads)
            except Exception as error:
                self._say({"failed": number, "error": in_words(error)})
            else:
                self._say({"ack": number})

    async def read(self, session: str, tenant: str | None = None) -> list[Any]:
        return await self._view(tenant).read(session)

    async def read_ids(self, session: str) -> list[Any]:
        """The ids of the events only, where there are many."""
        return [payload["id"] for payload in await self._adapter.read(session)]

    async def look(self, session: str, tenant: str | None = None) -> None:
        """Take note of the head; it stays in this process, whatever it is."""
        head = await self._view(tenant).head(session)
        if head is None:
            raise TypeError("the adapter's head() gave None")
        self._heads[tenant, session] = head

    async def look_at_state(self, session: str) -> dict[str, Any]:
        """The state; its version is noted."""
        document, self._heads["state", session] = await self._adapter.get_state(session)
        return document

    async def put_state(self, session: str, document: dict[str, Any], at: float | None = None) -> None:
        """Write the state, expecting the version that this process last looked at."""
        expected = self._heads["state", session]
        await until(at)
        await self._adapter.put_state(session, document, expected=expected)

    async def sessions(self, tenant: str | None = None) -> list[str]:
        return sorted(await self._view(tenant).sessions())

    async def delete(self, session: str) -> None:
        await self._adapter.delete(session)

    async def damage(self, session: str, index: int) -> None:
        await self._adapter.damage(session, index)

    async def size(self) -> int | None:
        return await self._adapter.size()

    async def grow(self, session: str, first: int, last: int, text: str, chunk: int, seconds: float) -> int:
        """Append the events numbered `first` to `last`; the last one that was written before the time was up."""
        deadline = time.monotonic() + seconds
        at = first
        while at <= last and time.monotonic() < deadline:
            upto = min(at + chunk, last + 1)
            payloads = [{"id": f"e{number}", "text": text} for number in range(at, upto)]
            if chunk == 1:
                await self._adapter.append(session, payloads[0])
            else:
                await self._adapter.append_all(session, payloads)
            at = upto
        return at - 1

    async def pairs(self, short: str, long: str, count: int, text: str) -> dict[str, list[float]]:
        """Append by turns to two sessions; the seconds that each append took."""
        took: dict[str, list[float]] = {short: [], long: []}
        for number in range(count):
            for session in (short, long) if number % 2 else (long, short):
                began = time.perf_counter()
                await self._adapter.append(session, {"id": f"p{number}", "text": text})
                took[session].append(time.perf_counter() - began)
        return {"short": took[short], "long": took[long]}

    def _view(self, tenant: str | None) -> StoreAdapter:
        if tenant not in self._tenants:
            assert tenant is not None
            self._tenants[tenant] = self._adapter.for_tenant(tenant)
        return self._tenants[tenant]


async def until(at: float | None) -> None:
    """Wait for a moment of the monotonic clock; the last bit awake, so that all begin together."""
    if at is None:
        return
    await asyncio.sleep(max(0.0, at - time.monotonic() - SPIN_SECONDS))
    while time.monotonic() < at:
        pass


def in_words(error: BaseException) -> str:
    """The kind of an error and what it says, in one line."""
    said = " ".join(str(error).split())
    return f"{type(error).__name__}: {said}"[:500] if said else type(error).__name__


async def answer(child: ClientProcess, request: dict[str, Any]) -> dict[str, Any]:
    """What came of a request: a value, a refusal of the store's, or an error."""
    verb = request.pop("do")
    try:
        return {"value": await getattr(child, verb)(**request)}
    except Refused as refusal:
        return {"refused": in_words(refusal)}
    except Exception as error:
        traceback.print_exc()
        return {"error": in_words(error)}


async def serve(spec: str, folder: Path, say: Say) -> None:
    """Say what the adapter is, then answer requests until there are no more."""
    try:
        adapter = load(spec)(folder)
        faults = faults_of(adapter)
    except Exception as error:
        traceback.print_exc()
        say({"error": in_words(error)})
        return
    if faults:
        say({"error": "; ".join(faults)})
        return
    say({"subject": adapter.subject, "offers": sorted(adapter.offers)})
    child = ClientProcess(adapter, say)
    # The loop goes on while we wait: a store may have work of its own to do.
    while line := await asyncio.to_thread(sys.stdin.buffer.readline):
        said = await answer(child, json.loads(line))
        try:
            say(said)
        except (TypeError, ValueError) as error:
            say({"error": f"what the adapter gave is not JSON: {error}"})


def main() -> None:
    """Run until stdin ends."""
    # fd 1 is for answers only; whatever prints to stdout prints to the log instead.
    out = os.dup(1)
    os.dup2(2, 1)

    def say(document: dict[str, Any]) -> None:
        # A lone surrogate travels as an escape, and is seen as what it is on the other side.
        line = json.dumps(document).encode() + b"\n"
        while line:
            line = line[os.write(out, line) :]

    sys.path.insert(0, str(Path.cwd()))
    spec, folder = sys.argv[1:]
    asyncio.run(serve(spec, Path(folder), say))


if __name__ == "__main__":
    main()
