"""The team that answers customers: killed at each step, it answers each message once and books each flight once."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from apps.customer_comm.points import POINTS
from tests.support.app_runs import AppRuns, ToldSession, app_driver, app_runs, mcp_server, session
from tests.support.eventually import wait_until
from tests.support.web import LOCAL

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]

NAME = "customer_comm"
WORDS = "Hello, my name is Ada Byron. Please book a flight for two people on 2026-07-01 at 10:00. Is the weather safe?"
FROM_POSTS = 1
"""The first points are of messages that are posted."""


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
    told = {"SESSION_ID": f"test-customer-{request.node.name}", "SESSION_SERVICE_URL": gateway}
    with app_runs(NAME, driver, tmp_path / "data", model | told) as found:
        yield found


def put(runs: AppRuns, name: str, text: str) -> None:
    inbox = runs.data / "inbox"
    inbox.mkdir(exist_ok=True)
    (runs.data / "new").write_text(json.dumps({"from": "ada@example.org", "text": text}))
    (runs.data / "new").rename(inbox / f"{name}.json")


def bookings(runs: AppRuns) -> list[dict[str, Any]]:
    return [json.loads(path.read_bytes()) for path in (runs.data / "bookings").glob("*.json")]


def answers(runs: AppRuns) -> dict[str, Any]:
    return {path.stem: json.loads(path.read_bytes()) for path in (runs.data / "answers").glob("*.json")}


def told(runs: AppRuns) -> ToldSession:
    return session(runs.environment["SESSION_SERVICE_URL"], runs.environment["SESSION_ID"])


def check_one_case(runs: AppRuns, name: str) -> None:
    """One booking, one answer, and a session that tells each step once."""
    (booking,) = bookings(runs)
    assert (booking["name"], booking["passengers"], booking["date"]) == ("Ada Byron", 2, "2026-07-01")
    (answer,) = answers(runs).values()
    assert booking["reference"] in answer["answer"]
    assert answer["specialists"] == ["booking", "weather"]
    assert not list((runs.data / "inbox").iterdir())
    assert [path.stem for path in (runs.data / "done").iterdir()] == [name]
    found = told(runs)
    assert found.goals == {f"case-{name}": "completed"}
    assert [each["answer"] for each in found.responses] == [answer["answer"]]
    for kind in ("tool_started", "tool_finished"):
        assert [each["tool"] for each in found.actions(kind)] == ["book_flight", "weather_forecast"]
    assert [(each["from"], each["to"]) for each in found.actions("hand_over")] == [
        ("governor", "booking"),
        ("governor", "weather"),
        ("weather", "governor"),
    ]
    assert len(found.actions("team_spawn")) == 1
    assert len(found.document["state"]["agents"]) == 4


def test_killed_at_every_step_it_answers_once_and_books_once(runs: AppRuns) -> None:
    with mcp_server(NAME, "apps.customer_comm.booking_server", runs.data / "bookings") as url:
        put(runs, "m1", WORDS)
        for point in POINTS[FROM_POSTS:]:
            assert runs.run("--once", APP_CRASH_AT=point, BOOKING_MCP_URL=url) == -9, (point, runs.errors())
        assert runs.run("--once", BOOKING_MCP_URL=url) == 0, runs.errors()
    check_one_case(runs, "m1")
    assert len(told(runs).actions("program_resumed")) >= len(POINTS) - FROM_POSTS


def test_a_posted_message_is_on_the_disk_before_it_is_acknowledged_and_taken_once(runs: AppRuns) -> None:
    runs.begin(APP_CRASH_AT="post:kept")
    message = {"id": "m1", "from": "ada@example.org", "text": WORDS}
    with pytest.raises(httpx2.TransportError):
        httpx2.post(f"{runs.url()}/messages", json=message, **LOCAL)
    assert runs.end() == -9
    runs.begin()
    url = runs.url()
    assert httpx2.post(f"{url}/messages", json=message, **LOCAL).json() == {"id": "m1", "new": False}
    assert httpx2.post(f"{url}/messages", json=message | {"text": "Other"}, **LOCAL).status_code == 409
    assert httpx2.post(f"{url}/messages", json={"text": " "}, **LOCAL).status_code == 400
    assert httpx2.post(f"{url}/messages", json={"id": "../m2", "text": "Hi"}, **LOCAL).status_code == 409
    wait_until(lambda: httpx2.get(f"{url}/messages/m1", **LOCAL).json()["place"] == "done", pause=0.05)
    wait_until(lambda: runs.health()["phase"] == "ready", pause=0.05)
    health = runs.health()
    assert (health["status"], health["counts"]) == (
        "ok",
        {"waiting": 0, "done": 1, "failed": 0, "refused": 0, "answers": 1},
    )
    assert runs.stop() == 0
    check_one_case(runs, "m1")
    (stopped,) = told(runs).actions("program_stopped")
    assert stopped == {"reason": "signal", "step": "waiting for messages", "clean": True}
    assert told(runs).document["state"]["phase"] == "stopped"


def test_stopped_in_the_middle_it_says_where_and_a_booking_server_that_dies_is_started_again(runs: AppRuns) -> None:
    put(runs, "m1", "Think for 300 seconds. " + WORDS)
    runs.begin()
    wait_until(lambda: runs.health()["step"] == "route m1", pause=0.05)
    assert (runs.health()["status"], runs.health()["phase"]) == ("ok", "execution")
    assert runs.stop() == 0
    (stopped,) = told(runs).actions("program_stopped")
    assert stopped == {"reason": "signal", "step": "route m1", "clean": True}
    assert told(runs).goals == {"case-m1": "in_progress"}
    (runs.data / "inbox" / "m1.json").unlink()
    pid = runs.begin()
    wait_until(lambda: runs.health()["phase"] == "ready", pause=0.05)
    (child,) = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    os.kill(int(child), signal.SIGKILL)
    put(runs, "m2", WORDS)
    wait_until(lambda: "m2" in answers(runs), pause=0.05)
    assert len(bookings(runs)) == 1
    wait_until(lambda: runs.health()["phase"] == "ready", pause=0.05)
    assert runs.stop() == 0
    assert any("ToolsAway" in each["message"] for each in told(runs).actions("error"))


def test_what_is_no_message_is_refused_and_others_are_answered(runs: AppRuns) -> None:
    put(runs, "m1", "I am angry and want a refund")
    put(runs, "m2", "Please cancel my booking TF-ABCDEF012345")
    (runs.data / "inbox" / "m0.json").write_text("{")
    (runs.data / "inbox" / "a b.json").write_text("{}")
    assert runs.run("--once") == 0, runs.errors()
    assert sorted(answers(runs)) == ["m1", "m2"]
    assert answers(runs)["m1"]["specialists"] == ["care"]
    assert "there is no booking TF-ABCDEF012345" in answers(runs)["m2"]["answer"]
    assert len(list((runs.data / "refused").iterdir())) == 2
    assert bookings(runs) == []
    assert len(told(runs).actions("message_refused")) == 2


def test_a_model_that_fails_is_waited_for_and_one_that_refuses_is_told(runs: AppRuns, model: dict[str, str]) -> None:
    simulator = model["OPENAI_BASE_URL"].removesuffix("/v1")
    put(runs, "m1", "Thank you for everything")
    httpx2.post(f"{simulator}/faults", json=[{"kind": "500", "times": 4}], **LOCAL).raise_for_status()
    assert runs.run("--once") == 0, runs.errors()
    assert sorted(answers(runs)) == ["m1"]
    put(runs, "m2", "Thank you for nothing")
    httpx2.post(f"{simulator}/faults", json=[{"kind": "400", "times": 3}], **LOCAL).raise_for_status()
    assert runs.run("--once") == 0, runs.errors()
    assert sorted(answers(runs)) == ["m1"]
    assert [path.stem for path in (runs.data / "failed").iterdir()] == ["m2"]
    found = told(runs)
    assert found.goals == {"case-m1": "completed", "case-m2": "failed"}
    told_errors = "\n".join(each["message"] for each in found.actions("error"))
    assert "Error code: 500" in told_errors and "m2: " in told_errors
