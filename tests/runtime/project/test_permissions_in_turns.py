"""Permissions in a turn: what is refused is told to the model, what is asked is asked, and nothing else runs."""

import json
import os
from pathlib import Path

import pytest
from tests.runtime.project.desk import agent, calls, says

from holdfast.core.errors import InvalidInput
from holdfast.models import CompletionResponse
from holdfast.runtime import Agent
from holdfast.runtime.permissions import RULES_FILE, PermissionQuestion

WRITE = calls("write", file_path="a.txt", content="x")


def rules(root: Path, **given: list[dict[str, str]]) -> None:
    (root / ".holdfast").mkdir(exist_ok=True)
    (root / RULES_FILE).write_text(json.dumps(given))


def told(made: Agent) -> str:
    return made.messages[2].text


async def test_the_mode_refuses_and_the_model_is_told(tmp_path: Path) -> None:
    made = agent(tmp_path, WRITE, says("No."), permission_mode="read-only")
    await made.run("Write it.")
    assert told(made) == ("error: not permitted: write needs workspace-write, and the permission mode is read-only")
    assert not (tmp_path / "a.txt").exists()
    assert made.unresolved_effects == []


@pytest.mark.parametrize("path", ["../a.txt", "/etc/holdfast-test", "link/a.txt", ".holdfast/permission-rules.json"])
async def test_no_path_leads_out_of_the_workspace(tmp_path: Path, path: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "link").symlink_to(tmp_path)
    made = agent(root, calls("write", file_path=path, content="x"), says("No."), permission_mode="allow")
    await made.run("Write it.")
    assert told(made).startswith("error: not permitted: ")
    assert [entry.name for entry in tmp_path.iterdir()] == ["root"]


@pytest.mark.parametrize(
    "call",
    [
        calls("append_file", file_path="link.txt", text="more"),
        calls("write", file_path="link.txt", content="more"),
        calls("edit", file_path="link.txt", old_string="mine", new_string="more"),
    ],
    ids=["append", "write", "edit"],
)
@pytest.mark.parametrize("place", ["outside.txt", "root/.holdfast/other.json"])
async def test_no_hard_link_leads_a_change_out_of_the_workspace(
    tmp_path: Path, place: str, call: CompletionResponse
) -> None:
    root = tmp_path / "root"
    (root / ".holdfast").mkdir(parents=True)
    (tmp_path / place).write_text("mine\n")
    os.link(tmp_path / place, root / "link.txt")
    made = agent(root, call, says("Done."), reasoning={"completion_check": False}, permission_mode="allow")
    await made.run("Change it.")
    assert (tmp_path / place).read_text() == "mine\n"


async def test_a_rule_denies_what_the_mode_allows(tmp_path: Path) -> None:
    rules(tmp_path, deny=[{"path_contains": "a.txt"}], allow=[{"tool": "write"}])
    made = agent(tmp_path, WRITE, says("No."), permission_mode="danger-full-access")
    await made.run("Write it.")
    assert "a rule of the project says deny" in told(made)
    assert made.session.permission_rule_counts == {"allow": 1, "deny": 1, "ask": 0}
    assert made.session.permission_rules_source == str(tmp_path / RULES_FILE)


async def test_rules_that_cannot_be_read_refuse_everything(tmp_path: Path) -> None:
    (tmp_path / ".holdfast").mkdir()
    (tmp_path / RULES_FILE).write_text('{"deny": [{"tol": "write"}]}')
    made = agent(tmp_path, WRITE, says("No."), permission_mode="allow")
    await made.run("Write it.")
    assert "permission-rules.json cannot be used" in told(made)
    assert not (tmp_path / "a.txt").exists()


async def test_a_command_is_not_run_in_the_workspace_mode_if_there_is_nobody_to_ask(tmp_path: Path) -> None:
    made = agent(tmp_path, calls("bash", command="touch a.txt"), says("No."))
    await made.run("Touch it.")
    assert told(made).startswith("error: not permitted: bash needs danger-full-access")
    assert not (tmp_path / "a.txt").exists()
    assert made.session.permission_prompting_enabled is False


@pytest.mark.parametrize("granted", [True, False])
async def test_the_user_is_asked_what_exactly_would_be_done(tmp_path: Path, granted: bool) -> None:
    asked: list[PermissionQuestion] = []

    async def ask(question: PermissionQuestion) -> bool:
        asked.append(question)
        return granted

    made = agent(tmp_path, WRITE, says("Ok."), permission_mode="prompt", ask_permission=ask)
    await made.run("Write it.")
    (question,) = asked
    assert (question.tool, question.arguments) == ("write", {"file_path": "a.txt", "content": "x"})
    assert (tmp_path / "a.txt").exists() is granted
    assert granted or told(made) == "error: not permitted: the user said no"
    assert made.session.permission_prompting_enabled is True


async def test_what_is_to_be_asked_is_refused_if_there_is_nobody_to_ask(tmp_path: Path) -> None:
    rules(tmp_path, ask=[{"tool": "write"}])
    made = agent(tmp_path, WRITE, says("No."), permission_mode="allow")
    await made.run("Write it.")
    assert not (tmp_path / "a.txt").exists()


async def test_an_unknown_tool_needs_full_access(tmp_path: Path) -> None:
    made = agent(tmp_path, calls("launch", where="moon"), says("No."))
    await made.run("Launch it.")
    assert told(made).startswith("error: not permitted: launch needs danger-full-access")
    free = agent(tmp_path, calls("launch", where="moon"), says("No."), permission_mode="danger-full-access")
    await free.run("Launch it.")
    assert told(free) == "error: there is no tool 'launch'"


def test_an_unknown_mode_is_refused_where_it_is_set(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput):
        agent(tmp_path, permission_mode="root")
    made = agent(tmp_path)
    with pytest.raises(InvalidInput):
        made.set_permission_mode("root")
    with pytest.raises(InvalidInput):
        made.set_workflow_mode("dream")
    assert (made.active_permission_mode, made.workflow_mode) == ("workspace-write", "execute")
