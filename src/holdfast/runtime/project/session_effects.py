"""The effects of a turn's tools as entries of its conversation, and what a turn that was cut off has left.

An effect is recorded before and after it happens. One whose end is not known is told to the model and to the user, and
is never run again by itself: a turn that a dead process has begun is not gone on with, and each of its calls gets a
result in words.
"""

import hashlib

from holdfast.core import strict_json
from holdfast.core.errors import NotFound
from holdfast.core.redact import redact
from holdfast.core.statuses import FAILED, FINISHED
from holdfast.models.messages import PromptMessage, PromptRole, runtime_message
from holdfast.runtime.conversation import ConversationSession
from holdfast.runtime.threads import to_its_end
from holdfast.runtime.turn.tool_runs import KnownCall, Run

MAX_ID = 100
MAX_KEPT = 500
"""Characters of a result that stay with the effect; the message for the model has all of it."""

MAY_HAVE_RUN = "error: the process ended while this ran: it may have run, and was not run again"
HAS_RUN = "The user has looked: this was begun before the process ended, and has run."
HAS_NOT_RUN = "The user has looked: this was begun before the process ended, and has not had its effect."
NOT_KEPT = (
    "error: the turn was interrupted before this call had a result; look whether it happened before you repeat it"
)


class SessionEffects:
    """The effects of one turn; a turn has a name of its own."""

    def __init__(self, session: ConversationSession, turn_id: str) -> None:
        self._session = session
        self._turn_id = turn_id
        self._count = 0

    def call_id(self, call: KnownCall) -> str:
        """The turn, the number of the call in it, and the model's own id, which may be that of an earlier call."""
        self._count += 1
        return f"{self._turn_id}:{self._count}:{_short(call.model_id)}"

    async def once(self, call_id: str, call: KnownCall, run: Run) -> tuple[str, str]:
        """Run it between its two records; how it ended, and what the model is told."""
        shown = redact(strict_json.dump(call.arguments).decode())
        await to_its_end(lambda: self._session.start_effect(call_id, call.name, call.arguments, shown))
        status, text = await run()
        end = FINISHED if status == FINISHED else FAILED
        await to_its_end(lambda: self._session.finish_effect(call_id, end, text[:MAX_KEPT]))
        return status, text


def answer_cut_calls(session: ConversationSession) -> None:
    """Give each call of a turn that was cut off a result in words, so that the conversation can go on."""
    answered: set[str] = set()
    for message in reversed(session.messages):
        if message.role == PromptRole.TOOL:
            answered.add(message.tool_call_id or "")
            continue
        cut = [call.id for call in message.tool_calls if call.id not in answered]
        if cut:
            begun = [effect.call_id for effect in session.unresolved_effects()]
            session.extend(_result(call_id, begun) for call_id in cut)
        return


def settle(session: ConversationSession, call_id: str, *, ran: bool) -> None:
    """Record what the user says became of an unresolved effect, and tell the model; NotFound if it is not unresolved.

    The model is told first: if the process ends in between, the user can say it again.
    """
    effect = next((each for each in session.unresolved_effects() if each.call_id == call_id), None)
    if effect is None:
        raise NotFound(f"no effect {call_id!r:.80} is unresolved", call_id=call_id)
    said = HAS_RUN if ran else HAS_NOT_RUN
    with session.together():
        answer_cut_calls(session)
        session.append(runtime_message(f"{said} {effect.tool} {effect.shown}".rstrip()))
    session.finish_effect(call_id, FINISHED if ran else FAILED, said)


def _short(model_id: str) -> str:
    """A model's id of a call; one that is too long for a record by its hash."""
    return model_id if len(model_id) <= MAX_ID else f"sha256-{hashlib.sha256(model_id.encode()).hexdigest()}"


def _result(call_id: str, begun: list[str]) -> PromptMessage:
    unknown = any(effect.endswith(f":{_short(call_id)}") for effect in begun)
    return PromptMessage(PromptRole.TOOL, MAY_HAVE_RUN if unknown else NOT_KEPT, tool_call_id=call_id)
