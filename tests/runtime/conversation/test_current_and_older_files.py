"""Which conversation is the current one, what a load leaves alone, and where older states are."""

import json
import os
from datetime import datetime

import pytest
from tests.runtime.conversation.places import Place, user
from tests.runtime.conversation.writers import OtherWriter
from tests.support.eventually import wait_until

from holdfast.runtime.conversation.fields import now


def test_the_id_tells_when_the_conversation_began(place: Place) -> None:
    session = place.new()
    stamp = datetime.strptime(session.session_id.split("-")[0], "%Y%m%dT%H%M%S%z")
    assert abs((datetime.fromisoformat(session.created_at) - stamp).total_seconds()) < 60
    session.append(user("a"))
    assert session.created_at <= session.updated_at
    assert place.again(session).created_at == session.created_at


def test_the_current_conversation_goes_before_the_newest(file_place: Place) -> None:
    first, second = file_place.new(), file_place.new()
    first.append(user("a"))
    (pointer,) = (file_place.root / ".holdfast" / "state").glob("current*")
    kept = pointer.read_bytes()
    wait_until(lambda: now() > first.updated_at)  # which is the newest, milliseconds tell
    second.append(user("b"))
    assert pointer.read_bytes() != kept
    pointer.write_bytes(kept)
    found = file_place.load()
    assert found is not None
    assert found.session_id == first.session_id
    pointer.unlink()
    found = file_place.load()
    assert found is not None
    assert found.session_id == second.session_id


def test_a_load_changes_no_file(file_place: Place) -> None:
    session = file_place.new()
    session.append(user("a"))
    session.release()
    folder = file_place.root / ".holdfast"
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}
    file_place.again(session)
    file_place.load()
    after = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}
    assert after == before


def test_who_only_loaded_a_conversation_keeps_nobody_from_it(place: Place) -> None:
    session = place.new()
    session.append(user("a"))
    session.release()
    reading = place.again(session)
    with OtherWriter(place, session.session_id, "theirs") as other:
        assert other.said().startswith("written")
        assert reading.messages == [user("a")]
        assert place.again(session).messages == [user("a"), user("theirs")]


def test_every_write_goes_through_a_temporary_file_of_its_own(
    file_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = file_place.new()
    session.append(user("a"))
    replaced, used = os.replace, []

    def replace(source: str, target: str) -> None:
        used.append(str(source))
        replaced(source, target)

    monkeypatch.setattr(os, "replace", replace)
    session.append(user("b"))
    session.append(user("c"))
    assert len(used) == len(set(used)) >= 2
    assert session.storage_path is not None
    assert {path.name for path in session.storage_path.parent.iterdir()} == {session.storage_path.name}


def test_older_states_move_up_and_the_oldest_goes(file_place: Place) -> None:
    session = file_place.new(rotate_after_bytes=1)
    path = session.storage_path
    assert path is not None
    for number in range(1, 8):
        session.append(user(str(number)))
        assert len(json.loads(path.read_text())["messages"]) == number
    older = sorted(each.name for each in path.parent.iterdir() if each != path)
    assert older == [f"{session.session_id}.{number}.json" for number in (1, 2, 3)]
    said = [len(json.loads((path.parent / name).read_text())["messages"]) for name in older]
    assert said == [6, 5, 4]


def test_a_file_below_the_limit_has_no_older_state(file_place: Place) -> None:
    session = file_place.new()
    for number in range(5):
        session.append(user(str(number)))
    assert session.storage_path is not None
    assert [each.name for each in session.storage_path.parent.iterdir()] == [session.storage_path.name]


@pytest.mark.parametrize("place", ["sqlite", "postgresql"], indirect=True)
def test_a_store_has_no_file_and_no_older_states(place: Place) -> None:
    session = place.new(rotate_after_bytes=1)
    for number in range(4):
        session.append(user(str(number)))
    assert session.storage_path is None
    assert not (place.root / ".holdfast" / "sessions").exists()
    assert len(place.again(session).messages) == 4


def test_the_originals_are_in_the_history_file(file_place: Place) -> None:
    session = file_place.new(auto_compaction_input_tokens_threshold=1, compaction_keep_last_messages=1)
    session.extend([user("first words"), user("second words"), user("third words")])
    result = session.maybe_compact()
    assert result is not None
    assert session.storage_path is not None
    lines = session.storage_path.with_name(f"{session.session_id}.history.jsonl").read_text().splitlines()
    assert [json.loads(line)["message"]["content"] for line in lines] == ["first words", "second words"]
    assert session.messages[1:] == [user("third words")]


async def test_a_compaction_needs_no_loop_and_minds_none(place: Place) -> None:
    session = place.new(auto_compaction_input_tokens_threshold=1, compaction_keep_last_messages=1)
    session.extend([user("first words"), user("second words")])
    result = session.maybe_compact()
    assert result is not None
    assert (result.count, result.removed_message_count) == (1, 1)
    assert result.tokens_before > 0
    assert place.again(session).compaction == result
