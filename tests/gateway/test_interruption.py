"""A turn that is interrupted on purpose goes the way of one that a restart cut: marked, begun again, answered once."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from tests.gateway.holders import client
from tests.gateway.process import Running, running
from tests.support.eventually import wait_until

KEY = "agent:main:slow"
QUESTION = {"text": "Think for 1 seconds, then say done."}
PATH = f"/api/sessions/{KEY}/interrupt"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("data")) as made:
        yield made


def test_an_interrupted_turn_is_marked_begun_again_and_answered_once(gateway: Running) -> None:
    answers: list[dict[str, Any]] = []
    with client(gateway.url) as asking:
        saying = threading.Thread(target=lambda: answers.append(asking.post(f"/api/chat/{KEY}", json=QUESTION).json()))
        saying.start()
        with client(gateway.url) as other:
            done = wait_until(lambda: answer if (answer := other.post(PATH)).status_code == 200 else None)
        saying.join()
        log = asking.get(f"/api/sessions/{KEY}/log").text
        history = asking.get(f"/api/chat/{KEY}/history").json()["messages"]
        row = asking.get(f"/api/sessions/{KEY}").json()["metadata"]
        again = asking.post(PATH)
    assert answers[0]["status"] == "completed"
    assert done.json() == {"sessionId": KEY, "taskId": answers[0]["taskId"]}
    assert [each["role"] for each in history] == ["user", "agent"]
    assert log.count('"status":"interrupted"') == 1
    assert row["status"] == "active"
    assert (again.status_code, again.json()["code"]) == (409, "conflict")


def test_what_has_no_turn_cannot_be_interrupted(gateway: Running) -> None:
    with client(gateway.url) as asking:
        assert asking.post("/api/sessions/nobody/interrupt").status_code == 404
        asking.post("/api/actions/quiet", json={"type": "note", "details": 1}).raise_for_status()
        assert asking.post("/api/sessions/quiet/interrupt").status_code == 409
        asking.delete("/api/sessions/quiet").raise_for_status()
        assert asking.post("/api/sessions/quiet/interrupt").status_code == 410
