"""Performs a history on a target that is fresh, and records all that was sent, answered, cut and seen.

Operations that begin together are performed at once. After each start the tasks that had not ended are waited for:
each must end, resumed or failed. Nothing here judges.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import replace
from typing import Any

from holdfast.prove.explore.histories import wording
from holdfast.prove.explore.histories.history import Course
from holdfast.prove.explore.histories.operations import (
    FAULTS,
    Again,
    Append,
    Cancel,
    Chat,
    Follow,
    Idle,
    Kill,
    KillStart,
    LookUp,
    Message,
    Operation,
    Pause,
    SendFile,
    Stop,
    Tell,
    groups,
    kind,
)
from holdfast.prove.explore.power import TargetPower, last_words
from holdfast.prove.explore.record import (
    Fate,
    Halt,
    LinesSeen,
    NotOffered,
    OwnEnd,
    PowerCut,
    Record,
    RecordedDelivery,
    Seen,
    StreamSeen,
    TaskSeen,
    UploadRefused,
)
from holdfast.prove.explore.sender import Heard, Note, Sender, in_progress
from holdfast.prove.targets.target import PortOccupied, Target, TargetNotReady
from holdfast.prove.wire.client import CARD_PATHS
from holdfast.prove.wire.envelopes import FileSent, OutgoingMessage

DYING_SECONDS = 0.5
STOP_STEP = "start"
NO_STREAMS = "its card does not offer streaming"


class PerformanceFault(Exception):
    """Something between us and the target broke, so nothing can be said of this performance."""


class Performer:
    """One performance of one history."""

    def __init__(self, course: Course, target: Target, sender: Sender, *, tag: str, new_hex: Callable[[], str]) -> None:
        self._course = course
        self._target = target
        self._sender = sender
        self._tag = tag
        self._new_hex = new_hex
        self._began = time.monotonic()
        self._seen: list[Seen] = []
        self._sent: dict[int, tuple[Message, OutgoingMessage]] = {}
        self._tasks: dict[int, str] = {}
        self._unended: dict[str, int] = {}
        self._lines: set[int] = set()
        self._power = TargetPower(target)
        self._one_fault = asyncio.Lock()
        self.events: list[dict[str, Any]] = []

    @property
    def record(self) -> Record:
        """What was seen so far."""
        return Record(self._course, tuple(self._seen), self._tag)

    async def perform(self) -> None:
        """Start the target and do all of it; PerformanceFault if the surroundings broke."""
        note = self._note(None)
        note("start", target=self._target.name)
        if not self._target.running:
            try:
                await self._power.start()
            except TargetNotReady as error:
                raise PerformanceFault(f"the target did not start: {error.message}") from error
        note("ready", pid=self._target.pid)
        await self._sender.follow_card(CARD_PATHS)
        await self._do(self._course.operations, 0)
        if self._target.pid is not None and not self._target.running and not self._is_down():
            last, now = len(self._course.operations) - 1, self._now()
            self._seen.append(OwnEnd(step=last, began=now, ended=now, words=last_words(self._target.logs())))

    async def add(self, operations: tuple[Operation, ...]) -> None:
        """Do some more on the same target; they are part of the record from now on."""
        done = len(self._course.operations)
        self._course = Course(
            seed=self._course.seed, number=self._course.number, operations=self._course.operations + operations
        )
        await self._do(operations, done)

    async def _do(self, operations: tuple[Operation, ...], offset: int) -> None:
        for group in groups(operations):
            disturbed = any(isinstance(operations[number], FAULTS) for number in group)
            await _together(self._one(offset + number, operations[number], disturbed=disturbed) for number in group)
            self._count_lines(offset + group[-1])
            if self._is_down():
                return

    def _is_down(self) -> bool:
        return any(isinstance(seen, OwnEnd) or (isinstance(seen, PowerCut) and seen.trouble) for seen in self._seen)

    async def _one(self, step: int, operation: Operation, *, disturbed: bool) -> None:
        note = self._note(step)
        match operation:
            case Stop() | Kill() | KillStart():
                await self._restart(step, operation, note)
            case Pause():
                await self._pause(step, operation, note)
            case Idle():
                await asyncio.sleep(operation.milliseconds / 1000)
            case Again():
                await self._again(step, operation, note, disturbed=disturbed)
            case Cancel() | LookUp():
                await self._about_task(step, operation, note, disturbed=disturbed)
            case Follow():
                await self._follow(step, operation, note, disturbed=disturbed)
            case _:
                await self._say(step, operation, note, disturbed=disturbed)

    async def _say(self, step: int, operation: Message, note: Note, *, disturbed: bool) -> None:
        task = (
            self._tasks.get(operation.follows)
            if isinstance(operation, Tell) and operation.follows is not None
            else None
        )
        message = OutgoingMessage(
            f"explore-{self._new_hex()}",
            self._context_id(operation, task),
            wording.text_of(operation, self._course.seed, self._tag),
            await self._files(step, operation, note, disturbed=disturbed),
            task,
        )
        self._sent[operation.message] = operation, message
        if isinstance(operation, Append):
            self._lines.add(operation.message)
        how = operation.how if isinstance(operation, Tell | Append) else "wait"
        if how in ("stream", "cut") and not self._sender.streams:
            self._leave_out(step, "streams", NO_STREAMS)
        turns = operation.turns if isinstance(operation, Chat) else 1
        for _ in range(turns):
            delivery = await self._deliver(step, operation, message, how, note, disturbed=disturbed)
            if delivery.fate is not Fate.ANSWERED:
                break
            message = replace(message, message_id=f"explore-{self._new_hex()}")

    def _context_id(self, operation: Message, task: str | None) -> str | None:
        """None for who follows a task and leaves it to the target to know its context, and for who begins a new one."""
        if task or (isinstance(operation, Chat) and operation.apart):
            return None
        return wording.context_id(operation.context, self._tag)

    async def _files(self, step: int, operation: Message, note: Note, *, disturbed: bool) -> tuple[FileSent, ...]:
        """The file that a message has; by its bytes where it cannot be uploaded, and that is recorded."""
        if not isinstance(operation, SendFile):
            return ()
        name = wording.file_name(operation.file, self._tag)
        file = FileSent(name, "text/plain", wording.file_text(operation, self._course.seed).encode())
        if operation.by == "bytes":
            return (file,)
        began = self._now()
        upload = await self._sender.upload(file, note)
        if upload.uri is not None:
            return (FileSent(name, "text/plain", uri=upload.uri),)
        if upload.broken and not disturbed:
            await self._explain_cut(step, began)
        elif upload.offered:
            self._seen.append(
                UploadRefused(
                    step=step,
                    began=began,
                    ended=self._now(),
                    message=operation.message,
                    error=upload.error,
                    disturbed=disturbed,
                    curl=upload.curl,
                )
            )
        else:
            self._leave_out(step, "uploads", f"the target takes no uploads: {upload.error}")
        return (file,)

    def _leave_out(self, step: int, what: str, words: str) -> None:
        now = self._now()
        self._seen.append(NotOffered(step=step, began=now, ended=now, what=what, words=words))

    async def _again(self, step: int, operation: Again, note: Note, *, disturbed: bool) -> None:
        if operation.message not in self._sent:
            return
        first, message = self._sent[operation.message]
        if operation.other:
            text = wording.other_text(first, self._course.seed, self._tag)
            message = replace(message, text=text, files=())
            if isinstance(first, Append):
                self._lines.add(wording.OTHER + first.message)
        await self._deliver(step, first, message, "wait", note, disturbed=disturbed, other=operation.other)

    async def _deliver(
        self,
        step: int,
        operation: Message,
        message: OutgoingMessage,
        how: Any,
        note: Note,
        *,
        disturbed: bool,
        other: bool = False,
    ) -> RecordedDelivery:
        def know(task: str) -> None:
            self._tasks.setdefault(operation.message, task)

        began = self._now()
        heard = await self._sender.send(message, how, note, know)
        delivery = RecordedDelivery(
            step=step,
            began=began,
            ended=self._now(),
            message=operation.message,
            fate=heard.fate,
            text=heard.reply.text,
            task=heard.reply.task_id,
            state=heard.reply.state,
            error=heard.reply.error,
            disturbed=disturbed,
            other=other,
            curl=heard.curl,
            readings=heard.reply.readings,
            context_id=heard.reply.context_id,
            states=heard.states,
            early=heard.early,
        )
        if heard.reply.task_id:
            self._mark(
                heard.reply.task_id, operation.message, running=heard.fate in (Fate.RUNNING, Fate.CUT, Fate.SILENT)
            )
        if heard.fate is Fate.CUT and not disturbed:
            await self._explain_cut(step, began)
        self._seen.append(delivery)
        if heard.lookup is not None and heard.reply.task_id:
            now, task = self._now(), heard.reply.task_id
            self._seen_task(step, now, operation.message, task, heard.lookup, disturbed=disturbed)
        return delivery

    async def _about_task(self, step: int, operation: Cancel | LookUp, note: Note, *, disturbed: bool) -> None:
        if isinstance(operation, Cancel):
            await asyncio.sleep(operation.after / 1000)
        task = self._tasks.get(operation.message)
        if task is not None:
            canceled = isinstance(operation, Cancel)
            await self._see(step, operation.message, task, note, canceled=canceled, disturbed=disturbed)

    async def _see(
        self, step: int, message: int, task: str, note: Note, *, canceled: bool = False, disturbed: bool = False
    ) -> None:
        began = self._now()
        heard = await (self._sender.cancel(task, note) if canceled else self._sender.look_until_end(task, note))
        if heard.fate is Fate.CUT and not disturbed:
            await self._explain_cut(step, began)
        self._seen_task(step, began, message, task, heard, canceled=canceled, disturbed=disturbed)

    def _seen_task(
        self,
        step: int,
        began: float,
        message: int,
        task: str,
        heard: Heard,
        *,
        waited: bool = True,
        canceled: bool = False,
        disturbed: bool = False,
    ) -> None:
        """Record what was heard of a task, unless that says nothing."""
        if heard.fate in (Fate.CUT, Fate.BUSY) or (heard.fate is Fate.SILENT and disturbed):
            return
        reply = heard.reply
        self._seen.append(
            TaskSeen(
                step=step,
                began=began,
                ended=self._now(),
                message=message,
                task=task,
                state=reply.state,
                text=reply.text,
                error=reply.error,
                waited=waited and not canceled,
                canceled=canceled,
                silent=heard.fate is Fate.SILENT,
                disturbed=disturbed,
                curl=heard.curl,
                context_id=reply.context_id,
                states=heard.states,
            )
        )
        if not reply.error:
            self._mark(task, message, running=in_progress(reply))

    async def _follow(self, step: int, operation: Follow, note: Note, *, disturbed: bool) -> None:
        task = self._tasks.get(operation.message)
        if not self._sender.streams:
            self._leave_out(step, "streams", NO_STREAMS)
        if task is None or not self._sender.streams:
            return
        began = self._now()
        heard, how, curl = await self._sender.follow(task, note)
        if how == "broken" and not disturbed:
            await self._explain_cut(step, began)
        if how in ("broken", "busy"):
            return
        self._seen.append(
            StreamSeen(
                step=step,
                began=began,
                ended=self._now(),
                message=operation.message,
                task=task,
                text=heard.text,
                states=tuple(heard.states),
                error=heard.error,
                late=how == "late",
                disturbed=disturbed,
                curl=curl,
                context_id=heard.context_id,
            )
        )
        if disturbed:
            return
        if heard.error:
            # Who may not follow a task that is over is right; whether it is over shows now.
            began = self._now()
            look = await self._sender.look(task, note)
            self._seen_task(step, began, operation.message, task, look, waited=False)
        else:
            await self._see(step, operation.message, task, note)

    async def _restart(self, step: int, operation: Stop | Kill | KillStart, note: Note) -> None:
        if not self._target.restartable:
            return
        if not isinstance(operation, KillStart):
            await asyncio.sleep(operation.after / 1000)
        async with self._one_fault:
            began = self._now()
            try:
                trouble = await self._power.restart(operation, note)
            except PortOccupied as error:
                raise PerformanceFault(error.message) from error
            self._seen.append(PowerCut(step=step, began=began, ended=self._now(), trouble=trouble))
        if not trouble:
            unended = list(self._unended.items())
            await _together(self._see(step, message, task, note) for task, message in unended)

    async def _pause(self, step: int, operation: Pause, note: Note) -> None:
        async with self._one_fault:
            began = self._now()
            if await self._power.pause(operation, note):
                self._seen.append(Halt(step=step, began=began, ended=self._now()))

    async def _explain_cut(self, step: int, began: float) -> None:
        """A connection broke and we did not break it: the process has ended by itself, or nothing can be said."""
        if self._target.pid is not None and await self._target.ended(within=DYING_SECONDS):
            self._seen.append(OwnEnd(step=step, began=began, ended=self._now(), words=last_words(self._target.logs())))
            return
        raise PerformanceFault("a connection broke although the target was neither stopped nor killed")

    def _count_lines(self, step: int) -> None:
        """Look at the file that lines are appended to."""
        if self._target.workspace is None or not self._lines:
            return
        began = self._now()
        path = self._target.workspace / wording.workspace_file(self._tag)
        found = path.read_text(errors="replace").splitlines() if path.exists() else []
        stripped = [line.strip().casefold() for line in found]
        counts = {number: stripped.count(wording.line(number, self._course.seed)) for number in sorted(self._lines)}
        self._seen.append(LinesSeen(step=step, began=began, ended=self._now(), counts=counts))
        self._note(step)("file", path=str(path), counts=counts)

    def _mark(self, task: str, message: int, *, running: bool) -> None:
        if running:
            self._unended[task] = message
        else:
            self._unended.pop(task, None)

    def _now(self) -> float:
        return time.monotonic() - self._began

    def _note(self, step: int | None) -> Note:
        """What writes down what happens in a step."""
        name = STOP_STEP if step is None else f"{step + 1} {kind(self._course.operations[step])}"

        def note(event: str, **details: Any) -> None:
            self.events.append({"at": round(self._now(), 4), "step": name, "event": event, **details})

        return note


async def _together(work: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Do it side by side; if one fails the others end before that is told: none may start a target that is given up."""
    tasks = [asyncio.create_task(each) for each in work]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
