"""A conversation that grows is summed up; what the user stated stays, and the originals stay readable."""

import json

import pytest
from tests.runtime.conversation.places import Place, assistant, user

from holdfast.core.errors import StorageFull
from holdfast.models import Message, Role, ToolCall
from holdfast.runtime.conversation import file_storage

FILLER = "Say something of no importance whatever, " * 10


def test_the_older_messages_give_way_to_a_summary(place: Place) -> None:
    session = place.new(auto_compaction_input_tokens_threshold=500)
    said = [user("My name is Ada."), *(user(FILLER) for _ in range(3)), assistant("a" * 404), user("b"), assistant("c")]
    session.extend(said)
    before = sum(len(message.text) for message in said) // 4
    assert before >= 400
    assert session.maybe_compact() is None
    session.append(user("d" * 400))
    result = session.maybe_compact()
    assert result is not None
    everything = [*said, user("d" * 400)]
    for each in (session, place.again(session)):
        first, *kept = each.messages
        assert first.role == Role.USER
        assert isinstance(first.content, str)
        assert first.content.startswith("[COMPACTED CONTEXT]")
        assert "My name is Ada." in first.content
        assert kept == everything[-4:]
        assert each.history() == everything[:-4]
        assert each.compaction == result
    assert (result.count, result.removed_message_count, result.summary) == (1, 4, first.content)
    assert result.tokens_before == sum(len(message.text) for message in everything) // 4
    assert result.tokens_after == sum(len(message.text) for message in session.messages) // 4
    assert session.maybe_compact() is None


def test_it_fires_at_the_threshold_and_with_more_messages_than_are_kept(file_place: Place) -> None:
    session = file_place.new(auto_compaction_input_tokens_threshold=10, compaction_keep_last_messages=2)
    session.extend([user("x" * 20), user("y" * 20)])
    assert session.maybe_compact() is None
    session.append(user(""))
    assert session.maybe_compact() is not None
    other = file_place.new(auto_compaction_input_tokens_threshold=11, compaction_keep_last_messages=2)
    other.extend([user("x" * 20), user("y" * 20), user("")])
    assert other.maybe_compact() is None
    other.append(user("1234"))
    assert other.maybe_compact() is not None


def test_it_fires_again_and_facts_survive_every_time(place: Place) -> None:
    session = place.new(auto_compaction_input_tokens_threshold=400)
    session.append(user("My name is Ada. The server is called Hal."))
    said = list(session.messages)
    for number in range(40):
        new = [user(f"My city number {number} is x{number}." if number == 7 else FILLER), assistant("ok")]
        session.extend(new)
        said += new
        session.maybe_compact()
    assert session.compaction is not None
    assert session.compaction.count > 3
    for each in (session, place.again(session)):
        assert "My name is Ada." in each.messages[0].text
        assert "The server is called Hal." in each.messages[0].text
        assert "My city number 7 is x7." in each.messages[0].text
        assert [*each.history(), *each.messages[1:]] == said
        assert f"the {len(each.history())} messages" in each.messages[0].text


def test_a_fact_that_changed_has_its_newest_value(file_place: Place) -> None:
    session = file_place.new(auto_compaction_input_tokens_threshold=100)
    for fact in ("My city is Paris.", "My city is Rome."):
        session.extend([user(fact), *(user(FILLER) for _ in range(5))])
        assert session.maybe_compact() is not None
    assert "Rome" in session.messages[0].text
    assert "Paris" not in session.messages[0].text


def test_a_model_may_write_the_summary_and_the_facts_stay(place: Place) -> None:
    session = place.new(auto_compaction_input_tokens_threshold=100)
    asked: list[list[Message]] = []

    def summarise(messages: list[Message]) -> str:
        asked.append(messages)
        return "They talked of nothing."

    session.extend([user("My name is Ada."), *(user(FILLER) for _ in range(5))])
    session.maybe_compact(summarise)
    session.extend([user(FILLER) for _ in range(5)])
    session.maybe_compact(summarise)
    assert asked[0] == [user("My name is Ada."), user(FILLER)]
    assert asked[1][0].text.startswith("[COMPACTED CONTEXT]")
    text = session.messages[0].text
    assert text.startswith("[COMPACTED CONTEXT]")
    assert "They talked of nothing." in text
    assert "My name is Ada." in text


def test_nothing_is_dropped_unless_there_is_a_summary(place: Place) -> None:
    session = place.new(auto_compaction_input_tokens_threshold=100)
    said = [user(FILLER) for _ in range(6)]
    session.extend(said)

    def fail(messages: list[Message]) -> str:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        session.maybe_compact(fail)
    assert (session.messages, session.compaction, session.history()) == (said, None, [])
    result = session.maybe_compact(lambda messages: " ")
    assert result is not None
    assert result.summary.startswith("[COMPACTED CONTEXT]\nThis stands for the 2 messages")


def test_a_tools_result_stays_with_its_call(file_place: Place) -> None:
    session = file_place.new(auto_compaction_input_tokens_threshold=10, compaction_keep_last_messages=2)
    call = Message(Role.ASSISTANT, "", [ToolCall("1", "read", {}), ToolCall("2", "read", {})])
    results = [Message(Role.TOOL, "x" * 50, tool_call_id="1"), Message(Role.TOOL, "y", tool_call_id="2")]
    session.extend([user("go"), call, *results, assistant("done")])
    session.maybe_compact()
    assert session.messages[1:] == [call, *results, assistant("done")]


def test_the_originals_are_written_before_they_leave_the_file(
    file_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = file_place.new(auto_compaction_input_tokens_threshold=100)
    said = [user(FILLER) for _ in range(6)]
    session.extend(said)
    assert session.storage_path is not None
    history = session.storage_path.with_name(f"{session.session_id}.history.jsonl")

    def full(*_: object) -> None:
        raise StorageFull("no room")

    with monkeypatch.context() as patch:
        patch.setattr(file_storage, "write_whole", full)
        with pytest.raises(StorageFull):
            session.maybe_compact()
    assert len(history.read_text().splitlines()) == 2
    assert (session.messages, file_place.again(session).messages) == (said, said)
    assert (session.compaction, session.history(), file_place.again(session).history()) == (None, [], [])
    assert session.maybe_compact() is not None
    assert [json.loads(line) for line in history.read_text().splitlines()] == [
        {"message": {"role": "user", "content": FILLER}}
    ] * 2
    assert file_place.again(session).history() == said[:2]


def test_a_cleared_conversation_knows_nothing_of_what_was_summed_up(place: Place) -> None:
    session = place.new(auto_compaction_input_tokens_threshold=100)
    session.extend([user("My name is Ada."), *(user(FILLER) for _ in range(5))])
    session.maybe_compact()
    session.clear()
    assert (session.messages, session.compaction) == ([], None)
    assert session.history() == [user("My name is Ada."), user(FILLER)]
    session.extend([user(FILLER) for _ in range(6)])
    session.maybe_compact()
    assert "Ada" not in place.again(session).messages[0].text
