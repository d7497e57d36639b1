"""tool-use: what a skill of the workspace says is done, not only talked about."""

from holdfast.prove.runtime.checks import answered
from holdfast.prove.runtime.facts import Facts
from holdfast.prove.runtime.history import History
from holdfast.prove.runtime.proof import Proof
from holdfast.prove.runtime.stage import Stage
from holdfast.prove.verdict import Finding, disproven, proven

SKILL = """---
name: {skill}
description: Stamps a conversation.
---
Append the line {marker} to the file {file}.
"""


async def steps(stage: Stage) -> None:
    """Put a skill into the workspace whose instructions nobody else knows, have it used, look for its effect."""
    number, marker = stage.new_hex(), stage.new_hex()
    skill, file = f"stamp-{number}", f"stamped-{number}.txt"
    text = SKILL.format(skill=skill, marker=marker, file=file)
    stage.seed_file("put the skill there", f"skills/{skill}/SKILL.md", text)
    await stage.say("use it", stage.new_context(), f"Use the skill {skill} to stamp this conversation.")
    stage.count_line("look", file, marker)


def check(history: History, facts: Facts) -> Finding:
    """The turn is answered and the file has the marker that only the skill names."""
    turn, seen = history.turn("use it"), history.file("look")
    wrong = answered(turn)
    if wrong:
        return wrong
    if not seen.count:
        return disproven(
            "the answer came, the effect did not",
            expected=f"the line {seen.line} in {seen.path}, as the skill says",
            got=f"{'no such file' if seen.count is None else 'the file without the line'}, and {turn.reply.describe()}",
            curl=turn.curl,
            hint="the target must find skills/NAME/SKILL.md in its workspace and have a tool that writes files",
        )
    return proven("what only the skill says was done")


PROOF = Proof(
    "tool-use",
    "a skill in the workspace is used, and its effect is there",
    steps,
    check,
    requires=frozenset({"workspace"}),
    profile="tools",
    remedy="The agent says that it used a skill and did not. Read skills/NAME/SKILL.md in the workspace, call the "
    "tools that it asks for, and answer only then.",
    shown_in=("Agent._words",),
)
