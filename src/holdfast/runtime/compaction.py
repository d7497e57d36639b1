"""Compaction: when a prompt grows too long, its older messages give way to a summary, and nothing is lost.

The summary is made without a model, always the same from the same messages. It keeps every fact that the user stated,
also those of the summary that stood there before, and a line for each message as long as there is room. It is an event
of the session: later turns begin with it, and the messages stay in the log.
"""

import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec

from holdfast.a2a import DataPart, FilePart, Part, PastMessage, Role, Turn
from holdfast.a2a.turns.conversation import MARK, older, summary_message
from holdfast.a2a.turns.records import part_record
from holdfast.core import strict_json
from holdfast.core.retry import until_written
from holdfast.models.messages import PromptMessage, PromptRole
from holdfast.runtime.facts import MAX_SENTENCE, newest, statements
from holdfast.runtime.prompt import prompt, tokens

THRESHOLD = 100_000
KEEP = 4
MAX_LINE = 200
MAX_TOPICS = 40
MAX_FILES = 50
WORTH = 0.75

LEFT_OUT = "[this result was left out: the prompt grew too long]"


class Summary(msgspec.Struct, frozen=True):
    """What a compaction's event keeps: the words for the model with the files they go with, and what these are made
    from."""

    text: str
    files: list[dict[str, Any]] = []
    facts: list[str] = []
    topics: list[str] = []
    messages: int = 0


async def fitting_prompt(turn: Turn, threshold: int = THRESHOLD) -> list[PromptMessage]:
    """The prompt of a turn; if it is longer than the threshold (in tokens), with its older messages summed up."""
    whole = await prompt(turn, turn.history)
    size = tokens(whole)
    if size <= threshold:
        return whole
    found = await older(turn.store, turn.task_id, keep=KEEP)
    if found is None:
        return whole
    document = msgspec.to_builtins(summarize(found.summary, found.messages))
    # The bytes of files come from the turn: the log has their names and digests.
    kept = turn.history[len(turn.history) - len(found.kept) :]
    shorter = await prompt(turn, (_with_files(summary_message(document), turn.history), *kept))
    if tokens(shorter) > size * WORTH:
        return whole
    key = uuid.uuid4().hex
    await until_written(
        lambda: turn.store.checkpoints.compact(
            turn.session_id,
            document,
            last_seq=found.last_seq,
            name=f"before compaction in {turn.task_id}"[:100],
            idempotency_key=key,
        )
    )
    return shorter


def summarize(before: Any, messages: Sequence[PastMessage]) -> Summary:
    """The summary of some messages, and of what an earlier one stood for."""
    earlier = _read(before)
    theirs = [said for said in messages if said.role == Role.USER]
    facts = newest([*earlier.facts, *(fact for said in theirs for fact in (*statements(said.text), *_data(said)))])
    files = [*earlier.files, *(part_record(part) for said in messages for part in said.parts if _is_file(part))]
    topics = [*earlier.topics, *(_line(said) for said in messages if said.text.strip())][-MAX_TOPICS:]
    count = earlier.messages + len(messages)
    head = f"{MARK}\nThis stands for the {count} messages that came before; they are kept, and not repeated here."
    blocks = [head, _block("What was said, in short:", topics), _block("What the user stated:", facts)]
    return Summary("\n\n".join(filter(None, blocks)), files[-MAX_FILES:], facts, topics, count)


def trim_results(messages: Sequence[PromptMessage], threshold: int) -> list[PromptMessage]:
    """The prompt with the results of its oldest tool calls left out, as far as it is longer than the threshold."""
    shorter = list(messages)
    for number, message in enumerate(messages[:-KEEP]):
        if tokens(shorter) <= threshold:
            break
        if message.role == PromptRole.TOOL and len(message.text) > len(LEFT_OUT):
            shorter[number] = PromptMessage(PromptRole.TOOL, LEFT_OUT, tool_call_id=message.tool_call_id)
    return shorter


def _read(before: Any) -> Summary:
    """An earlier summary; one that somebody else made is kept as a fact."""
    if before is None:
        return Summary("")
    try:
        return msgspec.convert(before, Summary)
    except msgspec.ValidationError:
        return Summary("", facts=[summary_message(before).text.removeprefix(MARK).strip()])


def _with_files(message: PastMessage, history: Sequence[PastMessage]) -> PastMessage:
    """The message with those of its files that the history has."""
    known = {attachment.digest: attachment for said in history for attachment in said.attachments}
    digests = [part.digest for part in message.parts if isinstance(part, FilePart) and part.digest in known]
    return replace(message, attachments=tuple(known[digest] for digest in digests if digest))


def _is_file(part: Part) -> bool:
    """Whether it is a file that is kept, or is elsewhere; bytes in a message are for the message only."""
    return isinstance(part, FilePart) and part.raw is None


def _data(said: PastMessage) -> list[str]:
    """What a user stated as data."""
    values = (strict_json.dump(part.data).decode() for part in said.parts if isinstance(part, DataPart))
    return [value if len(value) <= MAX_SENTENCE else f"{value[:MAX_SENTENCE]} …" for value in values]


def _line(said: PastMessage) -> str:
    words = " ".join(said.text.split())
    if len(words) > MAX_LINE:
        words = words[:MAX_LINE].rsplit(maxsplit=1)[0] + " …"
    return f"{said.role.value}: {words}"


def _block(title: str, lines: Sequence[str]) -> str:
    return "\n".join([title, *(f"- {line}" for line in lines)]) if lines else ""
