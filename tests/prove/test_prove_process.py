"""A process target ends when it is told to, and with the process that started it, and takes its children along."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.prove.prover import alive, command, events, gone, wait_for

from holdfast.prove.targets import NotReady
from holdfast.prove.targets.broken import broken
from holdfast.prove.targets.bundled import bundled
from holdfast.prove.targets.process import Launch, ProcessTarget, free_port, port_answers


def script(text: str, port: int) -> Launch:
    return Launch("script", (sys.executable, "-c", text), port, ready_paths=("/",), workspace=None)


def honest(tmp_path: Path, port: int) -> ProcessTarget:
    return ProcessTarget(broken("none", tmp_path / "data", port), tmp_path, start_seconds=20)


async def test_start_stop_start_kill(tmp_path: Path) -> None:
    port = free_port()
    target = honest(tmp_path, port)
    await target.start()
    first = target.pid
    assert port_answers(port)
    assert await target.stop() == ""
    assert not target.running
    await target.start()
    assert target.pid != first
    await target.kill()
    assert not port_answers(port)
    assert [log.name for log in target.logs()] == ["target-1.log", "target-2.log"]
    assert "Shutting down" in target.logs()[0].read_text()
    assert "Shutting down" not in target.logs()[1].read_text()


async def test_a_taken_port_is_refused_before_the_start(tmp_path: Path) -> None:
    port = free_port()
    first = honest(tmp_path, port)
    await first.start()
    try:
        with pytest.raises(NotReady, match="taken by another process"):
            await honest(tmp_path, port).start()
    finally:
        await first.kill()


async def test_a_process_that_ends_early_leaves_its_exit_code_and_last_words(tmp_path: Path) -> None:
    target = ProcessTarget(script("import sys; sys.exit('no disk')", free_port()), tmp_path, start_seconds=20)
    with pytest.raises(NotReady, match="exit code 1 before it was ready; its last words: no disk"):
        await target.start()


async def test_the_error_before_a_hint_is_among_the_last_words(tmp_path: Path) -> None:
    launch = bundled(tmp_path, free_port(), "nosuch://store")
    with pytest.raises(NotReady, match=r"last words: error: 'nosuch://store' is not a store's URL; hint: sqlite:"):
        await ProcessTarget(launch, tmp_path, start_seconds=20).start()


async def test_a_command_that_does_not_exist_says_so(tmp_path: Path) -> None:
    launch = Launch("nothing", ("/no/such/command",), free_port(), ("/",), None)
    with pytest.raises(NotReady, match="cannot run /no/such/command"):
        await ProcessTarget(launch, tmp_path, start_seconds=20).start()


async def test_a_process_that_is_never_ready_is_killed(tmp_path: Path) -> None:
    port = free_port()
    target = ProcessTarget(script("import time; time.sleep(600)", port), tmp_path, start_seconds=0.3)
    with pytest.raises(NotReady, match=rf"nothing listens on 127\.0\.0\.1:{port}, 0\.3 s after the start") as refusal:
        await target.start()
    assert "--port" in str(refusal.value.hint)
    assert target.pid is not None
    assert not alive(target.pid)


async def test_a_port_where_no_agent_answers_is_not_ready(tmp_path: Path) -> None:
    port = free_port()
    target = ProcessTarget(script("import time; time.sleep(600)", port), tmp_path, start_seconds=0.5)
    starting = asyncio.create_task(target.start())
    while not target.logs():
        await asyncio.sleep(0)
    async with await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", port):
        with pytest.raises(NotReady, match=r"no 200 from /, 0\.5 s after the start"):
            await starting


DEAF = """
import http.server, signal, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print("child", child.pid, flush=True)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), http.server.SimpleHTTPRequestHandler).serve_forever()
"""


async def test_a_target_that_is_deaf_to_sigterm_is_killed_with_its_children(tmp_path: Path) -> None:
    port = free_port()
    launch = Launch("deaf", (sys.executable, "-c", DEAF, str(port)), port, ("/",), None)
    target = ProcessTarget(launch, tmp_path, start_seconds=20, grace_seconds=0.2)
    await target.start()
    words = target.logs()[0].read_text().split()
    child = int(words[words.index("child") + 1])
    assert "still running 0.2 s after SIGTERM" in await target.stop()
    assert not target.running
    assert wait_for(lambda: gone(child))


def test_kill_9_of_the_proof_leaves_no_orphan(tmp_path: Path) -> None:
    arguments = command("--target", "broken:orphans-tasks", "--only", "crash-mid-turn", artifacts=tmp_path)
    with subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as prover:
        # It waits for the end of a task that never ends: the target is up, and stays up.
        last = wait_for(lambda: next((event for event in events(tmp_path) if event["step"] == "see it end"), None))
        assert last["event"] == "request"
        target = next(event["pid"] for event in reversed(events(tmp_path)) if event["event"] == "ready")
        assert alive(target)
        prover.kill()
    assert wait_for(lambda: gone(target))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_interrupted_proof_cleans_up_and_reports(tmp_path: Path, number: signal.Signals) -> None:
    arguments = command("--target", "broken:orphans-tasks", "--only", "crash-mid-turn", artifacts=tmp_path)
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as prover:
        wait_for(lambda: next((event for event in events(tmp_path) if event["step"] == "see it end"), None))
        target = next(event["pid"] for event in reversed(events(tmp_path)) if event["event"] == "ready")
        os.kill(prover.pid, number)
        output, _ = prover.communicate(timeout=30)
    assert prover.returncode == 2
    assert "the run was interrupted" in output
    assert not alive(target)
    assert (tmp_path / "prove" / "latest" / "summary.json").exists()
