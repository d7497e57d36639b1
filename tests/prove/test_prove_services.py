"""A service that is not ours: restarted by its owner's command, looked into by its owner's probe, and never ended."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.prove.prover import alive, command, events, gone
from tests.support.eventually import wait_until

from holdfast.core.errors import InvalidInput
from holdfast.prove import Exit, Result, Verdict, prove
from holdfast.prove.report.run_record import read
from holdfast.prove.targets import Choice, ProbeFailed, TargetNotReady, check, choose
from holdfast.prove.targets.probe import ask
from holdfast.prove.targets.process import free_port, port_answers

SERVICE = Path(__file__).with_name("service.py")


@dataclass(frozen=True)
class Service:
    """One that a test has started."""

    url: str
    data: Path
    restart: str

    @property
    def pid(self) -> int:
        """The process that serves now."""
        return int((self.data / "pid").read_text())


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[[str], Service]]:
    """Starts a broken runtime as a service, which is killed when the test is over."""
    started: list[Service] = []

    def start(kind: str) -> Service:
        port, data = free_port(), tmp_path / "service"
        data.mkdir()
        words = [sys.executable, str(SERVICE), kind, str(port), str(data)]
        subprocess.run([*words, "start"], check=True, timeout=30)
        wait_until(lambda: port_answers(port))
        service = Service(f"http://127.0.0.1:{port}", data, " ".join((*words, "{how}")))
        started.append(service)
        return service

    yield start
    for service in started:
        os.kill(service.pid, signal.SIGKILL)


def verdicts(result: Result) -> dict[str, Verdict]:
    return {outcome.proof.name: outcome.finding.verdict for outcome in result.proofs}


def test_a_service_is_restarted_by_its_own_command_and_the_findings_say_so(
    serve: Callable[[str], Service], tmp_path: Path
) -> None:
    service = serve("none")
    first = service.pid
    result = prove("restart", "crash", url=service.url, restart_command=service.restart, artifacts=tmp_path)
    assert verdicts(result) == dict.fromkeys(("name", "restart", "crash"), Verdict.PROVEN)
    said = {outcome.proof.name: service.restart in outcome.finding.reason for outcome in result.proofs}
    assert said == {"name": False, "restart": True, "crash": True}
    ended = {event["event"]: event for event in events(tmp_path) if event["event"] in {"stop", "kill"}}
    assert {event.get("command") for event in ended.values()} == {service.restart}
    assert not any("signal" in event for event in ended.values())
    assert (service.data / "ended").read_text() == "stop stop\nkill kill\nkill kill\n"
    assert service.pid != first
    assert alive(service.pid)
    logs = [log.name for log in sorted(result.folder.glob("restart-*.log"))]
    assert logs == ["restart-1.log", "restart-2.log", "restart-3.log"]


def test_a_service_that_forgets_over_its_restart_is_disproven(serve: Callable[[str], Service], tmp_path: Path) -> None:
    service = serve("memory-only")
    result = prove("crash", url=service.url, restart_command=service.restart, artifacts=tmp_path)
    assert verdicts(result)["crash"] is Verdict.DISPROVEN


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("false", "--restart-command ended with exit code 1"),
        ("sh -c 'echo no such unit >&2; exit 5'", "exit code 5; its last words: no such unit"),
        ("/no/such/command", "--restart-command cannot be run"),
    ],
)
async def test_a_restart_command_that_fails_says_why(tmp_path: Path, line: str, said: str) -> None:
    target = choose(Choice(url="http://h", restart_command=line), tmp_path, start_seconds=20)
    with pytest.raises(TargetNotReady) as failure:
        await target.stop()
    assert said in failure.value.message


def test_a_restart_command_that_fails_is_a_fault_and_not_a_disproof(
    serve: Callable[[str], Service], tmp_path: Path
) -> None:
    service = serve("none")
    result = prove("crash", url=service.url, restart_command="false", artifacts=tmp_path)
    assert result.exit_code is Exit.FAULT
    assert verdicts(result)["crash"] is Verdict.INCONCLUSIVE
    assert alive(service.pid)


async def test_a_restart_command_that_hangs_is_ended(tmp_path: Path) -> None:
    choice = Choice(url="http://h", restart_command=f"sh -c 'echo $$ > {tmp_path}/pid; sleep 600; true'")
    with pytest.raises(TargetNotReady, match=r"had not ended after 0\.3 s"):
        await choose(choice, tmp_path, start_seconds=0.3).kill()
    assert wait_until(lambda: gone(int((tmp_path / "pid").read_text())))


def test_a_service_that_does_not_come_back_is_disproven(serve: Callable[[str], Service], tmp_path: Path) -> None:
    service = serve("none")
    down = f"sh -c 'kill -9 $(cat {service.data}/pid)'"
    result = prove("crash", url=service.url, restart_command=down, timeout=1.0, artifacts=tmp_path)
    crash = {outcome.proof.name: outcome.finding for outcome in result.proofs}["crash"]
    assert crash.verdict is Verdict.DISPROVEN
    assert "within 1 s of the restart command" in crash.got
    (told,) = [each for each in read(result.folder).summary["proofs"] if each["name"] == "crash"]
    assert told["remedy"].startswith("The target does not start on what it left behind.")
    assert told["see"] == ""
    subprocess.run([*service.restart.split()[:-1], "start"], check=True, timeout=30)


def probe_script(tmp_path: Path, text: str) -> str:
    script = tmp_path / "probe.py"
    script.write_text(text)
    return f"{sys.executable} -I -S {script} {{context}}"


async def test_a_probe_command_shows_the_store_of_a_stranger(tmp_path: Path) -> None:
    line = probe_script(tmp_path, 'import sys; print(\'{"sessions": 3, "asked": "\' + sys.argv[1] + \'"}\')')
    target = choose(Choice(url="http://h", probe_command=line), tmp_path, start_seconds=1)
    assert await target.probe("ctx-1") == {"sessions": 3, "asked": "ctx-1"}
    assert await choose(Choice(url="http://h"), tmp_path, start_seconds=1).probe("ctx-1") is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("print('rows: 3')", "printed no JSON"),
        ("print('[1]')", "printed list, not a JSON object"),
        ("import sys; sys.exit('no such database')", "exit code 1; its last words: no such database"),
        ("import time; time.sleep(600)", "had not ended after 0.5 s"),
    ],
)
async def test_a_probe_that_does_not_work_says_why(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ProbeFailed) as failure:
        await ask(probe_script(tmp_path, text), "ctx-1", within=0.5 if "sleep" in text else 20.0)
    assert said in failure.value.message


def test_kill_9_of_the_proof_leaves_no_probe_behind(tmp_path: Path) -> None:
    line = probe_script(
        tmp_path, f"import os, time; open('{tmp_path}/pid', 'x').write(str(os.getpid())); time.sleep(60)"
    )
    agent = f"{sys.executable} -m holdfast.prove.broken task-keyed --port {{port}} --data {{data}}"
    arguments = command("--command", agent, "--only", "name", "--probe-command", line, artifacts=tmp_path)
    with subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as prover:
        # It is disproven, so the layers are looked at, and the probe hangs.
        written = wait_until(lambda: ((tmp_path / "pid").exists() and (tmp_path / "pid").read_text()) or None)
        assert alive(int(written))
        prover.kill()
    assert wait_until(lambda: gone(int(written)))


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        (Choice(restart_command="true"), "--restart-command is for --url"),
        (Choice(url="http://h", restart_command="'"), "--restart-command cannot be split"),
        (Choice(url="http://h", restart_command=" "), "--restart-command is empty"),
        (Choice(url="http://h", next_command="true"), "--next-command is for --command and for the bundled"),
        (Choice(name="broken:none", next_command="true"), "--next-command is for --command and for the bundled"),
        (Choice(store="postgresql://h/", next_command="a {port}"), "--next-command does not say which store"),
        (Choice(command="a", port=1, next_command='"'), "--next-command cannot be split"),
        (Choice(command="a {port}", next_command="b"), "--next-command needs a port"),
        (Choice(probe_command="true"), "--probe-command is for --url and --command"),
        (Choice(url="http://h", probe_command='"'), "--probe-command cannot be split"),
    ],
)
def test_options_that_make_no_sense_are_refused(choice: Choice, said: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        check(choice)
    assert said in refusal.value.message


def test_a_restart_that_fails_does_not_hide_what_was_disproven_before_it(
    serve: Callable[[str], Service], tmp_path: Path
) -> None:
    service = serve("runs-twice")
    workspace = service.data / "workspace"
    result = prove("duplicate", url=service.url, restart_command="false", workspace=workspace, artifacts=tmp_path)
    (found,) = [outcome.finding for outcome in result.proofs if outcome.proof.name == "duplicate"]
    assert result.exit_code is Exit.DISPROVEN
    assert "the effect happened 2 times (and then: the target is not ready" in found.reason
