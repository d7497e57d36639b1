"""What a step records: the reply that came, the one that did not come in time, and what became of an upload."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.prove.answering import EVENTS, Answering, answering

from holdfast.core import SystemClock
from holdfast.prove.evidence import open_evidence
from holdfast.prove.runtime.checks import over
from holdfast.prove.runtime.facts import CLASSIC
from holdfast.prove.runtime.stage import Patience, Stage, patience_of
from holdfast.prove.targets.url import UrlTarget
from holdfast.prove.wire.client import NoAnswerInTime
from holdfast.prove.wire.envelopes import FileSent

FILE = FileSent("minutes.txt", "text/plain", data=b"albatross")
WORKING = b'data: {"result":{"task":{"id":"t","status":{"state":"TASK_STATE_WORKING"}}}}\n\n'


@asynccontextmanager
async def stage_before(answer: Answering, tmp_path: Path) -> AsyncIterator[Stage]:
    evidence = open_evidence(tmp_path, "prove", SystemClock(), time.monotonic)
    async with answering(answer) as wire:
        yield Stage(
            proof="p",
            facts=CLASSIC,
            target=UrlTarget(wire.base_url, None, log_folder=tmp_path, start_seconds=1),
            wire=wire,
            evidence=evidence,
            bounds=Patience(answer=0.2, recovery=0.2),
            new_hex=lambda: "0123456789ab",
            on_step=lambda *_: None,
        )
    evidence.finish({})


@pytest.mark.parametrize(("timeout", "recovery"), [(1.0, 1.0), (10.0, 10.0), (30.0, 15.0), (120.0, 60.0)])
def test_who_waits_longer_for_an_answer_waits_longer_for_a_recovery(timeout: float, recovery: float) -> None:
    assert patience_of(timeout) == Patience(answer=timeout, recovery=recovery)


async def silence(request: bytes, writer: asyncio.StreamWriter) -> None:
    if b"Accept: text/event-stream" in request:
        writer.write(EVENTS + WORKING)
    await asyncio.sleep(3600)


async def test_silence_is_a_fault_unless_the_proof_is_about_it(tmp_path: Path) -> None:
    async with stage_before(silence, tmp_path) as stage:
        with pytest.raises(NoAnswerInTime):
            await stage.say("ask", "c", "Hello")
        assert "within 0.1 s" in (await stage.say("ask", "c", "Hello", within=0.1)).reply.error
        assert [entry.step for entry in stage.history.entries] == ["ask"]


async def test_a_stream_that_does_not_end_is_a_fault_unless_the_proof_is_about_it(tmp_path: Path) -> None:
    async with stage_before(silence, tmp_path) as stage:
        with pytest.raises(NoAnswerInTime):
            await stage.stream("stream", "c", "Count")
        again = await stage.subscribe("again", "t", within=0.1)
    assert not again.ended
    assert "did not end within 0.1 s" in again.error
    assert again.task_id == "t"


async def test_a_task_that_cannot_be_looked_up_or_canceled_is_as_good_as_lost(tmp_path: Path) -> None:
    async with stage_before(silence, tmp_path) as stage:
        assert (await stage.cancel("cancel", "t")).reply.error
        assert (await stage.watch_task("look", "t", over, 0.1)).reply.error


@pytest.mark.parametrize(
    ("status", "body", "uri", "refused"),
    [
        (200, '{"files":[{"uri":"workspace:/workspace/m.txt"}]}', "workspace:/workspace/m.txt", False),
        (404, '{"detail":"Not Found"}', None, False),
        (405, "", None, False),
        (200, '{"jsonrpc":"2.0","id":null,"error":{"code":-32700}}', None, False),
        (400, "no JSON-RPC", None, False),
        (200, '{"files":[]}', None, True),
        (500, "oops", None, True),
    ],
)
async def test_an_upload_has_a_uri_or_is_refused_or_not_taken_at_all(
    status: int, body: str, uri: str | None, refused: bool, tmp_path: Path
) -> None:
    async def answer(request: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(f"HTTP/1.1 {status} Whatever\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())

    async with stage_before(answer, tmp_path) as stage:
        uploaded = await stage.upload("upload", FILE)
    assert uploaded.uri == uri
    assert bool(uploaded.error) is refused
    assert uploaded.curl.startswith("curl -sS -F 'files=@minutes.txt;type=text/plain' http://127.0.0.1:")


async def test_of_a_step_that_was_cut_short_nothing_is_said(tmp_path: Path) -> None:
    working = b'{"result":{"id":"t","status":{"state":"working"}}}'

    async def work(request: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(working), working))

    async with stage_before(work, tmp_path) as stage:
        watching = asyncio.create_task(stage.watch_task("see it end", "t", over, 60))
        while not stage.history.entries:
            await asyncio.sleep(0.01)
        watching.cancel()
        await asyncio.wait([watching])
        for ask in (stage.history.took, stage.history.look, stage.history.last_look):
            with pytest.raises(LookupError, match="was cut short"):
                ask("see it end")
        assert not stage.history.took("ask")
