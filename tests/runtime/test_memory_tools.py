"""What the agent is told to remember, it knows in every conversation of its tenant, and nowhere else."""

from pathlib import Path

import pytest
from tests.runtime.desk import Conversation, tool_round

from holdfast.models import CompletionResponse, ScriptedBackend, SimulatorBackend
from holdfast.store import Store, open_store


async def called(talk: Conversation, name: str, **arguments: str) -> str:
    """What one call of a tool gives."""
    script = ScriptedBackend([tool_round((name, arguments)), CompletionResponse("ok")])
    talk.backend = script
    await talk.say("go")
    return script.invocations[-1].messages[-1].text


async def test_what_is_remembered_in_one_conversation_is_known_in_another(store: Store, workspace: Path) -> None:
    one, other = (Conversation(store, workspace, SimulatorBackend(), name) for name in ("a", "b"))
    await one.say("Please use the memory tool to remember: my favorite color is blue.")
    asked = "Use the memory tool to recall my favorite color, then tell me what it is."
    assert "blue" in await other.say(asked)
    await other.say("Please use the memory tool to remember: my favorite color is green.")
    assert "green" in await Conversation(store, workspace, SimulatorBackend(), "c").say(asked)


async def test_overwriting_keeps_the_history(store: Store, workspace: Path) -> None:
    talk = Conversation(store, workspace, SimulatorBackend())
    assert await called(talk, "save_memory", key="Favorite_Color", value="blue") == "remembered under 'favorite color'"
    await called(talk, "save_memory", key="favorite color", value="green")
    assert await called(talk, "recall_memory", query="favorite-color") == "favorite color: green"
    versions = await store.memories.history("agent:main", "favorite color")
    assert [version.value() for version in versions] == ["blue", "green"]


@pytest.mark.parametrize("query", ["dog", "Rex", "what is the name of the dog", "rex dog"])
async def test_a_memory_is_found_by_its_words(store: Store, workspace: Path, query: str) -> None:
    talk = Conversation(store, workspace, SimulatorBackend())
    await called(talk, "save_memory", key="pet", value="the dog is called Rex")
    await called(talk, "save_memory", key="city", value="lives in Paris")
    await called(talk, "save_memory", key="名前", value="エイダ")
    assert await called(talk, "recall_memory", query=query) == "pet: the dog is called Rex"


@pytest.mark.parametrize("query", ["shoe size", "", "?", "x" * 5000])
async def test_what_is_not_remembered_is_nothing_and_no_error(store: Store, workspace: Path, query: str) -> None:
    talk = Conversation(store, workspace, SimulatorBackend())
    assert (await called(talk, "recall_memory", query=query)).startswith("nothing is remembered about")
    await called(talk, "save_memory", key="pet", value="Rex")
    assert (await called(talk, "recall_memory", query=query)).endswith("\nthere is something about: pet")


async def test_agents_and_tenants_share_no_memories(store: Store, workspace: Path) -> None:
    talk = Conversation(store, workspace, SimulatorBackend())
    await called(talk, "save_memory", key="pet", value="Rex")
    other = Conversation(store, workspace, SimulatorBackend(), agent="other")
    assert (await called(other, "recall_memory", query="pet")).startswith("nothing")
    tenant = Conversation(store.for_tenant("t2"), workspace, SimulatorBackend())
    assert (await called(tenant, "recall_memory", query="pet")).startswith("nothing")


async def test_memories_survive_the_process(sqlite_url: str, workspace: Path) -> None:
    async with await open_store(sqlite_url) as store:
        await called(Conversation(store, workspace, SimulatorBackend()), "save_memory", key="pet", value="Rex")
    async with await open_store(sqlite_url) as store:
        talk = Conversation(store, workspace, SimulatorBackend(), "other")
        assert await called(talk, "recall_memory", query="pet") == "pet: Rex"
