"""Changes of a conversation, drawn from a seed: the same seed gives the same changes to every conversation."""

import random
from collections.abc import Callable
from typing import Any

from tests.runtime.conversation.places import Place, assistant, entry, ledger, snapshot, user

from holdfast.models import Message, Role, ToolCall
from holdfast.runtime import CompletionTraceEntry, ConversationSession

LIMITS = {
    "auto_compaction_input_tokens_threshold": 60,
    "compaction_keep_last_messages": 2,
    "rotate_after_bytes": 1_500,
}
WORDS = (
    *("My name is Ada.", "What is it?", "Tell me of number {}, it is red.", "ok", "Did you know that {} is prime?"),
    *("and so on, " * 20, "“quoted”\n\n  — {}.", "[COMPACTED CONTEXT] is a word."),
)
CODES = ("a", "b", None)
KINDS = ("route", "completion_check", "completion_finalize")
OWN = ("session_id", "created_at", "updated_at", "forked_from")

Change = Callable[[ConversationSession], object]


def drawn(seed: int, count: int) -> list[Callable[[Place, ConversationSession], ConversationSession]]:
    """So many changes; each gives the object that goes on."""
    source = random.Random(seed)
    return [_step(random.Random(source.randrange(2**32))) for _ in range(count)]


def seen(session: ConversationSession) -> dict[str, Any]:
    """All that there is to see of a conversation, but for what is each one's own."""
    document = session._document()
    return {
        **{name: value for name, value in document.items() if name not in OWN},
        "messages": list(session.messages),
        "history": session.history(),
        "taken back": session.history(taken_back=True),
        "summed up": session.history(taken_back=False),
        "trace": session.completion_trace,
    }


def _step(chance: random.Random) -> Callable[[Place, ConversationSession], ConversationSession]:
    """One change, or a restart, or a fork."""
    number = chance.randrange(16)
    change = _change(chance)

    def step(place: Place, session: ConversationSession) -> ConversationSession:
        if number == 0:
            return session.fork()
        if number < 3:
            session.persist()
            return place.again(session)
        change(session)
        return session

    return step


def _change(chance: random.Random) -> Change:
    words, code, count = chance.choice(WORDS).format(chance.randrange(9)), chance.choice(CODES), chance.randrange(4)
    mode, kind = chance.choice(("plan", None, " ")), chance.choice(KINDS)
    call = Message(Role.ASSISTANT, "", [ToolCall("c", "read", {"file_path": words})])
    changes: tuple[Change, ...] = (
        lambda session: session.append(user(words)),
        lambda session: session.extend([assistant(words), user(words)]),
        lambda session: session.extend([call, Message(Role.TOOL, words, tool_call_id="c")]),
        lambda session: session.maybe_compact(),
        lambda session: session.maybe_compact(now=True),
        lambda session: session.take_back(min(count, len(session.messages))),
        lambda session: session.clear() if not count else None,
        lambda session: session.update_runtime_state(current_task=words, workflow_mode=mode, active_turn_phase=code),
        lambda session: session.update_runtime_state(last_completion_decision_code=code),
        lambda session: session.append_workflow_timeline_entry(entry(kind, code or "a", words)),
        lambda session: session.append_completion_trace_entry(CompletionTraceEntry("s", "o", "c", words)),
        lambda session: session.append_prompt_snapshot(snapshot(words)),
        lambda session: session.update_workflow_ledger(ledger()),
        lambda session: session.record_turn_usage({"prompt_tokens": count, "tool_calls": 1}),
    )
    return chance.choice(changes)
