"""The prompt of a turn: what the agent is told of itself, what was said before, and the message to answer.

It is made from the turn, the store and the workspace alone, so what the agent knows of a conversation is what was kept.
"""

import asyncio
from collections.abc import Sequence

from holdfast.a2a import Part, PastMessage, Role, TextPart, Turn
from holdfast.core.event_bodies import ToolFinished, ToolStarted, read
from holdfast.models.messages import INTERRUPTED_MARK, PromptMessage, PromptRole
from holdfast.runtime import prompt_files
from holdfast.runtime.skills import skill_list, skills_in

ROLES = {Role.USER: PromptRole.USER, Role.AGENT: PromptRole.ASSISTANT}

ABOUT = """\
You are a helpful agent. This conversation is kept: what was said before is in it, or in a summary at its beginning.
Your file tools work in your workspace. What is to be known in other conversations too, save with save_memory; when you
are asked for something that you do not find in this conversation, try recall_memory."""

BEGUN_BEFORE = "You began to answer this message before and were interrupted. The tools with an effect that you called:"
UNKNOWN = "its end is not known; it may have run"

NEWEST_EVENTS = 500
MAX_ASKED = 1_000
"""Characters that are shown of what a tool was asked."""


async def prompt(turn: Turn, history: Sequence[PastMessage]) -> list[PromptMessage]:
    """What the model is asked in a turn, with this history before it."""
    asked = await prompt_files.content(turn.parts, turn.attachments, prompt_files.for_this_message())
    return [await told(turn), *await past_messages(history), PromptMessage(PromptRole.USER, asked)]


async def told(turn: Turn) -> PromptMessage:
    """What the agent is told of itself, of its skills, and of a turn that was begun before."""
    skills = await asyncio.to_thread(skills_in, turn.workspace)
    words = "\n\n".join(filter(None, [ABOUT, skill_list(skills), await _begun_before(turn)]))
    return PromptMessage(PromptRole.SYSTEM, words)


async def past_messages(history: Sequence[PastMessage]) -> list[PromptMessage]:
    """What was said before, as a model is told it; an answer that was cut says so."""
    budget = prompt_files.for_past_messages()
    past = [
        PromptMessage(ROLES[said.role], await prompt_files.content(_with_mark(said), said.attachments, budget))
        for said in reversed(history)
    ]
    return past[::-1]


def _with_mark(said: PastMessage) -> tuple[Part, ...]:
    return (*said.parts, TextPart(f"\n{INTERRUPTED_MARK}")) if said.is_cut else said.parts


def _call(started: ToolStarted) -> str:
    """A tool and what it was asked, as far as that is short; earlier versions did not write it down."""
    asked = started.shown or ""
    cut = asked if len(asked) <= MAX_ASKED else f"{asked[:MAX_ASKED]}…"
    return f"{started.tool} {cut}".rstrip()


async def _begun_before(turn: Turn) -> str:
    """For a turn that a process died in: the tools that were called in it, and what is known of them."""
    if not turn.interrupted:
        return ""
    events = (await turn.store.stretch(turn.session_id, newest=True, limit=NEWEST_EVENTS)).events
    tools: dict[str, str] = {}
    results: dict[str, str] = {}
    for event in events:
        if event.erased is not None:
            continue
        if event.type == ToolStarted.TYPE:
            started = read(event, ToolStarted)
            tools[started.call_id] = _call(started)
        elif event.type == ToolFinished.TYPE:
            finished = read(event, ToolFinished)
            results[finished.call_id] = finished.result
    lines = [
        f"- {tool}: {results.get(call_id, UNKNOWN)}"
        for call_id, tool in tools.items()
        if call_id.startswith(f"{turn.task_id}:")
    ]
    return "\n".join([BEGUN_BEFORE, *(lines or ["- none"])])
