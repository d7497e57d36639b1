"""The A2A agent with its conversations in files: what is there when, and how a file stays in step with the log."""

import asyncio
import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.desk import Conversation, tool_round
from tests.support.eventually import eventually

from holdfast.a2a import InputRequired
from holdfast.core import TaskState, durable_files, types
from holdfast.models import CompletionResponse, ScriptedBackend, SimulatorBackend
from holdfast.models.messages import SUMMARY_MARK, Backend
from holdfast.runtime import ConversationSession
from holdfast.runtime.conversation import file_storage
from holdfast.runtime.served.conversation_files import ConversationFiles, file_name
from holdfast.runtime.served.file_upkeep import upkeep
from holdfast.runtime.workflow.definition_of_done import open_definition
from holdfast.store import Store

LINE = "Append the line hello to the file a.txt"


@pytest.fixture
def files(tmp_path: Path) -> ConversationFiles:
    """A folder for conversations."""
    return ConversationFiles(tmp_path / "conversations")


def talk_in(
    files: ConversationFiles, store: Store, workspace: Path, backend: Backend | None = None, **more: Any
) -> Conversation:
    return Conversation(store, workspace, backend or SimulatorBackend(), files=files, **more)


def padding(number: int) -> str:
    """A message of which a few make a prompt too long."""
    return f"Tell me about the number {number}. " + "It goes on. " * 40


def kept(files: ConversationFiles, store: Store, session_id: str = "s") -> ConversationSession:
    found = files.load(store.tenant, session_id)
    assert found is not None
    return found


def texts(files: ConversationFiles, store: Store, session_id: str = "s") -> list[str]:
    return [message.text for message in kept(files, store, session_id).messages]


async def test_what_is_answered_is_in_the_file_and_known_from_it(
    store: Store, workspace: Path, files: ConversationFiles
) -> None:
    talk = talk_in(files, store, workspace)
    answer = await talk.say("My name is Ada.")
    assert texts(files, store) == ["My name is Ada.", answer]
    assert kept(files, store).usage_totals["turns"] == 1
    session = kept(files, store)
    session.messages[0] = replace(session.messages[0], content="My name is Grace.")
    session.persist()
    session.release()
    assert "Grace" in await talk.say("What is my name?")


async def test_the_messages_of_tools_are_in_the_file_as_they_come(
    store: Store, workspace: Path, files: ConversationFiles
) -> None:
    rounds = [tool_round(("append_file", {"file_path": "a.txt", "text": "x"})), CompletionResponse("Done.")]
    await talk_in(files, store, workspace, ScriptedBackend(streams=[[each] for each in rounds])).say("Append x.")
    roles = [message.role.value for message in kept(files, store).messages]
    assert roles == ["user", "assistant", "tool", "assistant"]


async def test_a_turn_that_is_begun_again_has_its_message_once(
    store: Store, workspace: Path, files: ConversationFiles
) -> None:
    talk = talk_in(files, store, workspace)
    await talk.say("Hello.")
    turn = await talk.turn(LINE)
    first = await talk.answer(turn)
    again = replace(turn, lease=await talk.lease("heir"), interrupted=True)
    await talk.end(again, await talk.answer(again))
    assert (workspace / "a.txt").read_text() == "hello\n"
    assert texts(files, store).count(LINE) == 1
    assert texts(files, store).count(first) == 1
    before = len(kept(files, store).messages)
    await talk.say("Thanks.")
    assert len(kept(files, store).messages) == before + 2


async def test_what_a_cut_turn_had_said_is_as_the_log_says(
    store: Store, workspace: Path, files: ConversationFiles
) -> None:
    rounds = [tool_round(("read_file", {"file_path": "a.txt"}))]
    cut = talk_in(files, store, workspace, ScriptedBackend(streams=[[each] for each in rounds]))
    turn = await cut.turn("My dog is Rex.")
    with suppress(AssertionError):  # the script has no more
        await cut.answer(turn)
    assert len(kept(files, store).messages) == 3
    await cut.end(turn, "I had begun to")
    talk = talk_in(files, store, workspace, tasks=cut.tasks)
    assert "Rex" in await talk.say("What is my dog?")
    assert texts(files, store)[:3] == ["My dog is Rex.", "I had begun to", "What is my dog?"]


async def test_a_conversation_that_was_in_the_store_goes_on_in_a_file_and_back(
    store: Store, workspace: Path, files: ConversationFiles
) -> None:
    in_store = Conversation(store, workspace, SimulatorBackend())
    first = await in_store.say("My name is Ada.")
    in_file = talk_in(files, store, workspace, tasks=in_store.tasks)
    assert "Ada" in await in_file.say("What is my name?")
    assert texts(files, store)[:2] == ["My name is Ada.", first]
    await in_store.say("My cat is Tom.")
    assert "Tom" in await in_file.say("What is my cat?")
    assert texts(files, store).count("My cat is Tom.") == 1


async def test_a_summary_in_the_log_begins_a_new_file_and_its_facts_stay(
    store: Store, workspace: Path, files: ConversationFiles
) -> None:
    in_store = Conversation(store, workspace, SimulatorBackend(), compact_over=400)
    await in_store.say("My name is Ada.")
    for number in range(6):
        await in_store.say(padding(number))
    assert await store.checkpoints.newest_compaction("s") is not None
    in_file = talk_in(files, store, workspace, compact_over=400, tasks=in_store.tasks)
    for number in range(6):
        await in_file.say(padding(number))
    session = kept(files, store)
    assert session.compaction is not None and session.compaction.count > 1
    assert session.messages[0].text.startswith(SUMMARY_MARK)
    assert "Ada" in await in_file.say("What is my name?")


async def test_the_log_is_compacted_with_the_file(store: Store, workspace: Path, files: ConversationFiles) -> None:
    talk = talk_in(files, store, workspace, compact_over=400)
    await talk.say("My name is Ada.")
    for number in range(8):
        await talk.say(padding(number))
    assert len((await talk.turn("Hello.")).history) < 12
    session = kept(files, store)
    assert session.compaction is not None
    assert "My name is Ada." in [message.text for message in session.history()]
    served = session.served_turn
    assert served is not None and len(served.seqs) < 12


async def test_a_file_is_known_after_a_compaction(store: Store, workspace: Path, files: ConversationFiles) -> None:
    talk = talk_in(files, store, workspace, compact_over=400)
    await talk.say("Keep this file.", await talk.file("code.txt", "text/plain", b"The code is XK-42."))
    for number in range(6):
        await talk.say(padding(number))
    turn = await talk.turn("What is in code.txt?")
    heard: list[str] = []

    class Listening(SimulatorBackend):
        def stream(self, messages: Any, *more: Any, **options: Any) -> Any:
            heard.extend(message.text for message in messages)
            return super().stream(messages, *more, **options)

    talk.backend = Listening()
    await talk.answer(turn)
    assert any("XK-42" in text for text in heard)


async def test_a_question_back_is_in_the_file_before_it_is_asked(
    store: Store, workspace: Path, files: ConversationFiles
) -> None:
    asks = [tool_round(("ask_user", {"question": "Which colour?"}))]
    talk = talk_in(files, store, workspace, ScriptedBackend(streams=[[each] for each in asks]))
    turn = await talk.turn("Paint it.")
    [output] = [piece async for piece in talk.handler(turn)]
    assert output == InputRequired("Which colour?")
    assert texts(files, store)[-1] == "Which colour?"
    assert kept(files, store).messages[-2].tool_call_id == "c0"


async def test_tenants_never_meet(store: Store, workspace: Path, files: ConversationFiles) -> None:
    other = store.for_tenant("..")
    await talk_in(files, store, workspace).say("My name is Ada.")
    assert "Ada" not in await talk_in(files, other, workspace).say("What is my name?")
    assert texts(files, store)[0] == "My name is Ada."
    assert texts(files, other)[0] == "What is my name?"
    assert {path.name for path in files.root.iterdir()} == {f"tenant-{store.tenant}", "tenant-.."}


def test_a_session_has_a_file_that_no_other_has() -> None:
    ids = ["a", "a.1", "h_" + "0" * 64, file_name("a.1"), "x" * 200, "x" * 198 + ".1", "a.history", "a:b"]
    names = [file_name(each) for each in ids]
    assert len(set(names)) == len(ids)
    assert file_name("a") == "a"


@pytest.mark.parametrize("session_id", ["a.1", "h_x", "x" * 198 + ".1", "a.history"])
async def test_a_session_of_any_id_has_a_conversation(
    session_id: str, store: Store, workspace: Path, files: ConversationFiles
) -> None:
    talk = talk_in(files, store, workspace, session_id=session_id)
    await talk.say("My name is Ada.")
    assert "Ada" in await talk.say("What is my name?")
    assert [found for found, _ in files.sessions(store.tenant)] == [session_id]
    assert files.remove(store.tenant, session_id)
    assert not files.remove(store.tenant, session_id)


def on_disk(files: ConversationFiles, text: str) -> list[Path]:
    return [path for path in files.root.rglob("*") if path.is_file() and text in path.read_text()]


async def test_a_deleted_session_leaves_no_file(store: Store, workspace: Path, files: ConversationFiles) -> None:
    async with upkeep(store, files):
        talk = talk_in(files, store, workspace, compact_over=400)
        await talk.say("My secret is Rosebud.")
        for number in range(6):
            await talk.say(padding(number))
        assert on_disk(files, "Rosebud")
        await store.deletion.delete("s")
        await eventually(lambda: not on_disk(files, "Rosebud") or None)


async def test_an_erased_message_leaves_the_file(store: Store, workspace: Path, files: ConversationFiles) -> None:
    talk = talk_in(files, store, workspace)
    async with upkeep(store, files):
        await talk.say("My secret is Rosebud.")
        await talk.say("My name is Ada.")
        [first, *_] = await store.read("s", types=[types.MESSAGE])
        answers = [event.seq for event in await store.read("s") if b"Rosebud" in event.payload]
        await store.erasure.erase("s", sorted({first.seq, *answers}), reason="asked for")
        await eventually(lambda: not on_disk(files, "Rosebud") or None)
    assert "Ada" in await talk.say("What is my name?")
    assert not on_disk(files, "Rosebud")


async def test_what_was_erased_while_nobody_looked_leaves_the_file_with_the_next_turn(
    store: Store, workspace: Path, files: ConversationFiles
) -> None:
    talk = talk_in(files, store, workspace)
    await talk.say("My secret is Rosebud.")
    erased = [event.seq for event in await store.read("s") if b"Rosebud" in event.payload]
    await store.erasure.erase("s", erased, reason="asked for")
    assert on_disk(files, "Rosebud")
    await talk.say("Hello.")
    assert not on_disk(files, "Rosebud")


@pytest.mark.parametrize("erased", [False, True])
async def test_what_went_while_the_gateway_was_down_goes_when_it_starts(
    erased: bool, store: Store, workspace: Path, files: ConversationFiles
) -> None:
    await talk_in(files, store, workspace).say("My secret is Rosebud.")
    if erased:
        seqs = [event.seq for event in await store.read("s") if b"Rosebud" in event.payload]
        await store.erasure.erase("s", seqs, reason="asked for")
    else:
        await store.deletion.delete("s")
        await store.archives.purge("s")
    async with upkeep(store, files):
        await eventually(lambda: not on_disk(files, "Rosebud") or None)


async def test_a_file_that_cannot_be_read_keeps_no_other_one_from_going(
    store: Store, workspace: Path, files: ConversationFiles, caplog: pytest.LogCaptureFixture
) -> None:
    await talk_in(files, store, workspace).say("My secret is Rosebud.")
    await talk_in(files, store, workspace, session_id="damaged").say("Hello.")
    (damaged,) = (path for path in on_disk(files, "Hello.") if path.name == "damaged.json")
    damaged.write_text("{")
    await store.deletion.delete("s")
    await store.archives.purge("s")
    async with upkeep(store, files):
        await eventually(lambda: not on_disk(files, "Rosebud") or None)
    assert damaged.read_text() == "{"
    assert "damaged.json is not a conversation" in caplog.text


async def test_a_session_that_is_deleted_during_its_turn_leaves_no_file(
    store: Store, workspace: Path, files: ConversationFiles
) -> None:
    talk = talk_in(files, store, workspace)
    turn = await talk.turn("My secret is Rosebud.")
    answering = talk.handler(turn)
    await anext(answering)
    await store.deletion.delete("s")
    with suppress(Exception):
        async for _ in answering:
            pass
    assert not on_disk(files, "Rosebud")


async def test_a_fork_has_a_file_of_its_own(store: Store, workspace: Path, files: ConversationFiles) -> None:
    talk = talk_in(files, store, workspace)
    await talk.say("My name is Ada.")
    await store.forks.fork("s", new_session_id="s2")
    fork = talk_in(files, store, workspace, session_id="s2")
    assert "Ada" in await fork.say("What is my name?")
    assert len(texts(files, store)) == 2
    assert texts(files, store, "s2")[:2] == texts(files, store)


async def test_a_message_that_nobody_answered_is_told_where_it_came(
    store: Store, workspace: Path, files: ConversationFiles
) -> None:
    talk = talk_in(files, store, workspace)
    await talk.say("Hello.")
    turn = await talk.turn("My name is Ada.")
    task = await store.tasks.get(turn.task_id)
    await store.tasks.update(task, TaskState.CANCELED, {}, lease=turn.lease)
    assert "Ada" in await talk.say("What is my name?")
    assert texts(files, store).count("My name is Ada.") == 1


async def test_a_slow_disk_of_one_conversation_does_not_hold_up_another(
    store: Store, workspace: Path, files: ConversationFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()
    write = durable_files.write_whole

    def write_slowly(path: Path, raw: bytes) -> None:
        if path.stem == "slow":
            assert go_on.wait(20)
        write(path, raw)

    monkeypatch.setattr(file_storage, "write_whole", write_slowly)
    slow = talk_in(files, store, workspace, session_id="slow")
    waiting = asyncio.create_task(slow.say("My name is Ada."))
    try:
        quick = talk_in(files, store, workspace, session_id="quick")
        await quick.say("My name is Grace.")
        assert "Grace" in await quick.say("What is my name?")
        assert not waiting.done()
    finally:
        go_on.set()
    await waiting
    assert "Ada" in await slow.say("What is my name?")


async def test_a_turn_that_is_cancelled_in_a_write_leaves_the_file_to_the_next(
    store: Store, workspace: Path, files: ConversationFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    write = durable_files.write_whole

    def write_slowly(path: Path, raw: bytes) -> None:
        begun.set()
        assert go_on.wait(20)
        write(path, raw)

    monkeypatch.setattr(file_storage, "write_whole", write_slowly)
    talk = talk_in(files, store, workspace)
    turn = await talk.turn("My name is Ada.")
    answering = asyncio.create_task(talk.answer(turn))
    await asyncio.to_thread(begun.wait, 20)
    answering.cancel()
    threading.Timer(0.05, go_on.set).start()
    with suppress(asyncio.CancelledError):
        await answering
    again = replace(turn, interrupted=True)
    await talk.end(again, await talk.answer(again))
    assert texts(files, store).count("My name is Ada.") == 1


async def test_definitions_of_done_go_with_their_session(files: ConversationFiles) -> None:
    project = files.root / "tenant-default"
    kept, _ = open_definition(project, "Say hi.", "s")
    other, _ = open_definition(project, "Say no.", "s")
    open_definition(project, "Say no.", "s2")[0].save()
    assert files.remove("default", "s") is False
    assert (kept.path.exists(), other.path.exists()) == (False, True)


async def test_a_disk_that_fails_once_is_looked_at_again(
    store: Store, workspace: Path, files: ConversationFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    await talk_in(files, store, workspace).say("My secret is Rosebud.")
    await store.deletion.delete("s")
    look = files.sessions
    failures = [OSError("the disk does not answer")]

    def fail_once(tenant: str) -> list[tuple[str, int]]:
        if failures:
            raise failures.pop()
        return look(tenant)

    monkeypatch.setattr(files, "sessions", fail_once)
    async with upkeep(store, files, pause_seconds=0.01):
        await eventually(lambda: not on_disk(files, "Rosebud") or None)
