"""One object of one process writes a conversation; the others are told why they may not."""

import gc
import os

import pytest
from tests.runtime.conversation.places import Place, user
from tests.runtime.conversation.writers import OtherWriter, written

from holdfast.core.errors import ConversationHeld, StaleWriter


def test_a_second_object_of_the_process_takes_over(place: Place) -> None:
    first = place.new()
    first.append(user("a"))
    second = place.again(first)
    assert second.session_id == first.session_id
    second.append(user("b"))
    for _ in range(2):
        with pytest.raises(StaleWriter, match="another object of this process"):
            first.append(user("lost"))
    with pytest.raises(StaleWriter):
        first.start_effect("1", "bash", {})
    assert first.messages == [user("a")]
    second.append(user("c"))
    assert place.again(first).messages == [user("a"), user("b"), user("c")]


def test_a_load_claims_nothing(place: Place) -> None:
    first = place.new()
    first.append(user("a"))
    for _ in range(3):
        place.again(first)
    first.append(user("b"))
    assert place.again(first).messages == [user("a"), user("b")]


def test_an_object_that_has_not_seen_the_newest_state_is_refused(place: Place) -> None:
    first = place.new()
    first.append(user("a"))
    older = place.again(first)
    first.append(user("b"))
    with pytest.raises(StaleWriter, match="has been written since"):
        older.append(user("lost"))
    first.append(user("c"))
    assert place.again(first).messages == [user("a"), user("b"), user("c")]
    forked = older.fork()
    assert forked.messages == [user("a")]


def test_a_new_object_under_the_id_of_another_conversation_is_refused(place: Place) -> None:
    first = place.new()
    first.append(user("a"))
    with pytest.raises(StaleWriter):
        place.new(session_id=first.session_id).append(user("lost"))
    assert place.again(first).messages == [user("a")]


def test_another_live_process_is_refused_by_the_holders_name_and_may_fork(place: Place) -> None:
    session = place.new()
    session.append(user("a"))
    session.release()
    with OtherWriter(place, session.session_id, "theirs") as other:
        assert other.said() == f"written by {other.process.pid}"
        late = place.again(session)
        with pytest.raises(ConversationHeld, match=f"process {other.process.pid} ") as refused:
            late.append(user("mine"))
        assert refused.value.details["pid"] == other.process.pid
        assert late.messages == [user("a"), user("theirs")]
        forked = late.fork()
        forked.append(user("mine"))
        other.kill()
        late.append(user("after its death"))
    assert place.again(late).messages == [user("a"), user("theirs"), user("after its death")]
    assert place.again(forked).messages == [user("a"), user("theirs"), user("mine")]


def test_this_process_refuses_others_until_it_releases_the_conversation(place: Place) -> None:
    session = place.new()
    session.append(user("a"))
    with OtherWriter(place, session.session_id, "one") as other:
        assert f"conversation_held: process {os.getpid()} " in other.said()
    session.release()
    with OtherWriter(place, session.session_id, "two", release=True) as other:
        assert other.said().startswith("written")
        with pytest.raises(StaleWriter):
            session.append(user("lost"))
    assert place.again(session).messages == [user("a"), user("two")]


def test_an_object_that_is_gone_holds_nothing(file_place: Place) -> None:
    session = file_place.new()
    session.append(user("a"))
    session_id = session.session_id
    del session
    gc.collect()
    with OtherWriter(file_place, session_id, "theirs") as other:
        assert other.said().startswith("written")


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_does_not_have_its_parents_claim(file_place: Place) -> None:
    session = file_place.new()
    session.append(user("a"))
    reading, writing = os.pipe()
    child = os.fork()
    if not child:  # pragma: no cover
        said = "nothing"
        try:
            session.append(user("lost"))
        except BaseException as error:
            said = type(error).__name__
        os.write(writing, f"{said} {written(file_place, session.session_id, 'x')[:17]}".encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reading, 1000) == b"ConversationHeld conversation_held"
    session.append(user("b"))
    assert file_place.again(session).messages == [user("a"), user("b")]
