"""Version 1.0: lists of tasks."""

import pytest
from tests.a2a.conformance.speaker import Json, Speaker

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def listed(v10: Speaker, **params: object) -> Json:
    found: Json = await v10.result("ListTasks", params)
    return found


async def test_artifacts_come_only_if_asked_for(v10: Speaker) -> None:
    """1.0 §3.1.4: without includeArtifacts tasks have no member artifacts at all; with it they have theirs."""
    task = await v10.send("hello")
    for params in ({}, {"includeArtifacts": False}):
        [found] = (await listed(v10, contextId=task["contextId"], **params))["tasks"]
        assert "artifacts" not in found
    [found] = (await listed(v10, contextId=task["contextId"], includeArtifacts=True))["tasks"]
    assert found["artifacts"] == task["artifacts"]


async def test_the_next_page_is_always_named(v10: Speaker) -> None:
    """1.0 §3.1.4: nextPageToken is always there, and empty on the last page.
    1.0 §4.1: a list has its required members: tasks, nextPageToken, pageSize, totalSize."""
    context = v10.name()
    empty = await listed(v10, contextId=context)
    assert empty == {"tasks": [], "nextPageToken": "", "pageSize": empty["pageSize"], "totalSize": 0}
    for _ in range(2):
        await v10.send("hello", contextId=context)
    first = await listed(v10, contextId=context, pageSize=1)
    assert (len(first["tasks"]), first["pageSize"], first["totalSize"]) == (1, 1, 2)
    assert first["nextPageToken"]
    last = await listed(v10, contextId=context, pageSize=1, pageToken=first["nextPageToken"])
    assert (len(last["tasks"]), last["nextPageToken"]) == (1, "")


async def test_pages_go_on_where_the_last_ended(v10: Speaker) -> None:
    """1.0 §3.1.4: pages are by cursor: what comes between shifts nothing."""
    context = v10.name()
    before = [(await v10.send("hello", contextId=context))["id"] for _ in range(4)]
    page = await listed(v10, contextId=context, pageSize=2)
    found = [task["id"] for task in page["tasks"]]
    await v10.send("hello", contextId=context)
    while page["nextPageToken"]:
        page = await listed(v10, contextId=context, pageSize=2, pageToken=page["nextPageToken"])
        found += [task["id"] for task in page["tasks"]]
    assert found == before[::-1]


async def test_the_last_changed_comes_first(v10: Speaker) -> None:
    """1.0 §3.1.4: tasks are sorted by the time of their status, the latest first."""
    context = v10.name()
    asked = await v10.send("ask", contextId=context)
    other = await v10.send("hello", contextId=context)
    assert [task["id"] for task in (await listed(v10, contextId=context))["tasks"]] == [other["id"], asked["id"]]
    await v10.send("hello", taskId=asked["id"])
    tasks = (await listed(v10, contextId=context))["tasks"]
    assert [task["id"] for task in tasks] == [asked["id"], other["id"]]
    times = [task["status"]["timestamp"] for task in tasks]
    assert times == sorted(times, reverse=True)


async def test_results_do_not_change_the_order(v10: Speaker) -> None:
    """1.0 §3.1.4: the order is that of the statuses' times over all contexts, whatever else changes."""
    slow = v10.name()
    task = await v10.start("hold result hold", contextId=slow)
    await v10.send("hello")
    v10.script.let(slow)
    await v10.send("hello")
    times = [each["status"]["timestamp"] for each in (await listed(v10, pageSize=100))["tasks"]]
    assert times == sorted(times, reverse=True)
    await v10.result("CancelTask", {"id": task["id"]})


async def test_a_list_is_of_what_was_asked_for(v10: Speaker) -> None:
    """1.0 §9.4.4: contextId, status and statusTimestampAfter choose the tasks of a list."""
    context = v10.name()
    done = await v10.send("hello", contextId=context)
    asked = await v10.send("ask", contextId=context)
    waiting = await listed(v10, contextId=context, status="TASK_STATE_INPUT_REQUIRED")
    assert [task["id"] for task in waiting["tasks"]] == [asked["id"]]
    since = asked["status"]["timestamp"]
    after = await listed(v10, contextId=context, statusTimestampAfter=since)
    assert asked["id"] in [task["id"] for task in after["tasks"]], "the same time is after, too"
    early = await listed(v10, contextId=context, statusTimestampAfter="2001-02-03T04:05:06Z")
    assert {task["id"] for task in early["tasks"]} == {done["id"], asked["id"]}
    for time in ("2001-02-03T04:05:06.123456789Z", "2001-02-03T04:05:06.1Z"):
        assert len((await listed(v10, contextId=context, statusTimestampAfter=time))["tasks"]) == 2
    late = await listed(v10, contextId=context, statusTimestampAfter="2999-02-03T04:05:06.789Z")
    assert late["tasks"] == []


async def test_a_list_of_nonsense_is_refused(v10: Speaker) -> None:
    """1.0 §3.3.2: a list's params are looked at: sizes of 1 to 100, known states, times, tokens that were given."""
    wrong: list[Json] = [
        {"pageSize": 0},
        {"pageSize": -1},
        {"pageSize": 101},
        {"pageSize": "x"},
        {"status": "TASK_STATE_RUNNING"},
        {"historyLength": -5},
        {"pageToken": "nonsense"},
        {"statusTimestampAfter": "yesterday"},
        {"contextId": 7},
        {"includeArtifacts": "x"},
    ]
    assert [params for params in wrong if "error" not in await v10.envelope("ListTasks", params)] == []
    assert {await v10.code("ListTasks", params) for params in wrong} == {-32602}


async def test_a_page_has_fifty_unless_asked(v10: Speaker) -> None:
    """1.0 §4.1: a page has at most 50 tasks if no size is asked for, and 100 at the most."""
    assert (await listed(v10))["pageSize"] == 50
    assert (await v10.result("ListTasks"))["pageSize"] == 50
    assert (await listed(v10, pageSize=100))["pageSize"] == 100
