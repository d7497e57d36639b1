"""Conversations in a list, messages that are taken back, a compaction that is wanted now, a program that ends."""

from pathlib import Path

import pytest
from tests.runtime.conversation.places import Place, assistant, user
from tests.support.processes import PATIENCE, python

from holdfast.core.clock import SystemClock

PROGRAM = """
import sys
from holdfast.models import Message, Role
from holdfast.runtime import ConversationSession
session = ConversationSession(
    system_message_factory=lambda: Message(Role.SYSTEM, ""), few_shot_factory=list, project_root=sys.argv[1],
    storage="store",
)
session.append(Message(Role.USER, "hello"))
print(session.session_id)
"""


def test_conversations_are_listed_by_their_last_change(place: Place) -> None:
    first, second = place.new(), place.new()
    first.append(user("one"))
    second.append(user("two"))
    first.append(user("three"))
    found = first.ids(project_root=place.root, storage=first.storage, store_url=place.url)
    assert found == [first.session_id, second.session_id]


def test_of_changes_in_the_same_millisecond_the_last_one_is_first(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SystemClock, "now", lambda _: 1_800_000_000_000)
    both = [place.new(), place.new()]
    for last, other in (both, both[::-1]):
        other.append(user("one"))
        last.append(user("two"))
        found = last.ids(project_root=place.root, storage=last.storage, store_url=place.url)
        assert found == [last.session_id, other.session_id]


def test_what_is_taken_back_stays_readable(place: Place) -> None:
    session = place.new(messages=[user("one"), assistant("1"), user("two"), assistant("2")])
    assert session.take_back(2) == [user("two"), assistant("2")]
    session.append(user("three"))
    again = place.again(session)
    assert again.messages == [user("one"), assistant("1"), user("three")]
    assert again.history() == [user("two"), assistant("2")]


def test_what_was_taken_back_is_told_apart_from_what_is_summed_up(place: Place) -> None:
    session = place.new(compaction_keep_last_messages=1)
    session.extend([user("one"), assistant("1"), user("two"), assistant("2")])
    session.take_back(2)
    session.extend([user("three"), assistant("3")])
    session.maybe_compact(now=True)
    session.extend([user("four")])
    session.take_back(1)
    for each in (session, place.again(session), place.again(session.fork())):
        assert each.history(taken_back=False) == [user("one"), assistant("1"), user("three")]
        assert each.history(taken_back=True) == (
            [] if each.forked_from else [user("two"), assistant("2"), user("four")]
        )
        assert each.messages[1:] == [assistant("3")]
    gone = [user("two"), assistant("2"), user("one"), assistant("1"), user("three"), user("four")]
    assert place.again(session).history() == gone


def test_a_compaction_that_is_wanted_now_needs_no_threshold(place: Place) -> None:
    session = place.new(messages=[user(f"My number {number} is {number}.") for number in range(8)])
    assert session.maybe_compact() is None
    done = session.maybe_compact(now=True)
    assert done is not None
    assert (done.removed_message_count, len(session.messages)) == (4, 5)
    assert session.maybe_compact() is None


def test_a_program_that_leaves_its_store_open_ends_quietly(tmp_path: Path) -> None:
    with python("-c", PROGRAM, str(tmp_path)) as process:
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (0, "")
    assert out.strip()
