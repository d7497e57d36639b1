"""Compaction of a conversation: when it has too many tokens, a summary stands for its older messages.

What the user stated stays in the summary through every later compaction, whoever wrote the rest of it. What else it
says has a bound: a quarter of the threshold for the messages in short, and a quarter for the user's other words.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from holdfast.models.messages import PromptMessage as Message
from holdfast.models.messages import PromptRole as Role
from holdfast.models.messages import is_by_runtime
from holdfast.runtime.conversation.records import CompactionRecord
from holdfast.runtime.summary import Saying, Summary, summary_of_sayings, tokens

Summariser = Callable[[list[Message]], str]
"""Gives a summary of the messages that go."""


@dataclass(frozen=True, slots=True)
class CompactedMessages:
    """What a compaction makes of some messages; those that were removed are without an earlier summary."""

    message: Message
    kept: list[Message]
    removed: list[Message]
    compaction: CompactionRecord


def compacted(
    messages: Sequence[Message],
    before: CompactionRecord | None,
    *,
    threshold: int,
    keep: int,
    summarise: Summariser | None = None,
    now: bool = False,
    tokens_to_come: int = 0,
) -> CompactedMessages | None:
    """The messages with the older ones summed up; None if they are too few, or have too few tokens and it need not be
    now."""
    size = tokens(messages)
    if not now and size + tokens_to_come < _due_at(before, threshold):
        return None
    cut = _cut(messages, keep)
    earlier = _earlier(messages, before)
    removed, kept = list(messages[earlier is not None : cut]), list(messages[cut:])
    if not removed:
        return None
    told = summarise(list(messages[:cut])) if summarise is not None else None
    sayings = [_saying(message) for message in removed]
    summary = summary_of_sayings(earlier or Summary(""), sayings, told=told, room=threshold)
    message = Message(Role.USER, summary.text)
    compaction = CompactionRecord(
        count=(before.count if before else 0) + 1,
        removed_message_count=len(removed),
        summary=summary.text,
        tokens_before=size,
        tokens_after=tokens([message, *kept]),
        facts=summary.facts,
        topics=summary.topics,
        messages=summary.messages,
        others=summary.others,
    )
    return CompactedMessages(message, kept, removed, compaction)


def _due_at(before: CompactionRecord | None, threshold: int) -> int:
    """The tokens at which a compaction is worth it: where the last one left more, a quarter of the threshold later."""
    if before is None or before.tokens_after < threshold:
        return threshold
    return before.tokens_after + threshold // 4


def _cut(messages: Sequence[Message], keep: int) -> int:
    """How many messages go, so that at least the last `keep` stay, and no result without its call."""
    cut = max(len(messages) - keep, 0)
    while 0 < cut < len(messages) and messages[cut].role == Role.TOOL:
        cut -= 1
    return cut


def _earlier(messages: Sequence[Message], before: CompactionRecord | None) -> Summary | None:
    """What the last compaction's message, if it is still there, stands for."""
    if before is None or not messages or messages[0].text != before.summary:
        return None
    return Summary(before.summary, [], before.facts, before.topics, before.others, before.messages)


def _saying(message: Message) -> Saying:
    speaker = "agent" if message.role == Role.ASSISTANT else message.role.value
    return Saying(speaker, message.text, message.role == Role.USER and not is_by_runtime(message))
