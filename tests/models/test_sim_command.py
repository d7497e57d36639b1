"""`holdfast sim` as a real process: it says where it is, answers over HTTP, and stops with success."""

import json
import signal
import socket

import httpx2
import pytest
from tests.cli.command import run
from tests.support.processes import PATIENCE, ended, first_line, holdfast, python
from tests.support.web import LOCAL

from holdfast.models import Message, OpenAIBackend, Role


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_it_answers_until_it_is_told_to_stop(number: signal.Signals) -> None:
    with python("-m", "holdfast", "sim", "--port", "0", "--json") as process:
        said = json.loads(first_line(process))
        assert said["base_url"] == said["url"] + "/v1"
        response = await OpenAIBackend(said["base_url"], "any").complete(
            [Message(Role.USER, "My name is Zq7kfa."), Message(Role.USER, "What is my name?")]
        )
        assert response.content == "Your name is Zq7kfa."
        assert httpx2.get(said["url"] + "/log", **LOCAL).json()["answers"][0]["sources"][0]["index"] == 0
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err) == (0, "", "")


def test_it_says_its_url_on_stderr() -> None:
    with holdfast("sim", "--port", "0") as process:
        line = first_line(process, of_stderr=True)
        url = next(word for word in line.split() if word.startswith("http://127.0.0.1:"))
        assert httpx2.get(url + "/health", **LOCAL).json() == {"status": "ok"}
        process.terminate()
        out, _ = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (0, "")


def test_it_stops_while_it_thinks() -> None:
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "Think for 60 seconds."}]}
    with holdfast("sim", "--port", "0", "--json") as process:
        url = json.loads(first_line(process))["url"]
        with httpx2.stream("POST", url + "/v1/chat/completions", json=body, **LOCAL) as response:
            assert response.status_code == 200
            process.terminate()
            _, err = process.communicate(timeout=PATIENCE)
            assert "the simulator stopped" in response.read().decode()
    assert (process.returncode, err) == (0, "")


def test_a_port_in_use_is_said_plainly() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        tried = ended("sim", "--port", port)
    assert tried.returncode == 1
    assert f"cannot listen on 127.0.0.1 port {port}" in tried.stderr
    assert "Traceback" not in tried.stderr


def test_help_names_the_routes_and_the_default_port() -> None:
    shown = run("sim", "--help").stdout
    routes = ["/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/files", "/v1/models", "/log", "/health"]
    for word in [*routes, "/faults", "/reset", "X-Sim-Fault", "--port", "18080", "--script", "--fault", "--latency"]:
        assert word in shown
