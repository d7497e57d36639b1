"""What the model is told of itself in a project, in sections that have names.

It is made anew from the project and the conversation whenever the model is asked, so it says what is so now.
"""

from collections.abc import Sequence
from pathlib import Path

from holdfast.core import HoldfastError
from holdfast.models.messages import Tool
from holdfast.runtime.conversation import ConversationSession, ToolEffect
from holdfast.runtime.skills import skill_list, skills_in
from holdfast.runtime.turn import react
from holdfast.runtime.workflow.router import CLARIFY, EXECUTE, PLAN, VERIFY
from holdfast.runtime.workspace import describe_entry, names_in, open_folder, read_text

NATIVE = "native"
REACT = "react"

ROLE = """\
You are a helpful agent in a project's folder. This conversation is kept: what was said before is in it, or in a summary
at its beginning. Do what is asked with your tools, then answer in words. What you say you have done, you must have done
with a tool. What is to be known in other conversations too, save with save_memory; what you do not find in
this one, look for with recall_memory."""
WORKFLOW = {
    CLARIFY: "The request leaves much open. Ask the user at most three short questions, and change nothing yet.",
    PLAN: "The request is large. Begin with a short plan in numbered steps, then carry it out.",
    EXECUTE: "Carry the request out.",
    VERIFY: "Look whether it is as it should be, and say what you found. Change nothing that you need not change.",
}
UNRESOLVED = (
    "These tools were begun before the process ended, and nobody knows whether they ran. Look before you repeat one:"
)
INSTRUCTIONS = "AGENTS.md"
MAX_INSTRUCTIONS = 16 * 1024
MAX_NAMES = 60
MAX_EFFECTS = 10

Section = tuple[str, str]


def sections(
    session: ConversationSession, tools: Sequence[Tool], *, prompt_format: str, auto_context: bool
) -> list[Section]:
    """The sections of what the model is told, by name; those without words are left out. Blocks."""
    root = session.project_root
    found = [
        ("role", ROLE),
        ("workflow", WORKFLOW.get(session.workflow_mode, "")),
        ("permissions", f"The permission mode is {session.permission_mode}; a call beyond it is refused."),
        ("tools", react.instructions(tools) if prompt_format == REACT else ""),
        ("skills", skill_list(skills_in(root))),
        ("project", _project(root) if auto_context else ""),
        ("unresolved_effects", _effects(session.unresolved_effects())),
    ]
    return [(name, words) for name, words in found if words]


def text_of(found: Sequence[Section]) -> str:
    """All of it, as the model reads it."""
    return "\n\n".join(words for _, words in found)


def _project(root: Path) -> str:
    try:
        with open_folder(root, ".") as opened:
            names = [name for name in names_in(opened) if not name.startswith(".")]
            lines = [f"- {describe_entry(opened, name)}" for name in names[:MAX_NAMES]]
    except (HoldfastError, OSError):
        return ""
    more = [f"- and {len(names) - MAX_NAMES} more"] if len(names) > MAX_NAMES else []
    told = "\n".join([f"The project's folder is {root}. It has:", *lines, *more])
    return "\n\n".join(filter(None, [told, _instructions(root)]))


def _instructions(root: Path) -> str:
    try:
        return (
            f"The project's instructions ({INSTRUCTIONS}):\n{read_text(root, INSTRUCTIONS, MAX_INSTRUCTIONS).strip()}"
        )
    except (HoldfastError, OSError):
        return ""


def _effects(effects: Sequence[ToolEffect]) -> str:
    lines = [f"- {effect.tool} {effect.shown}".rstrip() for effect in effects[-MAX_EFFECTS:]]
    return "\n".join([UNRESOLVED, *lines]) if lines else ""
