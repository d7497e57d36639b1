"""What a target does not claim, or nobody gave us, is no disproof: it is left out with its reason, or a fault."""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.prove.prover import Proved, prove

from holdfast.core.errors import InvalidInput
from holdfast.core.redact import HIDDEN
from holdfast.prove.runtime.options import RuntimeOptions
from holdfast.prove.runtime.prerequisites import GREETING, NEEDS_TASKS
from holdfast.prove.runtime.proofs import catalogue
from holdfast.prove.runtime.selection import select
from holdfast.prove.wire.credentials import credentials

STRANGER = Path(__file__).with_name("stranger.py")
TOKEN, TENANT = "opensesame77", "acme-and-sons"


def stranger(folder: Path, *options: str, token: str = "", environment: dict[str, str] | None = None) -> Proved:
    line = f"{sys.executable} {STRANGER} {{port}} {folder / 'told.jsonl'} {token}"
    return prove("--command", line, *options, artifacts=folder / "artifacts", environment=environment)


def test_an_honest_stranger_is_proven_on_continuity_and_what_it_has_not_is_left_out(tmp_path: Path) -> None:
    proved = stranger(tmp_path, "--turns", "5", "--skip", "wording", "--json")
    assert proved.exit_code == 0, proved.stdout
    summary = proved.summary
    assert summary["wire"] == "0.3"
    assert summary["target"]["endpoint"].endswith("/rpc")
    tried = {"name", "restart", "crash", "isolation", "parallel", "long"}
    assert tried <= set(proved.verdicts())
    assert set(proved.verdicts().values()) == {"proven"}
    reasons = summary["left_out"]
    assert reasons["both-wires"] == "its agent card does not offer both versions"
    assert reasons["task-follow-up"] == "it answers with messages and has no tasks"
    assert reasons["duplicate"] == "the target's workspace cannot be seen from here"
    assert reasons["crash-mid-turn"] == reasons["task-follow-up"]
    assert reasons["wording"] == "--skip names it"
    assert reasons["memory"] == reasons["file-only"] == "not in the profile continuity"
    (long,) = [proof for proof in summary["proofs"] if proof["name"] == "long"]
    assert long["reason"].startswith("5 turns later")
    assert "long takes 5 turns: if its model costs money" in proved.stderr


def test_what_was_asked_for_by_name_is_not_left_out(tmp_path: Path) -> None:
    proved = stranger(tmp_path, "--only", "both-wires", "--json")
    assert (proved.exit_code, proved.verdicts()) == (3, {"both-wires": "inconclusive"})


def test_credentials_go_with_every_request_and_are_in_no_evidence(tmp_path: Path) -> None:
    options = ("--token", TOKEN, "--header", f"X-Tenant: {TENANT}", "--only", "name,crash,memory")
    proved = stranger(tmp_path, *options, "--ndjson", token=TOKEN)
    assert proved.exit_code == 1, proved.stdout
    folder = (tmp_path / "artifacts" / "prove" / "latest").resolve()
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert {"target-1.log", "target-2.log", "summary.json", "report.html"} <= {path.name for path in files}
    assert not [path.name for path in files if TOKEN in path.read_text() or TENANT in path.read_text()]
    assert TOKEN not in proved.stdout + proved.stderr
    assert TENANT not in proved.stdout + proved.stderr
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["arguments"]["token"] == HIDDEN
    assert summary["arguments"]["header"] == ["X-Tenant: ***"]
    (memory,) = [proof for proof in summary["proofs"] if proof["name"] == "memory"]
    assert memory["verdict"] == "disproven"
    assert "-H 'Authorization: ***' -H 'X-Tenant: ***'" in memory["curl"]
    logged = (folder / "target-1.log").read_text().splitlines()
    assert "Bearer *** ***" in logged


def test_a_token_can_come_from_the_environment(tmp_path: Path) -> None:
    proved = stranger(tmp_path, "--only", "name", token=TOKEN, environment={"HOLDFAST_PROVE_TOKEN": TOKEN})
    assert proved.exit_code == 0, proved.stdout


class _Terse(BaseHTTPRequestHandler):
    """Answers a greeting with a message, and makes a task of everything else."""

    def do_GET(self) -> None:
        self.answer({"name": "terse", "protocolVersion": "0.3.0"})

    def do_POST(self) -> None:
        call = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        said = {"kind": "message", "role": "agent", "messageId": "m", "parts": [{"kind": "text", "text": "Hello."}]}
        task = {"kind": "task", "id": "t", "contextId": "c", "status": {"state": "completed", "message": said}}
        hello = call["params"].get("message", {}).get("parts", [{}])[0].get("text") == GREETING
        self.answer({"jsonrpc": "2.0", "id": call["id"], "result": said if hello else task})

    def answer(self, document: dict[str, Any]) -> None:
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def test_one_greeting_that_is_answered_with_a_message_does_not_say_that_there_are_no_tasks(tmp_path: Path) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Terse) as server:
        threading.Thread(target=server.serve_forever).start()
        url = f"http://127.0.0.1:{server.server_port}"
        proved = prove("--url", url, "--only", "task-follow-up", "--json", artifacts=tmp_path)
        server.shutdown()
    assert NEEDS_TASKS not in proved.summary["proofs"][0]["reason"]


@pytest.mark.parametrize("given", [(), ("--token", "anothertoken")])
def test_no_access_is_a_fault_that_says_what_is_missing(given: tuple[str, ...], tmp_path: Path) -> None:
    proved = stranger(tmp_path, *given, "--only", "name,crash", "--json", token=TOKEN)
    assert proved.exit_code == 2
    assert "disproven" not in proved.stdout
    card = proved.summary["prerequisites"][0]
    assert 'answered 401 and asks for Bearer realm="stranger": it wants credentials' in card["reason"]
    assert ("what was given in Authorization" if given else "no credentials were given: --token") in card["hint"]
    assert all(proof["fault"] for proof in proved.summary["proofs"])


@pytest.mark.parametrize(
    ("token", "headers", "said"),
    [
        ("", ["no colon"], "has no name"),
        ("", [": value"], "has no name"),
        ("", ["Name:"], "value of the header Name cannot be sent"),
        ("", ["Name: a\r\nb: c"], "value of the header Name cannot be sent"),
        ("two\nlines", [], "value of the token cannot be sent"),
        ("", ["Content-Type: text/plain"], "the proof sets itself"),
        ("t", ["authorization: Basic x"], "given twice"),
    ],
)
def test_a_header_that_cannot_be_sent_is_refused(token: str, headers: list[str], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        credentials(token or None, headers)


def test_a_value_is_masked_wherever_it_turns_up_and_a_short_word_is_not_a_secret() -> None:
    own = credentials(None, ["Authorization: Basic c2VjcmV0", "X-Version: 1"])
    said = {"text": ["c2VjcmV0 and 1", {"Basic c2VjcmV0": 1}]}
    assert own.mask(said) == {"text": ["*** and 1", {HIDDEN: 1}]}
    assert own.shown == ["Authorization: ***", "X-Version: ***"]


def test_an_image_in_the_environment_is_never_ignored(tmp_path: Path) -> None:
    without_engine = {"TEMPLATE_IMAGE": "acme/agent:1", "PATH": str(tmp_path)}
    proved = prove(artifacts=tmp_path / "none", environment=without_engine)
    assert (proved.exit_code, "there is no container engine" in proved.stderr) == (2, True)
    for target in (("--target", "broken:none"), ("--url", "http://127.0.0.1:1")):
        proved = prove(*target, artifacts=tmp_path / "none", environment=without_engine)
        assert (proved.exit_code, "TEMPLATE_IMAGE in the environment is an --image" in proved.stderr) == (2, True)
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--port", "8000"), "--port cannot be used with --image"),
        (("--env", "MODEL"), "'MODEL' is not NAME=VALUE"),
        (("--env", "A B=1"), "--env 'A B' is not NAME=VALUE on one line"),
        (("--env", "A=1\n2"), "--env 'A' is not NAME=VALUE on one line"),
        (("--keep-running",), "--keep-running is not for --image"),
    ],
)
def test_options_that_an_image_has_no_use_for_are_refused(options: tuple[str, ...], said: str, tmp_path: Path) -> None:
    proved = prove("--image", "acme/agent:1", *options, artifacts=tmp_path / "none")
    assert proved.exit_code == 2
    assert said in proved.stderr
    assert not (tmp_path / "none").exists()


def test_names_of_images_that_would_be_options_are_refused(tmp_path: Path) -> None:
    for name in ("--privileged", "two words"):
        proved = prove(f"--image={name}", artifacts=tmp_path / "none")
        assert (proved.exit_code, "is not the name of an image" in proved.stderr) == (2, True)
    proved = prove("--env", "A=1", artifacts=tmp_path / "none")
    assert (proved.exit_code, "--env is for --image" in proved.stderr) == (2, True)


def test_a_target_that_never_starts_is_a_fault_for_all(tmp_path: Path) -> None:
    proved = prove("--command", f"{sys.executable} -c 'raise SystemExit(3)' {{port}}", "--json", artifacts=tmp_path)
    assert proved.exit_code == 2
    assert len(proved.summary["proofs"]) > 5
    assert all(found["fault"] for found in (*proved.summary["prerequisites"], *proved.summary["proofs"]))


PROOFS = catalogue()


@pytest.mark.parametrize(
    ("given", "profiles"),
    [
        ({"url": "http://h"}, {"continuity"}),
        ({"command": "serve {port}"}, {"continuity"}),
        ({}, {"continuity", "files", "memory", "tools", "streaming"}),
        ({"target": "broken:none"}, {"continuity", "files", "memory", "tools", "streaming"}),
        ({"url": "http://h", "profile": ["files,memory", "tools"]}, {"files", "memory", "tools"}),
        ({"url": "http://h", "profile": "all"}, {"continuity", "files", "memory", "tools", "streaming"}),
    ],
)
def test_a_foreign_target_is_asked_for_continuity_and_ours_for_all(
    given: dict[str, object], profiles: set[str]
) -> None:
    selected = RuntimeOptions.of((), given, arguments={}).selected()
    assert {proof.profile for proof in selected.proofs} == profiles
    names = [proof.name for proof in selected.proofs] + [proof.name for proof, _ in selected.left_out]
    assert sorted(names) == sorted(PROOFS)


def test_what_needs_a_skipped_proof_is_left_out_with_it() -> None:
    selected = select(PROOFS, skip={"name"})
    reasons = {proof.name: finding.reason for proof, finding in selected.left_out}
    assert reasons["name"] == "--skip names it"
    assert {name for name, reason in reasons.items() if reason == "needs name, which is left out"} >= {
        "restart",
        "crash",
    }


@pytest.mark.parametrize(
    ("only", "given", "said"),
    [
        ((), {"profile": "telepathy"}, "there is no profile telepathy"),
        ((), {"skip": "telepathy"}, "there is no proof named telepathy"),
        (("name",), {"skip": "name"}, "--only and --skip both name name"),
        (("name",), {"profile": "files"}, "--only and --profile exclude each other"),
        (("crash",), {"skip": "name"}, "nothing is left to prove"),
    ],
)
def test_a_choice_that_makes_no_sense_is_refused(only: tuple[str, ...], given: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        RuntimeOptions.of(only, given, arguments={}).selected()
