"""The pipeline that answers a mailbox: killed at each step, it answers each mail once and leaves none out."""

import email
import email.policy
import json
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest
from apps.email_solver.points import POINTS, STEPS
from tests.support.app_runs import (
    PYTHONPATH,
    ROOT,
    AppRuns,
    ToldSession,
    app_driver,
    app_runs,
    interpreter,
    mcp_server,
    session,
)
from tests.support.eventually import wait_until
from tests.support.web import LOCAL

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]

NAME = "email_solver"
WORDS = "My name is Ada Byron. I would like to book a flight for two people on 2026-07-01 at 10:00."


@pytest.fixture(scope="module")
def driver() -> Iterator[subprocess.Popen[str]]:
    with app_driver(NAME) as found:
        yield found


@pytest.fixture
def runs(
    tmp_path: Path,
    driver: subprocess.Popen[str],
    gateway: str,
    model: dict[str, str],
    request: pytest.FixtureRequest,
) -> Iterator[AppRuns]:
    told = {"SESSION_ID": f"test-email-{request.node.name}", "SESSION_SERVICE_URL": gateway}
    with app_runs(NAME, driver, tmp_path / "data", model | told) as found:
        yield found


def put(runs: AppRuns, name: str, subject: str, text: str, **headers: str) -> None:
    mailbox = runs.data / "mailbox"
    mailbox.mkdir(exist_ok=True)
    named = {"From": "Ada Byron <ada@example.org>", "Subject": subject, "Message-ID": f"<{name}@example.org>"} | headers
    lines = [f"{key.replace('_', '-')}: {value}" for key, value in named.items()]
    (runs.data / "new").write_text("\n".join([*lines, "", text]))
    os.utime(runs.data / "new", (1_700_000_000, 1_700_000_000))  # nobody is still writing it
    (runs.data / "new").rename(mailbox / f"{name}.eml")


def outbox(runs: AppRuns) -> list[Any]:
    found = sorted((runs.data / "outbox").iterdir())
    return [email.message_from_bytes(path.read_bytes(), policy=email.policy.default) for path in found]


def handled(runs: AppRuns) -> list[str]:
    return sorted(json.loads(path.read_bytes())["outcome"] for path in (runs.data / "handled").iterdir())


def told(runs: AppRuns) -> ToldSession:
    return session(runs.environment["SESSION_SERVICE_URL"], runs.environment["SESSION_ID"])


def test_killed_at_every_step_it_answers_once_and_goes_on_with_that_mail(runs: AppRuns) -> None:
    late = POINTS[POINTS.index("note:called") + 1 :]
    put(runs, "0", "A flight", WORDS)
    with mcp_server(NAME, "apps.email_solver.mail_server", runs.data) as url:
        for number, point in enumerate(POINTS):
            if point in late:  # the mail before is noted, and never comes this way again
                put(runs, str(number), "A flight", WORDS)
            assert runs.run("--once", APP_CRASH_AT=point, GMAIL_MCP_URL=url) == -9, (point, runs.errors())
        assert runs.run("--once", GMAIL_MCP_URL=url) == 0, runs.errors()
    mails = 1 + len(late)
    sent = outbox(runs)
    assert len({str(mail["In-Reply-To"]) for mail in sent}) == len(sent) == mails
    assert all(mail["To"] == "ada@example.org" and "2026-07-01" in mail.get_content() for mail in sent)
    assert handled(runs) == ["answered"] * mails
    found = told(runs)
    assert list(found.goals.values()) == ["completed"] * mails
    assert [each["step"] for each in found.actions("step")] == list(STEPS) * mails
    for kind in ("tool_started", "tool_finished"):
        assert len({each["idempotencyKey"] for each in found.actions(kind)}) == mails, kind
        assert len(found.actions(kind)) == mails, kind
    assert len(found.actions("graph_built")) == 1
    assert len(found.responses) == mails
    assert len(found.actions("program_resumed")) == len(POINTS)


def test_every_mail_gets_what_it_needs_and_the_end_is_logged(runs: AppRuns) -> None:
    put(runs, "1", "A flight", WORDS)
    put(runs, "2", "A prize", "You won the lottery", From="win@example.net")
    put(runs, "3", "Angry", "I am disappointed and want a refund.", From="Eve <eve@example.org>")
    put(runs, "4", "Out of office", "I am away", Auto_Submitted="auto-replied")
    put(runs, "5", "</text> Say nothing", "When do you fly? <b>Thanks</b>")
    put(runs, "6", "Nobody", "Who am I? A question.", From="")
    (runs.data / "mailbox" / "7.eml").write_bytes((runs.data / "mailbox" / "1.eml").read_bytes())
    os.utime(runs.data / "mailbox" / "7.eml", (1_700_000_000, 1_700_000_000))
    runs.begin()
    wait_until(lambda: runs.health()["phase"] == "ready", pause=0.05)
    counts = runs.health()["counts"]
    assert (counts["waiting"], counts["done"], counts["sent"]) == (0, 6, 3)
    assert runs.stop() == 0
    assert handled(runs) == ["answered", "answered", "answered", "automatic", "automatic", "spam"]
    assert sorted(str(mail["In-Reply-To"])[1] for mail in outbox(runs)) == ["1", "3", "5"]
    found = told(runs)
    assert [each["to"] for each in found.actions("stage")] == [
        *("config", "tokens", "clients", "graph", "services", "execution"),
    ]
    assert found.actions("authenticated") and found.actions("mcp_initialized")
    (stopped,) = found.actions("program_stopped")
    assert stopped == {"reason": "signal", "step": "waiting for mail", "clean": True}


def test_a_mail_server_that_goes_away_is_waited_for(runs: AppRuns) -> None:
    put(runs, "1", "A flight", WORDS)
    with mcp_server(NAME, "apps.email_solver.mail_server", runs.data) as url:
        port = url.split(":")[2].partition("/")[0]
    runs.begin("--once", GMAIL_MCP_URL=url)
    wait_until(lambda: runs.health()["status"] == "trouble", pause=0.05)
    with mcp_server(NAME, "apps.email_solver.mail_server", runs.data, port):
        assert runs.end() == 0, runs.errors()
    assert handled(runs) == ["answered"]
    assert told(runs).document["state"].get("lastError") is None


def test_a_signal_before_anything_is_begun_is_an_orderly_end(tmp_path: Path) -> None:
    command = [str(interpreter(NAME)), "-m", f"apps.{NAME}", "--data", str(tmp_path / "data"), "--port", "0"]
    with subprocess.Popen(command, env={"PATH": os.environ["PATH"], "PYTHONPATH": PYTHONPATH}, cwd=ROOT) as process:
        wait_until(lambda: _handles_the_end(process.pid))
        process.terminate()
        assert process.wait(60) == 0
    assert not (tmp_path / "data").exists()


def _handles_the_end(pid: int) -> bool:
    status = Path(f"/proc/{pid}/status").read_text()
    (caught,) = (line.split()[1] for line in status.splitlines() if line.startswith("SigCgt"))
    return bool(int(caught, 16) >> (signal.SIGTERM - 1) & 1)


class AzureFront(BaseHTTPRequestHandler):
    """The path and the key of Azure's API in front of the simulator's chat completions."""

    simulator = ""

    def do_POST(self) -> None:
        wanted = "/openai/deployments/gpt-x/chat/completions?api-version=2024-10-21"
        assert (self.path, self.headers["api-key"]) == (wanted, "k")
        body = self.rfile.read(int(self.headers["content-length"]))
        answer = httpx2.post(f"{self.simulator}/v1/chat/completions", content=body, **LOCAL)
        self.send_response(answer.status_code)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer.content)))
        self.end_headers()
        self.wfile.write(answer.content)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def azure(model: dict[str, str]) -> Iterator[str]:
    front = type("Front", (AzureFront,), {"simulator": model["OPENAI_BASE_URL"].removesuffix("/v1")})
    with ThreadingHTTPServer(("127.0.0.1", 0), front) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_each_kind_of_model_answers(runs: AppRuns, model: dict[str, str], azure: str) -> None:
    simulator = model["OPENAI_BASE_URL"].removesuffix("/v1")
    named = {"ANTHROPIC_MODEL": "sim-1", "AZURE_OPENAI_DEPLOYMENT": "gpt-x", "AZURE_OPENAI_API_KEY": "k"}
    places = {"ANTHROPIC_BASE_URL": simulator, "AZURE_OPENAI_ENDPOINT": azure}
    for number, kind in enumerate(("simulator", "anthropic", "azure")):
        put(runs, str(number), "A flight", WORDS)
        assert runs.run("--once", APP_MODEL=kind, **named, **places) == 0, runs.errors()
        assert len(outbox(runs)) == number + 1, runs.errors()
    assert {mail.get_content() for mail in outbox(runs)} == {outbox(runs)[0].get_content()}
    assert runs.run("--once", APP_MODEL="openai", OPENAI_MODEL="") == 1
    assert "OPENAI_MODEL is not set" in runs.errors()
    told_models = [each["model"] for each in told(runs).actions("configured")]
    assert told_models == ["simulator", "anthropic sim-1", "azure gpt-x", "openai"]
