"""Leases and tasks: one writer of turns at a time, and turns that belong to their conversation, on every engine."""

import asyncio
from dataclasses import replace

import pytest
from tests.support.changes import assert_verified
from tests.support.interrupted import Twice
from tests.support.material import numbered, said, values

from holdfast.core.errors import LeaseHeld, LeaseLost, NotFound, StaleState, TaskEnded
from holdfast.store import NewEvent, Store, TaskState
from holdfast.store.tasks.task_texts import TaskText
from holdfast.store.tasks.tasks import waiting

pytestmark = pytest.mark.own_store


async def test_a_lease_has_one_holder_and_a_new_holder_fences_the_old(store: Store) -> None:
    first = await store.leases.acquire("s", "a", 60_000)
    with pytest.raises(LeaseHeld) as refusal:
        await store.leases.acquire("s", "b", 60_000)
    assert refusal.value.details["holder"] == "a"
    assert (await store.leases.acquire("s", "a", 60_000)).fence == first.fence
    await store.append("s", numbered(1), lease=first)
    second = await store.leases.acquire("s", "b", 60_000, take_over=True)
    assert second.fence == first.fence + 1
    with pytest.raises(LeaseLost):
        await store.append("s", numbered(2), lease=first)
    with pytest.raises(LeaseLost):
        await store.leases.renew(first, 60_000)
    await store.leases.release(first)
    await store.append("s", numbered(3), lease=await store.leases.renew(second, 60_000))
    await store.append("s", numbered(4))
    assert await values(store, "s") == [{"n": 1}, {"n": 3}, {"n": 4}]


async def test_expiry_lets_another_take_over_and_refuses_nothing_by_itself(store: Store) -> None:
    lease = await store.leases.acquire("s", "a", 1)
    while True:
        await store.append("s", numbered(1), lease=lease)
        try:
            taken = await store.leases.acquire("s", "b", 60_000)
            break
        except LeaseHeld:
            continue
    assert taken.fence == lease.fence + 1
    with pytest.raises(LeaseLost):
        await store.append("s", numbered(2), lease=lease)


async def test_a_holder_that_comes_back_after_its_time_is_another_one(store: Store) -> None:
    """Whoever it was before may not know that its time is over: what it still writes is refused."""
    first = await store.leases.acquire("s", "a", 1)
    async with asyncio.timeout(60):
        while (again := await store.leases.acquire("s", "a", 1)).fence == first.fence:
            await asyncio.sleep(0.01)
    assert again.fence == first.fence + 1
    with pytest.raises(LeaseLost):
        await store.append("s", numbered(1), lease=first)


async def test_a_released_lease_is_free_at_once(store: Store) -> None:
    lease = await store.leases.acquire("s", "a", 60_000)
    await store.leases.release(lease)
    assert (await store.leases.acquire("s", "b", 60_000)).fence == lease.fence + 1


async def test_a_task_lives_in_its_conversation(store: Store) -> None:
    begun = await store.tasks.begin("s", "t1", "ctx", said("hi", "t1", "k1"), owner="me")
    assert (begun.task.state, begun.replayed) == (TaskState.SUBMITTED, False)
    lease = await store.leases.acquire("s", "me", 60_000)
    working = await store.tasks.update(begun.task, TaskState.WORKING, lease=lease)
    answer = NewEvent("message", {"role": "agent", "taskId": "t1", "parts": [{"text": "hello"}]})
    done = await store.tasks.update(working, TaskState.COMPLETED, {"artifacts": [1]}, messages=[answer], lease=lease)
    assert (done.state, done.document, done.version) == (TaskState.COMPLETED, {"artifacts": [1]}, 3)
    assert await store.tasks.get("t1") == done
    roles = [event.value()["role"] for event in await store.read("s", types=["message"])]
    assert roles == ["user", "agent"]
    with pytest.raises(TaskEnded):
        await store.tasks.update(done, TaskState.WORKING)
    with pytest.raises(NotFound):
        await store.tasks.get("t2")
    assert (await store.verification.session("s")).problem is None


async def test_a_redelivered_message_finds_its_first_task(store: Store) -> None:
    deliveries = [
        store.tasks.begin("s", f"t{n}", "ctx", said("hi", f"t{n}", "same-message"), owner="me") for n in range(8)
    ]
    begun = await asyncio.gather(*deliveries)
    assert len({one.task.task_id for one in begun}) == 1
    assert sum(not one.replayed for one in begun) == 1
    assert len(await store.read("s", types=["message"])) == 1


async def test_running_tasks_of_a_silent_owner_are_orphans(store: Store) -> None:
    await store.tasks.beat("alive", 60_000)
    await store.tasks.begin("a", "ta", "ca", said("hi", "ta"), owner="alive")
    await store.for_tenant("other").tasks.begin("b", "tb", "cb", said("hi", "tb"), owner="dead")
    done = await store.tasks.begin("c", "tc", "cc", said("hi", "tc"), owner="dead")
    await store.tasks.update(done.task, TaskState.COMPLETED)
    assert [(o.tenant, o.task.task_id) for o in await store.tasks.orphans()] == [("other", "tb")]
    await store.leases.acquire("a", "alive", 60_000)
    await store.tasks.declare_all_dead()
    assert {o.task.task_id for o in await store.tasks.orphans()} == {"ta", "tb"}
    assert (await store.leases.acquire("a", "next", 60_000)).fence == 2


async def test_a_turn_whose_beginning_is_run_again_is_not_set_back(store: Store) -> None:
    message = NewEvent("message", {"role": "user", "taskId": "t1"})

    async def moves_on() -> None:
        await store.tasks.update(await store.tasks.get("t1"), TaskState.WORKING)

    again = replace(store.tasks, workers=Twice(store.tasks.workers, moves_on))
    begun = await again.begin("s", "t1", "c", message, owner="me")
    assert (begun.task.state, begun.replayed) == (TaskState.WORKING, False)
    assert len(await store.read("s")) == 3
    assert (await store.verification.session("s")).problem is None


async def test_an_answer_to_a_task_that_asked_back_opens_a_session_that_failed(store: Store) -> None:
    asked = (await store.tasks.begin("s", "asks", "c", said("hi", "asks"), owner="o")).task
    asked = await store.tasks.update(asked, TaskState.INPUT_REQUIRED)
    cut = (await store.tasks.begin("s", "cut", "c", said("more", "cut"), owner="o")).task
    await store.tasks.update(cut, TaskState.FAILED, session_status="failed")
    assert (await store.sessions.get("s")).status == "failed"
    await store.tasks.go_on(asked, said("yes", "asks"), owner="o", idempotency_key="k")
    assert (await store.sessions.get("s")).status == "active"
    await assert_verified(store, "s")


async def test_a_message_to_a_running_task_waits_in_it_once(store: Store) -> None:
    task = (await store.tasks.begin("s", "t", "c", said("hi", "t"), owner="o")).task
    again = replace(store.tasks, workers=Twice(store.tasks.workers))
    first = await again.go_on(task, said("more", "t", "k1"), owner="o", idempotency_key="call-1")
    assert (first.replayed, first.waits, waiting(first.task)) == (False, True, 1)
    redelivered = await store.tasks.go_on(task, said("more", "t", "k1"), owner="o", idempotency_key="call-2")
    assert (redelivered.replayed, waiting(redelivered.task)) == (True, 1)
    await store.tasks.go_on(task, said("and more", "t", "k2"), owner="o", idempotency_key="call-3")
    assert waiting(await store.tasks.get("t")) == 2
    assert (await store.tasks.get("t")).state is TaskState.SUBMITTED
    await assert_verified(store, "s")


async def test_nothing_waits_in_a_task_that_has_ended(store: Store) -> None:
    task = (await store.tasks.begin("s", "t", "c", said("hi", "t"), owner="o")).task
    await store.tasks.update(task, TaskState.COMPLETED)
    with pytest.raises(TaskEnded):
        await store.tasks.go_on(task, said("more", "t"), owner="o", idempotency_key="k")
    assert len(await store.read("s", types=["message"])) == 1


async def test_a_task_does_not_end_behind_the_back_of_a_message_that_waits(store: Store) -> None:
    task = (await store.tasks.begin("s", "t", "c", said("hi", "t"), owner="o")).task
    await store.tasks.go_on(task, said("more", "t"), owner="o", idempotency_key="k")
    with pytest.raises(StaleState):
        await store.tasks.update(task, TaskState.COMPLETED, version=task.version)
    now = await store.tasks.get("t")
    assert (await store.tasks.update(now, TaskState.COMPLETED, version=now.version)).state is TaskState.COMPLETED


async def test_what_a_turn_has_said_so_far_is_its_holders_to_keep_and_goes_when_the_task_rests(store: Store) -> None:
    task = (await store.tasks.begin("s", "t", "c", said("hi", "t"), owner="o")).task
    lease = await store.leases.acquire("s", "o", 60_000)
    await store.task_texts.put(task, TaskText("a", "one \x00"), lease=lease)
    await store.task_texts.put(task, TaskText("a", "one \x00two"), lease=lease)
    assert await store.task_texts.get("t") == TaskText("a", "one \x00two")
    assert await store.for_tenant(f"{store.tenant}-other").task_texts.get("t") is None
    usurper = await store.leases.acquire("s", "u", 60_000, take_over=True)
    with pytest.raises(LeaseLost):
        await store.task_texts.put(task, TaskText("a", "three"), lease=lease)
    assert len(await store.read("s")) == 2, "it is no event"
    await store.tasks.update(task, TaskState.CANCELED)
    assert await store.task_texts.get("t") is None
    await store.task_texts.put(task, TaskText("a", "too late"), lease=usurper)
    assert await store.task_texts.get("t") is None


async def test_what_a_turn_has_said_goes_with_what_is_erased_of_its_session(store: Store) -> None:
    task = (await store.tasks.begin("s", "t", "c", said("my number is 1234", "t"), owner="o")).task
    lease = await store.leases.acquire("s", "o", 60_000)
    await store.task_texts.put(task, TaskText("a", "your number is 1234"), lease=lease)
    await store.erasure.erase("s", [1], reason="asked")
    assert await store.task_texts.get("t") is None
