"""Clients that talk to an agent over A2A through gateways that fail, and the check of what they were told.

Each has a conversation of its own and sends one message after the other, each until it is answered for, at the next
gateway if one does not answer. A message has an effect, is to be remembered, has the agent ask back, or is only said.
Where the news of its task go is said with it.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
from tests.support.asking_gateway import ASK
from tests.support.scripted_server import ScriptedServer
from tests.support.web import async_web_client

from holdfast.a2a.turns import recovery
from holdfast.a2a.turns.keys import session_key
from holdfast.core import Event, types
from holdfast.core.ids import session_id_for
from holdfast.runtime.memory_tools import key_of, namespace_of
from holdfast.store import Store

EFFECT, REMEMBER, ASKED, PLAIN = "effect", "remember", "asked", "plain"
FILE = "effects.txt"
RUNNING = {"TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"}
INPUT_REQUIRED = "TASK_STATE_INPUT_REQUIRED"
COMPLETED = "TASK_STATE_COMPLETED"
PATIENCE = 20.0
PAUSE = 0.1
GIVEN_UP = recovery.GIVEN_UP.partition("{times}")[2].partition(";")[0].strip()


@dataclass(slots=True)
class Said:
    """One message, and what became of its task."""

    kind: str
    number: int
    task_id: str = ""
    state: str = ""
    why: str = ""


@dataclass(slots=True)
class Talk:
    """One conversation; its name is its context."""

    name: str
    said: list[Said] = field(default_factory=list)

    @property
    def session_id(self) -> str:
        return session_id_for(session_key("main", self.name))


@dataclass(slots=True)
class Talks:
    """What all clients share."""

    urls: Sequence[str]
    hook: ScriptedServer
    all: list[Talk] = field(default_factory=list)
    stopping: bool = False
    refused: list[str] = field(default_factory=list)

    @property
    def ended(self) -> int:
        """How many tasks came to their end."""
        return sum(bool(said.state) for talk in self.all for said in talk.said)


def text_of(talk: Talk, kind: str, number: int) -> str:
    """What is said."""
    name = f"{talk.name}-{number}"
    return {
        EFFECT: f"Append the line {name} to the file {FILE}",
        REMEMBER: f"Remember: my {talk.name} is value{number}",
        ASKED: f"{ASK}, number {number}",
        PLAIN: f"Say: heard {name}",
    }[kind]


async def talk_until_stopped(talks: Talks, talk: Talk, seed: int) -> None:
    """One client: message after message, each until its task has ended."""
    chance = random.Random(f"{seed} {talk.name}")
    async with async_web_client(timeout=PATIENCE) as http:
        number = 0
        while not talks.stopping:
            number += 1
            said = Said(chance.choice((EFFECT, REMEMBER, ASKED, PLAIN)), number)
            talk.said.append(said)
            await _converse(talks, http, talk, said, chance.randrange(99))


async def _converse(talks: Talks, http: httpx2.AsyncClient, talk: Talk, said: Said, turn: int) -> None:
    text = text_of(talk, said.kind, said.number)
    task = await _sent(talks, http, _message(talks, talk, f"{talk.name}-{said.number}", text), turn)
    said.task_id = task["id"]
    task = await _rested(talks, http, task, turn)
    if task["status"]["state"] == INPUT_REQUIRED:
        answer = _message(talks, talk, f"{talk.name}-{said.number}-b", f"Say: that one {said.number}", said.task_id)
        task = await _rested(talks, http, await _sent(talks, http, answer, turn + 1), turn + 1)
    said.state = task["status"]["state"]
    with suppress(KeyError):
        said.why = task["status"]["message"]["parts"][0]["text"]


async def _rested(talks: Talks, http: httpx2.AsyncClient, task: dict[str, Any], turn: int) -> dict[str, Any]:
    while task["status"]["state"] in RUNNING:
        await asyncio.sleep(PAUSE)
        task = await _asked(talks, http, "GetTask", {"id": task["id"]}, turn)
    return task


async def _sent(talks: Talks, http: httpx2.AsyncClient, params: dict[str, Any], turn: int) -> dict[str, Any]:
    found: dict[str, Any] = (await _asked(talks, http, "SendMessage", params, turn))["task"]
    return found


async def _asked(
    talks: Talks, http: httpx2.AsyncClient, method: str, params: dict[str, Any], turn: int
) -> dict[str, Any]:
    """What a gateway answers, the next one after each failure."""
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    while True:
        with suppress(httpx2.TransportError):
            url = talks.urls[turn % len(talks.urls)] + "/a2a"
            answer = await http.post(url, json=request, headers={"A2A-Version": "1.0"})
            if answer.status_code == 200:
                body: dict[str, Any] = answer.json()
                if "result" in body:
                    result: dict[str, Any] = body["result"]
                    return result
                talks.refused.append(f"{method} {params}: {body['error']}")
                await asyncio.sleep(1)
        turn += 1
        await asyncio.sleep(PAUSE)


def _message(talks: Talks, talk: Talk, message_id: str, text: str, task_id: str | None = None) -> dict[str, Any]:
    body = {"role": "ROLE_USER", "messageId": message_id, "contextId": talk.name, "parts": [{"text": text}]}
    push = {"url": f"http://127.0.0.1:{talks.hook.port}/hook"}
    return {
        "message": body | ({} if task_id is None else {"taskId": task_id}),
        "configuration": {"returnImmediately": True, "taskPushNotificationConfig": push},
    }


def untold(talks: Talks) -> set[str]:
    """The tasks whose end was not posted."""
    told = Counter(
        posted.body["statusUpdate"]["taskId"]
        for posted in talks.hook.requests
        if "statusUpdate" in posted.body
        and posted.body["statusUpdate"]["status"]["state"] not in {*RUNNING, INPUT_REQUIRED}
    )
    return {said.task_id for talk in talks.all for said in talk.said if said.state and not told[said.task_id]}


async def wrongs(store: Store, talks: Talks, workspaces: Sequence[Path]) -> list[str]:
    """Everything that is not as the clients were told."""
    found = list(talks.refused)
    lines = Counter(line for folder in workspaces for line in _lines(folder / FILE))
    found += [f"doubled: {line} is there {times} times" for line, times in lines.items() if times > 1]
    for talk in talks.all:
        if talk.said:
            found += [f"{talk.name}: {line}" for line in await _wrongs_of(store, talk, lines)]
    found += [f"never posted: the end of task {task_id}" for task_id in sorted(untold(talks))]
    found += [f"left in the outbox: {item}" for item in await store.outbox.waiting()]
    return found


async def _wrongs_of(store: Store, talk: Talk, lines: Counter[str]) -> list[str]:
    events = await store.read(talk.session_id)
    verified = await store.verification.session(talk.session_id)
    found = [verified.problem] if verified.problem else []
    found += [
        f"failed, and could have been resumed: {said}"
        for said in talk.said
        if said.state != COMPLETED and GIVEN_UP not in said.why
    ]
    found += _answer_wrongs(talk, events)
    found += [f"an effect that ended is not there: {name}" for name in _effects(talk, events) if not lines[name]]
    remembered = [said.number for said in talk.said if said.kind == REMEMBER and said.state == COMPLETED]
    if remembered:
        key = key_of(talk.name)
        history = await store.memories.history(namespace_of("main"), key)
        values = [str(version.payload or b"") for version in history]
        numbers = [int(value.partition("value")[2].rstrip("\"'. ")) for value in values]
        if numbers != sorted(numbers) or numbers[-1] < remembered[-1]:
            found.append(f"an older memory replaced a newer one: {numbers}, the last is {remembered[-1]}")
    return found


def _answer_wrongs(talk: Talk, events: Sequence[Event]) -> Iterator[str]:
    """Completed tasks have one answer, and one question before it if they asked back; none was lost or doubled."""
    messages = [event.value() for event in events if event.type == types.MESSAGE]
    counts = Counter((message["taskId"], message["role"]) for message in messages)
    for said in talk.said:
        expected = 1 + (said.kind == ASKED)
        for role in ("user", "agent") if said.state == COMPLETED else ("user",):
            if counts[said.task_id, role] != expected:
                yield f"{counts[said.task_id, role]} messages of the {role} in {said}, not {expected}"
    numbers = Counter(message["messageId"] for message in messages if message["role"] == "user")
    yield from (f"doubled: message {name}" for name, times in numbers.items() if times > 1)


def _effects(talk: Talk, events: Sequence[Event]) -> Iterator[str]:
    """The names of the effects that ended well."""
    names = {said.task_id: f"{talk.name}-{said.number}" for said in talk.said if said.kind == EFFECT}
    for event in events:
        if event.type == types.TOOL_FINISHED and event.value()["status"] == "finished":
            name = names.get(event.value()["callId"].partition(":")[0])
            if name is not None:
                yield name


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []
