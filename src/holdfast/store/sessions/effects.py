"""Tool effects: an effect happens once.

Before a tool that changes something outside is run, its start is an event; after it, its end is another. A start
without an end, after a crash, is unresolved: it is shown, and never run again by itself, for nobody here can know
whether the effect took place. Somebody looks, and finishes it with what was found.
"""

import hashlib
from dataclasses import dataclass
from typing import Any

from msgspec import UNSET

from holdfast.core import Effect, Lease, strict_json
from holdfast.core.errors import Conflict, EffectUnresolved, InvalidInput, NotFound
from holdfast.core.event_bodies import ToolFinished, ToolStarted, read
from holdfast.core.ids import check_name, check_session_id
from holdfast.core.statuses import EFFECT_ENDS, FINISHED, STARTED, one_of
from holdfast.store.engine import Tx
from holdfast.store.log.append import append
from holdfast.store.log.log_reader import existing_head, head_of
from holdfast.store.log.prepare import PreparedEvent
from holdfast.store.log.projection import Child, finished_effect, started_effect
from holdfast.store.log.replay import KnownEvent, conflict_with, known_before
from holdfast.store.log.rows import EFFECTS
from holdfast.store.part import Part

MAX_SHOWN = 4_096
"""Bytes that are kept of what is shown of a call."""


@dataclass(frozen=True, slots=True)
class EffectStart:
    """A tool's effect, and whether it is for this caller to bring it about."""

    effect: Effect
    run: bool


class Effects(Part):
    """`store.effects`."""

    __slots__ = ()

    async def start(
        self,
        session_id: str,
        call_id: str,
        tool: str,
        arguments: Any = None,
        *,
        shown: str | None = None,
        lease: Lease | None = None,
        idempotency_key: str | None = None,
    ) -> EffectStart:
        """Say that the tool is about to run; run it only if the answer says so.

        Of the arguments only a digest is kept; `shown` is what may be read of them, by whoever looks what became of the
        effect, and is cut if it is long.
        An effect that has ended is returned with its result. One that was started before and has not ended is
        EffectUnresolved, unless this is a retry of that very start, by its idempotency key. Another tool or other
        arguments under the same call id are a Conflict, and so is a key that was used for something else.
        """
        check_session_id(session_id)
        body = ToolStarted(
            check_name(call_id, "a call id"),
            check_name(tool, "a tool's name"),
            hashlib.sha256(strict_json.canonical(arguments)).hexdigest(),
            UNSET if shown is None else _cut(shown),
        )
        event = self.own_event(body, idempotency_key)

        def write(tx: Tx) -> EffectStart:
            head = head_of(tx, self.tenant, session_id)
            if head is not None:
                known = known_before(tx, head, event)
                if known is not None and not _is_start(known, event, body):
                    raise conflict_with(known)
                there = EFFECTS.get(tx, head.session_no, call_id)
                if there is not None:
                    effect = _same_call(there, body)
                    if effect.status != STARTED:
                        return EffectStart(effect, run=False)
                    if known is None:
                        raise _unresolved(session_id, effect)
                    return EffectStart(effect, run=True)
            if append(tx, self.tenant, session_id, [event], lease=lease).replayed:
                raise Conflict(f"the start of call {call_id!r} was erased: it may have run", call_id=call_id)
            session_no = existing_head(tx, self.tenant, session_id).session_no
            child = started_effect(EFFECTS.next_number(tx, session_no), body, event.created_at)
            EFFECTS.put(tx, session_no, {call_id: child})
            return EffectStart(as_effect(call_id, child), run=True)

        return await self.write(session_id, write)

    async def finish(
        self, session_id: str, call_id: str, status: str = FINISHED, result: Any = None, *, note: str = ""
    ) -> Effect:
        """Say what became of it; the same end again changes nothing, another one is a Conflict."""
        check_session_id(session_id)
        end = one_of(EFFECT_ENDS, status, f"an effect cannot end as {status!r:.80}")
        plain = strict_json.plain({"result": result, "note": note})
        body = ToolFinished(check_name(call_id, "a call id"), end, plain["result"], plain["note"])
        event = self.own_event(body)

        def write(tx: Tx) -> Effect:
            head = existing_head(tx, self.tenant, session_id)
            before = EFFECTS.get(tx, head.session_no, call_id)
            if before is None:
                raise NotFound(f"session {session_id!r} has started no effect {call_id!r}", call_id=call_id)
            if before.status != STARTED:
                if before.status == status and strict_json.canonical(before.document["result"]) == (
                    strict_json.canonical(result)
                ):
                    return as_effect(call_id, before)
                raise Conflict(f"effect {call_id!r} has ended before, otherwise", status=before.status)
            if append(tx, self.tenant, session_id, [event]).replayed:
                return as_effect(call_id, before)  # an earlier run of this write was erased since
            after = finished_effect(before, body, event.created_at)
            EFFECTS.put(tx, head.session_no, {call_id: after})
            return as_effect(call_id, after)

        return await self.write(session_id, write)

    async def unresolved(self, session_id: str) -> list[Effect]:
        """The effects that were started and have not ended."""
        check_session_id(session_id)
        return await self.workers.read(
            lambda tx: unresolved_of(tx, existing_head(tx, self.tenant, session_id).session_no)
        )


def unresolved_of(tx: Tx, session_no: int) -> list[Effect]:
    """The effects that were started and have not ended."""
    return [as_effect(name, child) for name, child in EFFECTS.all(tx, session_no, STARTED).items()]


def as_effect(call_id: str, child: Child) -> Effect:
    """A row as an effect."""
    known = child.document
    ended = (known.get("finishedAt"), known.get("result"))
    return Effect(call_id, known["tool"], known["digest"], child.status, known["startedAt"], *ended)


def _cut(shown: str) -> str:
    if not isinstance(shown, str):
        raise InvalidInput(f"what is shown of a call must be text, not {shown!r:.80}")
    return shown.encode(errors="replace")[:MAX_SHOWN].decode(errors="ignore")


def _is_start(known: KnownEvent, event: PreparedEvent, body: ToolStarted) -> bool:
    """Whether an event that has the key, or the id, is the start of this very effect."""
    if known.type != ToolStarted.TYPE:
        return False
    if known.erased is not None:
        return hashlib.sha256(event.payload).digest() == known.erased
    first = read(known, ToolStarted)
    return (first.call_id, first.tool, first.digest) == (body.call_id, body.tool, body.digest)


def _same_call(there: Child, body: ToolStarted) -> Effect:
    effect = as_effect(body.call_id, there)
    if (effect.tool, effect.digest) != (body.tool, body.digest):
        raise Conflict(f"call {effect.call_id!r} was another tool, or had other arguments", call_id=effect.call_id)
    return effect


def _unresolved(session_id: str, effect: Effect) -> EffectUnresolved:
    return EffectUnresolved(
        f"{effect.tool} was started before under {effect.call_id!r}, and its end is not known",
        session_id=session_id,
        call_id=effect.call_id,
        tool=effect.tool,
        started_at=effect.started_at,
    )
