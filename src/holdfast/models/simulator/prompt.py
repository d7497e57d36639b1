"""What the user, the tools and the runtime said, out of what a runtime sent.

Runtimes dress the user's words up: a time in front, a reminder or internal context behind, sometimes as a
user message of its own, sometimes with the result of a tool in front (`steps_in_words`). Here the dress comes off, so
that everything after sees words only. What the assistant says is never heard, because an answer must not come from
there; but what it reports that another agent said counts as a tool's result. What the system says is kept apart: it may
hold what a runtime keeps in memory, and it is believed only where memory is asked for.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.models.messages import SUMMARY_MARK, PromptMessage, PromptRole, ToolCall
from holdfast.models.simulator.attachments import AttachedFile, files_of, without_mentions
from holdfast.models.simulator.steps_in_words import as_messages

REMINDER = re.compile(r"<system-reminder>.*?(?:</system-reminder>|\Z)", re.DOTALL | re.IGNORECASE)
INTERNAL_CONTEXT = re.compile(r"<<<BEGIN_(\w+)>>>.*?(?:<<<END_\1>>>|\Z)", re.DOTALL)
MEMORY_BLOCK = re.compile(r"^<memory>$.*?(?:^</memory>$|\Z)", re.DOTALL | re.MULTILINE)
"""What a runtime's notebook says, told with the user's message."""
HARNESS_NOTE = re.compile(
    r"^(?:Tool loaded\.|Continue from where you left off\.|\[Request interrupted by user(?: for tool use)?\]"
    r"|\[System note: [^\]\n]*\])$",
    re.MULTILINE,
)
"""What runtimes say in the user's place: after a search for tools, after a kill, after a cancel."""
TALK = (REMINDER, INTERNAL_CONTEXT, MEMORY_BLOCK, HARNESS_NOTE)
TAG = re.compile(r"</?(?:system-reminder|memory)>|<<<\w+>>>", re.IGNORECASE)
RUNTIME_SUFFIX = re.compile(r"\n[ \t]*Runtime: [^\n]*\Z")
TIME_PREFIX = re.compile(r"\A\[[^\]\n]{0,40}?\d\d?:\d\d[^\]\n]{0,40}\]\s*")
IMAGE_NOTE = re.compile(
    r"\[Image: source: [^\]\n]*\]|\[screenshot\]|\[image data removed[^\]\n]*\]|\AUser sent image\(s\) with no text\.\Z"
)

SUMMARY = SUMMARY_MARK
BULLET = r"[ \t]*(?:[-*•][ \t]*)?[\[(*]*"
NOT_THE_USER = re.compile(rf"{BULLET}(?:assistant|agent|model|tool|system)\b[^:\n]{{0,40}}:", re.IGNORECASE)
SPEAKER = re.compile(rf"\A{BULLET}(?:user\b[^:\n]{{0,40}}:[ \t]*)?", re.IGNORECASE)
REPORT = re.compile(r"^The agent at \S+ answered: (.+)", re.MULTILINE)
"""What an answer of the simulator's own says that another agent said: a runtime may keep that, and not the tool's."""
THE_USERS = re.compile(r"\b(?:the )?user['’]s\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Utterance:
    """Something said: its place in the prompt, its words, and what was attached.

    The role is USER for the user's own words, TOOL for the result of a tool (of `call`, where that is known), and
    SYSTEM for what a runtime put in. A `summary` stands for the user's older messages.
    """

    index: int
    role: PromptRole
    words: str
    attachments: tuple[AttachedFile, ...] = ()
    call: ToolCall | None = None
    summary: bool = False


def listen(messages: Sequence[PromptMessage]) -> list[Utterance]:
    """All that was said, in order."""
    told = list(as_messages(messages))
    calls = {call.id: call for _, message in told for call in message.tool_calls}
    heard: list[Utterance] = []
    for index, message in told:
        if message.role == PromptRole.TOOL:
            call = calls.get(message.tool_call_id or "")
            heard.append(Utterance(index, PromptRole.TOOL, message.text.strip(), files_of(message), call))
        elif message.role != PromptRole.ASSISTANT and message.text.lstrip().startswith(SUMMARY):
            heard += _summary(index, message)
        elif message.role == PromptRole.SYSTEM:
            heard.append(Utterance(index, PromptRole.SYSTEM, third_person(message.text)))
        elif message.role == PromptRole.USER:
            heard += _user(index, message)
        else:
            heard += [Utterance(index, PromptRole.TOOL, report[1]) for report in REPORT.finditer(message.text)]
    return heard


def third_person(text: str) -> str:
    """What is said of the user, as the user would say it."""
    return THE_USERS.sub("my", text)


def undress(text: str) -> str:
    """The user's own words in a user message."""
    for dress in (*TALK, RUNTIME_SUFFIX):
        text = dress.sub("", text)
    text = TIME_PREFIX.sub("", text.strip())
    return IMAGE_NOTE.sub("", text).strip()


def _user(index: int, message: PromptMessage) -> list[Utterance]:
    """A user message in its pieces: the runtime's talk, the user's words."""
    pieces: list[Utterance] = []
    said = without_mentions(message.text)
    talk = "\n".join(match[0] for dress in TALK for match in dress.finditer(said))
    if talk:
        pieces.append(Utterance(index, PromptRole.SYSTEM, third_person(TAG.sub("\n", talk)).strip()))
    words, attachments = undress(said), files_of(message)
    if words or attachments or not message.text.strip():
        pieces.append(Utterance(index, PromptRole.USER, words, attachments))
    return pieces


def _summary(index: int, message: PromptMessage) -> list[Utterance]:
    """What a summary tells of the user, line by line, and not what others said in the conversation that it sums up."""
    lines = third_person(without_mentions(message.text).lstrip().removeprefix(SUMMARY)).splitlines()
    words = [SPEAKER.sub("", line) for line in lines if not NOT_THE_USER.match(line)]
    files = Utterance(index, message.role, "", files_of(message), summary=True)
    return [files, *(Utterance(index, message.role, line.strip(), summary=True) for line in words if line.strip())]
