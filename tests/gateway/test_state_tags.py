"""The ETag of a state: it changes with everything that is shown, and a change under If-Match is made to just that."""

import asyncio
import uuid

import httpx2
from tests.gateway.calling import Caller, checked
from tests.support.web import async_web_client

from holdfast.store import NewEvent, Store

STATE = "/api/state/s"


async def tag(client: httpx2.AsyncClient, path: str = STATE) -> str:
    found: str = (await client.get(path)).headers["etag"]
    assert found.startswith('"')
    return found


async def test_a_reader_that_has_it_is_told_so(client: httpx2.AsyncClient) -> None:
    await client.patch(STATE, json={"n": 1})
    first = await tag(client)
    for known in (first, f"W/{first}", f'"other", {first}', "*"):
        answer = await client.get(STATE, headers={"If-None-Match": known})
        assert (answer.status_code, answer.content, answer.headers["etag"]) == (304, b"", first)
    for other in ('"other"', '"0"', f'{first[:-1]}x"'):
        assert (await client.get(STATE, headers={"If-None-Match": other})).json()["n"] == 1
    lines = [("If-None-Match", '"other"'), ("If-None-Match", first)]
    assert (await client.get(STATE, headers=lines)).status_code == 304
    assert (await client.get(STATE, headers={"If-Match": first})).status_code == 200
    assert (await client.get(STATE, headers={"If-Match": '"other"'})).status_code == 412
    assert (await client.get("/api/state/none", headers={"If-None-Match": "*"})).status_code == 404


async def test_it_changes_with_all_that_is_shown_and_with_nothing_else(
    client: httpx2.AsyncClient, store: Store
) -> None:
    await client.patch(STATE, json={"n": 1})
    seen = [await tag(client)]
    for method, path, body in (
        ("PATCH", STATE, {"n": 1}),
        ("POST", f"{STATE}/goals", {"description": "land"}),
        ("PATCH", f"{STATE}/goals/goal-001", {"status": "completed"}),
        ("PATCH", f"{STATE}/goals/goal-001", {"priority": "high"}),
        ("POST", f"{STATE}/agents", {"type": "pilot", "agentId": "a"}),
        ("POST", f"{STATE}/agents/a/complete", {"result": 1}),
    ):
        assert (await client.request(method, path, json=body)).status_code < 300
        seen.append(await tag(client))
    await store.append("s", [NewEvent("note", {})])
    await store.sessions.tag("s", add=["t"])
    await client.patch("/api/state/other", json={"n": 1})
    assert await tag(client) == seen[-1]
    await store.erasure.erase("s", [1, 2], reason="asked for")
    seen.append(await tag(client))
    assert len(set(seen)) == len(seen)


async def test_a_patch_answers_with_the_tag_that_a_read_has(client: httpx2.AsyncClient) -> None:
    await client.post(f"{STATE}/goals", json={"description": "land"})
    for body in (
        b'{"a":1.0,"b":1e300,"c":-0.0,"d":123456789012345678901234567890}',
        b'{"goals":[{"goalId":"theirs","description":"x"}],"e":"\xc3\xa9"}',
    ):
        patched = await client.patch(STATE, content=body)
        read = await client.get(STATE)
        assert (patched.content, patched.headers["etag"]) == (read.content, read.headers["etag"])


async def test_a_patch_is_made_only_to_what_was_read(client: httpx2.AsyncClient) -> None:
    await client.patch(STATE, json={"n": 1})
    first = await tag(client)
    second = await client.patch(STATE, json={"n": 2}, headers={"If-Match": first})
    assert (second.status_code, second.json()["n"], second.json()["version"]) == (200, 2, 2)
    late = await client.patch(STATE, json={"n": 3}, headers={"If-Match": first})
    assert (late.status_code, checked(late)["code"]) == (412, "precondition_failed")
    assert checked(late)["etag"] == second.headers["etag"] == await tag(client)
    await client.post(f"{STATE}/goals", json={"description": "land"})
    behind = await client.patch(STATE, json={"n": 3}, headers={"If-Match": second.headers["etag"]})
    assert behind.status_code == 412
    weak = await client.patch(STATE, json={"n": 3}, headers={"If-Match": f"W/{await tag(client)}"})
    assert weak.status_code == 412
    assert (await client.get(STATE)).json()["n"] == 2
    several = {"If-Match": f'"other" , {await tag(client)}'}
    assert (await client.patch(STATE, json={"n": 3}, headers=several)).json()["n"] == 3
    assert (await client.patch(STATE, json={"n": 4}, headers={"If-Match": "*"})).json()["n"] == 4
    both = await client.patch(STATE, json={"n": 5, "expectedVersion": 1}, headers={"If-Match": "*"})
    assert (both.status_code, checked(both)["code"]) == (409, "stale_state")


async def test_a_session_that_is_not_there_matches_nothing(client: httpx2.AsyncClient) -> None:
    for match in ("*", '"0"'):
        refused = await client.patch(STATE, json={"n": 1}, headers={"If-Match": match})
        assert (refused.status_code, checked(refused)["etag"]) == (412, None)
    assert (await client.get(STATE)).status_code == 404
    first = await client.patch(STATE, json={"n": 1}, headers={"If-None-Match": "*"})
    assert (first.status_code, first.json()["version"]) == (200, 1)
    again = await client.patch(STATE, json={"n": 2}, headers={"If-None-Match": "*"})
    assert (again.status_code, checked(again)["etag"]) == (412, first.headers["etag"])


async def test_of_many_at_once_one_patches(caller: Caller) -> None:
    state = f"/api/state/{uuid.uuid4()}"
    async with async_web_client(base_url=caller.url) as client:
        await client.patch(state, json={"n": 0})
        for _ in range(5):
            headers = {"If-Match": await tag(client, state)}
            sent = [client.patch(state, json={"n": number}, headers=headers) for number in range(8)]
            sent += [client.post(f"{state}/goals", json={"description": "x"})]
            *patched, _ = [answer.status_code for answer in await asyncio.gather(*sent)]
            assert patched.count(200) == len(patched) - patched.count(412) <= 1
            headers = {"If-Match": await tag(client, state)}
            assert (await client.patch(state, json={"n": 9}, headers=headers)).status_code == 200


async def test_a_retry_is_told_the_first_result_whatever_it_is_conditional_on(client: httpx2.AsyncClient) -> None:
    await client.patch(STATE, json={"n": 1})
    headers = {"If-Match": await tag(client), "Idempotency-Key": "k"}
    first, again = [await client.patch(STATE, json={"n": 2}, headers=headers) for _ in range(2)]
    assert (first.status_code, again.status_code) == (200, 200)
    assert first.json() == again.json()
    assert (await client.get(STATE)).json()["version"] == 2


async def test_what_names_no_tag_is_refused(client: httpx2.AsyncClient) -> None:
    await client.patch(STATE, json={"n": 1})
    for text in ("", "x", '"', "1", '"a" "b"', '"a",', "*,*", '"a\tb"', "W/x", '"a",' + " ," * 9_999):
        for header in ("If-Match", "If-None-Match"):
            for method, body in (("GET", None), ("PATCH", b'{"n":2}')):
                answer = await client.request(method, STATE, content=body, headers={header: text})
                assert (answer.status_code, checked(answer)["code"]) == (400, "invalid_input")
