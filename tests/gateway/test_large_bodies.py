"""Large bodies: kept and refused as small ones are, and read by another process than the one that answers."""

import json

import httpx2
import pytest
from tests.gateway.test_problems import check

from holdfast.core.large_json import LARGE, LARGE_JSON, MAX_VALUES
from holdfast.gateway.routes.actions import LARGE_DETAILS

TEXT = "x" * LARGE


async def test_details_are_kept_as_they_came(client: httpx2.AsyncClient) -> None:
    details = b'{ "n" : 1.0, "text": "' + TEXT.encode() + b'" }'
    sent = await client.post("/api/actions/s", content=b'{"type":"large", "details":' + details + b"}")
    assert sent.status_code == 201
    other = await client.post("/api/actions/s", content=b'{"type":"large","text":"' + TEXT.encode() + b'"}')
    assert other.status_code == 201
    found = (await client.get("/api/actions/s")).content
    assert details in found
    assert json.loads(found)["actions"][1]["details"] == {"text": TEXT}


async def test_a_million_members_are_details_like_any_other(client: httpx2.AsyncClient) -> None:
    details = {f"k{n}": n for n in range(MAX_VALUES + 1)}
    assert (await client.post("/api/actions/s", json={"type": "x", "details": details})).status_code == 201
    assert (await client.get("/api/actions/s")).json()["actions"][0]["details"] == details


async def test_more_values_than_can_be_made_soon_are_refused(client: httpx2.AsyncClient) -> None:
    body = {"sessionId": "s", "metadata": {f"key-{n}": n for n in range(MAX_VALUES + 1)}}
    refused = await client.post("/api/sessions", json=body)
    assert (refused.status_code, check(refused)["code"], check(refused)["limit"]) == (413, "too_large", MAX_VALUES)


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (b'{"type":"x","type":"y","details":{"t":"%b"}}', "the key 'type' is there twice"),
        (b'{"type":"x","details":{"t":"%b","a":NaN}}', "NaN is not JSON"),
        (b'{"type":"x","details":{},"%b":1}', "no member"),
        (b'["%b"]', "not an action"),
    ],
    ids=["duplicate", "NaN", "unknown", "array"],
)
async def test_what_is_wrong_is_said(client: httpx2.AsyncClient, body: bytes, detail: str) -> None:
    refused = await client.post("/api/actions/s", content=body % TEXT.encode())
    assert refused.status_code == 400
    assert detail in str(check(refused)["detail"])
    assert (await client.get("/api/sessions/s")).status_code == 404


@pytest.mark.parametrize("lines", [True, False], ids=["lines", "array"])
async def test_batches(client: httpx2.AsyncClient, lines: bool) -> None:
    good = b'{"type":"x","details":{"t":"%b"}}' % TEXT.encode()
    bad = b'{"type":"x","details":{"a":1,"a":2}}'

    def batch(*items: bytes) -> bytes:
        return b"\n".join(items) if lines else b"[" + b",".join(items) + b"]"

    refused = await client.post("/api/actions/s/batch", content=batch(good, bad))
    assert str(check(refused)["detail"]).startswith(f"{'line' if lines else 'item'} 2: the key 'a' is there twice")
    assert (await client.get("/api/sessions/s")).status_code == 404
    assert (await client.post("/api/actions/s/batch", content=batch(good, good))).json()["lastSeq"] == 2


async def test_it_was_another_process(client: httpx2.AsyncClient) -> None:
    LARGE_JSON.close()
    await client.post("/api/actions/s", json={"type": "x", "details": {"t": TEXT}})
    assert LARGE_JSON._process is not None and LARGE_JSON._process.poll() is None


async def test_large_details_are_sent_as_they_are_stored_and_nothing_is_missing(client: httpx2.AsyncClient) -> None:
    """They are pieces of the answer of their own: its length, its order and small ones beside them are as always."""
    contents = ["small", TEXT, "é", TEXT[: LARGE_DETAILS // 2], TEXT + "y"]
    for content in contents:
        assert (await client.post("/api/actions/s", json={"type": "x", "details": {"t": content}})).status_code == 201
    answer = await client.get("/api/actions/s")
    assert [each["details"]["t"] for each in answer.json()["actions"]] == contents
    assert answer.headers["content-length"] == str(len(answer.content))
    assert answer.headers["content-type"] == "application/json"
    assert answer.content.endswith(b"}\n")
    assert b"\0" not in answer.content
