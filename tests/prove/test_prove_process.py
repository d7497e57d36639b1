"""A process target ends when it is told to, and with the process that started it, and takes its children along."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tests.prove.prover import alive, command, events, gone
from tests.support.eventually import wait_until
from tests.support.hurried_proofs import prove_hurried

from holdfast.prove import Exit, Verdict
from holdfast.prove.targets import TargetNotReady
from holdfast.prove.targets.broken import broken
from holdfast.prove.targets.bundled import bundled
from holdfast.prove.targets.process import Launch, ProcessTarget, free_port, port_answers

pytestmark = pytest.mark.usefixtures("new_interpreters")


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


async def test_a_target_that_is_paused_stands_still_until_it_is_resumed_and_can_be_killed_meanwhile(
    tmp_path: Path,
) -> None:
    target = honest(tmp_path, free_port())
    await target.start()
    assert target.pid is not None
    states = Path(f"/proc/{target.pid}/stat")
    target.pause()
    wait_until(lambda: states.read_text().rpartition(")")[2].split()[0] == "T")
    target.resume()
    wait_until(lambda: states.read_text().rpartition(")")[2].split()[0] != "T")
    target.pause()
    await target.kill()
    assert gone(target.pid)


async def test_a_target_is_started_as_its_next_version_after_an_upgrade(tmp_path: Path) -> None:
    target = honest(tmp_path, free_port())
    assert target.next_command.endswith(" --next")
    target.upgrade()
    await target.start()
    assert target.pid is not None
    assert Path(f"/proc/{target.pid}/cmdline").read_bytes().endswith(b"--next\0")
    await target.kill()


async def test_a_taken_port_is_refused_before_the_start(tmp_path: Path) -> None:
    port = free_port()
    first = honest(tmp_path, port)
    await first.start()
    try:
        with pytest.raises(TargetNotReady, match="taken by another process"):
            await honest(tmp_path, port).start()
    finally:
        await first.kill()


async def test_a_process_that_ends_early_leaves_its_exit_code_and_last_words(tmp_path: Path) -> None:
    target = ProcessTarget(script("import sys; sys.exit('no disk')", free_port()), tmp_path, start_seconds=20)
    with pytest.raises(TargetNotReady, match="exit code 1 before it was ready; its last words: no disk"):
        await target.start()


async def test_the_error_before_a_hint_is_among_the_last_words(tmp_path: Path) -> None:
    launch = bundled(tmp_path, free_port(), "nosuch://store")
    with pytest.raises(
        TargetNotReady, match=r"last words: error: 'nosuch://store' is not a store's URL; hint: sqlite:"
    ):
        await ProcessTarget(launch, tmp_path, start_seconds=20).start()


async def test_a_command_that_does_not_exist_says_so(tmp_path: Path) -> None:
    launch = Launch("nothing", ("/no/such/command",), free_port(), ("/",), None)
    with pytest.raises(TargetNotReady, match="cannot run /no/such/command"):
        await ProcessTarget(launch, tmp_path, start_seconds=20).start()


async def test_a_process_that_is_never_ready_is_killed(tmp_path: Path) -> None:
    port = free_port()
    target = ProcessTarget(script("import time; time.sleep(600)", port), tmp_path, start_seconds=0.3)
    with pytest.raises(
        TargetNotReady, match=rf"nothing listens on 127\.0\.0\.1:{port}, 0\.3 s after the start"
    ) as refusal:
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
        with pytest.raises(TargetNotReady, match=r"no 200 from /, 0\.5 s after the start"):
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
    assert wait_until(lambda: gone(child))


def test_kill_9_of_the_proof_leaves_no_orphan(tmp_path: Path) -> None:
    arguments = command("--target", "broken:orphans-tasks", "--only", "crash-mid-turn", artifacts=tmp_path)
    with subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as prover:
        # It waits for the end of a task that never ends: the target is up, and stays up.
        last = wait_until(lambda: next((event for event in events(tmp_path) if event["step"] == "see it end"), None))
        assert last["event"] == "request"
        target = next(event["pid"] for event in reversed(events(tmp_path)) if event["event"] == "ready")
        assert alive(target)
        prover.kill()
    assert wait_until(lambda: gone(target))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_interrupted_proof_cleans_up_and_reports(tmp_path: Path, number: signal.Signals) -> None:
    arguments = command("--target", "broken:orphans-tasks", "--only", "crash-mid-turn", artifacts=tmp_path)
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as prover:
        wait_until(lambda: next((event for event in events(tmp_path) if event["step"] == "see it end"), None))
        target = next(event["pid"] for event in reversed(events(tmp_path)) if event["event"] == "ready")
        os.kill(prover.pid, number)
        output, _ = prover.communicate(timeout=30)
    assert prover.returncode == 2
    assert "the run was interrupted" in output
    assert not alive(target)
    assert (tmp_path / "prove" / "latest" / "summary.json").exists()


TALKATIVE = """
import http.server, sys
print("Authorization: Bearer s3cr3t-s3cr3t", "postgresql://ada:hunter2@db/x", flush=True)
print("OPENAI_API_KEY=sk-abcdefghijklmnop", flush=True)
print(b"\\xff not text".decode("latin-1"), "and the rest", flush=True)
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), http.server.SimpleHTTPRequestHandler).serve_forever()
"""
SECRETS = ("s3cr3t-s3cr3t", "hunter2", "sk-abcdefghijklmnop")


@pytest.mark.parametrize("how", ["stop", "kill"])
async def test_no_secret_is_in_the_log_of_a_target(tmp_path: Path, how: str) -> None:
    port = free_port()
    launch = Launch("talkative", (sys.executable, "-c", TALKATIVE, str(port)), port, ("/",), None)
    target = ProcessTarget(launch, tmp_path, start_seconds=20)
    await target.start()
    await (target.stop() if how == "stop" else target.kill())
    log = target.logs()[0].read_text()
    assert [secret for secret in SECRETS if secret in log] == []
    assert "Authorization: ***" in log
    assert "and the rest" in log
    assert [path.name for path in tmp_path.iterdir()] == ["target-1.log"]


def test_no_secret_is_in_the_log_after_kill_9_of_the_proof(tmp_path: Path) -> None:
    (tmp_path / "talkative.py").write_text(TALKATIVE)
    line = f"{sys.executable} {tmp_path / 'talkative.py'} {{port}}"
    log = tmp_path / "evidence" / "prove" / "latest" / "target-1.log"
    arguments = command("--command", line, "--timeout", "60", artifacts=tmp_path / "evidence")
    with subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as prover:
        # It has no agent card, so it is never ready: the proof waits for it.
        wait_until(lambda: log.exists() and "and the rest" in log.read_text())
        prover.kill()
    wait_until(lambda: "Authorization: ***" in log.read_text())
    assert [secret for secret in SECRETS if secret in log.read_text()] == []


async def test_the_last_words_of_a_target_have_no_secret(tmp_path: Path) -> None:
    text = "import sys; sys.exit('cannot reach postgresql://ada:hunter2@db/x')"
    with pytest.raises(TargetNotReady, match=r"last words: cannot reach postgresql://ada:\*\*\*@db/x"):
        await ProcessTarget(script(text, free_port()), tmp_path, start_seconds=20).start()


@pytest.mark.skipif(sys.platform != "linux", reason="NOT RUN: only Linux says who listens")
@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", "::"])
async def test_a_port_that_another_program_takes_is_never_the_target(tmp_path: Path, host: str) -> None:
    """It was free before the start; the target could not bind it, and does not end."""
    port = free_port()
    target = ProcessTarget(script("import time; time.sleep(600)", port), tmp_path, start_seconds=20)
    starting = asyncio.create_task(target.start())
    while not target.logs():
        await asyncio.sleep(0)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}")
        writer.close()

    listening = socket.create_server(
        (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, dualstack_ipv6=":" in host
    )
    async with await asyncio.start_server(answer, sock=listening):
        with pytest.raises(TargetNotReady, match=rf"process {os.getpid()} \(.*\) listens on port {port}") as refusal:
            await starting
    assert "--port" in str(refusal.value.hint)
    assert not target.running


EVERYWHERE = DEAF.replace("127.0.0.1", "0.0.0.0")


@pytest.mark.skipif(sys.platform != "linux", reason="NOT RUN: only Linux says who listens")
@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="NOT RUN: there is no IPv6 here")
@pytest.mark.parametrize("text", [DEAF, EVERYWHERE], ids=["127.0.0.1", "0.0.0.0"])
async def test_a_listener_for_ipv6_alone_is_no_stranger(tmp_path: Path, text: str) -> None:
    """Another program has the same port of IPv6, and gets none of the requests."""
    port = free_port()
    with socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=False):
        launch = Launch("script", (sys.executable, "-c", text, str(port)), port, ("/",), None)
        target = ProcessTarget(launch, tmp_path, start_seconds=20, grace_seconds=0.2)
        await target.start()
        assert target.running
        await target.stop()


async def test_a_target_that_answers_while_it_is_paused_is_not_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ProcessTarget, "pause", lambda target: None)
    result = await prove_hurried("pause", target="broken:none", artifacts=tmp_path, pause=0.1)
    (found,) = [outcome.finding for outcome in result.proofs if outcome.proof.name == "pause"]
    assert (found.verdict, found.reason) == (Verdict.INCONCLUSIVE, "the target did not stand still")
    assert result.exit_code is Exit.INCONCLUSIVE
