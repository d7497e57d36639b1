"""Clients that write through a gateway and never give up, and the check of what they were told.

Each call has one idempotency key and is sent until it is answered, at the next gateway if one does not answer. Its
events name the key in their bodies, so that the check does not rely on the keys that the store keeps.
"""

import asyncio
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import httpx2
import msgspec
from tests.support.history import History, violations
from tests.support.web import async_web_client

from holdfast.core import types
from holdfast.store import Event, Store

FIRST_PAUSE = 0.02
LONGEST_PAUSE = 0.15
BATCH = 5
PASSING = frozenset({429, 503})


@dataclass(frozen=True, slots=True)
class Call:
    """One write; `lines` are the keys that its events name."""

    method: str
    path: str
    key: str
    body: Any
    lines: tuple[str, ...]


@dataclass(slots=True)
class Told:
    """What the clients of one session sent and were told."""

    history: History = field(default_factory=History)
    versions: dict[str, int] = field(default_factory=dict)
    last: dict[str, int] = field(default_factory=dict)
    """Each patching client's newest acknowledged number, which the state must show."""


@dataclass(slots=True)
class Clients:
    """What all clients share, and what became of their calls."""

    urls: Sequence[str]
    sessions: dict[str, Told] = field(default_factory=dict)
    stopping: bool = False
    answered: int = 0
    cut: int = 0
    """Calls that were sent and got no answer at first."""
    found_again: int = 0
    """Calls whose retry found that the first attempt had been written."""
    refused: list[str] = field(default_factory=list)

    def told(self, session_id: str) -> Told:
        return self.sessions.setdefault(session_id, Told())


def append(session_id: str, key: str, number: int) -> Call:
    """One action."""
    body = {"type": "note", "details": {"key": key, "n": number}, "idempotencyKey": key}
    return Call("POST", f"/api/actions/{session_id}", key, body, (key,))


def batch(session_id: str, key: str, number: int) -> Call:
    """Several actions under one key."""
    lines = tuple(f"{key}#{line}" for line in range(BATCH))
    body = [{"type": "note", "details": {"key": line, "n": number}} for line in lines]
    return Call("POST", f"/api/actions/{session_id}/batch", key, body, lines)


def patch(session_id: str, key: str, number: int) -> Call:
    """A change of the state: the client's own number in it."""
    body = {"key": key, "numbers": {key.partition("-")[0]: number}}
    return Call("PATCH", f"/api/state/{session_id}", key, body, (key,))


KINDS: tuple[Callable[[str, str, int], Call], ...] = (append, batch, patch)


async def write_until_stopped(clients: Clients, name: str, session_id: str, number: int) -> None:
    """One client: call after call, numbered from here on, each until it is acknowledged, some of them once more."""
    chance = random.Random(f"{name} {session_id}")
    async with async_web_client(timeout=30) as http:
        while not clients.stopping:
            number += 1
            call = chance.choice(KINDS)(session_id, f"{name}-{number}", number)
            told = clients.told(session_id)
            told.history.tried |= set(call.lines)
            answer = await until_answered(clients, http, call, number)
            _note(clients, told, call, answer, name, number)
            if chance.random() < 0.1:
                again = await until_answered(clients, http, call, number)
                if again.status_code != 200 or not _alike(answer, again):
                    clients.refused.append(f"told otherwise the second time: {call.key}: {again.text[:200]}")


async def until_answered(clients: Clients, http: httpx2.AsyncClient, call: Call, turn: int) -> httpx2.Response:
    """Send a call until a gateway answers it, the next one after each failure."""
    pause, was_cut = FIRST_PAUSE, False
    while True:
        with suppress(httpx2.TransportError):
            url = clients.urls[turn % len(clients.urls)] + call.path
            answer = await http.request(call.method, url, json=call.body, headers={"Idempotency-Key": call.key})
            if answer.status_code not in PASSING:
                clients.found_again += was_cut and answer.status_code == 200 and call.method == "POST"
                return answer
        clients.cut += not was_cut
        was_cut, turn = True, turn + 1
        await asyncio.sleep(pause * (0.5 + random.random()))
        pause = min(pause * 2, LONGEST_PAUSE)


def _note(clients: Clients, told: Told, call: Call, answer: httpx2.Response, name: str, number: int) -> None:
    clients.answered += 1
    if answer.status_code not in {200, 201}:
        clients.refused.append(f"refused: {call.key}: {answer.status_code} {answer.text[:200]}")
        return
    said = answer.json()
    if call.method == "PATCH":
        told.versions[call.key] = said["version"]
        told.last[name] = number
        told.history.acked[call.key] = 0
    else:
        told.history.acked.update(zip(call.lines, said.get("seqs") or [said["seq"]], strict=True))


def _alike(one: httpx2.Response, other: httpx2.Response) -> bool:
    names = ("version", "seq", "seqs", "eventId")
    return [one.json().get(name) for name in names] == [other.json().get(name) for name in names]


async def wrongs(store: Store, clients: Clients) -> list[str]:
    """Everything that is not as the clients were told."""
    found = list(clients.refused) + await store.verification.files()
    for session_id, told in clients.sessions.items():
        events = await store.read(session_id)
        named = [replace(event, idempotency_key=_key(event)) for event in events]
        found += [f"{session_id}: {line}" for line in violations(told.history, named)]
        found += [f"{session_id}: {line}" for line in _state_wrongs(told, events)]
        numbers = (await store.state.get(session_id)).document.get("numbers", {})
        found += [
            f"{session_id}: the state says {numbers.get(name)} for {name}, acknowledged was {number}"
            for name, number in told.last.items()
            if numbers.get(name) != number
        ]
        verified = await store.verification.session(session_id)
        found += [f"{session_id}: {verified.problem}"] if verified.problem else []
    return found


def _state_wrongs(told: Told, events: Sequence[Event]) -> Iterator[str]:
    patches = (event for event in events if event.type == types.STATE_UPDATED)
    for version, event in enumerate(patches, 1):
        said = told.versions.get(_key(event))
        if said is not None and said != version:
            yield f"moved: {_key(event)} acknowledged as version {said}, is version {version}"


def _key(event: Event) -> str:
    """The key that an event's body names."""
    body = msgspec.json.decode(event.payload)
    return str(body["patch"]["key"] if event.type == types.STATE_UPDATED else body["key"])
