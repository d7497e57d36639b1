"""Turns of the bundled agent over a real store, without a server: the log is written as the server writes it."""

import itertools
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from holdfast.a2a import FilePart, Part, TextPart, Turn
from holdfast.a2a.handler import Attachment
from holdfast.a2a.protocol.wire import Message, Role
from holdfast.a2a.turns import conversation as log
from holdfast.a2a.turns.records import message_record
from holdfast.core import Lease, NewEvent, TaskState, types
from holdfast.models import Backend, CompletionResponse, ToolCall
from holdfast.runtime import Peers, bundled_agent
from holdfast.runtime.served.conversation_files import ConversationFiles
from holdfast.store import Store


def tool_round(*calls: tuple[str, dict[str, Any]]) -> CompletionResponse:
    """A model's answer that calls tools."""
    return CompletionResponse("", [ToolCall(f"c{number}", *call) for number, call in enumerate(calls)])


@dataclass
class Conversation:
    """One conversation with the bundled agent."""

    store: Store
    workspace: Path
    backend: Backend
    session_id: str = "s"
    agent: str = "main"
    peers: Peers = field(default_factory=Peers)
    compact_over: int = 100_000
    files: ConversationFiles | None = None
    tasks: Any = field(default_factory=lambda: itertools.count(1))

    async def say(self, text: str, *files: Part, **changes: Any) -> str:
        """Send a message, and have it answered."""
        turn = await self.turn(text, *files)
        answer = await self.answer(replace(turn, **changes))
        await self.end(turn, answer)
        return answer

    async def turn(self, text: str, *files: Part) -> Turn:
        """Record a message and begin its turn."""
        task_id = f"{self.session_id}-t{next(self.tasks)}"
        parts = (*([TextPart(text)] if text else []), *files)
        message = Message(Role.USER, f"m-{task_id}", parts, "c", task_id)
        event = NewEvent(types.MESSAGE, message_record(message))
        await self.store.tasks.begin(self.session_id, task_id, "c", event, owner="o")
        return await self.opened(task_id, message)

    async def opened(self, task_id: str, message: Message) -> Turn:
        """A turn as whoever runs it now finds it."""
        past = await log.before(self.store, await self.store.tasks.get(task_id))
        text = "\n".join(part.text for part in message.parts if isinstance(part, TextPart))
        return Turn(
            "c",
            task_id,
            message.message_id,
            text,
            message.parts,
            self.attachments(message.parts),
            tuple(replace(said, attachments=self.attachments(said.parts)) for said in past.history),
            self.workspace,
            self.store,
            self.session_id,
            await self.lease(),
            message_seq=past.message_seq,
        )

    async def lease(self, holder: str = "o") -> Lease:
        """The right to write its turns."""
        return await self.store.leases.acquire(self.session_id, holder, 60_000, take_over=True)

    async def answer(self, turn: Turn) -> str:
        """What the agent answers, put together."""
        return "".join([str(piece) async for piece in self.handler(turn)])

    @property
    def handler(self) -> Any:
        return bundled_agent(
            self.backend, name=self.agent, peers=self.peers, compact_over=self.compact_over, files=self.files
        )

    async def end(self, turn: Turn, answer: str) -> None:
        """Record an answer."""
        message = Message(Role.AGENT, f"a-{turn.task_id}", (TextPart(answer),), "c", turn.task_id)
        said = NewEvent(types.MESSAGE, message_record(message))
        task = await self.store.tasks.get(turn.task_id)
        await self.store.tasks.update(task, TaskState.COMPLETED, {}, messages=[said], lease=turn.lease)

    async def file(self, name: str, media_type: str, data: bytes) -> FilePart:
        """A file that has been taken in."""
        kept = await self.store.attachments.put(data)
        return FilePart(filename=name, media_type=media_type, digest=kept.digest, size=len(data))

    def attachments(self, parts: tuple[Part, ...]) -> tuple[Attachment, ...]:
        return tuple(self._attachment(part) for part in parts if isinstance(part, FilePart) and part.digest is not None)

    def _attachment(self, part: FilePart) -> Attachment:
        digest = part.digest or ""

        async def fetch() -> bytes:
            return b"".join([chunk async for chunk in self.store.attachments.read(digest)])

        return Attachment(part.filename or "", part.media_type or "", part.size or 0, digest, fetch)
