"""Several changes that are stored together: all of them in one write, or none."""

from typing import Any

import pytest
from tests.runtime.conversation.places import Place, entry, user

from holdfast.core.errors import StorageFull
from holdfast.runtime import ConversationSession


def writes(session: ConversationSession, monkeypatch: pytest.MonkeyPatch, *, fail: bool = False) -> list[int]:
    """Counts how many messages each write of the conversation has."""
    seen: list[int] = []
    save = session._storage.save

    def counted(fields: dict[str, Any], messages: Any, removed: Any, **more: Any) -> None:
        seen.append(len(messages))
        if fail:
            raise StorageFull("no room")
        save(fields, messages, removed, **more)

    monkeypatch.setattr(session._storage, "save", counted)
    return seen


def test_changes_are_stored_in_one_write(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    session = place.new()
    session.persist()
    seen = writes(session, monkeypatch)
    with session.together():
        session.append(user("one"))
        session.update_runtime_state(current_task="t", workflow_reason_code="r")
        session.append_workflow_timeline_entry(entry())
        with session.together():
            session.append(user("two"))
        assert seen == []
    assert seen == [2]
    again = place.again(session)
    assert ([message.text for message in again.messages], again.current_task) == (["one", "two"], "t")
    assert len(again.workflow_timeline) == 1


def test_if_the_write_fails_no_change_was_made(file_place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    session = file_place.new()
    session.append(user("before"))
    writes(session, monkeypatch, fail=True)
    with pytest.raises(StorageFull), session.together():
        session.append(user("one"))
        session.update_runtime_state(current_task="t")
        session.append_workflow_timeline_entry(entry())
    assert [message.text for message in session.messages] == ["before"]
    assert (session.current_task, session.workflow_timeline) == (None, [])


def test_an_error_in_the_block_undoes_it_all_and_the_next_change_is_stored(file_place: Place) -> None:
    session = file_place.new()
    with pytest.raises(KeyError), session.together():
        session.append(user("one"))
        raise KeyError
    session.append(user("two"))
    assert [message.text for message in file_place.again(session).messages] == ["two"]
