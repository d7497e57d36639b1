"""The tools that an agent over A2A has only if whoever runs it says so."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.runtime.desk import Conversation, tool_round

from holdfast.cli.serve import _options, serve
from holdfast.core.errors import InvalidInput
from holdfast.models import CompletionResponse, ScriptedBackend
from holdfast.runtime import bundled_agent
from holdfast.store import Store

TOUCH = tool_round(("bash", {"command": "touch here"}))


def scripted() -> ScriptedBackend:
    return ScriptedBackend([TOUCH, CompletionResponse("done")])


async def test_callers_cannot_run_commands(store: Store, workspace: Path) -> None:
    script = scripted()
    await Conversation(store, workspace, script).say("go")
    assert script.invocations[1].messages[-1].text == "error: there is no tool 'bash'"
    assert "bash" not in {tool.name for tool in script.invocations[0].tools}
    assert list(workspace.iterdir()) == []


async def test_unless_the_operator_said_so_and_then_once(store: Store, workspace: Path) -> None:
    script = scripted()
    talk = Conversation(store, workspace, script)
    turn = await talk.turn("go")
    handler = bundled_agent(script, more_tools=["bash"])
    assert "".join([str(piece) async for piece in handler(turn)]) == "done"
    assert (workspace / "here").exists()
    (workspace / "here").unlink()
    again = replace(turn, lease=await talk.lease("heir"), interrupted=True)
    async for _ in bundled_agent(scripted(), more_tools=["bash"])(again):
        pass
    assert list(workspace.iterdir()) == []


def test_a_tool_that_does_not_exist_is_refused_by_name() -> None:
    with pytest.raises(InvalidInput, match="no tool 'rocket'"):
        bundled_agent(scripted(), more_tools=["rocket"])


@pytest.mark.parametrize(("given", "tools"), [([], ()), (["--agent-tools", "bash"], ("bash",))])
def test_the_command_line_names_them(given: list[str], tools: tuple[str, ...]) -> None:
    context = serve.make_context("serve", given)
    assert _options(context.params).agent_tools == tools
