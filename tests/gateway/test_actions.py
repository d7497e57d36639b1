"""Actions over HTTP: what was acknowledged is there, a retry changes nothing, a stale writer is refused."""

import asyncio
import json
from typing import Any

import httpx2
import pytest

from holdfast.store import NewEvent, Store


async def append(client: httpx2.AsyncClient, session_id: str, **body: Any) -> httpx2.Response:
    return await client.post(f"/api/actions/{session_id}", json=body)


async def numbered(client: httpx2.AsyncClient, count: int) -> None:
    lines = "\n".join(json.dumps({"type": "n", "details": {"n": n}}) for n in range(1, count + 1))
    assert (await client.post("/api/actions/s/batch", content=lines)).status_code == 201


async def test_the_first_log_of_an_unknown_session_makes_it(client: httpx2.AsyncClient) -> None:
    made = await append(client, "test-1", type="team_spawn", timestamp="2026-02-13T10:00:00Z", details={"team": "+1"})
    assert made.status_code == 201
    assert (made.json()["seq"], made.json()["timestamp"]) == (1, "2026-02-13T10:00:00.000Z")
    page = (await client.get("/api/actions/test-1")).json()
    assert page["actions"] == [{**made.json(), "type": "team_spawn", "details": {"team": "+1"}}]
    assert page["cursor"] == {"before": None, "after": 1}


async def test_create_false_refuses_an_unknown_session(client: httpx2.AsyncClient) -> None:
    refused = await client.post("/api/actions/s?create=false", json={"type": "x"})
    assert (refused.status_code, refused.json()["code"]) == (404, "not_found")
    assert (await client.get("/api/actions/s")).status_code == 404


async def test_details_come_back_byte_for_byte(client: httpx2.AsyncClient, store: Store) -> None:
    details = '{ "big" : 123456789012345678901234567890, "z":1.10, "a" : "\\u00e9é" , "e":[ ]}'
    body = f'{{"type":"x","details": {details} ,"timestamp":null}}'
    assert (await client.post("/api/actions/s", content=body.encode())).status_code == 201
    assert (await store.read("s"))[0].payload == details.encode()
    assert f'"details":{details},' in (await client.get("/api/actions/s")).text


@pytest.mark.parametrize("by_header", [True, False])
async def test_a_retry_is_answered_with_the_first_result(client: httpx2.AsyncClient, by_header: bool) -> None:
    headers = {"Idempotency-Key": "k1"} if by_header else {}
    key = {} if by_header else {"idempotencyKey": "k1"}
    sent = [
        await client.post("/api/actions/s", json={"type": "x", "details": {"n": 1}, **key}, headers=headers)
        for _ in range(3)
    ]
    assert [answer.status_code for answer in sent] == [201, 200, 200]
    assert sent[0].json() == sent[1].json() == sent[2].json()
    other = await client.post("/api/actions/s", json={"type": "x", "details": {"n": 2}, **key}, headers=headers)
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_conflict")
    assert len((await client.get("/api/actions/s")).json()["actions"]) == 1


async def test_the_same_event_id_is_a_retry_too(client: httpx2.AsyncClient) -> None:
    assert (await append(client, "s", type="x", eventId="e1")).status_code == 201
    assert (await append(client, "s", type="x", eventId="e1")).status_code == 200


async def test_a_stale_writer_is_refused_and_told_what_it_missed(client: httpx2.AsyncClient) -> None:
    await append(client, "s", type="x", details={"n": 1})
    refused = await append(client, "s", type="y", expectedSeq=0)
    assert refused.status_code == 409
    problem = refused.json()
    assert (problem["code"], problem["headSeq"], problem["expectedSeq"]) == ("stale_writer", 1, 0)
    missed = problem["missed"][0]
    assert (missed["details"], set(missed)) == ({"n": 1}, {"seq", "eventId", "type", "details"})
    assert (await append(client, "s", type="y", expectedSeq=1)).status_code == 201


async def test_a_parent_must_be_there(client: httpx2.AsyncClient) -> None:
    await append(client, "s", type="x", eventId="e1")
    assert (await append(client, "s", type="y", parentId="e1")).status_code == 201
    assert (await append(client, "s", type="y", parentId="none")).status_code == 400


async def test_writers_at_once_get_dense_seqs(client: httpx2.AsyncClient) -> None:
    sent = await asyncio.gather(*(append(client, "s", type="x", details={"n": n}) for n in range(64)))
    assert sorted(answer.json()["seq"] for answer in sent) == list(range(1, 65))


async def test_limit_gives_the_newest_and_cursors_lead_back_to_the_first(client: httpx2.AsyncClient) -> None:
    await numbered(client, 10)
    page = (await client.get("/api/actions/s?limit=4")).json()
    assert [action["seq"] for action in page["actions"]] == [7, 8, 9, 10]
    assert page["cursor"] == {"before": 7, "after": 10}
    seen = [action["seq"] for action in page["actions"]]
    while page["cursor"]["before"] is not None:
        page = (await client.get(f"/api/actions/s?limit=4&before={page['cursor']['before']}")).json()
        seen = [action["seq"] for action in page["actions"]] + seen
    assert seen == list(range(1, 11))


async def test_after_gives_the_oldest_that_follow(client: httpx2.AsyncClient) -> None:
    await numbered(client, 10)
    seen: list[int] = []
    after = 2
    while True:
        page = (await client.get(f"/api/actions/s?limit=3&after={after}")).json()
        if not page["actions"]:
            break
        seen += [action["seq"] for action in page["actions"]]
        after = page["cursor"]["after"]
    assert seen == list(range(3, 11))
    between = (await client.get("/api/actions/s?after=3&before=6")).json()
    assert [action["seq"] for action in between["actions"]] == [4, 5]


async def test_types_can_be_chosen_however_rare(client: httpx2.AsyncClient, store: Store) -> None:
    await store.append("s", [NewEvent("rare", {}), *(NewEvent("often", {"n": n}) for n in range(2_500))])
    found = (await client.get("/api/actions/s?type=rare&limit=5")).json()
    assert [action["seq"] for action in found["actions"]] == [1]
    both = (await client.get("/api/actions/s?type=rare&type=often&limit=1000&after=0")).json()
    assert [action["seq"] for action in both["actions"]] == list(range(1, 1_001))


async def test_the_stores_own_events_are_not_actions(client: httpx2.AsyncClient) -> None:
    await append(client, "s", type="x")
    await client.patch("/api/state/s", json={"phase": "ready"})
    await append(client, "s", type="y")
    page = (await client.get("/api/actions/s?limit=2")).json()
    assert [action["seq"] for action in page["actions"]] == [1, 3]
    refused = await append(client, "s", type="holdfast.state_updated", details={"patch": {}})
    assert refused.status_code == 400


async def test_a_batch_is_one_write(client: httpx2.AsyncClient) -> None:
    array = [{"type": "a", "idempotencyKey": "k"}, {"type": "b"}]
    made = await client.post("/api/actions/s/batch", json=array)
    assert (made.status_code, made.json()) == (
        201,
        {"firstSeq": 1, "lastSeq": 2, "seqs": [1, 2], "replayed": 0},
    )
    bad = '{"type":"c"}\n\n{"type":"a","idempotencyKey":"k","details":{"other":1}}\n'
    assert (await client.post("/api/actions/s/batch", content=bad)).status_code == 409
    assert len((await client.get("/api/actions/s")).json()["actions"]) == 2


async def test_a_batch_under_one_key_is_written_once(client: httpx2.AsyncClient) -> None:
    lines = b'{"type":"a"}\r\n{"type":"b"}\r\n'
    sent = [
        await client.post("/api/actions/s/batch", content=lines, headers={"Idempotency-Key": "batch-1"})
        for _ in range(2)
    ]
    assert [answer.status_code for answer in sent] == [201, 200]
    assert sent[1].json() == {"firstSeq": 1, "lastSeq": 2, "seqs": [1, 2], "replayed": 2}


@pytest.mark.parametrize("since", [3, 1])
async def test_a_batch_of_another_length_under_the_same_key_is_a_conflict(
    client: httpx2.AsyncClient, since: int
) -> None:
    """Its lines are all alike, so that only their number can tell."""
    headers = {"Idempotency-Key": "batch-1"}
    line = {"type": "a", "details": {"n": 1}}
    assert (await client.post("/api/actions/s/batch", json=[line] * 2, headers=headers)).status_code == 201
    other = await client.post("/api/actions/s/batch", json=[line] * since, headers=headers)
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_conflict")
    assert len((await client.get("/api/actions/s")).json()["actions"]) == 2
    again = await client.post("/api/actions/s/batch", json=[line] * 2, headers=headers)
    assert (again.status_code, again.json()["seqs"]) == (200, [1, 2])


async def test_lines_with_keys_of_their_own_keep_them_in_a_batch_with_a_key(client: httpx2.AsyncClient) -> None:
    headers = {"Idempotency-Key": "batch-1"}
    await append(client, "s", type="a", idempotencyKey="own")
    lines = [{"type": "a", "idempotencyKey": "own"}, {"type": "b"}, {"type": "c", "idempotencyKey": "last"}]
    for status, replayed in ((201, 1), (200, 3)):
        sent = await client.post("/api/actions/s/batch", json=lines, headers=headers)
        assert (sent.status_code, sent.json()["seqs"], sent.json()["replayed"]) == (status, [1, 2, 3], replayed)
    keys = [action["idempotencyKey"] for action in (await client.get("/api/actions/s")).json()["actions"]]
    assert keys == ["own", "batch-1#1", "last"]


async def test_batches_of_two_lengths_race_under_one_key_and_one_wins(client: httpx2.AsyncClient) -> None:
    headers = {"Idempotency-Key": "k"}
    sent = await asyncio.gather(
        *(
            client.post("/api/actions/s/batch", json=[{"type": "a"}] * (2 + number % 2), headers=headers)
            for number in range(12)
        )
    )
    assert {answer.status_code for answer in sent} == {200, 201, 409}
    won = next(answer.json()["seqs"] for answer in sent if answer.status_code == 201)
    assert len((await client.get("/api/actions/s")).json()["actions"]) == len(won)


async def test_a_response_is_appended_beside_the_actions(client: httpx2.AsyncClient, store: Store) -> None:
    await append(client, "s", type="x")
    body = b'{"details": {"text" : "done"} ,"idempotencyKey":"r1"}'
    sent = [await client.post("/api/actions/s/responses", content=body) for _ in range(2)]
    assert [answer.status_code for answer in sent] == [201, 200]
    assert sent[0].json() == sent[1].json()
    plain = await client.post("/api/actions/s/responses", content=b' {"text":"as it is","eventId":"e"} ')
    assert plain.json()["seq"] == 3
    shown = (await client.get("/api/sessions/s")).json()
    assert [entry["details"] for entry in shown["responses"]] == [
        {"text": "done"},
        {"text": "as it is"},
    ]
    assert [entry["seq"] for entry in shown["actions"]] == [1]
    assert (await store.read("s"))[1].payload == b'{"text" : "done"}'
    stale = await client.post("/api/actions/s/responses", json={"details": 1, "expectedSeq": 1})
    assert (stale.status_code, stale.json()["missed"][0]["details"]) == (409, {"text": "done"})
    assert (await client.post("/api/actions/none/responses?create=false", json={})).status_code == 404
    assert (await client.post("/api/actions/s/responses", json=[])).status_code == 400


async def test_an_erased_action_is_shown_as_erased(client: httpx2.AsyncClient, store: Store) -> None:
    await append(client, "s", type="x", details={"secret": 1})
    await store.erasure.erase("s", [1], reason="asked for")
    (shown,) = (await client.get("/api/actions/s")).json()["actions"]
    assert shown["details"] is None
    assert len(shown["erased"]) == 64


async def test_a_bad_line_is_named_and_nothing_is_written(client: httpx2.AsyncClient) -> None:
    refused = await client.post("/api/actions/s/batch", content=b'{"type":"a"}\n\n{"type":"b"')
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_json")
    assert refused.json()["detail"].startswith("line 3: ")
    assert (await client.get("/api/actions/s")).status_code == 404


async def test_a_batch_expects_once(client: httpx2.AsyncClient) -> None:
    await numbered(client, 3)
    stale = await client.post("/api/actions/s/batch?expectedSeq=2", json=[{"type": "x"}])
    assert (stale.status_code, stale.json()["code"]) == (409, "stale_writer")
    first = [{"type": "x", "expectedSeq": 3}, {"type": "y"}]
    assert (await client.post("/api/actions/s/batch", json=first)).status_code == 201
    later = [{"type": "x"}, {"type": "y", "expectedSeq": 6}]
    assert (await client.post("/api/actions/s/batch", json=later)).status_code == 400
    assert (await client.post("/api/actions/s/batch", json=[])).status_code == 400


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b'{"type":"x","details":{"a":1,"a":2}}', "duplicate_key"),
        (b'{"type":"x","type":"y"}', "duplicate_key"),
        (b'{"type":"x","details":NaN}', "not_finite"),
        (b'{"type":"x","details":[1e999]}', "not_finite"),
        (b'{"type":"x","details":"\\ud800"}', "surrogate"),
        (b'{"type":"x","details":' + b"[" * 65 + b"]" * 65 + b"}", "depth"),
        (b'{"type":"x","details":' + b"9" * 4301 + b"}", "digits"),
        (b'{"type":"x"', "syntax"),
        (b"", "syntax"),
        (b'{"type":"\xff"}', "encoding"),
    ],
)
async def test_what_is_not_json_is_refused_with_the_reason(
    client: httpx2.AsyncClient, body: bytes, reason: str
) -> None:
    for path in ("/api/actions/s", "/api/actions/s/batch"):
        if body or path.endswith("s"):
            refused = await client.post(path, content=body)
            assert refused.status_code == 400
            assert (refused.json()["code"], refused.json()["reason"]) == ("invalid_json", reason)
    assert (await client.get("/api/actions/s")).status_code == 404


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"type": ""},
        {"type": 7},
        {"type": "x", "expectedSeq": -1},
        {"type": "x", "timestamp": "yesterday"},
        {"type": "x", "timestamp": 9_007_199_254_740_991},
        {"type": "x", "timestamp": "1969-12-31T23:59:59Z"},
        {"type": "x", "eventId": "a\0b"},
        [],
        "x",
    ],
)
async def test_what_is_not_an_action_is_refused(client: httpx2.AsyncClient, body: Any) -> None:
    refused = await client.post("/api/actions/s", json=body)
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_input")


@pytest.mark.parametrize("name", ["%2e%2e", "a%2fb", "a%00b", "x" * 201, "é"])
async def test_an_id_is_never_a_path(client: httpx2.AsyncClient, name: str) -> None:
    assert (await client.post(f"/api/actions/{name}", json={"type": "x"})).status_code in {400, 404}
    assert (await client.get("/api/sessions")).json()["sessions"] == []


@pytest.mark.parametrize("query", ["limit=0", "limit=1001", "limit=x", "before=-1", "after=9223372036854775808"])
async def test_a_query_that_does_not_fit_is_refused(client: httpx2.AsyncClient, query: str) -> None:
    refused = await client.get(f"/api/actions/s?{query}")
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_input")


async def test_a_large_body_is_kept_as_it_came(client: httpx2.AsyncClient, store: Store) -> None:
    details = json.dumps({"text": "é" * 200_000}, ensure_ascii=False).encode()
    made = await client.post("/api/actions/s", content=b'{"type":"x","details":' + details + b"}")
    assert made.status_code == 201
    assert (await store.read("s"))[0].payload == details
