"""Parameters that many routes share: refused alike wherever they are."""

import httpx2
import pytest

KEYED = [
    ("POST", "/api/sessions", {}),
    ("POST", "/api/actions/s", {"type": "x"}),
    ("POST", "/api/actions/s/batch", [{"type": "x"}]),
    ("POST", "/api/actions/s/responses", {}),
    ("PATCH", "/api/state/s", {"a": 1}),
    ("POST", "/api/state/s/goals", {"description": "x"}),
    ("POST", "/api/sessions/s/fork", {}),
    ("POST", "/api/sessions/s/reset", {}),
]


@pytest.mark.parametrize("key", ["k" * 513, "holdfast.session_created"])
async def test_a_key_that_callers_cannot_have_is_refused_everywhere(client: httpx2.AsyncClient, key: str) -> None:
    await client.post("/api/actions/s", json={"type": "first"})
    for method, path, body in KEYED:
        refused = await client.request(method, path, json=body, headers={"Idempotency-Key": key})
        assert (refused.status_code, refused.json()["code"]) == (400, "invalid_input"), path
    assert (await client.get("/api/sessions/s")).json()["metadata"]["headSeq"] == 1
    assert len((await client.get("/api/sessions")).json()["sessions"]) == 1


async def test_the_longest_key_is_taken_everywhere_and_an_empty_one_is_none(client: httpx2.AsyncClient) -> None:
    await client.post("/api/actions/s", json={"type": "first"})
    for method, path, body in KEYED:
        for key in (path.rjust(512, "k"), ""):
            taken = await client.request(method, path, json=body, headers={"Idempotency-Key": key})
            assert taken.status_code in {200, 201}, (path, taken.text)


async def test_a_batch_under_a_long_key_is_written_once(client: httpx2.AsyncClient) -> None:
    headers = {"Idempotency-Key": "k" * 512}
    sent = [
        await client.post("/api/actions/s/batch", json=[{"type": "a"}, {"type": "b"}], headers=headers)
        for _ in range(2)
    ]
    assert [answer.status_code for answer in sent] == [201, 200]
    other = await client.post("/api/actions/s/batch", json=[{"type": "a"}], headers=headers)
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_conflict")


@pytest.mark.parametrize("query", ["after=", "limit=&before=", "type="])
async def test_what_is_left_empty_is_left_out(client: httpx2.AsyncClient, query: str) -> None:
    await client.post("/api/actions/s", json={"type": "x"})
    assert len((await client.get(f"/api/actions/s?{query}")).json()["actions"]) == 1
    assert len((await client.get("/api/sessions?user=&tag=&status=&from=&to=&q=&cursor=")).json()["sessions"]) == 1


async def test_a_cursor_is_never_a_number_that_cannot_be_sent_back(client: httpx2.AsyncClient) -> None:
    await client.post("/api/actions/s", json={"type": "x"})
    cursor = (await client.get(f"/api/actions/s?after={2**63 - 1}")).json()["cursor"]
    assert (await client.get(f"/api/actions/s?before={cursor['before']}")).status_code == 200


async def test_an_empty_session_id_is_none(client: httpx2.AsyncClient) -> None:
    assert (await client.post("/api/sessions", json={"sessionId": ""})).status_code == 400
    assert (await client.get("/api/sessions")).json()["sessions"] == []
