"""Closer looks at one session: attachments, versions of its state, its verification; on both engines."""

import base64
import hashlib
import uuid
from typing import Any

import httpx2
from tests.gateway.calling import Caller

from holdfast.store import NewEvent, Store

HOSTILE = "<script>alert(1)</script>"


def sent(caller: Caller, data: bytes, name: str, media_type: str) -> tuple[str, dict[str, Any]]:
    """A session in which a user has sent a file, and the file as it is listed."""
    file = {"name": name, "mediaType": media_type, "data": base64.b64encode(data).decode()}
    said = caller.post(f"/api/chat/agent:main:file:{uuid.uuid4()}", {"attachments": [file]}, status=200)
    (listed,) = caller.get(f"/api/sessions/{said['sessionId']}/attachments")["attachments"]
    return said["sessionId"], listed


def test_attachments_are_listed_and_downloaded(caller: Caller) -> None:
    data = bytes(range(256)) * 8192  # two parts
    session_id, listed = sent(caller, data, "kité.png", "image/png")
    assert listed == {
        "digest": hashlib.sha256(data).hexdigest(),
        "name": "kité.png",
        "mediaType": "image/png",
        "sizeBytes": len(data),
        "seq": listed["seq"],
    }
    answer = caller.client.get(f"/api/sessions/{session_id}/attachments/{listed['digest']}")
    assert (answer.status_code, answer.content == data) == (200, True)
    assert answer.headers["content-type"] == "image/png"
    assert answer.headers["content-length"] == str(len(data))
    assert answer.headers["content-disposition"] == (
        "attachment; filename=\"kit_.png\"; filename*=UTF-8''kit%C3%A9.png"
    )
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-security-policy"].startswith("sandbox; default-src 'none'")


def test_what_a_browser_could_run_is_octets(caller: Caller) -> None:
    for name, media_type in (
        ("page.html", "text/html"),
        ("drawing.svg", "image/svg+xml"),
        ("paper.pdf", "application/pdf"),
        ("a.txt", "text/plain; charset=utf-7"),
    ):
        session_id, listed = sent(caller, HOSTILE.encode() + name.encode(), name, media_type)
        answer = caller.client.get(f"/api/sessions/{session_id}/attachments/{listed['digest']}")
        assert answer.headers["content-type"] == "application/octet-stream"
        assert answer.headers["content-disposition"].startswith("attachment;")


def test_bytes_that_the_session_does_not_name_are_not_found(caller: Caller) -> None:
    _, listed = sent(caller, b"mine alone", "a.txt", "text/plain")
    other = f"s-{uuid.uuid4()}"
    caller.post(f"/api/actions/{other}", {"type": "x"})
    assert caller.get(f"/api/sessions/{other}/attachments") == {"attachments": [], "cursor": None}
    assert caller.get(f"/api/sessions/{other}/attachments/{listed['digest']}", status=404)["code"] == "not_found"
    assert caller.get(f"/api/sessions/{other}/attachments/nonsense", status=400)["code"] == "invalid_input"
    assert caller.get(f"/api/sessions/{other}/attachments/{'0' * 64}", status=404)["code"] == "not_found"


async def test_many_attachments_come_in_pages(client: httpx2.AsyncClient, store: Store) -> None:
    digest = (await store.attachments.put(b"x")).digest
    for number in range(5):
        await store.append("s", [NewEvent("between", {})])
        await store.attachments.attach("s", digest, name=f"{number}.txt", media_type="text/plain")
    page = (await client.get("/api/sessions/s/attachments?limit=2")).json()
    assert ([each["name"] for each in page["attachments"]], page["cursor"]) == (["3.txt", "4.txt"], 8)
    older = (await client.get("/api/sessions/s/attachments?limit=3&before=8")).json()
    assert ([each["name"] for each in older["attachments"]], older["cursor"]) == (["0.txt", "1.txt", "2.txt"], None)


def test_every_version_of_a_state_can_be_read(caller: Caller) -> None:
    session_id = f"s-{uuid.uuid4()}"
    for number in range(1, 8):
        caller.patch(f"/api/state/{session_id}", {"step": number, f"k{number}": {"n": number}})
        caller.post(f"/api/actions/{session_id}", {"type": "between"})
    path = f"/api/state/{session_id}/versions"
    page = caller.get(f"{path}?limit=3")
    assert ([each["version"] for each in page["versions"]], page["cursor"]) == ([7, 6, 5], 5)
    assert [each["seq"] for each in page["versions"]] == [13, 11, 9]
    rest = caller.get(f"{path}?before=5")
    assert ([each["version"] for each in rest["versions"]], rest["cursor"]) == ([4, 3, 2, 1], None)
    third = caller.get(f"{path}/3")
    assert third["document"] == {"step": 3, "k1": {"n": 1}, "k2": {"n": 2}, "k3": {"n": 3}}
    assert {name: third[name] for name in ("version", "seq", "timestamp")} == rest["versions"][1]
    assert caller.get(f"{path}/7")["document"]["step"] == 7
    for missing in (0, 8, 999):
        assert caller.get(f"{path}/{missing}", status=404)["code"] == "not_found"
    caller.post(f"/api/actions/{session_id}-plain", {"type": "x"})
    assert caller.get(f"/api/state/{session_id}-plain/versions") == {"versions": [], "cursor": None}


def test_a_session_is_verified_for_whoever_may_read_it(caller: Caller) -> None:
    session_id = f"s-{uuid.uuid4()}"
    caller.post(f"/api/actions/{session_id}/batch", [{"type": "x"}] * 5)
    found = caller.get(f"/api/sessions/{session_id}/verification")
    head = caller.get(f"/api/sessions/{session_id}")["metadata"]["headHash"]
    assert found == {"ok": True, "events": 5, "headHash": head, "problem": None, "badSeq": None}
