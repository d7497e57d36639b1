"""Large JSON is checked by another process, so that nobody waits for it.

What parses JSON keeps the interpreter until it is done: half a second for 15 MB of small members, in which no other
request goes on. So a larger body is first read elsewhere, by the same rules, and only its outline is read here. Each
owner has one text at a time there, and owners take turns; so they do where values are made of a text here. Two texts
that may say the same are compared elsewhere too, by digests of their values. The process begins when it is first needed
and ends when it has had nothing to do for a while, or with this one. Where none can be begun, the text is read here.

Nobody waits for ever: a process that takes no text stands still, and another is begun. One that took it and does not
answer may be at work on just this text, so the text is refused: to check it again, or here, would hold up others more.
"""

import asyncio
import atexit
import contextlib
import hashlib
import json
import os
import pickle
import select
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import IntEnum
from typing import Any, BinaryIO, TypeVar
from weakref import WeakValueDictionary

from holdfast.core import json_batch, strict_json
from holdfast.core.errors import Busy, InvalidJson, TooLarge

LARGE = 128 * 1024
"""Bytes of what is checked elsewhere."""
MAX_VALUES = 250_000
"""Of a large text that becomes values here: to make more of them takes too long."""
IDLE_SECONDS = 300.0
TAKE_SECONDS = 10.0
"""How long a process that is at work already may take nothing of the next text."""
ANSWER_SECONDS = 30.0
"""How long it may be silent about a text that it has; a new one also, until it takes its first."""
END_SECONDS = 5.0
FREE_SECONDS = 0.005
"""Of work after which there is no rest."""
MOST_SECONDS = 1.0
"""Of a rest, however long the work was."""
_HEAD = struct.Struct("!QB")
"""How long a message is, and what is asked about it."""

Verdict = int | list[bytes] | InvalidJson | TooLarge | Busy
"""How many values a text has, or the digests of its items; or why it is refused."""
Made = TypeVar("Made")


class TextQuestion(IntEnum):
    """What is asked about a text."""

    TEXT = 0
    """How many values it has, if it is one that we keep."""
    BATCH = 1
    """How many all the texts in it have together."""
    DIGESTS = 2
    """Of an array that was checked before: what each item's value is known by, however it is written."""


class Rests:
    """Turns with rests, for whoever keeps the interpreter, whatever thread it is on: used from any number of loops.

    Each owner has one such piece of work at a time, and after one that was long as much time passes as it took: who has
    any number of large requests has about half of the interpreter at most. One that comes alone never waits.
    """

    def __init__(self) -> None:
        self._turns: WeakValueDictionary[tuple[int, str], asyncio.Lock] = WeakValueDictionary()

    @contextlib.asynccontextmanager
    async def turn(self, owner: str) -> AsyncIterator[None]:
        """The owner's turn; its next one comes after a rest, for which nobody waits here."""
        loop = asyncio.get_running_loop()
        lock = self._turns.setdefault((id(loop), owner), asyncio.Lock())
        await lock.acquire()
        began = time.monotonic()
        try:
            yield
        finally:
            seconds = time.monotonic() - began
            if seconds > FREE_SECONDS:
                loop.call_later(min(seconds, MOST_SECONDS), lock.release)
            else:
                lock.release()


class LargeJson:
    """The process, and whose turn it is; used from any number of loops."""

    def __init__(
        self,
        command: tuple[str, ...] = (sys.executable, "-P", "-m", "holdfast.core.large_json"),
        take_seconds: float = TAKE_SECONDS,
        answer_seconds: float = ANSWER_SECONDS,
    ) -> None:
        self.take_seconds = take_seconds
        self.answer_seconds = answer_seconds
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self._asking = threading.Lock()
        self._thread = ThreadPoolExecutor(1, "holdfast-json")
        self._making = ThreadPoolExecutor(1, "holdfast-values")
        self._turns: WeakValueDictionary[tuple[int, str], asyncio.Lock] = WeakValueDictionary()
        self._making_turns = Rests()

    async def check(self, raw: bytes, owner: str, *, batch: bool = False) -> int:
        """How many values the JSON, or each of a batch, has; InvalidJson or TooLarge if it is not what we keep, Busy if
        that could not be told in time."""
        verdict = await self._answer(raw, owner, TextQuestion.BATCH if batch else TextQuestion.TEXT)
        assert isinstance(verdict, int)
        return verdict

    async def digests(self, texts: Sequence[bytes], owner: str) -> list[bytes]:
        """A digest for each of these texts, which were checked before: alike if the texts are the same JSON value."""
        verdict = await self._answer(b"[%b]" % b",".join(texts), owner, TextQuestion.DIGESTS)
        assert isinstance(verdict, list)
        return verdict

    async def make(self, make: Callable[[], Made], owner: str) -> Made:
        """What `make` makes of a text that was checked, which keeps the interpreter: owners take turns, and rests."""
        async with self._making_turns.turn(owner):
            return await asyncio.get_running_loop().run_in_executor(self._making, make)

    async def _answer(self, raw: bytes, owner: str, question: TextQuestion) -> int | list[bytes]:
        async with self._turn(owner):
            loop = asyncio.get_running_loop()
            verdict = await loop.run_in_executor(self._thread, self._verdict, raw, question)
        if isinstance(verdict, (int, list)):
            return verdict
        raise verdict

    def _turn(self, owner: str) -> asyncio.Lock:
        return self._turns.setdefault((id(asyncio.get_running_loop()), owner), asyncio.Lock())

    def close(self) -> None:
        """End the process."""
        with self._asking:
            self._end()

    def _verdict(self, raw: bytes, question: TextQuestion) -> Verdict:
        with self._asking:
            for _ in range(2):  # it may have ended a moment ago, for it had nothing to do
                try:
                    return self._ask(raw, question)
                except (OSError, EOFError) as error:
                    self._end()
                    stands_still = isinstance(error, TimeoutError)
        return _busy() if stands_still else judge(raw, question)

    def _ask(self, raw: bytes, question: TextQuestion) -> Verdict:
        patience = self.take_seconds if self._process else self.answer_seconds
        process = self._process or subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, cwd="/"
        )
        self._process = process
        assert process.stdin is not None and process.stdout is not None
        os.set_blocking(process.stdin.fileno(), False)
        for piece in (_HEAD.pack(len(raw), question), raw):
            left = memoryview(piece)
            while left:
                _wait(process.stdin, select.POLLOUT, time.monotonic() + patience)
                left = left[process.stdin.write(left) or 0 :]
        try:
            verdict: Verdict = pickle.loads(_message(_Answers(process.stdout, self.answer_seconds))[0])
        except TimeoutError:
            self._end()
            return _busy()
        return verdict

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            assert process.stdin is not None and process.stdout is not None
            with contextlib.suppress(OSError):
                process.kill()
            process.stdin.close()
            process.stdout.close()
            with contextlib.suppress(subprocess.TimeoutExpired):  # one that the kernel cannot end yet
                process.wait(END_SECONDS)


class _Answers:
    """What a process says, for as long as that may take."""

    def __init__(self, stream: Any, seconds: float) -> None:
        self._stream = stream
        self._deadline = time.monotonic() + seconds

    def readinto(self, room: memoryview) -> int:
        """As the stream's own; TimeoutError once it has taken too long."""
        _wait(self._stream, select.POLLIN, self._deadline)
        number: int = self._stream.readinto(room)
        return number


def _wait(stream: Any, event: int, deadline: float) -> None:
    """Return once the stream can be read or written, or has ended; TimeoutError after the deadline."""
    poll = select.poll()  # select knows the first 1,024 files only
    poll.register(stream, event)
    if not poll.poll(max(0.0, deadline - time.monotonic()) * 1_000):
        raise TimeoutError


def _busy() -> Busy:
    return Busy("the body could not be checked in time", retry_after=5)


def judge(raw: bytes, question: TextQuestion) -> Verdict:
    """What is asked about a text, or why it is refused."""
    try:
        if question is TextQuestion.DIGESTS:
            return [_digest(value) for value in json.loads(raw)]
        strict_json.check_count(raw)
        if question is TextQuestion.TEXT:
            return _values(strict_json.parse(raw))
        return sum(_values(_item(text)) for text in json_batch.texts(raw))
    except (InvalidJson, TooLarge) as refusal:
        return refusal


def _digest(value: Any) -> bytes:
    return hashlib.sha256(strict_json.sorted_text(value).encode()).digest()


def _item(text: json_batch.JsonText) -> Any:
    try:
        return strict_json.parse(text.raw)
    except InvalidJson as error:
        raise InvalidJson(f"{text.place}: {error.message}", hint=error.hint, **error.details) from None


def check_values(number: int) -> None:
    """TooLarge if a text has more values than may be made of it."""
    if number > MAX_VALUES:
        raise TooLarge(
            f"the body has {number} values",
            hint="send it in several requests, as an action's details, or as an attachment",
            limit=MAX_VALUES,
        )


def serve(asked: BinaryIO, answers: BinaryIO, idle_seconds: float = IDLE_SECONDS) -> None:
    """Judge texts, each with its length before it, until nobody asks any more."""
    while select.select([asked], [], [], idle_seconds)[0]:
        try:
            raw, number = _message(asked)
        except EOFError:
            return
        verdict = pickle.dumps(judge(raw, TextQuestion(number)))
        answers.write(_HEAD.pack(len(verdict), 0) + verdict)
        del raw


def _message(stream: Any) -> tuple[bytes, int]:
    size, number = _HEAD.unpack(_exactly(stream, _HEAD.size))
    return bytes(_exactly(stream, size)), number


def _exactly(stream: Any, size: int) -> bytearray:
    data = bytearray(size)
    left = memoryview(data)
    while left:
        number = stream.readinto(left)
        if not number:
            raise EOFError
        left = left[number:]
    return data


def _values(value: Any) -> int:
    """Every value within one, and itself; those without others in them are counted and not looked at one by one."""
    number, left = 1, [value]
    while left:
        found = left.pop()
        inner = found.values() if isinstance(found, dict) else found if isinstance(found, list) else ()
        number += len(inner)
        if not {dict, list}.isdisjoint(map(type, inner)):
            left += [each for each in inner if isinstance(each, (dict, list))]
    return number


LARGE_JSON = LargeJson()
atexit.register(LARGE_JSON.close)

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to every process; ours ends with its owner
    with open(0, "rb", buffering=0) as asked, open(1, "wb", buffering=0) as answers:
        serve(asked, answers)
