"""A conversation on a disk without room: nothing is changed, the error says so, and it goes on once there is room."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.runtime.conversation.places import Place, assistant, user
from tests.support.disks import small_disk

from holdfast.core.errors import StorageFull
from holdfast.models import CompletionResponse, ScriptedBackend
from holdfast.runtime import Agent, AgentConfig


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path, 1) as folder:
        yield folder


def fill(disk: Path) -> Path:
    """Take all the room that there is; the file that has it."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            return filler


def test_what_finds_no_room_changes_nothing_and_the_next_write_goes_on(disk: Path) -> None:
    place = Place(disk)
    session = place.new(auto_compaction_input_tokens_threshold=10, compaction_keep_last_messages=1)
    said = [user("My name is Ada."), assistant("Nice to meet you, Ada. How are you today?")]
    session.extend(said)
    filler = fill(disk)
    for refused in (
        lambda: session.append(user("lost")),
        session.maybe_compact,
        lambda: session.start_effect("1", "bash", {}),
    ):
        with pytest.raises(StorageFull):
            refused()
    assert (session.messages, session.compaction, session.unresolved_effects()) == (said, None, [])
    assert place.again(session).messages == said
    assert [path.name for path in place.root.glob(".holdfast/sessions/*.tmp")] == []
    filler.unlink()
    session.append(user("kept"))
    assert place.again(session).messages == [*said, user("kept")]


def test_who_finds_no_room_to_claim_a_conversation_holds_nothing(disk: Path) -> None:
    place = Place(disk)
    session = place.new()
    session.append(user("one"))
    session.release()
    again = place.again(session)
    filler = fill(disk)
    for _ in range(2):
        with pytest.raises(StorageFull):
            again.append(user("lost"))
    filler.unlink()
    again.append(user("two"))
    assert place.again(session).messages == [user("one"), user("two")]


async def test_a_turn_that_finds_no_room_fails_by_name_and_the_next_one_runs(disk: Path) -> None:
    answers = [CompletionResponse("Hello."), CompletionResponse("Still here.")]
    agent = Agent(ScriptedBackend(answers), AgentConfig(), disk)
    await agent.run("Hello.")
    filler = fill(disk)
    with pytest.raises(StorageFull):
        await agent.run("Are you there?")
    filler.unlink()
    assert (await agent.run("And now?")).startswith("Still here.")
    assert [message.text for message in agent.messages] == ["Hello.", "Hello.", "And now?", "Still here."]
