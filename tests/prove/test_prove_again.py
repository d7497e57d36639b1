"""`--again` starts the target of a run on a copy of its data, so that the commands of the evidence answer."""

import hashlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.prove.folders import outcome, summary, write
from tests.prove.prover import DEAD_PROXY, alive, command, prove

from holdfast.cli.prove import prove as prove_command
from holdfast.core.errors import InvalidInput
from holdfast.prove.runtime.options import RuntimeOptions
from holdfast.prove.runtime.runs.again import again
from holdfast.prove.targets import TargetNotReady
from holdfast.prove.targets.process import ProcessTarget, free_port

BROKEN = f"{sys.executable} -m holdfast.prove.broken ack-before-commit --port {{port}} --data {{data}}"


def fingerprint(folder: Path) -> dict[str, str]:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.parametrize("line", [None, BROKEN])
def test_the_commands_of_a_disproof_answer_again_and_the_evidence_stays_as_it_is(
    line: str | None, tmp_path: Path
) -> None:
    target = ("--command", line) if line else ("--target", "broken:ack-before-commit")
    proved = prove(*target, "--only", "crash", "--json", artifacts=tmp_path)
    assert proved.exit_code == 1
    folder = Path(proved.summary["evidence"])
    before = fingerprint(folder)
    words = command("--again", str(folder), "crash", *(target if line else ()), artifacts=tmp_path)
    environment = {**os.environ, **DEAD_PROXY, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as running:
        assert running.stderr is not None
        assert running.stdout is not None
        told = next(said for said in running.stderr if said.startswith("the target runs at"))
        pid = int(re.findall(r"pid (\d+)", told)[0])
        assert alive(pid)
        shown = next(said for said in running.stdout if "curl " in said)
        curl = shlex.split(shown.partition(":")[2])
        answer = subprocess.run([curl[0], "--noproxy", "*", *curl[1:]], capture_output=True, text=True, check=True)
        assert "I do not know your name" in json.dumps(json.loads(answer.stdout)["result"])
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=60)
    assert running.returncode == 0
    assert not alive(pid)
    assert fingerprint(folder) == before
    assert not list(tmp_path.glob("holdfast-again-*"))


def refusal(folder: Path, agreed: bool = True, proof: str | None = None, **given: Any) -> InvalidInput:
    asked: list[str] = []

    def confirm(question: str) -> bool:
        asked.append(question)
        return agreed

    with pytest.raises(InvalidInput) as refused:
        again(RuntimeOptions.of((), given, arguments={}), folder, proof, confirm)
    assert all("\x1b" not in question for question in asked)
    return refused.value


UPGRADED = {"name": "a target", "command": "serve", "endpoint": "http://127.0.0.1:1/a2a", "upgraded": True}


def evidence(folder: Path, *, data: bool = True, **more: Any) -> Path:
    if data:
        (folder / "data").mkdir(parents=True)
    target = {"name": "a target", "command": "serve", "endpoint": f"http://127.0.0.1:{free_port()}/a2a"}
    return write(folder, summary(outcome("crash", "disproven", curl="curl"), **{"target": target, **more}), [])


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"arguments": {"command": "serve \x1b[2J {port} {data}"}}, "the command was not run"),
        ({"arguments": {"command": "serve --token *** {port} {data}"}}, "was masked"),
        ({"arguments": {"url": "http://h"}}, "has its data elsewhere"),
        ({"arguments": {"image": "acme/agent"}}, "an image is not started again"),
        ({"arguments": {"store": "postgresql://h/db"}}, "is not in its folder"),
        ({"arguments": {"target": "broken:telepathy"}}, "there is no target"),
        ({"arguments": {}, "runs": []}, "is about several runs"),
        ({"arguments": {"next_command": "next {port} {data}"}, "target": UPGRADED}, "the command was not run"),
        ({"arguments": {"command": "old {port} {data}"}, "target": UPGRADED}, "left by the next version"),
        ({"arguments": {}, "data": False}, "there is no data"),
    ],
)
def test_what_cannot_or_must_not_be_started_is_refused(more: dict[str, Any], said: str, tmp_path: Path) -> None:
    assert said in refusal(evidence(tmp_path / "run", **more), agreed=False).message


def test_a_command_that_keeps_its_data_elsewhere_and_a_proof_that_there_is_not_are_refused(tmp_path: Path) -> None:
    folder = evidence(tmp_path / "run", arguments={"command": "serve {port} ./data"})
    assert "keeps its data elsewhere" in refusal(folder).message
    assert "there is no proof telepathy" in refusal(folder, proof="telepathy").message
    assert "keeps its data elsewhere" in refusal(folder, command="mine {port}").message
    upgraded = evidence(tmp_path / "upgraded", arguments={"next_command": "next {port}"}, target=UPGRADED)
    assert "keeps its data elsewhere" in refusal(upgraded).message


def test_nobody_at_a_terminal_is_a_no(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    folder = evidence(tmp_path / "run", arguments={"command": f"touch {marker} {{port}} {{data}}"})
    ran = CliRunner().invoke(prove_command, ["--again", str(folder), "crash"], input="y\n")
    assert ran.exit_code == 2
    assert "the command was not run" in ran.output
    assert not marker.exists()


@pytest.mark.usefixtures("new_interpreters")
@pytest.mark.parametrize("target", ["bundled", "broken:ack-before-commit"])
def test_code_that_lies_in_the_data_is_not_run(target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marker, folder = tmp_path / "ran", evidence(tmp_path / "run", arguments={})
    package = folder / "data" / "holdfast"
    package.mkdir()
    for name in ("__init__.py", "__main__.py"):
        (package / name).write_text(f"open({str(marker)!r}, 'w').close(); raise SystemExit(3)\n")
    monkeypatch.chdir(folder / "data")
    monkeypatch.setattr("holdfast.prove.runtime.runs.again.wait_until_interrupted", lambda ended, tell: ended.close())
    again(RuntimeOptions.of((), {"target": target}, arguments={}), folder, "crash", lambda question: False)
    assert not marker.exists()


def test_the_bundled_runtime_of_foreign_evidence_is_started_only_if_somebody_agrees(tmp_path: Path) -> None:
    for number, arguments in enumerate(({}, {"target": "bundled"})):
        folder = evidence(tmp_path / f"run-{number}", arguments=arguments)
        assert "was not started" in refusal(folder, agreed=False).message


@pytest.mark.parametrize("leads", ["/etc", "../../other", "inner/../../summary.json", "link"])
def test_a_link_that_leaves_the_data_is_refused(leads: str, tmp_path: Path) -> None:
    folder = evidence(tmp_path / "run", arguments={"target": "broken:none"})
    (folder / "data" / "inner").mkdir()
    (folder / "data" / "link").symlink_to(leads)
    assert "the link link leaves the data" in refusal(folder).message


def test_data_that_is_a_link_itself_and_a_pipe_in_it_are_refused(tmp_path: Path) -> None:
    folder = evidence(tmp_path / "run", arguments={"target": "broken:none"})
    os.mkfifo(folder / "data" / "pipe")
    assert "is not a file" in refusal(folder).message
    (folder / "data").rename(tmp_path / "elsewhere")
    (folder / "data").symlink_to(tmp_path / "elsewhere")
    assert "is a link" in refusal(folder).message


def test_no_hint_names_a_log_that_is_gone(tmp_path: Path) -> None:
    folder = evidence(tmp_path / "run", arguments={})
    given = {"command": "python3 -c 'raise SystemExit(3)' {port} {data}"}
    with pytest.raises(TargetNotReady) as refused:
        again(RuntimeOptions.of((), given, arguments={}), folder, "crash", lambda question: False)
    assert "exit code 3" in refused.value.message
    assert "holdfast-again-" not in (refused.value.hint or "")


def test_no_error_says_what_the_credentials_are(tmp_path: Path) -> None:
    folder = evidence(tmp_path / "run", arguments={})
    given = {"command": "sh -c 'echo zebra9unicorn7 >&2; exit 3' {port} {data}", "token": "zebra9unicorn7"}
    with pytest.raises(TargetNotReady) as refused:
        again(RuntimeOptions.of((), given, arguments={}), folder, "crash", lambda question: False)
    assert "***" in str(refused.value)
    assert "zebra9" not in f"{refused.value} {refused.value.message} {refused.value.hint}"


def test_after_an_upgrade_the_next_version_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proved = prove("--target", "broken:forgets-at-upgrade", "--only", "upgrade", "--json", artifacts=tmp_path)
    assert proved.summary["target"]["upgraded"]
    assert proved.summary["target"]["command"].endswith(" --next")
    started: list[str] = []

    async def start(self: ProcessTarget) -> None:
        started.append(self.command_line)

    monkeypatch.setattr(ProcessTarget, "start", start)
    monkeypatch.setattr("holdfast.prove.runtime.runs.again.wait_until_interrupted", lambda ended, tell: ended.close())
    folder = Path(proved.summary["evidence"])
    again(RuntimeOptions.of((), {}, arguments={}), folder, "upgrade", lambda question: False)
    assert [line.endswith(" --next") for line in started] == [True]
