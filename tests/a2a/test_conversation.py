"""The order of a conversation, as a turn finds it in the log: also of tasks that asked back."""

from holdfast.a2a.protocol.wire import Message, Role, TextPart
from holdfast.a2a.turns import conversation
from holdfast.a2a.turns.records import AT_REST, at_work, message_record
from holdfast.core import NewEvent, Task, TaskState, types
from holdfast.store import Store


def said(role: Role, text: str, task_id: str) -> NewEvent:
    message = Message(role, f"{task_id}-{text}", (TextPart(text),), "c", task_id)
    return NewEvent(types.MESSAGE, message_record(message))


async def asked(store: Store, text: str, task_id: str) -> Task:
    return (await store.tasks.begin("s", task_id, "c", said(Role.USER, text, task_id), owner="o")).task


async def rests(store: Store, task: Task, text: str, state: TaskState = TaskState.COMPLETED) -> Task:
    task = await store.tasks.get(task.task_id)
    found = await conversation.before(store, task)
    await store.tasks.update(task, TaskState.WORKING, at_work(task, found.message_seq))
    return await store.tasks.update(task, state, AT_REST, messages=[said(Role.AGENT, text, task.task_id)])


async def heard(store: Store, task_id: str) -> list[str]:
    return [message.text for message in (await conversation.before(store, await store.tasks.get(task_id))).history]


async def test_a_task_that_asked_back_goes_on_where_it_is_answered(store: Store) -> None:
    paint = await rests(store, await asked(store, "paint it", "t1"), "which colour?", TaskState.INPUT_REQUIRED)
    await rests(store, await asked(store, "hello", "t2"), "hi")
    await store.tasks.go_on(paint, said(Role.USER, "blue", "t1"), owner="o", idempotency_key="k")
    assert await heard(store, "t1") == ["paint it", "which colour?", "hello", "hi"]
    await rests(store, paint, "painted")
    await asked(store, "thanks", "t3")
    assert await heard(store, "t3") == ["paint it", "which colour?", "hello", "hi", "blue", "painted"]


async def test_each_answer_follows_its_question_although_questions_came_faster(store: Store) -> None:
    one, two, _ = [await asked(store, text, text) for text in ("one", "two", "three")]
    await rests(store, one, "did one")
    assert await heard(store, "two") == ["one", "did one"]
    await rests(store, two, "did two")
    assert await heard(store, "three") == ["one", "did one", "two", "did two"]


async def test_a_compaction_never_takes_what_is_yet_to_be_answered(store: Store) -> None:
    one = await asked(store, "one", "one")
    await rests(store, one, "did one")
    two = await asked(store, "two", "two")
    await asked(store, "three", "three")
    await rests(store, two, "did two")
    found = await conversation.older(store, "three", keep=0)
    assert found is not None
    assert [message.text for message in found.messages] == ["one", "did one", "two"]
    assert [message.text for message in found.kept] == ["did two"]
    await store.checkpoints.compact("s", {"text": "older"}, last_seq=found.last_seq)
    assert await heard(store, "three") == [f"{conversation.MARK}\nolder", "did two"]
    assert await conversation.older(store, "three", keep=1) is None


async def test_nor_what_waits_while_later_ones_are_answered_by_another_gateway(store: Store) -> None:
    await rests(store, await asked(store, "one", "one"), "did one")
    await asked(store, "two", "two")
    await rests(store, await asked(store, "three", "three"), "did three")
    await asked(store, "four", "four")
    found = await conversation.older(store, "four", keep=0)
    assert found is not None
    assert [message.text for message in found.messages] == ["one", "did one"]
    await store.checkpoints.compact("s", {"text": "older"}, last_seq=found.last_seq)
    assert await heard(store, "two") == [f"{conversation.MARK}\nolder", "three", "did three"]
