"""`holdfast mcp` as a process: a line is a message, nothing else goes to stdout, and it ends when it should."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from tests.gateway.process import running
from tests.mcp_server.clients import CALLS, REVISIONS, SESSION, done, furnish, refused
from tests.support.processes import PATIENCE, ended, first_line, python

from holdfast.gateway.mcp.message import LARGEST_CALL
from holdfast.store import open_store

HELLO = {
    "jsonrpc": "2.0",
    "id": "hello",
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
Program = subprocess.Popen[str]


def parameters(data: Path, *arguments: str, **variables: str) -> StdioServerParameters:
    """How the SDK's client starts it."""
    words = ["-m", "holdfast", "mcp", "--data", str(data), *arguments]
    return StdioServerParameters(command=sys.executable, args=words, env=dict(os.environ) | variables)


@contextmanager
def program(data: Path) -> Iterator[Program]:
    with python("-m", "holdfast", "mcp", "--data", str(data), stdin=subprocess.PIPE) as process:
        yield process


def say(process: Program, *messages: Any) -> None:
    """Send lines; text as it is."""
    assert process.stdin is not None
    process.stdin.writelines(f"{each if isinstance(each, str) else json.dumps(each)}\n" for each in messages)
    process.stdin.flush()


def call(name: str, number: int, **arguments: Any) -> dict[str, Any]:
    """A request of a tool."""
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


@pytest.mark.parametrize("revision", ["2026-07-28", pytest.param("2025-11-25", marks=pytest.mark.long(seconds=10))])
async def test_the_sdks_client_calls_every_tool_on_a_store_that_nobody_else_has(tmp_path: Path, revision: str) -> None:
    async with Client(parameters(tmp_path / "data"), mode=REVISIONS[revision]) as client:
        assert client.protocol_version == revision
        assert (await refused(client, "list_sessions"))["code"] == "not_found"
        assert not (tmp_path / "data").exists(), "to look makes no store"
        await furnish(client)
        for name, arguments in CALLS.items():
            await done(client, name, **arguments)
        assert (await client.read_resource(f"holdfast://sessions/{SESSION}")).contents
        assert (await client.get_prompt("resume", {"sessionId": SESSION})).messages
    assert ended("sessions", "verify", "--data", str(tmp_path / "data")).returncode == 0


def test_what_was_asked_before_the_end_of_stdin_is_answered_and_stdout_has_nothing_else(tmp_path: Path) -> None:
    with program(tmp_path) as process:
        say(process, HELLO, {"jsonrpc": "2.0", "method": "notifications/initialized"}, "", "   ")
        say(process, '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', "{", "[]", '{"a":1}', '{"id":1.5}')
        say(process, json.dumps({"jsonrpc": "2.0", "id": 9, "method": "ping", "params": {"x": "y" * LARGEST_CALL}}))
        say(process, *(call("append_action", number, sessionId="s1", type="a", create=True) for number in range(20)))
        said, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (0, "")
    answers = [json.loads(line) for line in said.splitlines()]
    assert all(answer["jsonrpc"] == "2.0" for answer in answers)
    unreadable = [answer["error"]["code"] for answer in answers if answer["id"] is None]
    assert sorted(unreadable) == [-32700, -32700, -32700, -32600, -32600, -32600]
    results = {answer["id"]: answer["result"] for answer in answers if answer["id"] is not None}
    assert set(results) == {"hello", *range(20)}
    assert sorted(results[number]["structuredContent"]["seq"] for number in range(20)) == list(range(1, 21))


def test_a_signal_ends_it_while_it_waits_for_a_line(tmp_path: Path) -> None:
    with program(tmp_path) as process:
        say(process, HELLO, call("create_session", 1, sessionId="s1"))
        assert json.loads(first_line(process))["id"] == "hello"
        assert json.loads(first_line(process))["id"] == 1
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""
    assert ended("sessions", "verify", "--data", str(tmp_path)).returncode == 0


@pytest.mark.long(seconds=10)
async def test_a_gateway_that_asks_for_tokens_is_told_the_one_in_the_environment(tmp_path: Path) -> None:
    async with await open_store(f"sqlite:///{tmp_path}/holdfast.db") as store:
        await store.sessions.create("s1")
        _, token = await store.tokens.create("reader", ["read"])
    with running(tmp_path) as gateway:
        reader = parameters(tmp_path, "--url", gateway.url, HOLDFAST_TOKEN=token)
        async with Client(reader) as client:
            assert (await done(client, "list_sessions"))["sessions"][0]["sessionId"] == "s1"
            refusal = await refused(client, "append_action", sessionId="s1", type="a")
            assert (refusal["code"], refusal["needs"]) == ("forbidden", "write")
            assert gateway.stop()[0] == 0
            assert (await refused(client, "list_sessions"))["code"] == "store_unavailable"
