"""Skills of the workspace: listed to the model, read when it wants one."""

from pathlib import Path

import pytest
from tests.runtime.desk import Conversation, tool_round

from holdfast.models import CompletionResponse, ScriptedBackend, SimulatorBackend
from holdfast.runtime.skills import MAX_SKILLS, Skill, SkillSet, parse, skill_list, skills_in
from holdfast.store import Store

GREET = "---\nname: greet\ndescription: Greets whoever is there.\n---\n# Greet\n\nSay hello.\n"


def put(workspace: Path, folder: str, text: str) -> None:
    path = workspace / "skills" / folder / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text(text)


async def test_skills_are_listed_and_read(store: Store, workspace: Path) -> None:
    put(workspace, "greet", GREET)
    calls = tool_round(("read_skill", {"name": "greet"}), ("read_skill", {"name": "fly"}))
    script = ScriptedBackend([calls, CompletionResponse("done")])
    await Conversation(store, workspace, script).say("go")
    assert "- greet: Greets whoever is there." in script.invocations[0].messages[0].text
    one, other = (message.text for message in script.invocations[1].messages[-2:])
    assert one == "# Greet\n\nSay hello."
    assert other == "error: there is no skill 'fly'; there are: greet"


async def test_the_effect_of_a_skill_is_there(store: Store, workspace: Path) -> None:
    put(
        workspace,
        "mark",
        "---\nname: mark\ndescription: Leaves a mark.\n---\nAppend the line xyzzy to the file mark.txt",
    )
    await Conversation(store, workspace, SimulatorBackend()).say("Use the skill mark.")
    assert (workspace / "mark.txt").read_text() == "xyzzy\n"


@pytest.mark.parametrize(
    ("text", "skill"),
    [
        (GREET, Skill("greet", "Greets whoever is there.", "# Greet\n\nSay hello.")),
        ("Just do it.", Skill("folder", "", "Just do it.")),
        (
            "---\nname: 'a b'\ndescription: >-\n  Over\n  two lines.\nother: x\n---\n",
            Skill("a b", "Over two lines.", ""),
        ),
        ('---\r\nname: "crlf"\r\n---\r\nText', Skill("crlf", "", "Text")),
        ("---\nname: open\nnever closed", Skill("folder", "", "---\nname: open\nnever closed")),
    ],
)
def test_the_file_of_a_skill(text: str, skill: Skill) -> None:
    assert parse(text, "folder") == skill


def test_what_cannot_be_read_is_left_out(workspace: Path) -> None:
    assert skills_in(workspace) == SkillSet([], [])
    put(workspace, "greet", GREET)
    put(workspace, "large", "x" * 100_000)
    (workspace / "skills" / "empty").mkdir()
    (workspace / "skills" / "file").write_text("x")
    outside = workspace.parent / "outside"
    outside.mkdir()
    (outside / "SKILL.md").write_text("---\nname: secret\n---\n")
    (workspace / "skills" / "link").symlink_to(outside)
    found = skills_in(workspace)
    assert [skill.name for skill in found.skills] == ["greet"]
    assert [why.split()[0] for why in found.left_out] == ["large", "link"]


def test_what_is_left_out_is_told(workspace: Path) -> None:
    for number in range(MAX_SKILLS + 12):
        put(workspace, f"s{number:03}", f"---\nname: skill-{number:03}\n---\n")
    put(workspace, "a", "---\nname: skill-000\n---\n")
    found = skills_in(workspace)
    assert len(found.skills) == MAX_SKILLS
    assert len(found.left_out) == 13
    told = skill_list(found)
    assert "s000 has the name of another, skill-000" in told
    assert f"skill-0{MAX_SKILLS} is one too many" in told
    assert told.endswith("- and 8 more")
