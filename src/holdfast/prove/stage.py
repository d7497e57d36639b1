"""What a proof's steps can do to a target. Everything done here is in the history and in the evidence."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from holdfast.prove import envelopes, replies
from holdfast.prove.evidence import Evidence, body_for_events
from holdfast.prove.facts import Facts
from holdfast.prove.history import FileSeen, History, Look, Page, Power, Turn
from holdfast.prove.redact import hide_passwords
from holdfast.prove.replies import Reply
from holdfast.prove.targets.target import NotReady, Target
from holdfast.prove.wire import HttpAnswer, NoAnswerInTime, TransportFault, Wire

LOOK_EVERY_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Bounds:
    """How long things may take: any one answer, and a recovery after a kill."""

    answer: float
    recovery: float


class Stage:
    """The hands of one proof."""

    def __init__(
        self,
        *,
        proof: str,
        facts: Facts,
        target: Target,
        wire: Wire,
        evidence: Evidence,
        bounds: Bounds,
        new_hex: Callable[[], str],
        on_step: Callable[[str, str], None],
    ) -> None:
        self.facts = facts
        self.bounds = bounds
        self.history = History()
        self._proof = proof
        self._target = target
        self._wire = wire
        self._evidence = evidence
        self._new_hex = new_hex
        self._on_step = on_step

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
        context_id: str,
        text: str,
        *,
        wait: bool = True,
        message_id: str | None = None,
        within: float | None = None,
    ) -> Turn:
        """Send a text and record the reply; silence is a fault, or a failed reply if `within` is given."""
        body = envelopes.send_text(
            self._wire.version,
            message_id=message_id or self.new_message_id(),
            context_id=context_id,
            text=text,
            wait=wait,
        )
        began = time.monotonic()
        try:
            reply = await self._post(step, body, within or self.bounds.answer)
        except NoAnswerInTime as silence:
            if within is None:
                raise
            reply = Reply(error=silence.message)
        turn = Turn(step, context_id, text, reply, time.monotonic() - began, self._wire.curl(body))
        self.history.add(turn)
        return turn

    async def watch_task(self, step: str, task_id: str, until: Callable[[Reply], bool], within: float) -> Look:
        """Ask for a task's state until the reply is as wanted or the time is up, and return the last look.

        Silence is a failed reply: a task that cannot be looked up is as good as lost.
        """
        deadline = time.monotonic() + within
        while True:
            request_id = self.new_message_id()
            body = envelopes.get_task(self._wire.version, request_id=request_id, task_id=task_id)
            try:
                reply = await self._post(step, body, max(1.0, deadline - time.monotonic()))
            except NoAnswerInTime as silence:
                reply = Reply(error=silence.message)
            look = Look(step, task_id, reply, within, self._wire.curl(body))
            self.history.add(look)
            if until(reply) or time.monotonic() >= deadline:
                return look
            await asyncio.sleep(LOOK_EVERY_SECONDS)

    async def fetch(self, step: str, path: str) -> Page:
        """GET a page of the target."""
        url = hide_passwords(self._wire.base_url) + path
        self._begin(step, "request", method="GET", url=url)
        answer = await self._answer(step, self._wire.get(path, self.bounds.answer))
        page = Page(
            step,
            url,
            answer.status,
            answer.body[:200].decode(errors="replace"),
            _json_object(answer.body),
        )
        self.history.add(page)
        return page

    def follow_card(self, page: Page) -> None:
        """From now on, talk to the address that the agent card names."""
        if page.document is not None:
            self._wire.follow_card(page.document)
            self._evidence.event(self._proof, page.step, "endpoint", url=hide_passwords(self._wire.endpoint))

    def count_line(self, step: str, file: str, line: str) -> FileSeen:
        """Look for a line in a file of the target's workspace."""
        workspace = self._target.workspace
        count = _count_line(workspace / file, line) if workspace else None
        seen = FileSeen(step, str(workspace / file) if workspace else "", line, count)
        self._begin(step, "file", path=seen.path, line=line, count=count)
        self.history.add(seen)
        return seen

    async def stop(self, step: str) -> None:
        """End the target politely."""
        self._begin(step, "stop", signal="SIGTERM", pid=self._target.pid)
        began = time.monotonic()
        trouble = await self._target.stop()
        self._power(Power(step, "stop", time.monotonic() - began, trouble))

    async def kill(self, step: str) -> None:
        """End the target as a power cut would."""
        self._begin(step, "kill", signal="SIGKILL", pid=self._target.pid)
        began = time.monotonic()
        await self._target.kill()
        self._power(Power(step, "kill", time.monotonic() - began))

    async def start(self, step: str) -> bool:
        """Start the target again; False, and trouble in the history, if it does not come back."""
        return await self._start(step) is None

    async def ensure_running(self) -> None:
        """Start the target if it is not running; NotReady if that fails."""
        if not self._target.running and (trouble := await self._start("start")) is not None:
            raise trouble

    async def _start(self, step: str) -> NotReady | None:
        self._begin(step, "start", target=hide_passwords(self._target.name))
        began = time.monotonic()
        trouble = None
        try:
            await self._target.start()
        except NotReady as error:
            trouble = error
        self._power(Power(step, "start", time.monotonic() - began, trouble.message if trouble else ""))
        return trouble

    async def _post(self, step: str, body: bytes, within: float) -> Reply:
        self._begin(step, "request", url=hide_passwords(self._wire.endpoint), body=body_for_events(body))
        answer = await self._answer(step, self._wire.post(body, within))
        return replies.read(answer.status, answer.body)

    async def _answer(self, step: str, coming: Awaitable[HttpAnswer]) -> HttpAnswer:
        """The answer to a request that is under way, once it or the fault is in the evidence."""
        began = time.monotonic()
        try:
            answer = await coming
        except TransportFault as fault:
            self._evidence.event(self._proof, step, "fault", code=fault.code, message=fault.message)
            raise
        seconds = round(time.monotonic() - began, 4)
        body = body_for_events(answer.body)
        self._evidence.event(self._proof, step, "answer", status=answer.status, seconds=seconds, body=body)
        return answer

    def _begin(self, step: str, event: str, **details: object) -> None:
        self._on_step(self._proof, step)
        self._evidence.event(self._proof, step, event, **details)

    def _power(self, power: Power) -> None:
        self.history.add(power)
        done = {"start": "ready", "stop": "stopped", "kill": "killed"}[power.action]
        self._evidence.event(
            self._proof,
            power.step,
            "trouble" if power.trouble else done,
            pid=self._target.pid,
            seconds=round(power.seconds, 4),
            trouble=power.trouble,
        )


def _json_object(body: bytes) -> dict[str, object] | None:
    try:
        document = replies.parse(body)
    except ValueError:
        return None
    return document if isinstance(document, dict) else None


def _count_line(path: Path, line: str) -> int | None:
    try:
        return sum(found.strip() == line for found in path.read_text(errors="replace").splitlines())
    except OSError:
        return None
