"""Tasks that wait for a person: found, read and answered, once; on both engines and over a real socket."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.calling import Caller
from tests.gateway.process import running
from tests.support.eventually import wait_until
from tests.support.web import web_client

QUESTION = "May I append the line a to the file {}?"


def asked(caller: Caller) -> tuple[dict[str, Any], str]:
    """A task that waits for an approval, and the name of the file that it is about."""
    file = f"f{uuid.uuid4().hex[:8]}.txt"
    on = f"agent:main:ask:{uuid.uuid4()}"
    text = f"Ask me for my approval, and then append the line a to the file {file}."
    said = caller.post(f"/api/chat/{on}", {"text": text}, status=200)
    assert said["status"] == "input-required"
    found: dict[str, Any] = caller.get(f"/api/tasks/{said['taskId']}")
    return found, file


def ended(caller: Caller, task_id: str) -> dict[str, Any]:
    """The task, once it rests."""

    def look() -> dict[str, Any] | None:
        task: dict[str, Any] = caller.get(f"/api/tasks/{task_id}")
        return None if task["state"] in {"submitted", "working"} else task

    return wait_until(look, 0.02)


def answers(caller: Caller, task: dict[str, Any]) -> list[str]:
    """What the user has said to the task after its first message."""
    events = caller.get(f"/api/sessions/{task['sessionId']}/events?type=message&limit=1000")["events"]
    said = [event["details"] for event in events if event["details"]["role"] == "user"]
    return [message["parts"][0]["text"] for message in said if message["taskId"] == task["taskId"]][1:]


def test_what_waits_is_listed_with_what_it_asks_and_goes_on_with_its_answer(caller: Caller) -> None:
    task, file = asked(caller)
    assert (task["state"], task["question"]) == ("input-required", QUESTION.format(file))
    assert task["key"] == f"agent:main:{task['contextId'].removeprefix('agent:main:')}"
    listed = caller.get("/api/tasks?state=input-required&limit=500")["tasks"]
    assert task in listed
    assert caller.get(f"/api/tasks?session={task['sessionId']}")["tasks"] == [task]
    assert caller.get(f"/api/sessions/{task['sessionId']}?summaries=true")["summary"]["waitingTasks"] == 1
    taken = caller.post(f"/api/tasks/{task['taskId']}/answer", {"text": "I approve."}, status=202)
    assert (taken["taskId"], taken["sessionId"], taken["state"]) == (task["taskId"], task["sessionId"], "submitted")
    assert taken["version"] > task["version"]
    done = ended(caller, task["taskId"])
    assert (done["state"], done["question"]) == ("completed", None)
    assert answers(caller, task) == ["I approve."]
    assert caller.get(f"/api/tasks?session={task['sessionId']}&state=input-required")["tasks"] == []
    entries = caller.get("/api/audit?limit=200")["entries"]
    assert any(entry["target"] == f"/api/tasks/{task['taskId']}/answer" for entry in entries)


def test_a_task_that_does_not_wait_takes_no_answer(caller: Caller) -> None:
    task, _ = asked(caller)
    path = f"/api/tasks/{task['taskId']}/answer"
    stale = caller.post(path, {"text": "yes", "expectedVersion": task["version"] + 1}, status=409)
    assert (stale["code"], stale["version"]) == ("stale_state", task["version"])
    caller.post(path, {"text": "I approve.", "expectedVersion": task["version"]}, status=202)
    done = ended(caller, task["taskId"])
    late = caller.post(path, {"text": "No!"}, status=409)
    assert (late["code"], late["state"]) == ("task_not_waiting", "completed")
    assert "completed" in late["hint"]
    assert (answers(caller, task), caller.get(f"/api/tasks/{task['taskId']}")) == (["I approve."], done)


def test_an_answer_under_one_key_is_taken_once(caller: Caller) -> None:
    task, _ = asked(caller)
    path = f"/api/tasks/{task['taskId']}/answer"
    caller.post(path, {"text": "I approve.", "idempotencyKey": "k"}, status=202)
    done = ended(caller, task["taskId"])
    again = caller.post(path, {"text": "I approve."}, status=202, headers={"Idempotency-Key": "k"})
    assert (again["state"], again["version"]) == (done["state"], done["version"])
    other = caller.post(path, {"text": "No!", "idempotencyKey": "k"}, status=409)
    assert other["code"] == "idempotency_conflict"
    assert answers(caller, task) == ["I approve."]


def test_what_is_no_answer_is_refused(caller: Caller) -> None:
    task, _ = asked(caller)
    path = f"/api/tasks/{task['taskId']}/answer"
    assert caller.post(path, {"text": ""}, status=400)["code"] == "invalid_input"
    assert "txt" in caller.post(path, {"txt": "yes"}, status=400)["detail"]
    assert caller.post("/api/tasks/nobody/answer", {"text": "yes"}, status=404)["code"] == "not_found"
    assert caller.get("/api/tasks/nobody", status=404)["code"] == "not_found"
    assert caller.get("/api/tasks?session=nobody", status=404)["code"] == "not_found"
    assert caller.get("/api/tasks?state=asleep", status=400)["code"] == "invalid_input"
    assert caller.get("/api/tasks?cursor=nonsense", status=400)["code"] == "invalid_input"
    caller.post(f"/api/keys/{task['key']}/reset")
    left = caller.post(path, {"text": "yes"}, status=409)
    assert (left["code"], "reset" in left["detail"]) == ("task_not_waiting", True)


def test_pages_of_tasks_go_on_at_their_cursor(caller: Caller) -> None:
    on = f"agent:main:pages:{uuid.uuid4()}"
    made = [caller.post(f"/api/chat/{on}", {"text": f"Hi {n}"}, status=200) for n in range(3)]
    path = f"/api/tasks?session={made[0]['sessionId']}&limit=2"
    first = caller.get(path)
    rest = caller.get(f"{path}&cursor={first['cursor']}")
    seen = [task["taskId"] for task in first["tasks"] + rest["tasks"]]
    assert (seen, rest["cursor"]) == ([each["taskId"] for each in made][::-1], None)


def test_of_answers_at_once_one_is_taken(caller: Caller) -> None:
    task, _ = asked(caller)

    def answer(number: int) -> int:
        with web_client(base_url=caller.url) as client:
            said = client.post(f"/api/tasks/{task['taskId']}/answer", json={"text": f"I approve, says {number}."})
            return said.status_code

    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(answer, range(8)))
    assert sorted(statuses) == [202, *[409] * 7]
    ended(caller, task["taskId"])
    assert answers(caller, task) == [f"I approve, says {statuses.index(202)}."]


def test_of_answers_on_two_gateways_one_is_taken_and_survives_a_kill(postgres_url: str, tmp_path: Path) -> None:
    with (
        running(tmp_path / "one", "--store", postgres_url) as one,
        running(tmp_path / "two", "--store", postgres_url) as two,
        web_client(base_url=one.url) as first,
        web_client(base_url=two.url) as second,
    ):
        here, there = (
            Caller(gateway.url, "postgresql", postgres_url, client) for gateway, client in ((one, first), (two, second))
        )
        task, file = asked(here)

        def answer(client: Any) -> int:
            said = client.post(f"/api/tasks/{task['taskId']}/answer", json={"text": "I approve."})
            return int(said.status_code)

        with ThreadPoolExecutor(2) as pool:
            statuses = list(pool.map(answer, (first, second)))
        assert sorted(statuses) == [202, 409]
        taken = (one, two)[statuses.index(202)]
        taken.process.kill()  # with the turn recorded, and perhaps begun
        left = there if taken is one else here
        assert ended(left, task["taskId"])["state"] in {"completed", "failed"}
        assert answers(left, task) == ["I approve."]
    lines = [path.read_text() for path in tmp_path.rglob(file)]
    assert lines in ([], ["a\n"])


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
def test_an_answer_that_was_taken_is_worked_on_after_a_kill(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = f"sqlite:///{tmp_path}/holdfast.db" if engine == "sqlite" else request.getfixturevalue("postgres_url")
    with running(tmp_path, "--store", url) as first, web_client(base_url=first.url) as client:
        caller = Caller(first.url, engine, url, client)
        task, _ = asked(caller)
        caller.post(f"/api/tasks/{task['taskId']}/answer", {"text": "I approve.", "idempotencyKey": "k"}, status=202)
        first.process.kill()
        first.process.wait()
    with running(tmp_path, "--store", url) as again, web_client(base_url=again.url) as client:
        caller = Caller(again.url, engine, url, client)
        caller.post(f"/api/tasks/{task['taskId']}/answer", {"text": "I approve.", "idempotencyKey": "k"}, status=202)
        assert ended(caller, task["taskId"])["state"] in {"completed", "failed"}
        assert answers(caller, task) == ["I approve."]
