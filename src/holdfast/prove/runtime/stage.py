"""What a proof's steps can do to a target. Everything done here is in the history and in the evidence."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass

from holdfast.core.errors import InvalidInput
from holdfast.core.redact import redact
from holdfast.prove.evidence import Evidence, body_for_events
from holdfast.prove.runtime.facts import Facts
from holdfast.prove.runtime.history import (
    FetchedPage,
    FileLook,
    FileSeed,
    History,
    PeerQuestions,
    StreamRecord,
    TaskLook,
    TurnRecord,
    UploadRecord,
)
from holdfast.prove.runtime.peer import Peer
from holdfast.prove.runtime.workspace import Workspace
from holdfast.prove.targets.target import Target
from holdfast.prove.wire import envelopes, replies
from holdfast.prove.wire.client import UPLOADS_PATH, HttpAnswer, NoAnswerInTime, TransportFault, Wire
from holdfast.prove.wire.envelopes import FileSent, OutgoingMessage, WireVersion
from holdfast.prove.wire.replies import TargetReply
from holdfast.prove.wire.task_stream import TaskStream

LOOK_EVERY_SECONDS = 0.05
RECOVERY_SECONDS = 15.0
LONG_TURNS = 200
"""As many turns has a long conversation unless somebody says otherwise."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long things may take: any one answer, and a recovery after a kill."""

    answer: float
    recovery: float
    pause: float = 5.0
    """Longer than the leases by which servers hold their work, as far as we know; ours are for 4 seconds."""
    look: float = 5.0
    """An answer while the layers are looked at, beside twice what the target usually takes."""


def patience_of(timeout: float) -> Patience:
    """How long things may take in a run with this --timeout. A turn that is resumed takes its time as any does."""
    if not 0 < timeout < math.inf:
        raise InvalidInput("--timeout is a number of seconds", hint="for example --timeout 60")
    return Patience(answer=timeout, recovery=max(min(RECOVERY_SECONDS, timeout), timeout / 2))


class Stage:
    """The hands of one proof; `turns` is how many a long conversation has."""

    def __init__(
        self,
        *,
        proof: str,
        facts: Facts,
        target: Target,
        wire: Wire,
        evidence: Evidence,
        bounds: Patience,
        new_hex: Callable[[], str],
        on_step: Callable[[str, str], None],
        peer: Peer | None = None,
        turns: int = LONG_TURNS,
    ) -> None:
        self.facts = facts
        self.turns = turns
        self.bounds = bounds
        self.history = History()
        self._proof = proof
        self._workspace = Workspace(lambda: target.workspace)
        self._wire = wire
        self._evidence = evidence
        self._new_hex = new_hex
        self._on_step = on_step
        self._peer = peer

    def new_hex(self) -> str:
        """Twelve hexadecimal digits that were never used before."""
        return self._new_hex()

    def new_context(self) -> str:
        """The id of a conversation that the target has not met."""
        return f"canary-ctx-{self._new_hex()}"

    def new_message_id(self) -> str:
        """The id of a message that the target has not met."""
        return f"canary-{self._new_hex()}"

    async def say(
        self,
        step: str,
        context_id: str | None,
        text: str,
        *,
        files: Sequence[FileSent] = (),
        task_id: str | None = None,
        message_id: str | None = None,
        wait: bool = True,
        within: float | None = None,
        version: WireVersion | None = None,
    ) -> TurnRecord:
        """Send a message and record the reply; silence is a fault, or a failed reply if `within` is given.

        Without text there is no text part; without a context the task alone says where the message belongs.
        """
        message = OutgoingMessage(message_id or self.new_message_id(), context_id, text, files, task_id)
        body = envelopes.send(version or self._wire.version, message, wait=wait)
        began = time.monotonic()
        try:
            reply = await self._post(step, body, within or self.bounds.answer, version)
        except NoAnswerInTime as silence:
            if within is None:
                raise
            reply = TargetReply(error=silence.message)
        seconds, curl = time.monotonic() - began, self._wire.curl(body, version)
        turn = TurnRecord(step, context_id or "", text, reply, seconds, curl, message.message_id)
        self.history.add(turn)
        return turn

    async def stream(
        self,
        step: str,
        context_id: str,
        text: str,
        *,
        cut_after: int | None = None,
        within: float | None = None,
    ) -> StreamRecord:
        """Send a message and follow the stream of its news; hang up after so many pieces of text, if that is given."""
        message = OutgoingMessage(self.new_message_id(), context_id, text)
        body = envelopes.stream(self._wire.version, message)
        return await self._follow(step, body, context_id, text, cut_after, within)

    async def subscribe(self, step: str, task_id: str, *, within: float | None = None) -> StreamRecord:
        """Follow the news of a task that is under way, to its end."""
        body = envelopes.subscribe(self._wire.version, request_id=self.new_message_id(), task_id=task_id)
        return await self._follow(step, body, "", "", None, within)

    async def watch_task(
        self, step: str, task_id: str, until: Callable[[TargetReply], bool], within: float
    ) -> TaskLook:
        """Ask for a task's state until the reply is as wanted or the time is up, and return the last look.

        Silence is a failed reply: a task that cannot be looked up is as good as lost.
        """
        deadline = time.monotonic() + within
        with self._noting_a_cut(step):
            while True:
                body = envelopes.get_task(self._wire.version, request_id=self.new_message_id(), task_id=task_id)
                look = await self._look(step, task_id, body, max(1.0, deadline - time.monotonic()), within)
                if until(look.reply) or time.monotonic() >= deadline:
                    return look
                await asyncio.sleep(LOOK_EVERY_SECONDS)

    async def cancel(self, step: str, task_id: str) -> TaskLook:
        """Ask for a task to be canceled; silence is a failed reply."""
        body = envelopes.cancel_task(self._wire.version, request_id=self.new_message_id(), task_id=task_id)
        return await self._look(step, task_id, body, self.bounds.answer, self.bounds.answer)

    async def upload(self, step: str, file: FileSent) -> UploadRecord:
        """Hand a file to the target's uploads; without a URI if it takes none, or refused this one.

        Many a target answers whatever it does not know with an error of its own: only one that is broken, or that
        answers as uploads do and without a URI, has refused.
        """
        url = redact(self._wire.base_url + UPLOADS_PATH)
        self.begin(step, "upload", url=url, name=file.name, size=len(file.data or b""))
        answer = await self._answer(step, self._wire.upload(file, self.new_message_id(), self.bounds.answer))
        files = (_json_object(answer.body) or {}).get("files") if answer.status < 300 else None
        uri = _first_uri(files)
        refused = uri is None and (files is not None or answer.status >= 500)
        error = f"HTTP {answer.status}: {_beginning(answer)}" if refused else ""
        curl = self._wire.curl_to(UPLOADS_PATH, "-sS", "-F", f"files=@{file.name};type={file.media_type}")
        uploaded = UploadRecord(step, file.name, uri, error, curl)
        self.history.add(uploaded)
        return uploaded

    async def fetch(self, step: str, path: str) -> FetchedPage:
        """GET a page of the target."""
        url = redact(self._wire.base_url) + path
        self.begin(step, "request", method="GET", url=url)
        answer = await self._answer(step, self._wire.get(path, self.bounds.answer))
        curl = self._wire.curl_to(path, "-sSi")
        page = FetchedPage(step, url, answer.status, _beginning(answer), _json_object(answer.body), curl)
        self.history.add(page)
        return page

    def follow_card(self, page: FetchedPage) -> None:
        """From now on, talk to the address that the agent card names."""
        if page.document is not None:
            self._wire.follow_card(page.document)
            self.note(page.step, "endpoint", url=redact(self._wire.endpoint), wire=self._wire.version.value)

    def seed_file(self, step: str, file: str, content: str) -> FileSeed:
        """Put a file into the target's workspace; it is taken out again when the proof is over."""
        seeded = FileSeed(step, self._workspace.seed(file, content))
        self.begin(step, "seed", path=seeded.path)
        self.history.add(seeded)
        return seeded

    def count_line(self, step: str, file: str, line: str) -> FileLook:
        """Look for a line in a file of the target's workspace."""
        path, count = self._workspace.count(file, line)
        self.begin(step, "file", path=path, line=line, count=count)
        seen = FileLook(step, path, line, count, time.monotonic())
        self.history.add(seen)
        return seen

    async def await_line(self, step: str, file: str, line: str, within: float) -> FileLook:
        """Look for a line in a file of the target's workspace until it is there or the time is up; the last look."""
        deadline = time.monotonic() + within
        with self._noting_a_cut(step):
            while True:
                seen = self.count_line(step, file, line)
                if seen.count or time.monotonic() >= deadline:
                    return seen
                await asyncio.sleep(LOOK_EVERY_SECONDS)

    @property
    def sees_files(self) -> bool:
        """Whether the target's workspace can be seen."""
        return self._workspace.seen

    async def await_question(self, step: str, word: str, within: float) -> PeerQuestions:
        """Look at what the peer was asked until a question has the word in it or the time is up; the last look."""
        deadline = time.monotonic() + within
        with self._noting_a_cut(step):
            while True:
                asked = self.look_at_peer(step)
                if any(word in each.text for each in asked.questions) or time.monotonic() >= deadline:
                    return asked
                await asyncio.sleep(LOOK_EVERY_SECONDS)

    @property
    def has_peer(self) -> bool:
        """Whether there is a peer, and the target was told of it."""
        return self._peer is not None

    @property
    def peer_url(self) -> str:
        """Where the target can ask the peer."""
        assert self._peer is not None
        return self._peer.url

    def look_at_peer(self, step: str) -> PeerQuestions:
        """See what the peer was asked so far."""
        asked = PeerQuestions(step, tuple(self._peer.questions) if self._peer else ())
        shown = [
            {"context": each.context_id, "text": each.text, "message": each.message_id} for each in asked.questions
        ]
        self.begin(step, "peer", questions=shown)
        self.history.add(asked)
        return asked

    def tidy(self) -> None:
        """Take out of the workspace what was put into it."""
        self._workspace.tidy()

    def begin(self, step: str, event: str, **details: object) -> None:
        """Say that a step is under way, and record what is done in it."""
        self._on_step(self._proof, step)
        self.note(step, event, **details)

    def note(self, step: str, event: str, **details: object) -> None:
        """Record something in the evidence."""
        self._evidence.event(self._proof, step, event, **details)

    async def _look(self, step: str, task_id: str, body: bytes, patience: float, within: float) -> TaskLook:
        try:
            reply = await self._post(step, body, patience, None)
        except NoAnswerInTime as silence:
            reply = TargetReply(error=silence.message)
        look = TaskLook(step, task_id, reply, within, self._wire.curl(body), time.monotonic())
        self.history.add(look)
        return look

    async def _follow(
        self, step: str, body: bytes, context_id: str, said: str, cut_after: int | None, within: float | None
    ) -> StreamRecord:
        """Read a stream to its end, or cut it; one that is late is a fault, or an error if `within` is given."""
        with self._noting_a_cut(step):
            return await self._read(step, body, context_id, said, cut_after, within)

    async def _read(
        self, step: str, body: bytes, context_id: str, said: str, cut_after: int | None, within: float | None
    ) -> StreamRecord:
        url = redact(self._wire.endpoint)
        self.begin(step, "request", url=url, stream=True, body=body_for_events(body))
        began, heard, how = time.monotonic(), TaskStream(), "ended"
        patience = within or self.bounds.answer
        try:
            async with asyncio.timeout(patience), aclosing(self._wire.stream(body)) as events:
                async for event in events:
                    self.note(step, "news", status=event.status, body=body_for_events(event.body))
                    heard.take(event.status, event.body)
                    if cut_after is not None and len(heard.pieces) >= cut_after:
                        how = "cut"
                        break
        except TimeoutError:
            how = "late"
        except TransportFault as fault:
            self.note(step, "fault", code=fault.code, message=fault.message)
            raise
        seconds = time.monotonic() - began
        self.note(step, "stream", how=how, seconds=round(seconds, 4), pieces=len(heard.pieces))
        if how == "late":
            heard.error = f"the stream from {url} did not end within {patience:g} s"
            if within is None:
                raise NoAnswerInTime(heard.error)
        streamed = StreamRecord(
            step,
            context_id,
            said,
            heard.task_id,
            tuple(heard.pieces),
            heard.text,
            tuple(heard.states),
            how == "ended",
            heard.error,
            seconds,
            self._wire.curl(body, stream=True),
        )
        self.history.add(streamed)
        return streamed

    async def _post(self, step: str, body: bytes, within: float, version: WireVersion | None) -> TargetReply:
        url = redact(self._wire.endpoint_of(version or self._wire.version))
        self.begin(step, "request", url=url, body=body_for_events(body))
        answer = await self._answer(step, self._wire.post(body, within, version))
        return replies.read(answer.status, answer.body)

    async def _answer(self, step: str, coming: Awaitable[HttpAnswer]) -> HttpAnswer:
        """The answer to a request that is under way, once it or the fault is in the evidence."""
        began = time.monotonic()
        try:
            with self._noting_a_cut(step):
                answer = await coming
        except TransportFault as fault:
            self.note(step, "fault", code=fault.code, message=fault.message)
            raise
        seconds = round(time.monotonic() - began, 4)
        self.note(step, "answer", status=answer.status, seconds=seconds, body=body_for_events(answer.body))
        return answer

    @contextmanager
    def _noting_a_cut(self, step: str) -> Iterator[None]:
        """Whatever comes in the way of the step, the history knows that it is not whole."""
        try:
            yield
        except BaseException:
            self.history.cut_short(step)
            raise


def _beginning(answer: HttpAnswer) -> str:
    return replies.shorten(answer.body.decode(errors="replace"))


def _json_object(body: bytes) -> dict[str, object] | None:
    try:
        document = replies.parse(body)
    except ValueError:
        return None
    return document if isinstance(document, dict) else None


def _first_uri(files: object) -> str | None:
    """The URI of the one file that was uploaded, if it was."""
    first = files[0] if isinstance(files, list) and files else None
    uri = first.get("uri") if isinstance(first, dict) else None
    return uri if isinstance(uri, str) else None
