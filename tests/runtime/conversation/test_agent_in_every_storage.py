"""An agent whose conversation is in a file, in SQLite and in PostgreSQL: the same turns, resumed the same way."""

from tests.runtime.conversation.places import Place
from tests.runtime.project.desk import agent, calls, says

from holdfast.models import CompletionResponse, Role
from holdfast.runtime import Agent, RuntimeHandle

TASK = "Create a.py."


def agent_at(place: Place, *answers: CompletionResponse, kind: type[Agent] = Agent) -> Agent:
    storage = "file" if place.url is None else "store"
    return agent(place.root, *answers, kind=kind, storage=storage, store_url=place.url)


async def test_a_turn_is_kept_and_resumed(place: Place) -> None:
    made = agent_at(place, calls("write", file_path="a.py", content="x = 1\n"), says("Created."))
    assert (await made.run(TASK)).startswith("Created.\n\nVerification:")
    assert (made.session.storage_path is None) == (place.url is not None)
    made.session.release()
    after = agent_at(place, says("It was a.py."), kind=RuntimeHandle)
    assert after.resume_session("20200101T000000Z-00000000") is False
    assert after.resume_session(made.session.session_id) is True
    assert after.messages == made.messages
    assert (after.current_task, after.session.runtime_owner_path) == (TASK, "runtime-handle")
    assert after.last_turn_summary is not None
    assert after.last_turn_summary.definition_of_done.task_statement == TASK
    await after.run("Which file?")
    assert [message.role for message in after.messages] == [
        *(Role.USER, Role.ASSISTANT, Role.TOOL, Role.ASSISTANT, Role.USER, Role.ASSISTANT)
    ]
    assert (after.unresolved_effects, after.session.usage_totals["turns"]) == ([], 2)


async def test_clearing_begins_another_conversation(place: Place) -> None:
    made = agent_at(place, says("Hi."))
    await made.run("Hello.")
    before = made.session.session_id
    made.clear_history()
    assert made.session.session_id != before
    kept = place.load(before)
    assert kept is not None
    assert [message.text for message in kept.messages] == ["Hello.", "Hi."]


async def test_what_one_conversation_remembers_another_recalls(place: Place) -> None:
    made = agent_at(place, calls("save_memory", key="Favorite_Color", value="It is blue."), says("Noted."))
    await made.run("Remember my favorite color.")
    other = agent_at(place, calls("recall_memory", query="favorite color"), says("Blue."))
    await other.run("What is my favorite color?")
    assert other.session.session_id != made.session.session_id
    assert other.messages[2].text == "favorite color: It is blue."


async def test_what_may_not_be_written_is_not_remembered_either(place: Place) -> None:
    made = agent_at(place, calls("save_memory", key="k", value="v"), calls("recall_memory", query="k"), says("No."))
    made.set_permission_mode("read-only")
    await made.run("Remember it.")
    assert made.messages[2].text.startswith("error: not permitted: save_memory needs workspace-write")
    assert made.messages[4].text.startswith("nothing is remembered about 'k'")
