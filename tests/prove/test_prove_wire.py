"""The raw client: where it sends, what it takes for a fault, and the command line that shows the same request."""

import json
import shlex
from typing import Any

import pytest

from holdfast.core.loopback import is_here
from holdfast.prove.envelopes import WireVersion, get_task
from holdfast.prove.targets.process import free_port
from holdfast.prove.wire import TransportFault, Wire

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
