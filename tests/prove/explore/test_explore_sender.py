"""What is heard of a message: a task that is not done is followed to its end, and what says nothing is taken so."""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pytest

from holdfast.core import TaskState
from holdfast.prove.explore.histories.operations import How
from holdfast.prove.explore.record import Fate
from holdfast.prove.explore.sender import Heard, Sender
from holdfast.prove.wire.client import AccessRefused, HttpAnswer, TransportFault, Wire
from holdfast.prove.wire.envelopes import FileSent, OutgoingMessage, WireVersion


class ScriptedWire(Wire):
    """A wire that says one answer after the other, and the last of them for ever."""

    def __init__(self, answers: Sequence[HttpAnswer | Exception]) -> None:
        super().__init__("http://127.0.0.1:1", WireVersion.V1_0)
        self._answers = list(answers)
        self.said: list[Any] = []

    async def post(self, body: bytes, within: float, version: WireVersion | None = None) -> HttpAnswer:
        if body:
            self.said.append(json.loads(body))
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def get(self, path: str, within: float) -> HttpAnswer:
        return await self.post(b"", within)

    async def upload(self, file: FileSent, boundary: str, within: float) -> HttpAnswer:
        return await self.post(b"", within)

    async def stream(self, body: bytes, version: WireVersion | None = None) -> AsyncGenerator[HttpAnswer]:
        yield await self.post(body, 1.0)


def task(state: str, text: str = "") -> HttpAnswer:
    artifacts = [{"artifactId": "a", "parts": [{"text": text}]}] if text else []
    told: dict[str, Any] = {"id": "t", "status": {"state": f"TASK_STATE_{state}"}, "artifacts": artifacts}
    return HttpAnswer(200, json.dumps({"jsonrpc": "2.0", "id": "1", "result": {"task": told}}).encode())


def heard(how: How, *answers: HttpAnswer | Exception, recovery: float = 5.0) -> Heard:
    sender = Sender(ScriptedWire(answers), timeout=5.0, recovery=recovery, new_hex=lambda: "0")
    return asyncio.run(sender.send(OutgoingMessage("m", "c", "Hello."), how, lambda event, **details: None))


@pytest.mark.parametrize("how", ["wait", "at once", "stream"])
def test_a_task_that_is_not_done_is_followed_to_its_end(how: How) -> None:
    found = heard(how, task("SUBMITTED"), task("WORKING"), task("COMPLETED", "Noted."))
    assert (found.fate, found.reply.text) == (Fate.ANSWERED, "Noted.")


def test_a_task_that_is_left_is_left() -> None:
    assert heard("leave", task("WORKING"), task("COMPLETED", "Noted.")).fate is Fate.RUNNING


def test_a_task_that_never_ends_is_not_answered_in_time() -> None:
    assert heard("wait", task("WORKING"), recovery=0.05).fate is Fate.SILENT


@pytest.mark.parametrize("state", ["INPUT_REQUIRED", "AUTH_REQUIRED"])
def test_a_task_that_waits_for_its_user_is_no_answer(state: str) -> None:
    assert heard("wait", task(state, "Which one?")).fate is Fate.ASKED_BACK


@pytest.mark.parametrize("how", ["wait", "stream"])
def test_who_is_put_off_is_not_refused(how: How) -> None:
    assert heard(how, HttpAnswer(429, b"slow down")).fate is Fate.BUSY


@pytest.mark.parametrize("how", ["wait", "stream"])
def test_who_is_not_let_in_says_so(how: How) -> None:
    with pytest.raises(AccessRefused):
        heard(how, AccessRefused("answered 401", hint="--token"))


def rpc_error(code: int) -> HttpAnswer:
    return HttpAnswer(200, json.dumps({"jsonrpc": "2.0", "id": "1", "error": {"code": code, "message": "no"}}).encode())


@pytest.mark.parametrize("how", ["at once", "stream"])
def test_every_state_on_the_way_is_heard(how: How) -> None:
    found = heard(how, task("WORKING"), task("SUBMITTED"), task("SUBMITTED"), task("COMPLETED", "Noted."))
    assert found.states == (TaskState.WORKING, TaskState.SUBMITTED, TaskState.COMPLETED)


def test_a_stream_that_ends_before_its_task_is_seen_to() -> None:
    assert heard("stream", task("WORKING"), task("COMPLETED", "Noted.")).early
    assert not heard("stream", task("COMPLETED", "Noted.")).early
    assert not heard("at once", task("WORKING"), task("COMPLETED", "Noted.")).early


def test_a_task_that_cannot_be_looked_up_is_neither_answered_nor_passed_over() -> None:
    found = heard("at once", task("WORKING"), rpc_error(-32603))
    assert found.fate is Fate.RUNNING
    assert found.lookup is not None
    assert "-32603" in found.lookup.reply.error


def test_a_task_that_one_looks_for_may_take_as_long_as_an_answer_that_one_waits_for() -> None:
    running = [task("WORKING")] * 5
    assert heard("at once", *running, task("COMPLETED", "Noted."), recovery=0.0).fate is Fate.ANSWERED


def test_a_task_that_is_rejected_is_refused() -> None:
    assert heard("wait", task("REJECTED", "Not I.")).fate is Fate.REFUSED


def test_data_is_an_answer_too() -> None:
    told = {"id": "t", "status": {"state": "TASK_STATE_COMPLETED"}, "artifacts": [{"parts": [{"data": {"a": "Zq7é"}}]}]}
    answer = HttpAnswer(200, json.dumps({"jsonrpc": "2.0", "id": "1", "result": {"task": told}}).encode())
    found = heard("wait", answer)
    assert (found.fate, found.reply.text) == (Fate.ANSWERED, '{"a": "Zq7é"}')


@pytest.mark.parametrize(
    ("answer", "offered", "broken", "uri"),
    [
        (HttpAnswer(200, b'{"files": [{"uri": "workspace:/a.txt"}]}'), True, False, "workspace:/a.txt"),
        (HttpAnswer(404, b"no such page"), False, False, None),
        (HttpAnswer(500, b"broken"), True, False, None),
        (HttpAnswer(200, b"fine"), True, False, None),
        (TransportFault("the connection broke"), True, True, None),
    ],
)
def test_what_comes_of_an_upload(answer: HttpAnswer | Exception, offered: bool, broken: bool, uri: str | None) -> None:
    sender = Sender(ScriptedWire([answer]), timeout=5.0, recovery=5.0, new_hex=lambda: "0")
    file = FileSent("a.txt", "text/plain", b"Minutes.")
    found = asyncio.run(sender.upload(file, lambda event, **details: None))
    assert (found.offered, found.broken, found.uri) == (offered, broken, uri)
    assert bool(found.error) is (uri is None)
