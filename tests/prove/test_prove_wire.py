"""The raw client: where it sends, what it takes for a fault, and the command line that shows the same request."""

import asyncio
import json
import shlex
from contextlib import aclosing
from typing import Any

import pytest
from tests.prove.answering import EVENTS, answering

from holdfast.core.loopback import is_here
from holdfast.prove.targets.process import free_port
from holdfast.prove.wire.client import TransportFault, Wire
from holdfast.prove.wire.envelopes import FileSent, WireVersion, get_task, upload

RPC = {"protocolBinding": "JSONRPC"}


@pytest.mark.parametrize(
    ("base", "card", "endpoint"),
    [
        ("http://h:1", {}, "http://h:1/a2a"),
        ("http://h:1/a2a", {}, "http://h:1/a2a"),
        ("http://h:1", {"url": "http://0.0.0.0:8000/"}, "http://h:1/"),
        ("http://h:1", {"url": "http://inside/rpc"}, "http://h:1/rpc"),
        ("http://h:1/agent", {"url": "http://inside/rpc"}, "http://h:1/agent/rpc"),
        ("http://h:1/agent", {"url": "http://h:1/agent/rpc"}, "http://h:1/agent/rpc"),
        ("http://h:1", {"url": "http://h:1/grpc", "preferredTransport": "GRPC"}, "http://h:1/a2a"),
        ("http://h:1", {"url": "http://[bad"}, "http://h:1/a2a"),
        ("http://h:1", {"url": 7, "supportedInterfaces": "none"}, "http://h:1/a2a"),
        (
            "http://h:1",
            {
                "supportedInterfaces": [
                    {**RPC, "url": "http://h:1/old", "protocolVersion": "0.3"},
                    {**RPC, "url": "http://h:1/new", "protocolVersion": "1.0"},
                    {"url": "http://h:1/rest", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
                ]
            },
            "http://h:1/new",
        ),
    ],
)
async def test_requests_go_to_the_path_in_the_card_at_the_address_we_were_given(
    base: str, card: dict[str, Any], endpoint: str
) -> None:
    async with Wire(base, WireVersion.V1_0) as wire:
        wire.follow_card(card)
        assert wire.endpoint == endpoint


async def test_the_curl_line_carries_the_same_bytes_and_no_password() -> None:
    body = get_task(WireVersion.V1_0, request_id="it's", task_id="t")
    async with Wire("http://me:secret@h:1", WireVersion.V1_0) as wire:
        words = shlex.split(wire.curl(body))
    assert words[words.index("--data-raw") + 1].encode() == body
    assert "A2A-Version: 1.0" in words
    assert words[-1] == "http://me:***@h:1/a2a"


async def test_nobody_there_is_a_fault_and_not_an_answer() -> None:
    async with Wire(f"http://127.0.0.1:{free_port()}", WireVersion.V1_0) as wire:
        with pytest.raises(TransportFault):
            await wire.post(json.dumps({}).encode(), within=5)


@pytest.mark.parametrize(
    ("url", "loopback"),
    [
        ("http://127.0.0.1:9000", True),
        ("http://localhost", True),
        ("http://[::1]:9000", True),
        ("http://agent.localhost", True),
        ("http://10.0.0.7", False),
        ("https://agents.example", False),
    ],
)
def test_proxies_of_the_environment_are_for_other_machines_only(url: str, loopback: bool) -> None:
    assert is_here(url) is loopback


async def test_the_events_of_a_stream_come_one_by_one_and_comments_are_left_out() -> None:
    async def answer(request: bytes, writer: asyncio.StreamWriter) -> None:
        assert b"Accept: text/event-stream" in request
        writer.write(EVENTS + b': still here\n\ndata: {"one":1}\n\nevent: x\ndata: {"two":\ndata: 2}\n\n')

    async with answering(answer) as wire:
        assert [event.body async for event in wire.stream(b"{}")] == [b'{"one":1}', b'{"two":\n2}']


async def test_a_stream_that_is_refused_is_one_answer() -> None:
    async def answer(request: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n")
        writer.write(b'{"error": 7}')

    async with answering(answer) as wire:
        assert [event.body async for event in wire.stream(b"{}")] == [b'{"error": 7}']


async def test_a_stream_that_is_cut_off_is_a_fault() -> None:
    async def answer(request: bytes, writer: asyncio.StreamWriter) -> None:
        chunked = EVENTS.replace(b"Connection: close", b"Transfer-Encoding: chunked")
        writer.write(chunked + b"b\r\ndata: {}\n\n\n\r\n")

    async with answering(answer) as wire:
        with pytest.raises(TransportFault):
            assert [event.body async for event in wire.stream(b"{}")] == []


async def test_whoever_hangs_up_is_gone_for_the_target_too() -> None:
    gone = asyncio.Event()

    async def answer(request: bytes, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                writer.write(EVENTS + b"data: {}\n\n")
                await writer.drain()
                await asyncio.sleep(0)
        except ConnectionError:
            gone.set()

    async with answering(answer) as wire:
        async with aclosing(wire.stream(b"{}")) as events:
            await anext(events)
        await asyncio.wait_for(gone.wait(), 10)


async def test_an_upload_goes_to_its_place_as_a_form() -> None:
    taken: list[bytes] = []

    async def answer(request: bytes, writer: asyncio.StreamWriter) -> None:
        taken.append(request)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

    file = FileSent("minutes.txt", "text/plain", data=b"albatross")
    async with answering(answer) as wire:
        assert (await wire.upload(file, "canary-1", within=5)).status == 200
    assert taken[0].startswith(b"POST /a2a/uploads ")
    assert b"multipart/form-data; boundary=canary-1\r\n" in taken[0]
    assert taken[0].endswith(upload("canary-1", file))


async def test_each_version_has_the_address_that_the_card_names_for_it() -> None:
    card = {
        "supportedInterfaces": [
            {**RPC, "url": "http://h:1/old", "protocolVersion": "0.3"},
            {**RPC, "url": "http://h:1/new", "protocolVersion": "1.0"},
        ]
    }
    async with Wire("http://h:1", WireVersion.V1_0) as wire:
        wire.follow_card(card)
        assert wire.endpoint_of(WireVersion.V0_3) == "http://h:1/old"
        assert wire.endpoint_of(WireVersion.V1_0) == "http://h:1/new"
        assert wire.curl(b"{}", WireVersion.V0_3).endswith("http://h:1/old")
