"""A conversation that grows too long goes on with a summary that keeps what the user stated; its log keeps all."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from tests.runtime.desk import Conversation

from holdfast.a2a import DataPart, PastMessage, TextPart
from holdfast.a2a import Role as Speaker
from holdfast.a2a.turns import conversation as log
from holdfast.a2a.turns.conversation import MARK
from holdfast.core import types
from holdfast.core.errors import Corrupt
from holdfast.models import CompletionResponse, Message, Role, ScriptedBackend, SimulatorBackend
from holdfast.runtime.compaction import LEFT_OUT, summarize, trim_results
from holdfast.runtime.facts import newest, statements
from holdfast.store import Store, open_store

FILLER = "Say " + "something of no importance " * 20


@pytest.mark.parametrize("turns", [60, pytest.param(200, marks=pytest.mark.long)])
async def test_a_fact_of_the_first_turn_is_known_after_many_compactions(
    store: Store, workspace: Path, turns: int
) -> None:
    talk = Conversation(store, workspace, SimulatorBackend(), compact_over=1_000)
    await talk.say("Hi, my name is Ada. The server is called Hal and my city is Paris.")
    for _ in range(turns):
        await talk.say(FILLER)
    assert await talk.say("What is my name?") == "Your name is Ada."
    assert "Paris" in await talk.say("What is my city?")
    assert len(await store.checkpoints.list("s")) > 5
    past = (await log.before(store, await store.tasks.get((await talk.turn("And?")).task_id))).history
    assert past[0].text.startswith(MARK)
    assert "server is called Hal" in past[0].text
    assert len(past) < 20


async def test_the_last_messages_stay_and_the_originals_are_readable(store: Store, workspace: Path) -> None:
    backend = ScriptedBackend([CompletionResponse("ok")] * 9)
    talk = Conversation(store, workspace, backend)
    for number in range(8):
        await talk.say(f"My number {number} is {number}. " + "x" * 2_000)
    talk.compact_over = 2_500
    await talk.say("And now?")
    system, summary, *kept, asked = backend.invocations[-1].messages
    assert (system.role, summary.role, asked.text) == (Role.SYSTEM, Role.USER, "And now?")
    assert [message.text[:15] for message in kept] == ["My number 6 is ", "ok", "My number 7 is ", "ok"]
    assert summary.text.startswith(f"{MARK}\nThis stands for the 12 messages")
    assert all(f"My number {number} is {number}." in summary.text for number in range(6))
    messages = await store.read("s", types=[types.MESSAGE])
    assert len(messages) == 18
    (compaction,) = await store.read("s", types=[types.COMPACTED])
    assert compaction.value()["lastSeq"] < messages[12].seq
    assert (await store.verification.session("s")).problem is None


async def test_a_turn_reads_what_came_after_the_newest_compaction(store: Store, workspace: Path) -> None:
    talk = Conversation(store, workspace, SimulatorBackend())
    for number in range(3):
        await talk.say(f"Say {number}")
    turn = await talk.turn("And?")
    found = await log.older(store, turn.task_id, keep=2)
    assert found is not None
    assert [said.text for said in found.messages] == ["Say 0", "You said: 0", "Say 1", "You said: 1"]
    await store.checkpoints.compact("s", "made by somebody else", last_seq=found.last_seq)
    await store.checkpoints.save_snapshot("s", {"a": "state"})
    texts = [said.text for said in (await log.before(store, await store.tasks.get(turn.task_id))).history]
    assert texts == [f"{MARK}\nmade by somebody else", "Say 2", "You said: 2"]


async def test_a_message_that_waits_is_not_summed_up(store: Store, workspace: Path) -> None:
    talk = Conversation(store, workspace, SimulatorBackend())
    running = await talk.turn("first")
    waiting = [await talk.turn("second"), await talk.turn("third")]
    await talk.end(running, "did first")
    found = await log.older(store, waiting[0].task_id, keep=0)
    assert found is not None
    assert [said.text for said in found.messages] == ["first"]
    assert [said.text for said in found.kept] == ["did first"]
    await talk.end(waiting[0], "did second")
    newest = (await store.read("s"))[-1].seq
    await store.checkpoints.compact("s", "all of it", last_seq=newest)
    past = await log.before(store, await store.tasks.get(waiting[1].task_id))
    assert [said.text for said in past.history] == [f"{MARK}\nall of it"]
    assert past.message_seq == 5


async def test_what_a_compaction_stands_for_is_not_read_again(sqlite_url: str, workspace: Path) -> None:
    async with await open_store(sqlite_url) as store:
        talk = Conversation(store, workspace, SimulatorBackend())
        await talk.say("Say one")
        newest = (await store.read("s"))[-1].seq
        await store.checkpoints.compact("s", "The user said one.", last_seq=newest)
    with closing(sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))) as database, database:
        database.execute("UPDATE transcript_events SET payload = x'00' WHERE seq <= ?", (newest,))
    async with await open_store(sqlite_url) as store:
        with pytest.raises(Corrupt):
            await store.read("s")
        turn = await replace(talk, store=store).turn("And?")
        assert [said.text for said in turn.history] == [f"{MARK}\nThe user said one."]


async def test_a_conversation_with_erased_events_goes_on(store: Store, workspace: Path) -> None:
    talk = Conversation(store, workspace, SimulatorBackend())
    await talk.say("My name is Ada.")
    await talk.say("Say hello")
    await store.erasure.erase("s", range(1, 6), reason="asked for")
    turn = await talk.turn("What is my name?")
    assert [said.text for said in turn.history] == ["Say hello", "You said: hello"]
    assert "do not know" in await talk.answer(turn)


async def test_files_and_data_outlive_the_messages_they_came_with(store: Store, workspace: Path) -> None:
    talk = Conversation(store, workspace, SimulatorBackend(), compact_over=1_000)
    notes = await talk.file("notes.txt", "text/plain", b"The code word is zebra.\n")
    await talk.say("Here is a file", notes, DataPart({"seat": "12a"}))
    for _ in range(40):
        await talk.say(FILLER)
    assert len(await store.read("s", types=[types.COMPACTED])) > 2
    assert "zebra" in await talk.say("What is the code word in notes.txt?")
    past = (await log.before(store, await store.tasks.get((await talk.turn("And?")).task_id))).history
    assert '- {"seat":"12a"}' in past[0].text
    assert past[0].parts[1:] == (notes,)


async def test_a_prompt_that_a_summary_would_not_shorten_stays(store: Store, workspace: Path) -> None:
    backend = ScriptedBackend([CompletionResponse("ok")] * 3)
    talk = Conversation(store, workspace, backend, compact_over=10)
    for _ in range(3):
        await talk.say("x" * 50)
    assert len(backend.invocations[-1].messages) == 6
    assert await store.checkpoints.newest_compaction("s") is None


def test_facts_are_kept_through_every_summary() -> None:
    document = None
    for number in range(5):
        said = PastMessage(Speaker.USER, f"My key {number} is {number}. How are you?", (TextPart(""),))
        document = summarize(document, [said])
    assert document is not None
    assert document.facts == [f"My key {number} is {number}." for number in range(5)]
    assert document.messages == 5


def test_a_summary_by_others_is_kept_as_a_fact() -> None:
    assert summarize("The user is Ada.", []).facts == ["The user is Ada."]
    assert summarize({"name": "Ada"}, []).facts == ['{"name":"Ada"}']


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("Hi, my name is Ada. What's my name?", ["Hi, my name is Ada."]),
        ("The deadline: 12 June\nOur server is Hal", ["The deadline: 12 June", "Our server is Hal"]),
        ("Remember to call Bob!", ["Remember to call Bob!"]),
        ("What is my name?", []),
        ("Tell a joke about 3 bears", []),
        ("My e-mail is a.b@example.org, ok?", ["My e-mail is a.b@example.org, ok?"]),
        ("It is. " * 1_000 + "I live in Rome.", ["I live in Rome."]),
        ("My motto is «Go.\n Then stop!».\nThank you.", ["My motto is «Go. Then stop!»."]),
        ("“I like tea.” My name is Ada.", ["“I like tea.”", "My name is Ada."]),
    ],
)
def test_what_a_user_stated(text: str, facts: list[str]) -> None:
    assert statements(text) == facts


def test_a_message_of_many_blanks_is_read_as_fast_as_any_other() -> None:
    blanks = " " * 1_000_000  # quadratic work would take an hour
    assert statements(f"{blanks}I live in Rome.{blanks}\n{blanks}My name is{blanks}Ada.")[0] == "I live in Rome."


def test_a_fact_that_was_stated_anew_replaces_the_old_one() -> None:
    sentences = ["My color is red.", "My name is Ada and my color is red.", "x", "My color is blue.", "x"]
    assert newest(sentences) == ["My name is Ada and my color is red.", "My color is blue.", "x"]


def test_what_is_only_to_be_said_does_not_replace_a_fact() -> None:
    sentences = ["My name is Ada.", "Say: my name is Bot."]
    assert newest(sentences) == sentences


def test_old_results_are_left_out_of_a_turn_that_grows() -> None:
    prompt = [
        Message(Role.USER, "go"),
        *(Message(Role.TOOL, "x" * 400, tool_call_id=str(n)) for n in range(8)),
    ]
    shorter = trim_results(prompt, 500)
    assert [message.text == LEFT_OUT for message in shorter[1:]] == [True] * 4 + [False] * 4
    assert trim_results(prompt, 5_000) == prompt
