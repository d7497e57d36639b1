"""Version 1.0: which version a request is in."""

import pytest
from tests.a2a.conformance.speaker import Speaker, request

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_request_is_read_in_its_version(v10: Speaker, v03: Speaker) -> None:
    """1.0 §3.6.2: a request is met by the rules of the version that it names."""
    task = await v10.send("hello")
    new = await v10.result("GetTask", {"id": task["id"]})
    old = (await v03.envelope("tasks/get", {"id": task["id"]}, A2A_Version="0.3"))["result"]
    assert (new["status"]["state"], old["status"]["state"]) == ("TASK_STATE_COMPLETED", "completed")
    assert ("kind" in new, old["kind"]) == (False, "task")


@pytest.mark.parametrize("version", ["2.0", "1.1", "0.5", "0.2", "nonsense", "1"])
@pytest.mark.parametrize("method", ["GetTask", "SendStreamingMessage", "tasks/get"])
async def test_a_version_that_is_not_spoken(v10: Speaker, version: str, method: str) -> None:
    """1.0 §3.6.2: a version that is not spoken is VersionNotSupportedError."""
    answer = await v10.envelope(method, {"id": "nope"}, A2A_Version=version)
    assert answer["error"]["code"] == -32009


@pytest.mark.parametrize("headers", [{}, {"A2A_Version": ""}])
async def test_no_version_is_the_old_one(v03: Speaker, headers: dict[str, str]) -> None:
    """1.0 §3.6.2: no version means 0.3."""
    task = (await v03.envelope("message/send", v03.message("hello"), **headers))["result"]
    assert task["kind"] == "task"
    new = await v03.envelope("GetTask", {"id": task["id"]}, **headers)
    assert "result" not in new


@pytest.mark.parametrize(("version", "method"), [("1.0.1", "GetTask"), ("1.0.0", "GetTask"), ("0.3.0", "tasks/get")])
async def test_patch_numbers_do_not_count(v10: Speaker, version: str, method: str) -> None:
    """1.0 §3.6: the patch number of a version does not count."""
    assert (await v10.envelope(method, {"id": "nope"}, A2A_Version=version))["error"]["code"] == -32001


async def test_the_version_is_a_header_of_any_case(v10: Speaker) -> None:
    """1.0 §9.2: service parameters are HTTP headers, whose names have no case."""
    for name in ("A2A-Version", "a2a-version", "A2A-VERSION"):
        response = await v10.client.http.post(
            v10.client.url + "/a2a", json=request("GetTask", {"id": "nope"}), headers={name: "1.0"}
        )
        assert response.json()["error"]["code"] == -32001


async def test_the_version_may_be_in_the_address(v10: Speaker) -> None:
    """1.0 §3.6.1: the version may be a parameter of the request's address."""
    address = v10.client.url + "/a2a?A2A-Version=1.0"
    response = await v10.client.http.post(address, json=request("GetTask", {"id": "nope"}))
    assert response.json()["error"]["code"] == -32001
