"""Clients of A2A that hang up while they wait: what only reads is ended, and nobody waits for it."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from tests.a2a.harness import Client, running, tell
from tests.gateway.process import PATIENCE
from tests.gateway.test_readers_gone import Held
from tests.support.eventually import eventually

from holdfast.a2a.turns.timing import TurnTiming
from holdfast.store import Store
from holdfast.store.lanes.readers import THREADS
from holdfast.store.lanes.shares import ReadLength

READS = {
    "ListTasks": ({}, "1.0"),
    "GetTask": ({"id": "none"}, "1.0"),
    "tasks/get": ({"id": "none"}, "0.3"),
}
ASKED = 12
AT_REST = TurnTiming(round_seconds=3_600, look_seconds=3_600)
"""The server's own loops rest, and it has no task to look after: every read that waits is a client's."""
HELD = sorted((length for length in THREADS if length >= ReadLength.PAGE), reverse=True)


@asynccontextmanager
async def reads_held(store: Store) -> AsyncIterator[None]:
    """Reads of nobody's on all the threads but those for the shortest reads."""
    holding = Held()
    tasks = []
    for number, length in enumerate(HELD, 1):  # one by one: a thread for long reads takes a short one while it is free
        reader = store.for_tenant(f"holder{number}").sessions.workers
        tasks.append(asyncio.ensure_future(reader.read(holding, length)))
        await eventually(lambda number=number: holding.begun == number)  # type: ignore[misc]
    try:
        yield
    finally:
        holding.let_go.set()
        await asyncio.gather(*tasks)


def ask(client: Client, method: str, params: object, version: str) -> socket.socket:
    """A connection on which a call was sent, and nothing is taken."""
    body = json.dumps({"jsonrpc": "2.0", "id": "r", "method": method, "params": params}).encode()
    host, port = client.url.removeprefix("http://").split(":")
    head = f"POST /a2a HTTP/1.1\r\nHost: {host}\r\nA2A-Version: {version}\r\nContent-Type: application/json\r\n"
    made = socket.create_connection((host, int(port)), timeout=PATIENCE)
    made.sendall(head.encode() + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
    return made


@pytest.mark.own_store
@pytest.mark.parametrize("method", READS)
async def test_a_read_whose_client_has_gone_is_ended(store: Store, method: str) -> None:
    readers = store._machinery.readers
    async with running(store, tell, timing=AT_REST) as client:
        async with reads_held(store):
            asking = [ask(client, method, *READS[method]) for _ in range(ASKED)]
            await eventually(lambda: readers.waiting == ASKED)
            for each in asking[1:]:
                each.close()
            await eventually(lambda: readers.waiting == 1)
        with asking[0] as patient:
            answer = b""
            while b'"jsonrpc"' not in answer:
                piece = await asyncio.to_thread(patient.recv, 65536)
                assert piece, answer
                answer += piece
