"""A conversation is kept: every field, every mutator, in every storage."""

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.conversation.places import Place, assistant, entry, ledger, provenance, snapshot, user

from holdfast.core.errors import InvalidInput, InvalidJson
from holdfast.models import Message, Role, ToolCall
from holdfast.runtime import CompletionTraceEntry, ConversationSession
from holdfast.runtime.conversation import ServedTurn
from holdfast.runtime.conversation.fields import ConversationFields
from holdfast.runtime.conversation.store_thread import StoreThread

EVERYTHING: dict[str, Any] = {
    "created_at": "2026-01-01T00:00:00.000Z",
    "usage_totals": {"input_tokens": 3, "turns": 1},
    "active_dod_path": ".holdfast/dod/x.json",
    "current_task": "write a poem\nwith two lines ",
    "runtime_owner_type": "RuntimeHandle",
    "runtime_owner_path": "runtime-handle",
    "workflow_mode": "plan",
    "permission_mode": "read-only",
    "permission_prompting_enabled": True,
    "permission_rule_counts": {"allow": 1, "deny": 2, "ask": 3},
    "permission_rules_source": ".holdfast/permission-rules.json",
    "prompt_format": "react",
    "prompt_sections": ["identity", "tools"],
    "prompt_history": [snapshot("one"), snapshot("two")],
    "workflow_timeline": [entry(evidence_provenance=[provenance()], route_score=0.5, signal_summary=["a"])],
    "workflow_ledger": ledger(),
    "completion_trace": [CompletionTraceEntry("s", "o", "c", "d", ["e"], [provenance()])],
    "workflow_reason_code": "r",
    "workflow_reason_summary": "because",
    "workflow_decision_kind": "initial_route",
    "workflow_ambiguity_score": 0.25,
    "workflow_complexity_score": 1.5,
    "workflow_scheduled_next_mode": "execute",
    "last_completion_decision_code": "d",
    "last_completion_decision_summary": "done",
    "last_turn_transition_summary": "prepare -> assistant [normal] go",
    "last_turn_transition_kind": "normal",
    "last_turn_transition_reason_code": "t",
    "active_turn_phase": "assistant",
    "served_turn": ServedTurn(session_id="s", task_id="t", seq=3, position=2, seqs=[1, 2, 3], ended=True),
    "rotate_after_bytes": 1_000_000,
    "max_rotated_files": 2,
    "auto_compaction_input_tokens_threshold": 50_000,
    "compaction_keep_last_messages": 3,
}


def test_every_field_is_there_again_after_a_load(place: Place) -> None:
    said = [
        user("héllo\n  "),
        Message(Role.ASSISTANT, "", [ToolCall("1", "read", {"file_path": "a", "deep": [None, {"x": 1.5}]})]),
        Message(Role.TOOL, "content", tool_call_id="1"),
        Message(Role.USER, [{"type": "text", "text": "a part"}]),
    ]
    session = place.new(messages=said, **EVERYTHING)
    session.persist()
    found = place.again(session)
    assert {name: getattr(found, name) for name in EVERYTHING} == EVERYTHING
    assert found.messages == said
    assert found.updated_at == session.updated_at
    unset = {each.name for each in fields(ConversationFields)} - EVERYTHING.keys()
    assert unset == {"session_id", "updated_at", "compaction", "forked_from"}


def test_lists_are_lists_and_texts_are_texts_after_a_load(place: Place) -> None:
    session = place.new(messages=(user("a"),), **EVERYTHING)
    session.persist()
    for each in (session, place.again(session)):
        for name in ("messages", "prompt_sections", "prompt_history", "workflow_timeline", "completion_trace"):
            assert type(getattr(each, name)) is list, name
        assert type(each.workflow_timeline[0].evidence_provenance) is list
        assert type(each.messages[0].tool_calls) is list
        assert type(each.workflow_ledger.assumptions[0].evidence) is list
        for name in ("workflow_mode", "permission_mode", "prompt_format", "permission_rules_source"):
            assert type(getattr(each, name)) is str, name
        assert type(each.usage_totals) is dict
        assert isinstance(each.storage_path, Path) if place.url is None else each.storage_path is None


def test_a_new_conversation_has_an_id_with_its_time_and_writes_nothing_yet(place: Place) -> None:
    session = place.new()
    assert re.fullmatch(r"\d{8}T\d{6}Z-[0-9a-f]{8}", session.session_id)
    assert (session.workflow_mode, session.permission_mode) == ("execute", "workspace-write")
    assert (session.prompt_format, session.prompt_sections, session.current_task) == (None, [], None)
    assert (session.messages, session.compaction, session.workflow_timeline) == ([], None, [])
    assert session.permission_rule_counts == {"allow": 0, "deny": 0, "ask": 0}
    assert (session.rotate_after_bytes, session.max_rotated_files) == (262144, 3)
    assert (session.auto_compaction_input_tokens_threshold, session.compaction_keep_last_messages) == (100000, 4)
    assert place.load(session.session_id) is None


MUTATORS: dict[str, Callable[[ConversationSession], object]] = {
    "append": lambda session: session.append(user("b")),
    "extend": lambda session: session.extend([user("b"), assistant("c")]),
    "update_runtime_state": lambda session: session.update_runtime_state(current_task="t"),
    "append_workflow_timeline_entry": lambda session: session.append_workflow_timeline_entry(entry()),
    "append_completion_trace_entry": lambda session: session.append_completion_trace_entry(
        CompletionTraceEntry("s", "o", "c", "d")
    ),
    "append_prompt_snapshot": lambda session: session.append_prompt_snapshot(snapshot("x")),
    "update_workflow_ledger": lambda session: session.update_workflow_ledger(ledger()),
    "record_turn_usage": lambda session: session.record_turn_usage({"prompt_tokens": 1}),
    "maybe_compact": lambda session: session.maybe_compact(),
    "clear": lambda session: session.clear(),
}


def test_every_mutator_persists(place: Place) -> None:
    session = place.new(auto_compaction_input_tokens_threshold=1, compaction_keep_last_messages=1)
    session.extend([user("abcdefgh"), assistant("abcdefgh")])
    for name, mutate in MUTATORS.items():
        before = (list(session.messages), session._document() | {"updated_at": ""})
        mutate(session)
        assert (session.messages, session._document() | {"updated_at": ""}) != before, name
        found = place.again(session)
        assert (found.messages, found._document()) == (session.messages, session._document()), name


def test_what_cannot_be_stored_changes_nothing(place: Place) -> None:
    session = place.new()
    session.append(user("a"))
    with pytest.raises(InvalidJson):
        session.append(user("\ud800"))
    with pytest.raises(InvalidJson):
        session.update_runtime_state(current_task="\ud800")
    for wrong in (Message("nobody", "x"), Message(Role.USER, 5), "text", None):  # type: ignore[arg-type]
        with pytest.raises(InvalidInput):
            session.append(wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        session.update_runtime_state(current_task=5)
    with pytest.raises(InvalidInput):
        session.append_workflow_timeline_entry(entry(route_score="high"))
    assert (session.messages, session.current_task) == ([user("a")], None)
    session.append(user("b"))
    assert place.again(session).messages == [user("a"), user("b")]


def test_what_the_factories_make_is_in_the_prompt_and_never_in_the_messages(place: Place) -> None:
    session = place.new()
    session.append(user("hello"))
    for each in (session, place.again(session)):
        assert each.messages == [user("hello")]
        assert [message.text for message in each.prompt()] == ["You are kind.", "1+1?", "2", "hello"]


def test_a_load_gives_that_conversation_or_none_and_never_another(place: Place) -> None:
    assert place.load() is None
    session = place.new()
    session.append(user("a"))
    for wrong in ("nobody", "../x", "", session.session_id + "x", session.session_id[:-1], "x.1"):
        assert place.load(wrong) is None, wrong


def test_without_an_id_the_current_one_is_loaded_else_the_newest(place: Place) -> None:
    first, second = place.new(), place.new()
    first.append(user("a"))
    second.append(user("b"))
    found = place.load()
    assert found is not None
    assert found.session_id == second.session_id
    first.append(user("c"))
    found = place.load()
    assert found is not None
    assert found.session_id == first.session_id


async def test_it_works_inside_an_event_loop(place: Place) -> None:
    session = place.new()
    session.append(user("a"))
    await asyncio.sleep(0)
    assert place.again(session).messages == [user("a")]


async def test_its_memories_are_in_the_same_storage_and_outlive_it(place: Place) -> None:
    session = place.new()
    namespace = f"agent:{session.session_id}"
    await session.memories.put(namespace, "color", "green", idempotency_key="k", source=session.session_id)
    other = place.new().memories
    assert (await other.get(namespace, "color")).value() == "green"
    assert [hit.memory.key for hit in await other.search("green", namespace=namespace)] == ["color"]
    assert [memory.key for memory in (await other.list(namespace, limit=5)).memories] == ["color"]
    assert (place.root / ".holdfast" / "memory.json").exists() == (place.url is None)


def test_usage_adds_up_over_the_turns(place: Place) -> None:
    session = place.new()
    session.record_turn_usage({"prompt_tokens": 10, "completion_tokens": 2, "cache_read_input_tokens": 5})
    session.record_turn_usage({"input_tokens": 1, "output_tokens": 1, "tool_calls": 3, "iterations": 4})
    assert place.again(session).usage_totals == {
        "input_tokens": 11,
        "output_tokens": 3,
        "cache_read_input_tokens": 5,
        "cache_creation_input_tokens": 0,
        "turns": 2,
        "tool_calls": 3,
        "iterations": 4,
    }


def test_a_fork_goes_its_own_way(place: Place) -> None:
    session = place.new(auto_compaction_input_tokens_threshold=1, compaction_keep_last_messages=1)
    session.extend([user("My name is Ada."), assistant("hi"), user("abc")])
    session.maybe_compact()
    forked = session.fork()
    forked.append(user("only here"))
    assert forked.session_id != session.session_id
    assert forked.forked_from == session.session_id
    assert place.again(forked).messages == [*session.messages, user("only here")]
    assert place.again(forked).history() == [user("My name is Ada."), assistant("hi")]
    session.append(user("only there"))
    assert place.again(session).messages[-1] == user("only there")


def test_the_stored_file_is_one_json_object_with_the_fields_by_name(file_place: Place) -> None:
    session = file_place.new(**EVERYTHING)
    session.append(user("hello"))
    path = file_place.root / ".holdfast" / "sessions" / f"{session.session_id}.json"
    assert session.storage_path == path
    document = json.loads(path.read_text())
    assert document["messages"] == [{"role": "user", "content": "hello"}]
    assert document["prompt_history"][0]["content"] == "one"
    assert document.keys() >= {each.name for each in fields(ConversationFields)}
    assert list((file_place.root / ".holdfast" / "state").glob("current*"))


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_a_save_whose_caller_was_interrupted_does_not_mix_with_the_next(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = place.new()
    session.append(user("a"))
    thread = StoreThread.run

    def interrupted(self: StoreThread, work: Any) -> Any:
        asyncio.run_coroutine_threadsafe(work, self._loop)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(StoreThread, "run", interrupted)
        with pytest.raises(KeyboardInterrupt):
            session.extend([user("b"), user("c")])
    assert StoreThread.run is thread
    assert session.messages == [user("a")]
    session.append(user("d"))
    assert place.again(session).messages == [user("a"), user("d")]
    assert place.again(session)._document() == session._document()


def test_conversations_may_be_read_in_threads_from_the_first_one_on() -> None:
    words = (
        "import holdfast.runtime; from holdfast.models import Message; "
        "from holdfast.runtime.conversation.fields import ConversationFields; "
        "print([hasattr(kind, '__msgspec_cache__') for kind in (ConversationFields, Message)])"
    )
    said = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "[True, True]"
