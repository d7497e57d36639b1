"""Compaction: when a prompt grows too long, its older messages give way to a summary, and nothing is lost.

The summary (`summary`) is an event of the session: later turns begin with it, and the messages stay in the log.
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
from holdfast.runtime.prompt import prompt
from holdfast.runtime.summary import Saying, Summary, summary_of_sayings, tokens

THRESHOLD = 100_000
KEEP = 4
WORTH = 0.75

LEFT_OUT = "[this result was left out: the prompt grew too long]"


async def fitting_prompt(turn: Turn, threshold: int = THRESHOLD) -> list[PromptMessage]:
    """The prompt of a turn; if it is longer than the threshold (in tokens), with its older messages summed up."""
    whole = await prompt(turn, turn.history)
    size = tokens(whole)
    if size <= threshold:
        return whole
    found = await older(turn.store, turn.task_id, keep=KEEP)
    if found is None:
        return whole
    document = msgspec.to_builtins(summarize(found.summary, found.messages, room=threshold))
    # The bytes of files come from the turn: the log has their names and digests.
    kept = turn.history[len(turn.history) - len(found.kept) :]
    shorter = await prompt(turn, (_with_files(summary_message(document), turn.history), *kept))
    if tokens(shorter) > size * WORTH:
        return whole
    await _record(turn, document, found.last_seq)
    return shorter


async def compact_log(turn: Turn, threshold: int = THRESHOLD) -> PastMessage | None:
    """Sum up the older messages in the log of a turn's session, so that later turns need not read them; the summary
    with the files that it names."""
    found = await older(turn.store, turn.task_id, keep=KEEP)
    if found is None:
        return None
    document = msgspec.to_builtins(summarize(found.summary, found.messages, room=threshold))
    await _record(turn, document, found.last_seq)
    return _with_files(summary_message(document), turn.history)


async def summary_of_log(turn: Turn) -> Summary | None:
    """What stands for the older messages in the log of a turn's session; None if nothing does."""
    compaction = await turn.store.checkpoints.newest_compaction(turn.session_id)
    if compaction is None:
        return None
    return msgspec.structs.replace(_read(compaction.document), text=summary_message(compaction.document).text)


async def _record(turn: Turn, document: Any, last_seq: int) -> None:
    key = uuid.uuid4().hex
    await until_written(
        lambda: turn.store.checkpoints.compact(
            turn.session_id,
            document,
            last_seq=last_seq,
            name=f"before compaction in {turn.task_id}"[:100],
            idempotency_key=key,
        )
    )


def summarize(before: Any, messages: Sequence[PastMessage], *, room: int = THRESHOLD) -> Summary:
    """The summary of some messages, and of what an earlier one stood for; `room` as for `summary_of_sayings`."""
    return summary_of_sayings(_read(before), [_saying(said) for said in messages], room=room)


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


def _saying(said: PastMessage) -> Saying:
    return Saying(
        said.role.value,
        said.text,
        said.role == Role.USER,
        [strict_json.dump(part.data).decode() for part in said.parts if isinstance(part, DataPart)],
        [part_record(part) for part in said.parts if _is_file(part)],
    )
