"""The effects of tools are entries of the conversation: before and after each, and unresolved after a crash."""

import json

import pytest
from tests.runtime.conversation.places import Place, user

from holdfast.core.errors import Conflict, EffectUnresolved, NotFound
from holdfast.runtime.conversation.effects import MOST_ENDED


def test_an_effect_is_run_once_and_its_result_is_told_again(place: Place) -> None:
    session = place.new()
    assert session.start_effect("1", "bash", {"command": "date"}, "date").run
    ended = session.finish_effect("1", "finished", "Monday")
    assert (ended.status, ended.result) == ("finished", "Monday")
    assert session.finish_effect("1", "finished", "Monday").result == "Monday"
    for each in (session, place.again(session)):
        again = each.start_effect("1", "bash", {"command": "date"}, "date")
        assert (again.run, again.effect.result, again.effect.status) == (False, "Monday", "finished")
        assert each.unresolved_effects() == []


def test_one_without_an_end_is_shown_and_never_run_again_by_itself(place: Place) -> None:
    session = place.new()
    session.append(user("go"))
    session.start_effect("1", "bash", {"command": "rm x"}, "rm x")
    session.start_effect("2", "bash", {"command": "date"}, "date")
    session.finish_effect("2", "failed", "no clock")
    found = place.again(session)
    assert [(each.call_id, each.tool, each.status, each.shown) for each in found.unresolved_effects()] == [
        ("1", "bash", "started", "rm x")
    ]
    with pytest.raises(EffectUnresolved) as refused:
        found.start_effect("1", "bash", {"command": "rm x"}, "rm x")
    assert refused.value.details["call_id"] == "1"
    found.finish_effect("1", "finished", "looked: it is gone")
    assert place.again(session).unresolved_effects() == []


def test_another_call_or_another_end_is_a_conflict(place: Place) -> None:
    session = place.new()
    session.start_effect("1", "bash", {"command": "a"})
    with pytest.raises(Conflict):
        session.start_effect("1", "bash", {"command": "b"})
    session.finish_effect("1", "finished", 1)
    with pytest.raises(Conflict):
        session.finish_effect("1", "failed", 1)
    with pytest.raises(NotFound):
        session.finish_effect("unknown", "finished")


def test_a_conversation_that_was_never_stored_is_stored_with_its_first_effect(place: Place) -> None:
    session = place.new(messages=[user("a")])
    assert session.unresolved_effects() == []
    session.start_effect("1", "bash", None)
    assert place.again(session).messages == [user("a")]


def test_effects_that_ended_long_ago_move_to_the_history(file_place: Place) -> None:
    session = file_place.new(auto_compaction_input_tokens_threshold=1, compaction_keep_last_messages=1)
    session.start_effect("open", "bash", None)
    for number in range(MOST_ENDED + 3):
        session.start_effect(str(number), "bash", number)
        session.finish_effect(str(number), "finished", f"result {number}")
        session.append(user("abcd"))
        session.maybe_compact()
    assert session.storage_path is not None
    kept = json.loads(session.storage_path.read_text())["effects"]
    assert [effect["call_id"] for effect in kept] == ["open", *map(str, range(3, MOST_ENDED + 3))]
    lines = session.storage_path.with_name(f"{session.session_id}.history.jsonl").read_text().splitlines()
    moved = [json.loads(line)["effect"]["result"] for line in lines if "effect" in json.loads(line)]
    assert moved == ["result 0", "result 1", "result 2"]
    assert file_place.again(session).history() == [user("abcd")] * (MOST_ENDED + 2)


def test_a_fork_shows_what_nobody_knows_the_end_of(place: Place) -> None:
    session = place.new()
    session.start_effect("t:1:known", "bash", {"command": "ls"}, "ls")
    session.finish_effect("t:1:known", "finished", "ok")
    session.start_effect("t:2:unknown", "bash", {"command": "deploy"}, "deploy")
    forked = session.fork()
    for each in (forked, place.again(forked)):
        assert [(effect.call_id, effect.tool, effect.shown) for effect in each.unresolved_effects()] == [
            ("t:2:unknown", "bash", "deploy")
        ]
    forked.finish_effect("t:2:unknown", "failed", "it had not run")
    assert forked.unresolved_effects() == []
    assert len(session.unresolved_effects()) == 1
