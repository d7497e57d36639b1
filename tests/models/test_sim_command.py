"""`holdfast sim` as a real process: it says where it is, answers over HTTP, and stops with success."""

import json
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
import pytest

from holdfast.models import Message, OpenAIBackend, Role

SIM = [sys.executable, "-m", "holdfast", "sim"]
PATIENCE = 30.0


@contextmanager
def running(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [*SIM, "--port", "0", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def first_line(process: subprocess.Popen[str], *, of_stderr: bool = False) -> str:
    pipe = process.stderr if of_stderr else process.stdout
    assert pipe is not None
    assert select.select([pipe], [], [], PATIENCE)[0], "no word from the simulator"
    return pipe.readline()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_it_answers_until_it_is_told_to_stop(number: signal.Signals) -> None:
    with running("--json") as process:
        said = json.loads(first_line(process))
        assert said["base_url"] == said["url"] + "/v1"
        response = await OpenAIBackend(said["base_url"], "any").complete(
            [Message(Role.USER, "My name is Zq7kfa."), Message(Role.USER, "What is my name?")]
        )
        assert response.content == "Your name is Zq7kfa."
        assert httpx2.get(said["url"] + "/log").json()["answers"][0]["sources"][0]["index"] == 0
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err) == (0, "", "")


def test_it_says_its_url_on_stderr() -> None:
    with running() as process:
        line = first_line(process, of_stderr=True)
        url = next(word for word in line.split() if word.startswith("http://127.0.0.1:"))
        assert httpx2.get(url + "/health").json() == {"status": "ok"}
        process.terminate()
        out, _ = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (0, "")


def test_it_stops_while_it_thinks() -> None:
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "Think for 60 seconds."}]}
    with running("--json") as process:
        url = json.loads(first_line(process))["url"]
        with httpx2.stream("POST", url + "/v1/chat/completions", json=body) as response:
            assert response.status_code == 200
            process.terminate()
            _, err = process.communicate(timeout=PATIENCE)
            assert "the simulator stopped" in response.read().decode()
    assert (process.returncode, err) == (0, "")


def test_a_port_in_use_is_said_plainly() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ended = subprocess.run([*SIM, "--port", port], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert ended.returncode == 1
    assert f"cannot listen on 127.0.0.1 port {port}" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_help_names_the_routes_and_the_default_port() -> None:
    shown = subprocess.run([*SIM, "--help"], capture_output=True, text=True, timeout=PATIENCE, check=True).stdout
    routes = ["/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/files", "/v1/models", "/log", "/health"]
    for word in [*routes, "/faults", "/reset", "X-Sim-Fault", "--port", "18080", "--script", "--fault", "--latency"]:
        assert word in shown
