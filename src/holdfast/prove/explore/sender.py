"""Sends what a history says and reads what comes back; a connection that breaks is a fate too, and not an error.

Only AccessRefused is raised: who is not let in can say nothing of the target.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from holdfast.core import TaskState
from holdfast.core.redact import redact
from holdfast.prove.evidence import body_for_events
from holdfast.prove.explore.histories.operations import How
from holdfast.prove.explore.record import Fate
from holdfast.prove.wire import envelopes, replies
from holdfast.prove.wire.client import UPLOADS_PATH, AccessRefused, NoAnswerInTime, TransportFault, Wire
from holdfast.prove.wire.envelopes import FileSent, OutgoingMessage
from holdfast.prove.wire.replies import TargetReply
from holdfast.prove.wire.task_stream import TaskStream

LOOK_EVERY_SECONDS = 0.03
PIECES_BEFORE_CUT = 2
TOO_MANY_REQUESTS = 429
TAKES_NO_UPLOADS = (404, 405, 501)
AS_LONG_AS = 3
"""A task may take so many times as long as the slowest so far before one says that it does not end."""

Note = Callable[..., None]


@dataclass(frozen=True, slots=True)
class Heard:
    """What came of a message: its fate, and the reply as far as there is one.

    `states` are those in which its task was seen, one after the other. `early` says that the stream ended and the task
    had not; `lookup` is what came of looking the task up where that failed.
    """

    fate: Fate
    reply: TargetReply
    curl: str
    states: tuple[TaskState, ...] = ()
    early: bool = False
    lookup: "Heard | None" = None


@dataclass(frozen=True, slots=True)
class SentFile:
    """What came of an upload: a URI, or why there is none; *offered* unless the target takes no uploads at all."""

    uri: str | None = None
    error: str = ""
    offered: bool = True
    broken: bool = False
    curl: str = ""


class Sender:
    """The wire to one target, for one performance."""

    def __init__(self, wire: Wire, *, timeout: float, recovery: float, new_hex: Callable[[], str]) -> None:
        self._wire = wire
        self._timeout = timeout
        self.recovery = recovery
        self._new_hex = new_hex
        self._slowest = 0.0
        self.streams = True

    async def send(
        self, message: OutgoingMessage, how: How, note: Note, on_task: Callable[[str], None] = lambda task: None
    ) -> Heard:
        """Deliver a message and hear what becomes of it; `on_task` is told the task as soon as it is known."""
        if how in ("stream", "cut") and self.streams:
            return await self._stream(message, note, on_task, cut=how == "cut")
        body = envelopes.send(self._wire.version, message, wait=how not in ("at once", "leave"))
        curl = self._wire.curl(body)
        began = time.monotonic()
        reply = await self._post(body, note)
        if isinstance(reply, Fate):
            return Heard(reply, TargetReply(error=reply.value), curl)
        if reply.task_id:
            on_task(reply.task_id)
        first = Heard(fate_of(reply), reply, curl, () if reply.state is None else (reply.state,))
        return first if how in ("leave", "cut") else await self._to_its_end(first, began, note)

    async def look(self, task: str, note: Note) -> Heard:
        """How a task stands."""
        body = envelopes.get_task(self._wire.version, request_id=self._new_id(), task_id=task)
        return await self._about(body, note)

    async def look_until_end(self, task: str, note: Note) -> Heard:
        """How a task stands once it has ended, or when one has waited long enough for that."""
        return await self._look_until(task, note, time.monotonic() + max(self.recovery, AS_LONG_AS * self._slowest))

    async def _look_until(self, task: str, note: Note, deadline: float) -> Heard:
        states: list[TaskState] = []
        while True:
            heard = await self.look(task, note)
            if heard.reply.state is not None and states[-1:] != [heard.reply.state]:
                states.append(heard.reply.state)
            if heard.fate not in (Fate.RUNNING, Fate.BUSY) or time.monotonic() > deadline:
                return replace(heard, states=tuple(states))
            await asyncio.sleep(LOOK_EVERY_SECONDS)

    async def cancel(self, task: str, note: Note) -> Heard:
        """What a target says to the wish that a task be canceled."""
        body = envelopes.cancel_task(self._wire.version, request_id=self._new_id(), task_id=task)
        return await self._about(body, note)

    async def follow(self, task: str, note: Note) -> tuple[TaskStream, str, str]:
        """The stream of a task to its end; how it came to that, and a command that shows it."""
        body = envelopes.subscribe(self._wire.version, request_id=self._new_id(), task_id=task)
        heard, how = await self._listen(body, note, lambda _: False)
        return heard, how, self._wire.curl(body, stream=True)

    async def upload(self, file: FileSent, note: Note) -> SentFile:
        """What comes of uploading a file."""
        note("upload", name=file.name)
        curl = self._wire.curl_to(UPLOADS_PATH, "-sS", "-F", f"files=@{file.name}")
        try:
            answer = await self._wire.upload(file, self._new_id(), self._timeout)
        except AccessRefused:
            raise
        except TransportFault as fault:
            return SentFile(error=fault.message, broken=True, curl=curl)
        if answer.status in TAKES_NO_UPLOADS:
            return SentFile(error=f"HTTP {answer.status}", offered=False, curl=curl)
        try:
            uri = replies.parse(answer.body)["files"][0]["uri"] if answer.status < 300 else None
        except (ValueError, LookupError, TypeError):
            uri = None
        if isinstance(uri, str):
            return SentFile(uri)
        return SentFile(error=f"HTTP {answer.status}: {answer.body[:200].decode(errors='replace')}", curl=curl)

    async def follow_card(self, paths: tuple[str, ...]) -> None:
        """Talk to the address that the agent card names, and stream only if it says so."""
        for path in paths:
            try:
                answer = await self._wire.get(path, self._timeout)
                card: Any = replies.parse(answer.body) if answer.status == 200 else None
            except (TransportFault, ValueError):
                card = None
            if isinstance(card, dict):
                self._wire.follow_card(card)
                capabilities = card.get("capabilities")
                self.streams = isinstance(capabilities, dict) and capabilities.get("streaming") is True
                return

    async def _about(self, body: bytes, note: Note) -> Heard:
        reply = await self._post(body, note)
        curl = self._wire.curl(body)
        if isinstance(reply, Fate):
            return Heard(reply, TargetReply(error=reply.value), curl)
        return Heard(fate_of(reply), reply, curl)

    async def _post(self, body: bytes, note: Note) -> TargetReply | Fate:
        note("request", url=redact(self._wire.endpoint), body=body_for_events(body))
        began = time.monotonic()
        try:
            answer = await self._wire.post(body, self._timeout)
        except AccessRefused:
            raise
        except NoAnswerInTime as silence:
            note("fault", message=silence.message)
            return Fate.SILENT
        except TransportFault as fault:
            note("fault", message=fault.message)
            return Fate.CUT
        seconds = round(time.monotonic() - began, 4)
        note("answer", status=answer.status, seconds=seconds, body=body_for_events(answer.body))
        if answer.status == TOO_MANY_REQUESTS:
            return Fate.BUSY
        return replies.read(answer.status, answer.body)

    async def _to_its_end(self, first: Heard, began: float, note: Note) -> Heard:
        """What is heard in the end: a task that is accepted and not done yet is looked up until it has ended.

        It may take as long as an answer that one waits for.
        """
        reply = first.reply
        if reply.task_id is None or not in_progress(reply):
            self._slowest = max(self._slowest, time.monotonic() - began)
            return first
        patience = max(self._timeout, AS_LONG_AS * self._slowest)
        look = await self._look_until(reply.task_id, note, began + patience)
        states = (*first.states, *look.states)
        if look.fate is Fate.RUNNING:
            return replace(first, fate=Fate.SILENT, reply=look.reply, states=states)
        if look.fate in (Fate.CUT, Fate.SILENT, Fate.BUSY) or look.reply.error:
            fate = Fate.CUT if look.fate is Fate.CUT else Fate.RUNNING
            return replace(first, fate=fate, states=states, lookup=None if fate is Fate.CUT else look)
        self._slowest = max(self._slowest, time.monotonic() - began)
        return replace(first, fate=look.fate, reply=look.reply, states=states)

    async def _stream(
        self, message: OutgoingMessage, note: Note, on_task: Callable[[str], None], *, cut: bool
    ) -> Heard:
        body = envelopes.stream(self._wire.version, message)

        def enough(heard: TaskStream) -> bool:
            if heard.task_id:
                on_task(heard.task_id)
            return cut and heard.task_id is not None and len(heard.pieces) >= PIECES_BEFORE_CUT

        began = time.monotonic()
        heard, how = await self._listen(body, note, enough)
        state = heard.states[-1] if heard.states else None
        reply = TargetReply(heard.text, state, heard.task_id, heard.context_id, heard.error, heard.variant)
        fates = {"cut": Fate.RUNNING, "late": Fate.SILENT, "broken": Fate.CUT, "busy": Fate.BUSY}
        fate = fates[how] if how in fates else fate_of(reply)
        first = Heard(fate, reply, self._wire.curl(body, stream=True), tuple(heard.states))
        if how in fates:
            return first
        return await self._to_its_end(replace(first, early=in_progress(reply)), began, note)

    async def _listen(self, body: bytes, note: Note, enough: Callable[[TaskStream], bool]) -> tuple[TaskStream, str]:
        """Read a stream to its end, or until it is enough."""
        note("request", url=redact(self._wire.endpoint), stream=True, body=body_for_events(body))
        heard = TaskStream()
        how = "ended"
        try:
            async with asyncio.timeout(self._timeout), aclosing(self._wire.stream(body)) as events:
                async for event in events:
                    note("news", status=event.status, body=body_for_events(event.body))
                    if event.status == TOO_MANY_REQUESTS:
                        how = "busy"
                    heard.take(event.status, event.body)
                    if enough(heard):
                        how = "cut"
                        break
        except TimeoutError:
            how = "late"
        except AccessRefused:
            raise
        except TransportFault as fault:
            note("fault", message=fault.message)
            how = "broken"
        note("stream", how=how, pieces=len(heard.pieces))
        return heard, how

    def _new_id(self) -> str:
        return f"explore-{self._new_hex()}"


def in_progress(reply: TargetReply) -> bool:
    """Whether somebody is at work on the task in a reply."""
    return not reply.error and reply.state is not None and reply.state.running


def fate_of(reply: TargetReply) -> Fate:
    """What a reply says of the message that it answers."""
    if reply.error or reply.state is TaskState.REJECTED:
        return Fate.REFUSED
    if reply.state is TaskState.CANCELED:
        return Fate.CANCELED
    if reply.state is TaskState.FAILED:
        return Fate.FAILED
    if in_progress(reply):
        return Fate.RUNNING
    if reply.state is TaskState.INPUT_REQUIRED:
        return Fate.ASKED_BACK
    return Fate.ANSWERED if reply.text.strip() else Fate.EMPTY
